"""The YAML of a micro-test suite, as a model. The JSON Schema that editors use is made from it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from pytest_engram.basics.texts import visible
from pytest_engram.suites.base import NAME


def _text(value: Any) -> Any:
    # YAML reads `9:30` as 570 and `no` as false: what a person meant as a text must not change in silence.
    if not isinstance(value, str):
        shown = "nothing" if value is None else f"{value!r:.80}"
        raise ValueError(f"must be a text, and YAML reads {shown} here; write the text, in quotes")
    if not value.strip():
        raise ValueError("this text is empty; write a sentence, or delete the line")
    if not visible(value):
        raise ValueError(f"nobody sees anything of this text: {value!a:.80}; write a sentence, or delete the line")
    return " ".join(value.split())


Text: TypeAlias = Annotated[str, BeforeValidator(_text)]
Counts: TypeAlias = Annotated[list[Annotated[int, Field(ge=0, strict=True)]], Field(min_length=1)]


class Strict(BaseModel):
    """Unknown fields are typing errors, and are told."""

    model_config = ConfigDict(extra="forbid")


class Header(Strict):
    """What every micro-test suite states."""

    engram: Literal["micro"] = Field(description="Marks the file as a micro-test suite.")
    name: Text = Field(pattern=NAME, description="Name in tables and item ids: letters, digits, `_`, `.`, `-`.")
    construction: Text = Field(
        "No construction rule was stated.",
        description="How the cases were made. Published beside the results.",
    )

    tokenize: Literal["words", "characters"] = Field(
        "words",
        description="How BM25 splits its texts: at white space, or also between the characters of scripts that write "
        "no spaces, such as Chinese and Japanese. By a dictionary (`icu`): not available.",
    )

    # Of the families that have one. `levels.check_background` counts the facts.
    @field_validator("background", mode="before", check_fields=False)
    @classmethod
    def _people_or_facts(cls, value: Any) -> Any:
        if value != "people" and not isinstance(value, list):
            shown = "nothing" if value is None else f"{value!r:.80}"
            raise ValueError(f"must be `people` or a list; got {shown}; write `people`, or a list of at least 20 facts")
        return value


class Sweep(Strict):
    """Which levels are made of a case: every combination is an item."""

    web: Counts | None = Field(None, description="How many facts of `web` are written. Default: all of them.")
    backers: Counts | None = Field(None, description="How many facts of `backers` are written. Default: all.")
    repeats: Counts | None = Field(None, description="How many remarks of `repeats` are written. Default: all.")


class Case(Strict):
    """A belief, an update that contradicts it, and what backs each of them.

    Texts may hold {placeholders}; braces that stay are written twice.
    """

    name: Text = Field(pattern=r"\w", description="Name of the case; the first slot of a row is added to it.")
    belief: Text = Field(description="The fact that is believed first.")
    web: list[Text] = Field([], description="Facts that back the belief; a level takes the first few.")
    update: Text = Field(description="The later fact that contradicts the belief.")
    backers: list[Text] = Field([], description="Facts that back the update; a level takes the first few.")
    repeats: list[Text] = Field(
        [], description="Remarks that repeat the update in other words. They back nothing. Not beside `backers`."
    )
    again: Text | None = Field(None, description="The belief, stated once more after everything else.")
    also: list[Text] = Field([], description="Further facts that are true beside both; for the rule keep-both.")
    query: Text = Field(description="The question that the memory is asked.")
    slots: list[dict[str, Text]] = Field([], description="One row a case: what fills each {placeholder}.")
    sweep: Sweep | None = Field(None, description="The levels of this case. Default: those of the suite.")
    winner: Literal["belief", "update"] | None = Field(
        None, description="The expected winner, by hand. Only with `rule: stated`, which the tables then show."
    )
    disputed: Text | None = Field(
        None, description="Why people differ about the winner. The case is asked, and not scored."
    )


class Cases(Header):
    """A suite of cases."""

    family: Text = Field("own", pattern=r"^\w+$", description="The family, for tables. Your own: any word.")
    rule: Text = Field(description="Which side should win: majority-support, newest, keep-both, never-neither, stated.")
    background: Literal["people"] | list[Text] = Field(
        "people",
        description="Facts about others, so that neighbourhoods are real. `people`: a list that is shipped.",
    )
    sweep: Sweep = Field(Sweep(), description="The levels of every case that has no sweep of its own.")
    mirror: bool = Field(
        False,
        strict=True,
        description="Ask every case also with the other side in the right: the sides trade places in time, with what "
        "backs them; what a case states `again` is stated before the update.",
    )
    cases: list[Case] = Field(min_length=1)
