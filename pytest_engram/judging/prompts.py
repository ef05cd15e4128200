"""What a judge that is a model is asked: the benchmark's own prompt where it can be had, else wording of our own.

The official texts are no part of this package: `reading.officials` finds them. What is official of LongMemEval (Wu et
al., ICLR 2025, `evaluate_qa.py`): a prompt by type of question, and one for questions that can't be answered; "yes" in
the lower-cased answer is the label. Of LoCoMo: the prompt that its results are commonly published with (mem0's
`llm_judge.py`), whose label is the key `label` of a JSON object, and no verdict on category 5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pytest_engram.reading import officials
from pytest_engram.suites.locomo.protocol import ADVERSARIAL

LOCOMO, LONGMEMEVAL = "locomo", "longmemeval"

OWN = (
    "Someone answered a question from memory. Say whether the answer is right.\n\n"
    "It is right if it says what an accepted answer says, in whatever words or form, with or without more around it. "
    "It is wrong if it says something else, if it only comes close, if it names the right kind of thing without saying "
    "which, or if it says that it does not know.\n\n"
    "Question: {question}\nAccepted: {gold_answer}\nAnswer: {generated_answer}\n\n"
    'Reply with one JSON object and nothing else: {{"label": "CORRECT"}} or {{"label": "WRONG"}}'
)


class Unlabelled(Exception):
    """What the model said is no verdict. The message is the reason, in one line."""


@dataclass(frozen=True)
class Prompt:
    """One text, and how what the model says to it is read.

    Attributes:
        text: with places for question, accepted answer and answer.
        named: whether the places have names.
        official: whether it is the benchmark's.
        settings: that belong to it.
        read: the verdict in what the model said.
    """

    text: str
    named: bool
    official: bool
    settings: Mapping[str, Any]
    read: Callable[[str], bool] = field(compare=False)

    def accepted(self, answers: Sequence[str]) -> str:
        """The accepted answers in the place of one: an official prompt has room for a single one."""
        return answers[0] if self.official and answers else "; or ".join(answers)

    def messages(self, question: str, accepted: str, answer: str) -> list[dict[str, str]]:
        """What is sent."""
        if self.named:
            text = self.text.format(question=question, gold_answer=accepted, generated_answer=answer)
        else:
            text = self.text.format(question, accepted, answer)
        return [{"role": "user", "content": text}]


class Prompts:
    """All that a judge of one run asks with.

    Args:
        data: the folder of `--engram-data`, if any.
    """

    def __init__(self, data: Path | None) -> None:
        self._data = data
        self._found = cache(self._find)

    def of(self, benchmark: str | None, told: Mapping[str, Any]) -> Prompt:
        """The prompt of one question.

        Args:
            benchmark: `Key.prompts`.
            told: `Gold.prompt`.
        """
        text = self._found(benchmark).texts.get(_part(benchmark, told))
        if text is None:
            return Prompt(OWN, True, False, {"temperature": 0}, read_label)
        if benchmark == LONGMEMEVAL:
            return Prompt(text, False, True, {"temperature": 0, "max_tokens": 10}, read_yes)
        return Prompt(text, True, True, {"temperature": 0}, read_label)

    def describe(self, benchmark: str | None) -> dict[str, Any]:
        """For the manifest: what the questions of a suite are judged with.

        Returns:
            label; official (None: there is no official one); sha256, in hex, of each part; source.
        """
        found, own = self._found(benchmark), {"judge": officials.sha256(OWN)}
        if not _parts(benchmark):
            return {"label": "our own prompt", "official": None, "sha256": own, "source": _OURS}
        if not found.texts:
            label = "our own prompt, not the official one"
            return {"label": label, "official": False, "sha256": own, "source": f"{_OURS}; {found.problem}"}
        sha256 = {part: officials.sha256(text) for part, text in found.texts.items()}
        if not found.problem:
            return {"label": "official prompt", "official": True, "sha256": sha256, "source": found.source}
        label = "the official prompt in part, else our own"
        return {"label": label, "official": False, "sha256": sha256 | own, "source": f"{found.source}; {found.problem}"}

    def _find(self, benchmark: str | None) -> officials.Texts:
        parts = _parts(benchmark)
        return officials.find(str(benchmark), self._data, parts) if parts else officials.Texts({}, "", "")


_OURS = "pytest-engram"


def skipped(benchmark: str | None, told: Mapping[str, Any]) -> str | None:
    """The rule by which the official judge gives no verdict on a question; None where it gives one."""
    if benchmark == LOCOMO and told.get("category") == ADVERSARIAL:
        return f"category {ADVERSARIAL} (adversarial) is not judged"
    return None


def has_answer(benchmark: str | None, told: Mapping[str, Any]) -> bool:
    """Whether the accepted answer is an answer: neither a rubric nor the explanation why there is none."""
    rubric = benchmark == LONGMEMEVAL and told.get("type") == "single-session-preference"
    return not (told.get("abstention") or rubric or skipped(benchmark, told))


def _part(benchmark: str | None, told: Mapping[str, Any]) -> str:
    if benchmark != LONGMEMEVAL:
        return "judge"
    if told.get("abstention"):
        return "abstention"
    return next((part for part in _parts(benchmark) if told.get("type") in part.split(", ")), "")


def _parts(benchmark: str | None) -> set[str]:
    """The parts of a benchmark's prompts that are a judge's."""
    known = officials.SHA256.get(benchmark or "", {})
    if benchmark == LONGMEMEVAL:
        return {part for part in known if not part.startswith("answer ")}
    return {"judge"} & set(known)


def read_yes(said: str) -> bool:
    """LongMemEval's label."""
    return "yes" in said.lower()


_WORDS = re.compile(r"\b(CORRECT|WRONG)\b")


def read_label(said: str) -> bool:
    """The key `label` of the last JSON object that has it; else the one label among the words.

    Raises:
        Unlabelled: there is none, or there are both.
    """
    labels = [label for found in _objects(said) if (label := _label(found)) is not None]
    if labels:
        return labels[-1]
    words = set(_WORDS.findall(said)) or {said.strip(" \t\n.!\"'*`").upper()} & {"CORRECT", "WRONG"}
    if len(words) != 1:
        raise Unlabelled("the judge gave both labels" if words else "the judge gave no label")
    return words == {"CORRECT"}


def _label(found: Mapping[str, Any]) -> bool | None:
    given = next((value for name, value in found.items() if str(name).lower() == "label"), None)
    return {"CORRECT": True, "WRONG": False}.get(str(given).strip().upper())


def _objects(said: str) -> list[dict[str, Any]]:
    found = []
    decoder, at = json.JSONDecoder(), said.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(said, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = said.find("{", end)
    return found
