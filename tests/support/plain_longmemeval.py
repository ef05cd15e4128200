"""LongMemEval's retrieval the plain way: json, rank-bm25 and lists, one question at a time, as the official scripts do.

Shares no code with the project: it is what the tests compare with, and what the benchmark is measured against.

Usage: python plain_longmemeval.py FILE GRANULARITY LOG

Prints one JSON object: the mean of every metric, how many questions were scored and left out, and the seconds that
each step took; writes every question with its ranking to LOG, a line each, as the official scripts do.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import defaultdict
from typing import Any

import numpy as np
from rank_bm25 import BM25Okapi

KS = (1, 3, 5, 10, 30, 50)


def documents(session_id: str, session: list[dict[str, Any]], granularity: str) -> list[tuple[str, str]]:
    """Ids and texts of one session."""
    turns = [
        (number, turn["content"], bool(turn.get("has_answer", False)))
        for number, turn in enumerate(session, start=1)
        if turn["role"] == "user"
    ]
    if granularity == "session":
        evidence = any(has_answer for _, _, has_answer in turns)
        name = session_id if evidence else session_id.replace("answer", "noans")
        return [(name, " ".join(content for _, content, _ in turns))]
    found = []
    for number, content, has_answer in turns:
        name = f"{session_id}_{number}"
        found.append((name if has_answer else name.replace("answer", "noans"), content))
    return found


def dcg(relevances: list[int], k: int) -> float:
    gains = np.asarray(relevances, dtype=float)[:k]
    if not gains.size:
        return 0.0
    return float(gains[0] + np.sum(gains[1:] / np.log2(np.arange(2, gains.size + 1))))


def measure(ranking: Any, gold: set[str], ids: list[str], k: int) -> tuple[float, float, float]:
    """recall_any, recall_all, NDCG."""
    found = {ids[position] for position in ranking[:k]}
    relevances = [int(name in gold) for name in ids]
    ideal = dcg(sorted(relevances, reverse=True), k)
    actual = dcg([relevances[position] for position in ranking[:k]], k)
    return (
        float(any(name in found for name in gold)),
        float(all(name in found for name in gold)),
        actual / ideal if ideal else 0.0,
    )


def as_sessions(ranking: Any, gold: set[str], ids: list[str], k: int) -> tuple[float, float, float]:
    """A ranking of turns, measured as one of sessions."""
    ids = [name.rpartition("_")[0] for name in ids]
    gold = {name.rpartition("_")[0] for name in gold}
    reach = k
    while len({ids[position] for position in ranking[:reach]}) < k and reach <= len(ids):
        reach += 1
    return measure(ranking, gold, ids, reach)


def corpus(question: dict[str, Any], granularity: str) -> tuple[list[str], list[str]]:
    """Ids and texts of all documents of a haystack."""
    walk = zip(
        question["haystack_session_ids"],
        question["haystack_dates"],
        question["haystack_sessions"],
        strict=False,
    )
    pairs = [pair for name, _, session in walk for pair in documents(name, session, granularity)]
    return [name for name, _ in pairs], [text for _, text in pairs]


def bm25(query: str, texts: list[str]) -> Any:
    """Positions, best first."""
    return np.argsort(BM25Okapi([text.split(" ") for text in texts]).get_scores(query.split(" ")))[::-1]


def figures(ranking: Any, ids: list[str], granularity: str) -> dict[str, float]:
    """Every metric at every k."""
    gold = {name for name in ids if "answer" in name}
    found: dict[str, float] = {}
    for k in KS:
        names = [f"{metric}@{k}" for metric in ("recall_any", "recall_all", "ndcg_any")]
        found |= dict(zip(names, measure(ranking, gold, ids, k), strict=True))
        if granularity == "turn":
            names = [f"session_{name}" for name in names]
            found |= dict(zip(names, as_sessions(ranking, gold, ids, k), strict=True))
    return found


def left_out(question: dict[str, Any]) -> str | None:
    """Why a question is left out of the means."""
    if "_abs" in question["question_id"]:
        return "abstention"
    turns = [turn for session in question["haystack_sessions"] for turn in session]
    return None if any(t["role"] == "user" and t.get("has_answer") for t in turns) else "no evidence"


def main() -> None:
    path, granularity, log = sys.argv[1:]
    start = time.perf_counter()
    with open(path, encoding="utf-8") as file:
        questions = json.load(file)
    loaded = time.perf_counter()
    values: dict[str, list[float]] = defaultdict(list)
    skipped: dict[str, int] = defaultdict(int)
    results = []
    for question in questions:
        ids, texts = corpus(question, granularity)
        ranking = bm25(question["question"], texts)
        found = figures(ranking, ids, granularity)
        items = [{"corpus_id": ids[position], "text": texts[position]} for position in ranking]
        results.append(question | {"retrieval_results": {"ranked_items": items, "metrics": found}})
        if reason := left_out(question):
            skipped[reason] += 1
            continue
        for name, value in found.items():
            values[name].append(value)
    retrieved = time.perf_counter()
    with open(log, "w", encoding="utf-8") as file:
        for result in results:
            file.write(json.dumps(result) + "\n")
    print(
        json.dumps(
            {
                "metrics": {name: float(np.mean(found)) for name, found in values.items()},
                "scored": len(questions) - sum(skipped.values()),
                "left_out": skipped,
                "load_s": loaded - start,
                "retrieve_s": retrieved - loaded,
                "log_s": time.perf_counter() - retrieved,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
