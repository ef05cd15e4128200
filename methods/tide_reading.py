"""What Tide takes from a text, and when two facts can be versions of one. It shares no code with Loom's reading."""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD = 200  # characters that are looked at
_TOKEN = re.compile(r"[^\W\d_][\w.&'’-]*")
_NAME_OR_NUMBER = re.compile(r"[^\W_][\w.&'’:-]*")
_SERIAL = re.compile(r"\s*\d+[.):]\s+")
_OPENING = re.compile(r"(?:\s*\d+[.):])?\s*(?:In|On|At|Since|After|Before|By|From|Until|During|As)\s[^,.]{1,60},")
_NO_NAME = re.compile(r"the|a|an|this|that|these|those|now|in|on|at|since|for|as", re.IGNORECASE)


class Fact(NamedTuple):
    """What tells versions: the `name` a fact speaks of, what it names besides, and what it says as a whole."""

    name: str
    named: frozenset[str]
    words: str


def read(text: str) -> Fact:
    """A text as versions are told by it."""
    name = first_name(text)
    return Fact(name, named(text, name), " ".join(re.findall(r"\w+", _unnumbered(text))).casefold())


def differ(one: Fact, other: Fact) -> bool:
    """Whether two facts of one name can be versions: not if either names all that the other does, or says the same."""
    shared = one.named & other.named
    return shared not in (one.named, other.named) if one.named and other.named else one.words != other.words


def first_name(text: str) -> str:
    """The first run of capitalised words, an opening ("Since May, ...") aside; empty where there is none."""
    head = text[:_HEAD]
    opening = _OPENING.match(head)
    name: list[str] = []
    for token in _TOKEN.findall(head[opening.end() :] if opening else head):
        if token[0].isupper() and (name or not _NO_NAME.fullmatch(token)):
            name.append(_bare(token))
        elif name:
            break
    return " ".join(name).casefold()


def named(text: str, name: str) -> frozenset[str]:
    """The capitalised words after the first, and the numbers, of a text's beginning; without the `name` it is about."""
    words = enumerate(_NAME_OR_NUMBER.findall(_unnumbered(text[:_HEAD])))
    values = [word for place, word in words if (place and word[0].isupper()) or any(map(str.isdigit, word))]
    return frozenset(_bare(word).casefold() for word in values).difference(name.split())


def _unnumbered(text: str) -> str:
    serial = _SERIAL.match(text)
    return text[serial.end() :] if serial else text


def _bare(word: str) -> str:
    return word.rstrip(".:'’-").removesuffix("'s").removesuffix("’s").replace("’", "'").rstrip(".")
