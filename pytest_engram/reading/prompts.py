"""What a model is asked, benchmark by benchmark: the official prompt where its sha256 agrees, else wording of our own.

The official texts are no part of this package; `officials` finds them. How a question and the returned entries stand in
them is the layout of each benchmark's own code, as far as what a memory returns allows it: `layout` says where it
differs, and a manifest holds that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_engram.memory import Entry
from pytest_engram.reading import officials
from pytest_engram.reading.base import Asked
from pytest_engram.suites import dates

Messages = list[dict[str, str]]
Texts = Mapping[str, str]

OFFICIAL = "official prompt"
OWN = "our own prompt, not the official one"
PLAIN = "our own prompt"  # where there is no official one


# Our wording, by the names of the official parts.
_NUMBERED = {
    "system": "You answer questions from a list of remembered texts, and from nothing else.",
    "query": (
        "Answer the question from the memories above alone, even where they differ from what you know, in as few "
        "words as possible.\n\nQuestion: {question}\nAnswer:"
    ),
}

_FACTS = {
    "system": "You answer questions from a list of remembered facts, and from nothing else.",
    "rag_agent": (
        "The memories above are numbered facts. Where two of them contradict each other, the one with the larger "
        "number holds. Answer the question from these facts alone, even where they differ from what you know, in "
        "as few words as possible.\n\nQuestion: {question}\nAnswer:"
    ),
}

_LOCOMO = {
    "answer": (
        "\nAnswer the following question from the conversation above, with a short phrase, in its own words where "
        "that can be done.\n\nQuestion: {}\nAnswer:\n"
    ),
    "answer category 5": "\nAnswer the following question from the conversation above.\n\nQuestion: {}\nAnswer:\n",
    "suffix category 2": " Answer with a date, which may be approximate; take the dates of the lines into account.",
    "suffix category 5": " Which is right: (a) {} (b) {}. ",
}

_LONGMEMEVAL = {
    "answer direct": (
        "Here are chats of a user with you.\n\n{}\n\nAnswer the user's question from these chats.\n\n"
        "Today's date: {}\nQuestion: {}\nAnswer:"
    ),
    "answer step by step": (
        "Here are chats of a user with you.\n\n{}\n\nAnswer the user's question from these chats: first write down "
        "what in them is relevant, then reason from it to the answer.\n\nToday's date: {}\nQuestion: {}\n"
        "Work, then answer:"
    ),
}


class Layout(Protocol):
    """How a benchmark's questions are asked.

    `own` is our wording, by the names of the official parts. `told` says in words how entries stand in it.
    """

    own: Texts
    settings: Mapping[str, Any]
    told: str

    def messages(self, texts: Texts, asked: Asked) -> Messages:
        """The messages of one question."""
        ...

    def parse(self, text: str, asked: Asked) -> str:
        """The answer in what the model says."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """A layout with its texts; `source` says where they are from, and why they are not the official ones."""

    layout: Layout
    texts: Texts
    source: str
    label: str

    @property
    def official(self) -> bool:
        """Whether all texts are the benchmark's, to the last character."""
        return self.label == OFFICIAL

    @property
    def settings(self) -> dict[str, Any]:
        """What is sent beside the messages, as the benchmark does."""
        return dict(self.layout.settings)

    def describe(self) -> dict[str, Any]:
        """For a manifest, as JSON."""
        return {
            "label": self.label,
            "official": self.official,
            "sha256": {part: officials.sha256(text) for part, text in self.texts.items()},
            "source": self.source,
            "layout": self.layout.told,
        }

    def messages(self, asked: Asked) -> Messages:
        """The messages of one question."""
        return self.layout.messages(self.texts, asked)

    def parse(self, text: str, asked: Asked) -> str:
        """The answer in what the model says."""
        return self.layout.parse(text, asked)


def find(benchmark: str | None, data: Path | None, *, steps: bool = False) -> Prompt:
    """The prompt of a benchmark's questions.

    Args:
        benchmark: of `officials`; None: of a suite that has no official prompt.
        data: the folder of `--engram-data`, if any.
        steps: whether the model is to answer step by step, where a benchmark has a prompt for that.
    """
    layout = LAYOUTS[benchmark](steps) if benchmark in LAYOUTS else Numbered()
    if benchmark not in LAYOUTS:
        return Prompt(layout, layout.own, "pytest-engram", PLAIN)
    found = officials.find(str(benchmark), data, layout.own.keys())
    if found.problem:
        return Prompt(layout, layout.own, f"pytest-engram; {found.problem}", OWN)
    return Prompt(layout, {part: found.texts[part] for part in layout.own}, found.source, OFFICIAL)


class Numbered:
    """Each text under its `Memory 1:`, in the memory's order, joined by line breaks; a line break; the question."""

    own: Texts = _NUMBERED
    settings: Mapping[str, Any] = {"temperature": 0, "max_tokens": 64}
    told = "each text under its number, in the memory's order, then the question"
    query = "query"

    def messages(self, texts: Texts, asked: Asked) -> Messages:
        """A system message, and one of the user."""
        memories = [f"Memory {number}:\n{entry.text}" for number, entry in enumerate(asked.entries, 1)]
        query = texts[self.query].replace("{question}", asked.question)
        return [
            {"role": "system", "content": texts["system"]},
            {"role": "user", "content": "\n".join([*memories, query])},
        ]

    def parse(self, text: str, asked: Asked) -> str:  # noqa: ARG002
        """What follows `Answer:` where the model repeats it, else the text."""
        return parse_answer(text)


class FactConsolidation(Numbered):
    """MemoryAgentBench's layout (Hu et al., 2025), of the RAG agents in its `agent.py`: system message and query."""

    own: Texts = _FACTS
    # `generation_max_length` of its configurations.
    settings: Mapping[str, Any] = {"temperature": 0, "max_tokens": 10}
    query = "rag_agent"

    def __init__(self, steps: bool = False) -> None:
        pass


class Locomo:
    """LoCoMo's layout (Maharana et al., 2024), `get_rag_context` and `get_gpt_answers` of task_eval/gpt_utils.py.

    One line a text, `DATE: TEXT`, best first; an empty line; the prompt. A temporal question (category 2) is asked for
    an approximate date; an adversarial one (category 5) offers two answers, whose order there is a throw of dice, and
    here hangs on the question. Where (a) or (b) is answered, the answer is what stands behind it.
    """

    own: Texts = _LOCOMO
    settings: Mapping[str, Any] = {"temperature": 0, "max_tokens": 32}
    told = (
        "one line a text, DATE: TEXT, in the memory's order; the order of (a) and (b) hangs on the question; a text "
        "that the memory made itself has the date of its newest source, or none"
    )

    def __init__(self, steps: bool = False) -> None:
        pass

    def messages(self, texts: Texts, asked: Asked) -> Messages:
        """One message of the user."""
        category, options = asked.prompt.get("category"), asked.prompt.get("options")
        question, template = asked.question, texts["answer"]
        if category == 2:
            question += texts["suffix category 2"]
        elif category == 5 and options:
            question += _filled(texts["suffix category 5"], *options)
            template = texts["answer category 5"]
        lines = [
            f"{date}: {entry.text}" if (date := _date(entry, dates.locomo)) else entry.text for entry in asked.entries
        ]
        return [{"role": "user", "content": "\n".join(lines) + "\n\n" + _filled(template, question)}]

    def parse(self, text: str, asked: Asked) -> str:
        """The text; of an adversarial question as `get_cat_5_answer` has it: lower-cased, unless it is a letter."""
        options = asked.prompt.get("options")
        if asked.prompt.get("category") != 5 or not options:
            return text.strip()
        said = text.strip().lower()
        if len(said) in (1, 3):
            return str(options[0] if ("a" if len(said) == 1 else "(a)") in said else options[1])
        return said


class LongMemEval:
    """LongMemEval's layout (Wu et al., 2025), `prepare_prompt` of src/generation/run_generation.py.

    Its settings there: `history_format nl`, `useronly true`. What was returned stands in the order of its dates, each
    with its number, its date and its text as the user's.
    """

    own: Texts = _LONGMEMEVAL
    told = (
        "### Session N, date and text, in the order of the dates (history_format nl, useronly true); the turns of a "
        "session are joined as the retrieval has them; of a turn there is the user's side alone; a text that the "
        "memory made itself stands as the user's, with the date of its newest source, or none; nothing is cut to the "
        "model's context"
    )

    def __init__(self, steps: bool = False) -> None:
        self._part = "answer step by step" if steps else "answer direct"
        self.own = {self._part: _LONGMEMEVAL[self._part]}
        self.settings: Mapping[str, Any] = {"temperature": 0, "max_tokens": 800 if steps else 500}

    def messages(self, texts: Texts, asked: Asked) -> Messages:
        """One message of the user."""
        history = _history([(_date(entry, dates.longmemeval), entry.text) for entry in asked.entries])
        date = str(asked.prompt.get("date") or "unknown")
        return [{"role": "user", "content": _filled(texts[self._part], history, date, asked.question)}]

    def parse(self, text: str, asked: Asked) -> str:  # noqa: ARG002
        """The text."""
        return text.strip()


def _history(dated: Sequence[tuple[str, str]]) -> str:
    return "".join(
        f"\n### Session {number}:\nSession Date: {date or 'unknown'}\nSession Content:\n\n\nuser: {text.strip()}\n"
        for number, (date, text) in enumerate(sorted(dated, key=lambda pair: pair[0]), 1)
    )


def _date(entry: Entry, written: Callable[[float], str]) -> str:
    """When an entry was, as the benchmark writes it; nothing for a text of a memory's own that has no source."""
    if entry.time == 0:
        return ""
    try:
        return written(entry.time)
    except OverflowError:
        return ""


def _filled(template: str, *values: str) -> str:
    """A template with its `{}` replaced, in their order; braces in a value stay as they are."""
    parts = template.split("{}")
    return "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))


def parse_answer(text: str) -> str:
    """The answer in a model's text: what follows `Answer:` where the model repeats it, else the text.

    As in MemoryAgentBench's `parse_output`, the first `Answer:` counts, and its case does not. Where nothing follows
    it, the text is taken as it is.
    """
    repeated = re.search(r"\banswer:\s*(?P<answer>\S.*)", text, re.IGNORECASE | re.DOTALL)
    return (repeated["answer"] if repeated else text).strip()


LAYOUTS: dict[str | None, Callable[[bool], Layout]] = {
    "factconsolidation": FactConsolidation,
    "locomo": Locomo,
    "longmemeval": LongMemEval,
}
