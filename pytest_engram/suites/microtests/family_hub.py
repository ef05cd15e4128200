"""`hub`: how much support does a method give a fact that sits near everything? Plain neighbours are the measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from pytest_engram.memory import Entry
from pytest_engram.suites.base import Gold, Lists, Loaded, Question, Suite, SuiteError
from pytest_engram.suites.files import Lines, dotted
from pytest_engram.suites.microtests.background import people
from pytest_engram.suites.microtests.levels import check_background, rule_of, slug
from pytest_engram.suites.microtests.model import Header, Strict, Text
from pytest_engram.suites.microtests.suite import MicroKey


class Hub(Strict):
    """One fact that sits near everything."""

    name: Text = Field(pattern=r"\w")
    text: Text


class Spec(Header):
    """A suite of hubs, each alone among the background's facts."""

    family: Literal["hub"]
    rule: Literal["mutual-limits-hubs"] = "mutual-limits-hubs"
    neighbours: int = Field(10, ge=1, strict=True, description="How many nearest neighbours each fact has.")
    background: Literal["people"] | list[Text] = Field("people", description="The facts that the hub sits near.")
    hubs: list[Hub] = Field(min_length=1)


class HubKey(MicroKey):
    """Every hub is an item. It is measured, not searched."""

    judged_by = "hub"
    asks = "hub"


def load(spec: Spec, path: Path, lines: Lines) -> Loaded:
    """The suite and its key; nothing needs to be prepared.

    Raises:
        SuiteError: two hubs can't be told apart, or the background is none.
    """
    rule = rule_of(spec.rule, path, lines)
    background = people() if spec.background == "people" else tuple(spec.background)
    check_background(background, path, lines)
    hubs: dict[str, str] = {}
    for i, hub in enumerate(spec.hubs):
        name, at = slug(hub.name), ("hubs", i)
        if name in hubs:
            raise SuiteError(path, lines[at], dotted(at), f"{name!r} names a hub already; rename one")
        if hub.text in background:
            raise SuiteError(path, lines[at], dotted(at), "the background has this text; write another")
        hubs[name] = hub.text

    def entries(name: str) -> Sequence[Entry]:
        """The background, and the hub behind it."""
        texts = [*background, hubs[name]]
        return [Entry(f"e{number:03d}", text, float(number)) for number, text in enumerate(texts, 1)]

    fields = {"family": spec.family, "expected": None, "neighbours": spec.neighbours}
    golds = {name: Gold(answers=(text,), shown=(text,), fields=fields | {"case": name}) for name, text in hubs.items()}
    key = HubKey(spec, spec.family, path, rule, golds, cases=len(hubs))
    key.shared = background if spec.background == "people" else ()
    last = f"e{len(background) + 1:03d}"
    questions = [Question(name, name, "", name, about=(last,)) for name in hubs]
    settings = {"neighbours": spec.neighbours}
    suite = Suite(
        spec.name,
        path,
        questions,
        Lists({name: entries(name) for name in hubs}),
        kind="micro",
        asks=key.asks,
        settings=settings,
    )
    return Loaded(suite, key)
