"""How cases are scored, with memories whose behaviour is plain."""

from __future__ import annotations

from pathlib import Path

import pytest
from micro import SMALL, DropsBoth, DropsNewer, DropsOlder, ForgetsCalls, KeepsAll, load, run

from pytest_engram.review.described import describe
from pytest_engram.suites.base import SuiteError

WINNER = {KeepsAll: "both", DropsOlder: "update", DropsNewer: "belief", DropsBoth: "neither"}

PLAIN = """\
    engram: micro
    name: moves
    rule: majority-support
    cases:
      - name: mara
        belief: Mara lives in Lisbon.
        web: [There is a rented flat., There is a polling card.]
        update: Mara lives in Porto.
        backers: [There is a gym card., There is a parking permit.]
        query: Where does Mara live?
        sweep: {web: [0, 2], backers: [0, 2]}
"""


@pytest.mark.parametrize("memory", WINNER)
def test_the_winner_is_recorded_at_every_level(tmp_path: Path, memory: type) -> None:
    scores = run(load(tmp_path, PLAIN.replace("Where does Mara live?", "Mara?")), memory)
    assert {score.winner for score in scores.values()} == {WINNER[memory]}


@pytest.mark.parametrize(
    ("memory", "hits"),
    [
        (KeepsAll, [None, False, False, None]),
        (DropsOlder, [None, True, False, None]),
        (DropsNewer, [None, False, True, None]),
        (DropsBoth, [None, False, False, None]),
    ],
)
def test_equal_backing_is_left_out_and_a_tie_is_a_miss(tmp_path: Path, memory: type, hits: list[bool | None]) -> None:
    scores = list(run(load(tmp_path, PLAIN.replace("Where does Mara live?", "Mara?")), memory).values())
    assert [score.hit for score in scores] == hits
    assert [score.metrics for score in scores] == [{} if hit is None else {"correct": float(hit)} for hit in hits]


@pytest.mark.parametrize(
    ("rule", "right"),
    [
        ("newest", {DropsOlder}),
        ("keep-both", {KeepsAll}),
        ("never-neither", {KeepsAll, DropsOlder, DropsNewer}),
    ],
)
def test_other_rules(tmp_path: Path, rule: str, right: set[type]) -> None:
    suite = load(tmp_path, PLAIN.replace("majority-support", rule).replace("Where does Mara live?", "Mara?"))
    assert {memory for memory in WINNER if all(s.hit for s in run(suite, memory).values())} == right


def test_a_stated_winner(tmp_path: Path) -> None:
    text = PLAIN.replace("majority-support", "stated").replace("query:", "winner: belief\n        query:")
    suite = load(tmp_path, text.replace("Where does Mara live?", "Mara?"))
    assert all(score.hit for score in run(suite, DropsNewer).values())
    assert suite.describe()["rule"]["name"] == "stated"


def test_stated_once_more_either_statement_is_the_belief(tmp_path: Path) -> None:
    text = PLAIN.replace("majority-support", "newest").replace(
        "query:", "again: Mara went back to Lisbon.\n        query:"
    )
    suite = load(tmp_path, text.replace("Where does Mara live?", "Mara?"))
    assert all(score.winner == "belief" and score.hit for score in run(suite, DropsOlder).values())
    assert all(score.winner == "belief" and score.hit for score in run(suite, DropsNewer).values())


def test_all_of_several_values_must_be_returned(tmp_path: Path) -> None:
    text = PLAIN.replace("majority-support", "keep-both").replace(
        "query:", "also: [Mara lives in Faro.]\n        query:"
    )
    suite = load(tmp_path, text.replace("Where does Mara live?", "Mara?"))
    assert all(s.hit and s.fields["also_lost"] == 0 for s in run(suite, KeepsAll).values())
    question = suite.questions[0]
    ids = {entry.text: entry.id for entry in suite.haystack(question.haystack)}
    two = suite.judge(question, [ids["Mara lives in Lisbon."], ids["Mara lives in Porto."]])
    assert (two.hit, two.winner, two.fields["also_lost"]) == (False, "both", 1)


def test_repeats_are_counted_on_their_own_axis_and_back_nothing(tmp_path: Path) -> None:
    text = PLAIN.replace(
        "backers: [There is a gym card., There is a parking permit.]", "repeats: [In Porto., At Porto.]"
    )
    suite = load(tmp_path, text.replace("backers: [0, 2]", "repeats: [0, 2]"))
    assert [q.name for q in suite.questions][-1] == "mara-web2-repeats2"
    fields = [suite.gold(question).fields for question in suite.questions]
    assert [(found["backers"], found["axis"], found["expected"]) for found in fields] == [
        (0, "repeats", None),
        (2, "repeats", None),
        (0, "repeats", "belief"),
        (2, "repeats", "belief"),
    ]


def test_what_a_person_is_shown_as_right(tmp_path: Path) -> None:
    suite = load(tmp_path, PLAIN)
    assert [suite.judge(question).gold for question in suite.questions] == [
        ["Mara lives in Lisbon.", "Mara lives in Porto."],
        ["Mara lives in Porto."],
        ["Mara lives in Lisbon."],
        ["Mara lives in Lisbon.", "Mara lives in Porto."],
    ]
    question = suite.questions[1]
    ids = [entry.id for entry in suite.haystack(question.haystack)]
    texts = {entry.id: entry.text for entry in suite.haystack(question.haystack)}
    assert [texts[id_] for id_ in suite.judge(question, ids).gold_ids] == ["Mara lives in Porto."]


def test_a_suite_describes_itself(tmp_path: Path) -> None:
    told = describe(load(tmp_path, SMALL).key)
    assert (told["kind"], told["family"], told["cases"], told["levels"]) == ("micro", "own", 1, 8)
    assert told["rule"]["text"].startswith("The side that more facts back wins.")
    assert told["construction"] == "No construction rule was stated."
    assert told["registered"] == "not registered"
    assert len(told["sha256"]) == 64


SITES = PLAIN.replace("rule: majority-support", "family: sites\n    rule: same-either-way").replace(
    "Mara live?", "Mara?"
)


def test_what_was_made_of_one_template_is_one_cluster(tmp_path: Path) -> None:
    key = load(tmp_path, TWICE).key
    assert key.cluster == "template"
    assert {id_: key.gold(id_).cluster for id_ in key.questions()} == {
        "home-mara-web0-backers1": "home 1",
        "home-mara-web1-backers1": "home 1",
        "home-ines-web0-backers1": "home 1",
        "home-ines-web1-backers1": "home 1",
        "home-otto-web0-backers1": "home 2",
        "home-otto-web1-backers1": "home 2",
        "work-web0-backers1": "work",
        "work-web1-backers1": "work",
    }


TWICE = """\
    engram: micro
    name: moves
    rule: majority-support
    sweep: {web: [0, 1]}
    cases:
      - name: home
        belief: "{name} lives in Lisbon."
        web: ["{name} rents a flat."]
        update: "{name} lives in Porto."
        backers: ["{name} has a gym card."]
        query: Where does {name} live?
        slots: [{name: Mara}, {name: Ines}]
      - name: home
        belief: "{name} lives in Porto."
        web: ["{name} has a gym card."]
        update: "{name} lives in Lisbon."
        backers: ["{name} rents a flat."]
        query: Where does {name} live?
        slots: [{name: Otto}]
      - name: work
        belief: Kai works for Acme.
        web: [Kai wears a badge.]
        update: Kai works for Umbra.
        backers: [Kai drives a company car.]
        query: Where does Kai work?
"""


def test_sites_compares_one_call_with_many(tmp_path: Path) -> None:
    suite = load(tmp_path, SITES)
    assert all(s.hit and s.metrics == {"correct": 1.0} and s.winner == "both" for s in run(suite, KeepsAll).values())
    forgetful = run(suite, ForgetsCalls)
    assert all(s.hit is False and s.metrics == {"correct": 0.0} for s in forgetful.values())
    assert all(len(s.fields["one_by_one"]) < 2 for s in forgetful.values())


def test_reworded_refuses_a_shared_predicate_word(tmp_path: Path) -> None:
    text = PLAIN.replace("rule: majority-support", "family: reworded\n    rule: majority-support")
    with pytest.raises(SuiteError, match=r"own.yaml:9: cases\[0\].update: shares 'lives', 'mara' with the belief"):
        load(tmp_path, text)
    slotted = text.replace("Mara lives in Lisbon.", '"{n} lives in Lisbon."').replace(
        "Mara lives in Porto.", '"{n} moved to Porto."'
    )
    assert load(tmp_path, slotted + "        slots: [{n: Mara}]\n").cases == 1
