"""Forms of short English answers: dates, numbers, lists; the same in other words, and the same kind of thing unsaid."""

from __future__ import annotations

import re

from pytest_engram.basics.texts import normalise


def _words(text: str) -> list[str]:
    return text.split()


_MONTHS = _words("January February March April May June July August September October November December")
_SEASONS = ("winter", "spring", "summer", "autumn")
_MONTH = "|".join(_MONTHS)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH}),? (\d{{4}})\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b", re.IGNORECASE)
_MONTH_ALONE = re.compile(rf"\b({_MONTH}),? (\d{{4}})\b", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-(\d{2})\b")
_NAMED_MONTH = re.compile(rf"\b({_MONTH})\b(?!')", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")
_UNITS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_NUMBERS = [*_UNITS, *(f"{ten}-{unit}" if unit else ten for ten in _TENS for unit in ["", *_UNITS[1:10]])]
_COUNT = re.compile(r"(\d{1,2}|[a-z]+(?:-[a-z]+)?)((?: [a-z]+){0,3})\.?", re.IGNORECASE)
_PARTS = re.compile(r",\s*(?:and\s+)?|\s+and\s+")
_LEADING = re.compile(
    r"(?:between|both|from|because|since|by|to|he|she|they|it|the|a|an|yes|no|likely)\b", re.IGNORECASE
)
_INEXACT = frozenset(_words("few several many some couple lot lots various unknown"))

_ASKS = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must"
_KIND = re.compile(r"\b(?:what|which)(?:'s)? (?:kinds?|types?|sorts?|forms?) of ([a-z]+)")
_NAMED = re.compile(  # the word before the verb: "what new game genre did ..."
    rf"\b(?:what|which)(?: (?!(?:{_ASKS})\b)[a-z'-]+){{0,3}}? (?!(?:{_ASKS})\b)([a-z]+) (?:{_ASKS})\b"
)
_THE = re.compile(
    rf"\b(?:what|which) (?:{_ASKS}) the (?:[a-z'-]+ ){{0,2}}?([a-z]+) (?:of|that|for|in|on|to|where|who|which)\b"
)
_NO_NOUN = frozenset(_words("name names one ones thing things something else about and or the a an"))
# "No, ..." and "no; ...", but not "no shoes".
_POLAR = re.compile(r"\W*(yes|no(?=\W*$|[,;.:])|likely(?: no| yes)?|probably(?: not)?|unlikely|somewhat)\b")
_YES = frozenset({"yes", "likely yes", "probably", "likely", "somewhat"})
_RELATIVE = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|week|month|year|spring|summer|autumn|fall|winter|ago|"
    r"yesterday|today|tomorrow|last|next|since|before|after|recently)s?\b",
    re.IGNORECASE,
)


def same_time(one: str, other: str) -> bool:
    """Whether two answers could mean the same time: they share a month, or one of them does not say which it means."""
    (ours, theirs), (our_years, their_years) = map(_months, (one, other)), (_YEAR.findall(one), _YEAR.findall(other))
    if our_years and their_years:
        return bool(ours & theirs if ours and theirs else set(our_years) & set(their_years))
    dated, undated = (one, other) if our_years else (other, one)
    return bool(_YEAR.search(dated) and (_RELATIVE.search(undated) or _NAMED_MONTH.search(undated)))


def _months(text: str) -> set[tuple[int, int]]:
    """Year and month of each date in a text that has both."""
    found = {(int(y), _month(m)) for _, m, y in _DAY_FIRST.findall(text)}
    found |= {(int(y), _month(m)) for m, _, y in _MONTH_FIRST.findall(text)}
    found |= {(int(y), int(m)) for y, m, _ in _ISO.findall(text)}
    return found | {(int(y), _month(m)) for m, y in _MONTH_ALONE.findall(text)}


def reworded(answer: str) -> str:
    """The same answer in another form: its dates or number written otherwise, its list turned round; else framed."""
    plain = " ".join(answer.split()).rstrip(".")
    for rule in (_other_dates, _other_number, _other_order):
        if (found := rule(plain)) is not None:
            return found
    return f"I think it was {plain}." if len(plain.split()) <= 5 else f"As far as I know: {plain}."


def _other_dates(text: str) -> str | None:
    """Month and day change places."""
    for pattern, form in ((_DAY_FIRST, r"\2 \1, \3"), (_MONTH_FIRST, r"\2 \1 \3"), (_MONTH_ALONE, r"\1 of \2")):
        if pattern.search(text):
            return pattern.sub(form, text)
    written = _ISO.sub(lambda m: f"{int(m[3])} {_MONTHS[int(m[2]) - 1]} {m[1]}", text)
    return None if written == text else written


def _other_number(text: str) -> str | None:
    """Digits as a word, or a word as digits, where the number is all that the answer says, with its unit."""
    match = _COUNT.fullmatch(text)
    if match is None or _YEAR.search(text):
        return None
    number, unit = match[1].lower(), match[2]
    if number.isdigit():
        return f"{_NUMBERS[int(number)]}{unit}"
    return f"{_NUMBERS.index(number)}{unit}" if number in _NUMBERS else None


def _other_order(text: str) -> str | None:
    """A list of short things, last first."""
    parts = items(text)
    if len(parts) < 2:
        return None
    *first, last = reversed(parts)
    return f"{', '.join(first)} and {last}"


def items(text: str) -> list[str]:
    """The things that an answer lists; none where it is no plain list, such as "Austin, Texas"."""
    parts = [part.strip() for part in _PARTS.split(text)]
    short = all(part and len(part.split()) <= 4 and not _LEADING.match(part) for part in parts)
    if len(parts) < 2 or not short or re.search(r"[\d;:\"()]", text):
        return []
    place = len(parts) == 2 and " and " not in text and all(part[0].isupper() for part in parts)
    return [] if place else parts


def vague(question: str, answer: str) -> str | None:
    """The right kind of thing, which says nothing; None where the answer says no more itself."""
    found = _vague(" ".join(question.split()), answer)
    said, wanted = set(normalise(found).split()), set(normalise(answer).split())
    telling = said - _EMPTY
    if wanted & _INEXACT or telling & wanted or wanted <= said:
        return None
    return found


_EMPTY = frozenset(_words("some or other in of it they them be could things kind sometime for"))


def _vague(question: str, answer: str) -> str:
    asked, polar = question.lower(), polarity(answer)
    if polar is not None:
        return "It could be either way"
    if months := _months(answer):
        return f"Sometime in the {_SEASONS[min(months)[1] % 12 // 3]}"
    if re.search(r"\bhow (?:long|far)\b", asked):
        return "For quite a while" if "long" in asked else "Quite far away"
    if re.search(r"\bhow often\b", asked):
        return "Every now and then"
    if _YEAR.fullmatch(answer.strip(" .")):
        return "A few years back"
    if re.search(r"\bhow (?:many|much|old)\b", asked) or _other_number(answer):
        return "Quite a number"
    if re.match(r"when\b", asked) or re.search(r"\b(?:ago|yesterday|last (?:week|month|year))\b", answer.lower()):
        return "A while ago"
    if re.match(r"(?:(?:to|with|by|for|from|and) )?(?:who|whom|whose)\b", asked):
        return "Several people" if items(answer) else "Someone they know"
    if items(answer):
        return "A couple of different things"
    if noun := _noun(asked):
        return f"Some {noun} or other"
    if re.search(r"\bwhere\b", asked):
        return "At a place they know"
    if re.match(r"why\b", asked):
        return "They had their reasons"
    return "In one way or another" if re.match(r"how\b", asked) else "Something of that sort"


def polarity(answer: str) -> bool | None:
    """Whether an answer says yes or no, likely or not; None where it says neither."""
    match = _POLAR.match(answer.lower())
    return None if match is None else match[1] in _YES


def _noun(question: str) -> str | None:
    """What kind of thing a question asks for, as far as it says."""
    match = _KIND.search(question) or _NAMED.search(question) or _THE.search(question)
    return match[1] if match and match[1] not in _NO_NOUN and len(match[1]) > 2 else None


def _month(name: str) -> int:
    return _MONTHS.index(name.capitalize()) + 1
