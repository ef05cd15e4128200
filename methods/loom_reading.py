"""What Loom takes from an entry's text, and when two texts differ."""

from __future__ import annotations

import re
from typing import NamedTuple


class Reading(NamedTuple):
    """What a conflict is judged by: an entry's whole `content`, its `subject`, and the values that it names."""

    content: str
    subject: str
    named: frozenset[str]


def read(text: str) -> Reading:
    """An entry's text as a conflict is judged by it."""
    found = subject(text)
    return Reading(content(text), found, named(text, found))


def differ(one: Reading, other: Reading) -> bool:
    """Whether two facts differ in content, which is to say that they name different values.

    Two facts of one subject that name the same do not contradict each other ("Bo lives in Graz", "Bo has a garden in
    Graz"), nor does one that names less ("Bo sails", on Mondays, and on Mondays at 6). So where both name something
    and all that one names is named by the other, they agree. Where one of them names nothing, which is any sentence
    without names and numbers ("Bo plays the harp"), they differ if their words do.

    A fact that names both values ("Bo went from Graz to Ghent") agrees with either: a contradiction that is missed.
    """
    if one.named and other.named and (one.named <= other.named or other.named <= one.named):
        return False
    return one.content != other.content


_SERIAL = re.compile(r"\s*\d+[.):]\s+")
_NOT_WORD = re.compile(r"\W+")
_LABEL = r"\s*(?:\d+[.):]\s+)?(?:(?:user|assistant):\s+)?"  # a serial number, who speaks
_UNLABELLED = re.compile(_LABEL)  # may be empty, so that it matches at the very beginning alone
_EDGES = ".,;:!?…()[]{}<>\"'’‘“”«»"


def content(text: str) -> str:
    """What an entry says, for comparison: no serial number, letters and digits in lower case, single spaces."""
    return _NOT_WORD.sub(" ", _SERIAL.sub("", text, count=1) if _SERIAL.match(text) else text).casefold().strip()


# The subject of an English sentence is taken to be all that stands before its first finite verb. A verb is known by
# being an auxiliary or a common irregular form, or by a lower-case -s or -ed, unless the word before it makes it a
# noun or an adjective ("the headquarters", "of cards").
_HEAD = 200  # characters that are looked at, so that a long text costs no more than a sentence
_LEAD = re.compile(
    _LABEL + r"(?:(?:In|On|At|Since|After|Before|By|From|Until|During|As|Last|This|Next|For)\s[^,.]{1,60},\s+"
    r"|(?:Now|Today|Currently|Recently|Lately|Yesterday|However|Also|Nowadays|Actually|Then),?\s+)?"
)
_AUXILIARY = re.compile(
    r"(?:is|are|was|were|am|be|has|have|had|does|do|did|will|would|can|could|may|might|must|shall|should)(?:n['’]t)?"
    r"|can['’]t|won['’]t|cannot"
    r"|went|took|made|left|got|began|kept|told|said|swore|bought|sold|found|met|won|lost|ran|came|became|gave|held|led"
    r"|built|wrote|taught|chose|drove|flew|grew|knew|spoke|wore|put|sat|stood|saw|thought|felt|heard|paid|sent|spent"
)
_INFLECTED = re.compile(r"[a-z]+(?:(?<![sui'])s|ed)")
_NOT_A_VERB = re.compile(r"always|perhaps|sometimes|nowadays|afterwards|besides|towards")
_BEFORE_A_NOUN = re.compile(
    r"the|a|an|this|these|those|my|your|his|her|its|our|their|of|in|on|at|by|for|with|from|to|into|as|and|or|no|all"
    r"|both|some|any|each|every|two|three|four|five|many|several|other",
    re.IGNORECASE,
)
_ADVERB = re.compile(r"never|always|often|now|still|also|just|usually|once|already|soon|then|sometimes|[a-z]+ly|not")
_PRONOUN = re.compile(r"(I|We|You|They|He|She|It)\b", re.IGNORECASE)


def subject(text: str) -> str:
    """The grammatical subject of an entry's first sentence, in lower case; empty where none is found."""
    head = text[:_HEAD]
    lead = _LEAD.match(head)
    head = head[lead.end() :] if lead else head
    if pronoun := _PRONOUN.match(head):
        return pronoun[1].casefold()
    words: list[str] = []
    for word in head.split():
        if words and _is_verb(word.rstrip(",;:"), after=words[-1]):
            while len(words) > 1 and _ADVERB.fullmatch(words[-1]):
                words.pop()
            return " ".join(words).replace("’", "'").strip(" ,;:").casefold().removeprefix("the ")
        words.append(word)
    return ""


def named(text: str, subject: str) -> frozenset[str]:
    """The names and numbers of an entry's beginning, beside those of its `subject`.

    A name is a capitalised word other than the first, a number any word with a digit in it; serial numbers, who speaks
    and the possessive 's are left out. Of a long text only as much is looked at as for its subject.
    """
    words = [word for word in _UNLABELLED.sub("", text[:_HEAD], count=1).split() if word.strip(_EDGES)]
    return frozenset(
        _plain(word)
        for place, word in enumerate(words)
        if (place and word.strip(_EDGES)[0].istitle()) or any(map(str.isdigit, word))
    ) - set(map(_plain, subject.split()))


def _plain(word: str) -> str:
    return word.strip(_EDGES).replace("’", "'").removesuffix("'s").casefold()


def _is_verb(word: str, after: str) -> bool:
    if _AUXILIARY.fullmatch(word):
        return True
    return bool(_INFLECTED.fullmatch(word)) and not (_NOT_A_VERB.fullmatch(word) or _BEFORE_A_NOUN.fullmatch(after))


def same_subject(one: str, other: str) -> bool:
    """Whether two subjects are the same: equal, or one owns the other ("mara lind", "mara lind's flat")."""
    return bool(one and other) and (one == other or one.startswith(f"{other}'s ") or other.startswith(f"{one}'s "))
