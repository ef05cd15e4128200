"""A run that never happened: outcomes and a manifest with everything in them that a report must be able to show."""

from __future__ import annotations

import random
from typing import Any

from pytest_engram.runs.outcome import Outcome

METHODS: dict[str, dict[str, Any]] = {
    "loom": {"label": "Loom", "role": "experiment", "stochastic": False},
    "loom-recency": {"label": "Loom, later fact wins", "role": "ablation", "stochastic": False},
    "loom-no-regex": {"label": "Loom, no subject test", "role": "ablation", "stochastic": False},
    "loom-sampled": {"label": "Loom, sampled neighbours", "role": "ablation", "stochastic": True},
    "tide": {"label": "Tide", "role": "control", "stochastic": False},
    "dense": {"label": "Dense", "role": "anchor", "stochastic": False},
    "bm25": {"label": "BM25", "role": "anchor", "stochastic": False},
}
SKILL = dict(zip(METHODS, (0.46, 0.5, 0.38, 0.44, 0.5, 0.4, 0.27), strict=True))
RULE = "The side that more facts back wins; equal backing has no expected winner and is left out of the score."
NO_DATA = "LongMemEval_S can't be had here: give --engram-data DIR, or allow the hub"
PEOPLE = ("Mara Lindqvist", "Tomás Oyarzún", "Ines Hartog", "Kwame Adjei", "Yuki Sandoval", "Petra Nowak")
PLACES = ("Oslo", "Valparaíso", "Utrecht", "Kumasi", "Sapporo", "Gdańsk", "Leeds", "Porto")


def pilots(count: int, seed: int = 1) -> tuple[list[Outcome], dict[str, dict[str, str]]]:
    """`count` questions for every method, over two suites, and one suite that could not be run."""
    draw = random.Random(seed)
    outcomes: list[Outcome] = []
    texts: dict[str, dict[str, str]] = {}
    for number in range(count):
        suite = ("fc_mh_6k", "fc_sh_6k")[number % 2]
        facts = texts.setdefault(suite, {})
        if not facts:
            facts.update(
                {
                    f"e{serial:05d}": f"{serial}. {draw.choice(PEOPLE)} works in the city of {draw.choice(PLACES)}."
                    for serial in range(max(455, count * 2))
                }
            )
        pool = draw.sample(range(len(facts)), 24)
        person, gold, hard = draw.choice(PEOPLE), draw.choice(PLACES), draw.gauss(0, 0.25)
        for method, info in METHODS.items():
            for run_seed in range(5) if info["stochastic"] else (0,):
                hit = draw.random() < SKILL[method] + hard
                ids = [f"e{serial:05d}" for serial in draw.sample(pool, 10)]
                outcome = Outcome(
                    suite=suite,
                    question_id=f"{suite}_no{number // 2}",
                    method=method,
                    seed=run_seed,
                    k=10,
                    ids=ids,
                    metrics={"answer@10": float(hit), "subem": float(hit and draw.random() < 0.8)},
                    status="ok",
                    seconds=draw.random() / 50,
                    item=f"q{number // 2:03d}[{method}]",
                    hit=hit,
                    haystack=len(facts),
                    query=f"In which country lies the city that the employer of {person} is based in?",
                    gold=[gold],
                    ceiling=True,
                    answer=facts[ids[0]],
                    reader="newest",
                )
                if method.startswith(("loom", "tide")) and draw.random() < 0.3:
                    gone = next(f"e{s:05d}" for s in pool if f"e{s:05d}" not in ids)
                    outcome.dropped = [
                        {"id": gone, "by": ids[1], "why": "similarity 0.93, support 1.2 < 3.4", "rank": 2}
                    ]
                    outcome.lost = draw.random() < 0.2
                if number % 97 == 13 and method == "bm25":
                    outcome.status, outcome.hit, outcome.ids = "violation", None, []
                    outcome.metrics = {"answer@10": None, "subem": None}
                    outcome.reason = "bm25 on q006: equal k: 11 ids returned, k is 10"
                outcomes.append(outcome)
    for number in range(min(count, 20)):
        outcomes += [
            Outcome(
                suite="lme_s",
                question_id=f"lme{number:04d}",
                method=method,
                seed=0,
                k=10,
                ids=[],
                metrics={"recall_any@5": None, "ndcg_any@10": None},
                status="not run",
                reason=NO_DATA,
                item=f"lme{number:04d}[{method}]",
                excluded="abstention: no session holds the answer" if number == 3 else None,
            )
            for method in METHODS
        ]
    return outcomes, texts


def micro(subjects: int = 6) -> list[Outcome]:
    """A gradual override: a belief with `web` facts behind it, an update with `backers` behind it."""
    outcomes = []
    for subject in range(subjects):
        for web in range(4):
            for backers in range(5):
                expected = "belief" if web > backers else "update" if backers > web else None
                for method in METHODS:
                    winner = "update" if backers > (web * 0.8 if method.startswith("loom") else -1) else "belief"
                    winner = "both" if method in ("dense", "bm25") else winner
                    outcomes.append(
                        Outcome(
                            suite="gradual_override",
                            question_id=f"{PEOPLE[subject % 6].split()[0].lower()}-residence/w{web}/b{backers}",
                            method=method,
                            seed=0,
                            k=10,
                            ids=["belief", "update"] if winner == "both" else [winner],
                            metrics={"correct": None if expected is None else float(winner == expected)},
                            status="ok",
                            seconds=0.001,
                            family="gradual_override",
                            case=f"{PEOPLE[subject % 6].split()[0].lower()}-residence",
                            web=web,
                            backers=backers,
                            winner=winner,
                            expected=expected,
                            item=f"residence{subject}-w{web}-b{backers}[{method}]",
                            hit=None if expected is None else winner == expected,
                            haystack=80,
                            query=f"Where does {PEOPLE[subject % 6]} live?",
                        )
                    )
    return outcomes


def manifest(outcomes: list[Outcome]) -> dict[str, Any]:
    """The manifest that such a run would have written."""
    pilot = {"kind": "pilot", "source": "factconsolidation", "metrics": ["answer@10", "subem"], "official": True}
    suites: dict[str, dict[str, Any]] = {
        "fc_mh_6k": {**pilot, "n": 100, "sha256": "ab" * 32, "notes": ["one answer in 28 is in no fact"]},
        "fc_sh_6k": {**pilot, "n": 100, "sha256": "cd" * 32},
        "lme_s": {
            **pilot,
            "source": "longmemeval",
            "metrics": ["recall_any@5", "ndcg_any@10"],
            "official": None,
            "n": 100,
            "sha256": "ef" * 32,
            "excluded": {"abstention: no session holds the answer": 6},
            "not_run": NO_DATA,
        },
        "gradual_override": {
            "kind": "micro",
            "source": "gradual_override",
            "metrics": ["correct"],
            "n": 120,
            "sha256": "01" * 32,
            "rule": {"name": "majority-support", "text": RULE},
            "registered": True,
            "cases": 6,
        },
    }
    seen = {outcome.suite for outcome in outcomes}
    return {
        "engram": "0.1.0",
        "versions": {"python": "3.11.9", "pytest": "8.4.2", "numpy": "2.3.1"},
        "created": "2026-10-08T09:30:00Z",
        "k": 10,
        "seeds": [0, 1, 2, 3, 4],
        "encoder": {"name": "bge-small-en-v1.5", "hash": "5c38ec7c405ec4b4", "dimensions": 384, "note": ""},
        "reader": {"name": "newest", "model": None, "prompt": None},
        "data": {"contexts": {"6k": {"sha256": "e46cb14b53eedd71", "official": True}}},
        "suites": {name: suite for name, suite in suites.items() if name in seen},
        "methods": METHODS,
        "named": ["loom"],
        "git": {"commit": "9a534829a0b1c2d3e4f5061728394a5b6c7d8e9f", "changed": False},
        "machine": {"system": "Linux", "cpus": 8, "python": "3.11.9"},
        "duration_s": 412.7,
        "complete": True,
        "planned": len(outcomes),
        "ran": len(outcomes),
    }
