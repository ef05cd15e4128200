"""A line without a benchmark's texts, for folders that are passed on where the benchmark's licence is not."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

WITHHELD = "withheld"  # in `fields` of such a line, and in place of a text
HASHED = "sha256:"  # what a withheld known answer begins with
_DIGITS = 16  # hex digits of its hash that stand behind

# Reasons that hold nothing of a question, an entry or an answer, because all their words are our own. Any other may
# quote what a method, an endpoint or a judge was given: an exception's message, an echoed prompt.
_OURS = re.compile(
    r"""no\ (reader|judge):\ choose\ one\ with\ --engram-(reader|judge)
    | needs\ (\d+\ ids,\ k\ is|more\ ids,\ to\ cover\ \d+\ sessions,\ than\ k,\ which\ is)\ \d+
        :\ raise\ --engram-k(\ for\ every\ method)?
    | the\ run\ ended\ before\ its\ (reader|judge)\ did
    | --engram-max-cost\ (of\ \$[\d.e+-]+\ is\ reached
        |can't\ be\ kept:\ what\ an\ answer\ costs\ is\ not\ known;\ set\ ENGRAM_READER_PRICE)
    | can't\ be\ traced:\ the\ memory\ does\ not\ say\ which\ entries\ are\ behind\ what\ it\ returned
    | no\ entry\ of\ the\ haystack\ is\ known\ to\ answer:\ there\ is\ nothing\ to\ recall
    | which\ facts\ the\ question\ needs\ is\ not\ known
    | the\ method\ has\ no\ support\(\)
    | the\ judge\ gave\ (no\ label|both\ labels)
    | no\ recorded\ verdict\ for\ this\ answer
    | \S+\ (has\ no\ line\ for\ (this\ question|any\ question\ of\ this\ suite)
        |gives\ (neither\ ids\ nor\ texts|no\ answer)\ for\ this\ question
        |was\ answered\ from\ more\ than\ --engram-budget\ leaves)
    """,
    re.VERBOSE,
)
_TYPE = re.compile(r"([A-Za-z_]\w*(?:Error|Exception|Timeout)|Failed|Skipped): ", re.ASCII)


def withhold(line: Outcome) -> Outcome:
    """The line without question, answers, the memory's own texts and whatever may quote one; figures and ids stay.

    A line that is without them already stays as it is.
    """
    recalled = [{**place, "text": ""} if "text" in place else place for place in line.recalled]
    fields = {**line.fields, WITHHELD: True}
    return replace(unquoting(line), query="", gold=[], answer=None, recalled=recalled, fields=fields)


def unquoting(line: Outcome) -> Outcome:
    """The line with no reason that may quote a text: of an exception its type is left, and our own words are."""
    return replace(
        line,
        reason=plain(line.reason),
        missing={name: plain(why) for name, why in line.missing.items()},
        dropped=[{**drop, "why": WITHHELD} if drop.get("why") else drop for drop in line.dropped],
    )


def plain(reason: str) -> str:
    """A reason, or what is left of one that may quote a text."""
    if not reason or _OURS.fullmatch(reason):
        return reason
    kind = _TYPE.match(reason)
    return f"{kind[1]}: {WITHHELD}" if kind else WITHHELD


def withhold_known(one: KnownAnswer) -> KnownAnswer:
    """A known answer with a hash in place of its text, so that no two of a run become one."""
    if one.answer.startswith(HASHED):  # it is withheld already
        return one
    digest = hashlib.sha256(one.answer.encode("utf-8", "surrogatepass")).hexdigest()
    return replace(one, answer=f"{HASHED}{digest[:_DIGITS]}", reason=plain(one.reason))
