"""Generated development data: everything that Loom and Tide are calibrated on, and nothing that is ever scored.

People, places and values are made up here, from a seed of their own. There are two registers, because memories meet
both: `records`, numbered encyclopaedic facts where some are later contradicted, and `diaries`, everyday sentences
about one person among other people's, where a belief and its contradiction are backed by more or fewer further facts.
`learnt` lists all texts, so that the rule against training on scored data can check them.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from functools import cache

SEED = 31_415_926
LEVELS = range(6)  # facts that back a side


@dataclass(frozen=True, slots=True)
class Fact:
    """A generated fact. Two facts contradict where they state the same slot with different values.

    `slot` is subject and relation. `states` is false for a fact that backs a value without stating it, and for
    values that may be true side by side.
    """

    text: str
    slot: tuple[str, str]
    value: str
    states: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A belief, its web, the update that contradicts it, its backers, and what surrounds them, in time order."""

    belief: Fact
    web: tuple[Fact, ...]
    update: Fact
    backers: tuple[Fact, ...]
    repeats: tuple[Fact, ...]
    around: tuple[Fact, ...]
    query: str

    @property
    def many(self) -> tuple[tuple[str, str], ...]:
        """The subject's slots that may have several values."""
        return tuple((self.belief.slot[0], name) for name, _, _ in _MANY)

    def facts(self, web: int, backers: int) -> list[Fact]:
        """The haystack of one level: the first `web` and `backers` facts of the two sides."""
        return [*self.around, self.belief, *self.web[:web], self.update, *self.backers[:backers]]


@dataclass(frozen=True, slots=True)
class _Relation:
    """Sentences over {s}, the subject, and {v}, the value: six ways to state the value, and ten facts that back it."""

    name: str
    values: tuple[str, ...]
    query: str
    update: str
    says: tuple[str, ...]
    backs: tuple[str, ...]


_DIARY = (
    _Relation(
        "residence",
        ("Halmstad", "Trieste", "Bergamo", "Ghent", "Aarhus", "Coimbra", "Kaunas", "Graz"),
        "Where does {s} live?",
        "{s} has moved to {v}.",
        (
            "{s} lives in {v}.",
            "{s} is living in {v}.",
            "{s} has a home in {v}.",
            "{s} resides in {v}.",
            "{s} is based in {v}.",
            "{s} makes a home in {v}.",
        ),
        (
            "{s} pays council rates in {v}.",
            "{s} walks the dog along the river in {v} every morning.",
            "{s} signed a two-year lease on a flat in {v}.",
            "{s} votes at a school in {v}.",
            "{s} has joined a neighbours' choir in {v}.",
            "{s} gets parking fines from the city of {v}.",
            "{s} knows every baker in {v}.",
            "{s} has a library card for {v}.",
            "{s}'s children go to school in {v}.",
            "{s} had the boiler repaired by a plumber from {v}.",
        ),
    ),
    _Relation(
        "employer",
        ("Orrin Freight", "Castell Optics", "Bramley Foods", "Nordlys Ferries", "Peltier Glass", "Umbra Maps"),
        "Which company does {s} work for?",
        "{s} works for {v} now.",
        (
            "{s} works for {v}.",
            "{s} is employed by {v}.",
            "{s} has a job at {v}.",
            "{s} is on the staff of {v}.",
            "{s} is working at {v}.",
            "{s} holds a position with {v}.",
        ),
        (
            "{s} carries a staff card of {v}.",
            "{s} went to the summer party of {v}.",
            "{s} gets a salary from {v} every month.",
            "{s} trains the new colleagues at {v}.",
            "{s} has a desk by the window at {v}.",
            "{s} wrote a report about safety for {v}.",
            "{s} won the table tennis cup of {v}.",
            "{s} has an e-mail address at {v}.",
            "{s} travels to fairs for {v}.",
            "{s} asked the boss at {v} for a rise.",
        ),
    ),
    _Relation(
        "diet",
        ("shellfish", "peanuts", "gluten", "sesame", "soya", "celery"),
        "Which food must {s} not eat?",
        "{s} is allergic to {v}.",
        (
            "{s} is allergic to {v}.",
            "{s} has an allergy to {v}.",
            "{s} reacts badly to {v}.",
            "{s} suffers from a {v} allergy.",
            "{s} can't tolerate {v}.",
            "{s} gets an allergic reaction from {v}.",
        ),
        (
            "{s} carries an emergency pen because of {v}.",
            "{s} asks every waiter whether a dish has {v} in it.",
            "{s} spent a night in hospital after a meal with {v}.",
            "{s} reads labels for traces of {v}.",
            "{s} wears a bracelet that warns of {v}.",
            "{s} sends back plates that have touched {v}.",
            "{s} told the school kitchen about {v}.",
            "{s} had a blood test for {v}.",
            "{s} breaks out in a rash after {v}.",
            "{s} bakes birthday cakes without {v}.",
        ),
    ),
    _Relation(
        "schedule",
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
        "On which day does {s} have physiotherapy?",
        "{s} goes to physiotherapy on {v}.",
        (
            "{s} has physiotherapy on {v}.",
            "{s} attends physiotherapy every {v}.",
            "{s} sees the physiotherapist on {v}.",
            "{s} is at physiotherapy each {v}.",
            "{s} gets physiotherapy on a {v}.",
            "{s} keeps a physiotherapy slot on {v}.",
        ),
        (
            "{s} leaves work early on {v} for the clinic.",
            "{s} gets a reminder from the physiotherapist before {v}.",
            "{s} paid for ten {v} sessions at the clinic.",
            "{s} asked a neighbour to mind the children on {v}.",
            "{s} books a taxi to the clinic for {v}.",
            "{s} never meets friends on {v} before the treatment is over.",
            "{s} is sore after the exercises on {v}.",
            "{s} moved choir practice away from {v} because of the clinic.",
            "{s} packs a towel for the treatment on {v}.",
            "{s} got a letter from the clinic about {v}.",
        ),
    ),
    _Relation(
        "instrument",
        ("cello", "oboe", "trombone", "accordion", "harp", "viola"),
        "Which instrument does {s} play?",
        "{s} plays the {v}.",
        (
            "{s} plays the {v}.",
            "{s} is a {v} player.",
            "{s} is playing the {v}.",
            "{s} makes music on the {v}.",
            "{s} performs on the {v}.",
            "{s} has chosen the {v} as an instrument.",
        ),
        (
            "{s} takes {v} lessons from a retired teacher.",
            "{s} practises {v} scales before breakfast.",
            "{s} bought a second-hand {v} case.",
            "{s} has a place on the {v} bench of the orchestra.",
            "{s} repaired a {v} last winter.",
            "{s} plays {v} solos at weddings.",
            "{s} insured a {v} for a large sum.",
            "{s} tunes the {v} every evening.",
            "{s} reads about famous {v} makers.",
            "{s} was praised in the paper for a {v} concert.",
        ),
    ),
    _Relation(
        "commute",
        ("bicycle", "tram", "ferry", "motorbike", "train", "scooter"),
        "How does {s} get to work?",
        "{s} takes the {v} to work.",
        (
            "{s} goes to work by {v}.",
            "{s} gets to work by {v}.",
            "{s} travels to work by {v}.",
            "{s} uses the {v} for the way to work.",
            "{s} commutes by {v}.",
            "{s} reaches the office by {v}.",
        ),
        (
            "{s} complains about the price of {v} repairs and tickets.",
            "{s} missed a meeting because of a {v} breakdown.",
            "{s} knows everybody on the morning {v}.",
            "{s} has an insurance for {v} accidents.",
            "{s} reads about new {v} routes.",
            "{s} keeps a rain cape for the {v}.",
            "{s} pays for the {v} with a yearly pass or a service plan.",
            "{s} was late on Monday, as the {v} was out of order.",
            "{s} leaves the house early to be in time with the {v}.",
            "{s} listens to the radio on the {v} to the office.",
        ),
    ),
)

# True side by side: a second value contradicts nothing.
_MANY = (
    ("language", "{s} speaks {v}.", ("Danish", "Polish", "Catalan", "Greek", "Finnish")),
    ("hobby", "{s} enjoys {v}.", ("sailing", "chess", "pottery", "climbing", "baking")),
    ("visit", "{s} has visited {v}.", ("Malta", "Iceland", "Oman", "Chile", "Nepal")),
)

# Statements of the numbered register, over an invented subject and value.
_RECORDS = (
    ("harbour master", "place", "person", "The harbour master of {s} is {v}."),
    ("composer", "work", "person", "{s} was composed by {v}."),
    ("school", "person", "place", "{s} went to school in the town of {v}."),
    ("keeper", "house", "person", "The keeper of {s} is {v}."),
    ("river", "place", "river", "{s} lies on the river {v}."),
    ("trade", "person", "trade", "{s} earns a living as a {v}."),
    ("founder", "house", "person", "{s} was endowed by {v}."),
    ("patron", "place", "person", "The patron saint of {s} is {v}."),
    ("tongue", "person", "tongue", "{s} writes letters in {v}."),
    ("publisher", "work", "house", "{s} was first printed by {v}."),
)
_TRADES = ("cooper", "glazier", "farrier", "chandler", "milliner", "tanner", "saddler", "fletcher")
_TONGUES = ("Frisian", "Ladin", "Sorbian", "Manx", "Cornish", "Livonian", "Romansh", "Kashubian")

_GIVEN = tuple("Ansel Birgit Cosmo Dorrit Edda Fenno Greta Hollis Imke Jorun Kester Linnea Merit Nils Ottilie".split())  # noqa: SIM905
_GIVEN += tuple("Piet Quirin Runa Stellan Tamsin Ulla Valdis Wendel Yrsa Zeno Alba Bram Cilla Dagny Eskil".split())  # noqa: SIM905
_FIRST = tuple("Hal Tor Vem Brun Kel Mar Sten Lor Pel Wes Dun Ask Gil Rav Ost Fal Nor Cas Tham Jes".split())  # noqa: SIM905
_LAST = tuple("vik mann ridge berg low stad holt wick sen quist moor der ley by rup gaard".split())  # noqa: SIM905


class _Names:
    """Invented names, none of them twice."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._given: set[str] = set()

    def __call__(self, kind: str) -> str:
        while (name := self._one(kind)) in self._given:
            pass
        self._given.add(name)
        return name

    def _one(self, kind: str) -> str:
        stem = self._rng.choice(_FIRST) + self._rng.choice(_LAST)
        other = self._rng.choice(_FIRST) + self._rng.choice(_LAST)
        return {
            "person": f"{self._rng.choice(_GIVEN)} {stem}",
            "place": f"{stem}{self._rng.choice(('', ' Bay', ' Cross', '-on-Sea', ' Heath'))}",
            "work": self._rng.choice((f"The Bells of {stem}", f"Songs from {stem}", f"A Winter in {stem}")),
            "house": f"{stem} {self._rng.choice(('Library', 'Press', 'Museum', 'Foundation'))} of {other}",
            "river": f"{stem} Water",
        }[kind]


def cases(per_relation: int = 4, seed: int = SEED) -> list[Case]:
    """The diaries: `per_relation` cases of each relation, with everybody else's facts around them."""
    rng = random.Random(seed)
    names = _Names(rng)
    made: list[Case] = []
    for relation in _DIARY:
        for _ in range(per_relation):
            subject = names("person")
            old, new = rng.sample(relation.values, 2)
            forms = rng.sample(relation.backs, 10)  # both sides have backing of their own kind

            def fact(form: str, value: str, states: bool, s: str = subject, r: _Relation = relation) -> Fact:
                return Fact(form.format(s=s, v=value), (s, r.name), value, states)

            made.append(
                Case(
                    belief=fact(relation.says[0], old, True),
                    web=tuple(fact(form, old, False) for form in forms[:5]),
                    update=fact(relation.update, new, True),
                    backers=tuple(fact(form, new, False) for form in forms[5:]),
                    repeats=tuple(fact(form, new, True) for form in relation.says[1:]),
                    around=tuple(_around(subject, relation, names, rng)),
                    query=relation.query.format(s=subject),
                )
            )
    return made


def _around(subject: str, relation: _Relation, names: _Names, rng: random.Random) -> list[Fact]:
    """What else is known: the subject's other relations and many-valued facts, and other people's lives."""
    facts: list[Fact] = []
    for person in (subject, *(names("person") for _ in range(6))):
        others = [other for other in _DIARY if other is not relation] if person is subject else list(_DIARY)
        for other in rng.sample(others, 3):
            value = rng.choice(other.values)
            facts.append(Fact(other.says[0].format(s=person, v=value), (person, other.name), value, True))
            facts += [
                Fact(form.format(s=person, v=value), (person, other.name), value, False)
                for form in rng.sample(other.backs, rng.randrange(3))
            ]
        name, form, values = rng.choice(_MANY)
        facts += [Fact(form.format(s=person, v=value), (person, name), value, False) for value in rng.sample(values, 2)]
    rng.shuffle(facts)
    return facts


def records(subjects: int = 24, seed: int = SEED) -> list[Fact]:
    """The numbered register: `subjects` facts of each relation, four in ten of them contradicted later."""
    rng = random.Random(seed + 1)
    names = _Names(rng)

    def value_of(kind: str) -> str:
        return rng.choice(_TRADES) if kind == "trade" else rng.choice(_TONGUES) if kind == "tongue" else names(kind)

    people = [names("person") for _ in range(subjects)]  # one person has several relations, as in an encyclopaedia
    facts: list[Fact] = []
    for name, subject_kind, value_kind, form in _RECORDS:
        for position in range(subjects):
            subject = people[position] if subject_kind == "person" else names(subject_kind)
            values = dict.fromkeys(value_of(value_kind) for _ in range(2 if rng.random() < 0.4 else 1))
            facts += [Fact(form.format(s=subject, v=value), (subject, name), value, True) for value in values]
    rng.shuffle(facts)
    return [Fact(f"{serial}. {fact.text}", fact.slot, fact.value, fact.states) for serial, fact in enumerate(facts)]


def contradict(one: Fact, other: Fact) -> bool:
    """Whether two facts cannot both be true."""
    return one.states and other.states and one.slot == other.slot and one.value != other.value


def digest() -> str:
    """sha256 over all texts."""
    return hashlib.sha256("\n".join(text["text"] for text in learnt()).encode()).hexdigest()


@cache
def learnt() -> tuple[dict[str, str], ...]:
    """Every text of the development data, with an id: what `trained_on` declares."""
    texts: dict[str, None] = {}
    for case in cases():
        texts.update(dict.fromkeys([fact.text for fact in (*case.facts(5, 5), *case.repeats)]))
        texts[case.query] = None
    texts.update(dict.fromkeys(fact.text for fact in records()))
    return tuple({"id": f"engram-development-{SEED}-{number}", "text": text} for number, text in enumerate(texts))


def texts() -> list[str]:
    """The texts of `learnt`, in its order."""
    return [known["text"] for known in learnt()]
