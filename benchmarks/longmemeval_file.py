"""A generated file of the size and shape of LongMemEval_S, for measuring. Its words mean nothing.

500 questions over 48 sessions each, about 115 thousand tokens a haystack; a fifth of the words are the user's; one
session in five stands in several haystacks, as the official fillers do. Word frequencies follow Zipf's law.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 20261008
SESSIONS = 48
WORDS = 1_615  # a session's words by white space: about 2,400 tokens, and 277 MB in all
TURNS = 10
USER_SHARE = 0.2
VOCABULARY = 120_000


class Writer:
    """Sentences of made-up words."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
        lengths = random.integers(3, 11, VOCABULARY)
        lengths[:200] = random.integers(1, 5, 200)
        stems = ["".join(random.choice(letters, size=length, p=None)) for length in lengths]
        stems = [f"{stem}{position:x}" if position > 2_000 else stem for position, stem in enumerate(stems)]
        # What splitting at spaces leaves of a sentence: bare words, and words that carry punctuation.
        self.words = [list(stems), [f"{stem}," for stem in stems], [f"{stem}." for stem in stems]]
        weights = 1.0 / np.arange(1, VOCABULARY + 1) ** 1.05
        self.cumulated = np.cumsum(weights / weights.sum())

    def ranks(self, count: int) -> NDArray[np.intp]:
        return np.searchsorted(self.cumulated, self.random.random(count))

    def text(self, count: int) -> str:
        forms = np.searchsorted([0.86, 0.93], self.random.random(count))
        return " ".join(
            [self.words[form][rank] for form, rank in zip(forms.tolist(), self.ranks(count).tolist(), strict=True)]
        )

    def session(self) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = []
        for number in range(TURNS):
            share = USER_SHARE if number % 2 == 0 else 1 - USER_SHARE
            size = max(3, int(self.random.lognormal(0, 0.4) * share * WORDS / (TURNS / 2)))
            role = "user" if number % 2 == 0 else "assistant"
            turns.append({"role": role, "content": self.text(size)})
        return turns


def write(path: Path, questions: int = 500) -> None:
    """Write the file. The same `questions` give the same bytes."""
    random = np.random.default_rng(SEED)
    writer = Writer(random)
    shared = [(f"filler_{number}", json.dumps(writer.session())) for number in range(max(8, questions * 2))]
    with path.open("w", encoding="utf-8") as file:
        for number in range(questions):
            file.write("[" if number == 0 else ", ")
            file.write(_question(number, writer, random, shared))
        file.write("]")


def _question(number: int, writer: Writer, random: np.random.Generator, shared: list[tuple[str, str]]) -> str:
    """One question as JSON: one question in twelve abstains, one in sixteen has its evidence with the assistant."""
    name = f"q{number:04d}" + ("_abs" if number % 12 == 5 else "")
    rare = [writer.words[0][rank] for rank in random.integers(3_000, VOCABULARY, 3)]
    evidence = random.choice(SESSIONS, size=int(random.integers(1, 4)), replace=False)
    ids, dates, sessions = [], [], []
    for position in range(SESSIONS):
        dates.append(
            f"2023/{1 + position // 10:02d}/{1 + position % 28:02d} (Mon) {position % 24:02d}:{number % 60:02d}"
        )
        if position in evidence:
            session = writer.session()
            turn = session[int(random.integers(0, TURNS // 2)) * 2 + (number % 16 == 3)]
            turn["content"] += " " + " ".join(rare[: int(random.integers(1, 4))])
            turn["has_answer"] = True
            ids.append(f"answer_{number:04d}_{position}")
            sessions.append(json.dumps(session))
        elif random.random() < 0.25:
            filler, text = shared[int(random.integers(len(shared)))]
            ids.append(filler)
            sessions.append(text)
        else:
            ids.append(f"chat_{number:04d}_{position}")
            sessions.append(json.dumps(writer.session()))
    head = {
        "question_id": name,
        "question_type": "multi-session",
        "question": f"{writer.text(9)} {' '.join(rare)}",
        "answer": number if number % 10 == 0 else rare[0],
        "question_date": "2023/06/01 (Thu) 09:00",
        "haystack_session_ids": ids,
        "haystack_dates": dates,
        "answer_session_ids": [name for name in ids if "answer" in name],
    }
    return json.dumps(head)[:-1] + ', "haystack_sessions": [' + ", ".join(sessions) + "]}"
