"""LoCoMo's F1: equal to the official formula, which is rewritten plainly here, also on answers of real systems."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import regex
from both import METRICS
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.judging import locomo
from pytest_engram.judging.named import Found, of
from pytest_engram.suites.base import Gold

# The whole of nltk, as the official code imports it: on its own, apart from how the measured module gets at it.
ORACLE = """
import json, sys
from nltk.stem import PorterStemmer
print(json.dumps([PorterStemmer().stem(word) for word in json.load(sys.stdin)]))
"""


def oracle_stems(words: list[str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", ORACLE], input=json.dumps(words), capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def vocabulary() -> dict[str, str]:
    """The words below and their stems."""
    words = sorted(
        {word for piece in [*PIECES, *map("".join, product(PIECES, PIECES))] for word in plain_normalise(piece)}
    )
    return dict(zip(words, oracle_stems(words), strict=True))


def plain_normalise(text: str) -> list[str]:
    text = text.replace(",", "").lower()
    text = "".join(ch for ch in text if ch not in set(string.punctuation))
    return regex.sub(r"\b(a|an|the|and)\b", " ", text).split()


def plain_f1(prediction: str, answer: str, stem: dict[str, str]) -> float:
    given = [stem[word] for word in plain_normalise(prediction)]
    wanted = [stem[word] for word in plain_normalise(answer)]
    same = sum((Counter(given) & Counter(wanted)).values())
    if same == 0:
        return 0
    precision, recall = 1.0 * same / len(given), 1.0 * same / len(wanted)
    return (2 * precision * recall) / (precision + recall)


def plain_score(prediction: str, answer: str, category: int, stem: dict[str, str]) -> float:
    if category == 3:
        answer = answer.split(";")[0].strip()
    if category in (2, 3, 4):
        return plain_f1(prediction, answer, stem)
    if category == 1:
        given = [part.strip() for part in prediction.split(",")]
        wanted = [part.strip() for part in answer.split(",")]
        return float(np.mean([max(plain_f1(p, g, stem) for p in given) for g in wanted]))
    return 1 if "no information available" in prediction.lower() or "not mentioned" in prediction.lower() else 0


WORDS = ["running", "Runs", "the", "and", "An", "a", "Paris", "7", "May", "2023", "self-care", "Gina's", "naïve", "猫"]
PIECES = [*WORDS, ",", ", ", ";", "; ", ".", "not mentioned", "No information available", "a\u0301", "\n"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join)


@given(prediction=TEXTS, answer=TEXTS, category=st.integers(1, 5))
def test_it_is_the_official_one_to_the_last_digit(
    vocabulary: dict[str, str], prediction: str, answer: str, category: int
) -> None:
    assert locomo.f1(prediction, [answer], category) == plain_score(prediction, answer, category, vocabulary)


@given(prediction=TEXTS, answers=st.lists(TEXTS, max_size=3))
def test_without_a_category_it_is_the_best_over_the_accepted_answers(
    vocabulary: dict[str, str], prediction: str, answers: list[str]
) -> None:
    expected = max((plain_f1(prediction, answer, vocabulary) for answer in answers), default=0.0)
    assert locomo.f1(prediction, answers) == expected
    assert 0.0 <= expected <= 1.0


@pytest.mark.parametrize(
    ("prediction", "answer", "category", "expected"),
    [
        ("the runs and a run", "running", 4, 2 / 3),  # run, run of run: precision 1/2, recall 1
        ("7 May 2023", "7 May, 2023", 2, 1.0),
        ("1,500", "1500", 4, 1.0),  # a comma is no word boundary
        ("yes", "yes; probably", 3, 1.0),
        ("probably", "yes; probably", 3, 0.0),
        ("probably", "yes; probably", 4, 2 / 3),
        ("swimming, painting", "painting, swimming, pottery", 1, 2 / 3),
        ("swimming painting", "painting, swimming", 1, 2 / 3),  # each part against the one part given: 2/3 each
        ("It is Not Mentioned anywhere.", "whatever", 5, 1.0),
        ("I do not know", "whatever", 5, 0.0),
        ("", "x", 4, 0.0),
        ("the", "the", 4, 0.0),  # nothing is left of it
    ],
)
def test_by_hand(prediction: str, answer: str, category: int, expected: float) -> None:
    assert locomo.f1(prediction, [answer], category) == pytest.approx(expected, abs=1e-15)


def test_there_is_no_sixth_category() -> None:
    with pytest.raises(ValueError, match="no category 6"):
        locomo.f1("x", ["x"], 6)


def test_the_metric_takes_the_category_from_the_gold() -> None:
    measure = of(METRICS["f1"]).measure
    gold = Gold(answers=("yes; no",), prompt={"category": 3})
    assert measure(Found([], 10, gold, answer="yes"), None) == 1.0
    assert measure(Found([], 10, Gold(answers=("yes; no",)), answer="yes"), None) == pytest.approx(2 / 3)
    assert measure(Found([], 10, gold, answer=""), None) == 0.0
    assert of(METRICS["f1"]).reads
    assert not of(METRICS["f1"]).judged


def test_the_stemmer_leaves_nltk_to_whoever_wants_all_of_it() -> None:
    code = (
        "import sys; from pytest_engram.judging import locomo; locomo.stems('running'); "
        "print([m for m in sys.modules if m.partition('.')[0] == 'nltk' or m == 'sklearn'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


KNOWN = {
    "full_context.gpt-4.1-mini-cot": 0.203,
    "full_context.gpt-4o-mini-memos": 0.522,
    "wrong_on_purpose.vague": 0.148,
    "wrong_on_purpose.specific": 0.183,
}


def test_recorded_answers_come_out_as_they_are_known(shared_data: Path) -> None:
    recorded: dict[str, list[tuple[str, str, int]]] = {}
    for name in KNOWN:
        path = shared_data / "locomo" / "recorded" / f"{name}.json"
        results = json.loads(path.read_text(encoding="utf-8"))["detailed_results"]
        answers = [one for of_conversation in results.values() for one in of_conversation]
        recorded[name] = [(a["generated_answer"], str(a["golden_answer"]), int(a["category"])) for a in answers]
    pairs = [text for answers in recorded.values() for given, wanted, _ in answers for text in (given, wanted)]
    texts = [part for text in pairs for part in (text, text.split(";")[0].strip(), *text.split(","))]
    words = sorted({word for text in texts for word in plain_normalise(text)})
    stem = dict(zip(words, oracle_stems(words), strict=True))
    for name, answers in recorded.items():
        assert len(answers) == 1540
        values = [locomo.f1(given, [wanted], category) for given, wanted, category in answers]
        assert values == [plain_score(given, wanted, category, stem) for given, wanted, category in answers]
        assert np.mean(values) == pytest.approx(KNOWN[name], abs=5e-4)
