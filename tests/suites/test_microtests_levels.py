"""Cases to levels: slots, sweeps, order of writing, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from micro import SMALL, load

from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.microtests.levels import Filled, Level, slug


def test_every_combination_of_the_sweep_is_a_level(tmp_path: Path) -> None:
    suite = load(tmp_path, SMALL)
    assert [question.name for question in suite.questions] == [
        f"mara-web{web}-backers{backers}" for web in (0, 2) for backers in (0, 1, 2, 3)
    ]
    assert suite.gold(suite.questions[5]).fields == {
        "family": "own",
        "case": "mara",
        "web": 2,
        "backers": 1,
        "expected": "belief",
        "axis": "backers",
    }


def test_expected_winners_of_majority_support_by_hand(tmp_path: Path) -> None:
    suite = load(tmp_path, SMALL)
    expected = [suite.gold(question).fields["expected"] for question in suite.questions]
    assert expected == [None, "update", "update", "update", "belief", "belief", None, "update"]


def test_of_a_disputed_case_no_side_is_expected(tmp_path: Path) -> None:
    text = SMALL.replace("        query:", "        disputed: Two readers differ.\n        query:")
    suite = load(tmp_path, text)
    assert {suite.gold(question).fields["expected"] for question in suite.questions} == {None}


def test_without_a_sweep_a_case_is_one_level_with_all_its_facts(tmp_path: Path) -> None:
    text = SMALL.replace("        sweep: {web: [0, 2], backers: [0, 1, 2, 3]}\n", "")
    assert [question.name for question in load(tmp_path, text).questions] == ["mara-web2-backers3"]


def own(suite, level: str) -> list[str]:
    return [entry.text for entry in suite.haystack(level) if entry.text.startswith("Mara")]


def test_a_level_writes_the_first_few_facts_and_the_update_after_the_belief(tmp_path: Path) -> None:
    suite = load(tmp_path, SMALL)
    found = own(suite, "mara-web2-backers1")
    assert sorted(found) == [
        "Mara has a gym in Porto.",
        "Mara lives in Lisbon.",
        "Mara lives in Porto.",
        "Mara rents a flat in Lisbon.",
        "Mara votes in Lisbon.",
    ]
    assert found.index("Mara lives in Lisbon.") < found.index("Mara lives in Porto.")
    # A level with more facts is the same order with those put in.
    more = [entry.text for entry in suite.haystack("mara-web2-backers3")]
    added = {"Mara's dog is known in Porto.", "Mara parks in Porto."}
    assert [text for text in more if text not in added] == [e.text for e in suite.haystack("mara-web2-backers1")]


def test_in_its_mirror_a_case_has_the_other_side_first_with_what_backs_it(tmp_path: Path) -> None:
    suite = load(tmp_path, SMALL.replace("    cases:", "    mirror: true\n    cases:"))
    levels = [f"mara-mirrored-web{web}-backers{backers}" for backers in (0, 2) for web in (0, 1, 2, 3)]
    assert [q.name for q in suite.questions][8:] == levels
    assert suite.cases == 2
    plain, mirrored = own(suite, "mara-web2-backers1"), own(suite, "mara-mirrored-web1-backers2")
    assert sorted(plain) == sorted(mirrored)
    assert plain.index("Mara lives in Lisbon.") < plain.index("Mara lives in Porto.")
    assert mirrored.index("Mara lives in Porto.") < mirrored.index("Mara lives in Lisbon.")
    fields = suite.key.gold("mara-mirrored-web1-backers2").fields
    assert (fields["expected"], fields["mirrored"]) == ("update", True)
    fields = suite.key.gold("mara-web2-backers1").fields
    assert fields["expected"] == "belief"
    assert "mirrored" not in fields


def test_the_mirror_of_a_repeated_update_is_a_repeated_belief_that_a_backed_update_contradicts(tmp_path: Path) -> None:
    text = SMALL.replace("        backers: [Mara has a gym", "        repeats: [Mara has a gym")
    text = text.replace("backers: [0, 1, 2, 3]}", "repeats: [0, 3]}").replace(
        "    cases:", "    mirror: true\n    cases:"
    )
    suite = load(tmp_path, text)
    expected = {question.name: suite.gold(question).fields["expected"] for question in suite.questions}
    assert expected == {
        "mara-web0-repeats0": None,
        "mara-web0-repeats3": None,
        "mara-web2-repeats0": "belief",
        "mara-web2-repeats3": "belief",
        "mara-mirrored-web0-repeats0": None,
        "mara-mirrored-web0-repeats3": None,
        "mara-mirrored-web2-repeats0": "update",
        "mara-mirrored-web2-repeats3": "update",
    }
    for level in ("mara-web2-repeats3", "mara-mirrored-web2-repeats3"):
        assert len(own(suite, level)) == 7
    found = own(suite, "mara-mirrored-web2-repeats3")
    assert found.index("Mara lives in Porto.") < found.index("Mara lives in Lisbon.")


def test_the_mirror_of_a_belief_that_is_stated_again_states_it_before_the_update(tmp_path: Path) -> None:
    text = SMALL.replace("majority-support", "newest\n    mirror: true")
    suite = load(tmp_path, text.replace("        query:", "        again: Mara went back to Lisbon.\n        query:"))
    sides = {"Mara lives in Lisbon.", "Mara lives in Porto.", "Mara went back to Lisbon."}
    found = {
        level: [t for t in own(suite, f"{level}-web2-backers1") if t in sides] for level in ("mara", "mara-mirrored")
    }
    assert found == {
        "mara": ["Mara lives in Lisbon.", "Mara lives in Porto.", "Mara went back to Lisbon."],
        "mara-mirrored": ["Mara lives in Lisbon.", "Mara went back to Lisbon.", "Mara lives in Porto."],
    }
    for level, expected in (("mara", "belief"), ("mara-mirrored", "update")):
        assert suite.key.gold(f"{level}-web2-backers1").fields["expected"] == expected


@pytest.mark.parametrize(("winner", "mirrored"), [("belief", "update"), ("update", "belief")])
def test_a_stated_winner_is_the_other_one_in_the_mirror(tmp_path: Path, winner: str, mirrored: str) -> None:
    text = SMALL.replace("majority-support", "stated\n    mirror: true").replace(
        "backers: [0, 1, 2, 3]", "backers: [0]"
    )
    suite = load(tmp_path, text.replace("        query:", f"        winner: {winner}\n        query:"))
    levels = ("mara-web2-backers0", "mara-mirrored-web0-backers2")
    assert [suite.key.gold(level).fields["expected"] for level in levels] == [winner, mirrored]


words = st.text(alphabet="abcdefgh", min_size=1, max_size=6)
lists = st.lists(words, max_size=6, unique=True)


@given(lists, lists, st.lists(words, min_size=20, max_size=40, unique=True), st.booleans(), st.data())
def test_ids_and_times_tell_the_order_of_writing_and_nothing_else(web, backers, background, again, data) -> None:
    case = Filled("c", "THE BELIEF", tuple(web), "THE UPDATE", tuple(backers), (), "AGAIN" if again else None, (), "?")
    few = data.draw(st.integers(0, len(web))), data.draw(st.integers(0, len(backers)))
    entries, parts = Level("c", case, *few, "backers", None).written(background)
    assert [entry.id for entry in entries] == [f"e{i:03d}" for i in range(1, len(entries) + 1)]
    assert [entry.time for entry in entries] == [float(i) for i in range(1, len(entries) + 1)]
    assert len(entries) == len(background) + 2 + sum(few) + again
    by_id = {entry.id: entry.text for entry in entries}
    assert [by_id[id_] for id_ in parts["belief"]] == ["THE BELIEF", *(["AGAIN"] if again else [])]
    assert not again or parts["update"][0] < max(parts["belief"])
    assert parts["belief"][0] < parts["update"][0]
    assert [by_id[id_] for id_ in parts["update"]] == ["THE UPDATE"]


def test_slots_make_a_case_of_every_row(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        """\
        engram: micro
        name: moves
        rule: newest
        cases:
          - name: home
            belief: "{name} lives in {old}."
            update: "{name} lives in { new }."
            query: "Where does {name} live?"
            slots:
              - {name: Åsa Öberg, old: Malmö, new: Łódź}
              - {name: 山田, old: 東京, new: 大阪}
        """,
    )
    assert [question.name for question in suite.questions] == [
        "home-åsa-öberg-web0-backers0",
        "home-山田-web0-backers0",
    ]
    assert [question.query for question in suite.questions] == ["Where does Åsa Öberg live?", "Where does 山田 live?"]
    assert "山田 lives in 大阪." in [entry.text for entry in suite.haystack(suite.questions[1].haystack)]
    assert suite.cases == 2


@pytest.mark.parametrize(
    ("parts", "name"),
    [(["home", "Mara Lindqvist"], "home-mara-lindqvist"), (["a::b[c]/d"], "a-b-c-d"), (["x_y", ""], "x-y")],
)
def test_slugs(parts: list[str], name: str) -> None:
    assert slug(*parts) == name


def broken(tmp_path: Path, old: str, new: str) -> str:
    assert old in SMALL
    with pytest.raises(SuiteError) as error:
        load(tmp_path, SMALL.replace(old, new))
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(tmp_path / "own.yaml"), "FILE")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("majority-support", "majority", "FILE:3: rule: no rule 'majority'"),
        ("majority-support", "newst", "did you mean newest?"),
        (
            "web: [0, 2]",
            "web: [0, 4]",
            "FILE:11: cases[0].sweep.web: asks for 4 facts and case mara gives 2; write 2 more",
        ),
        ("web: [0, 2]", "web: [0, 2, 0]", "FILE:11: cases[0].sweep.web: holds a number twice"),
        ("web: [0, 2]", "web: []", "FILE:11: cases[0].sweep.web:"),
        ("web: [0, 2]", "web: [-1]", "FILE:11: cases[0].sweep.web[0]:"),
        ("Mara lives in Porto.", '"Mara lives in {city}."', "FILE:8: cases[0].update: {city} has no slot; add `slots:"),
        ("Mara lives in Porto.", '""', "FILE:8: cases[0].update: this text is empty; write a sentence"),
        ("Mara lives in Porto.", "", "FILE:8: cases[0].update: must be a text, and YAML reads nothing here"),
        ("Mara lives in Porto.", "9:30", "FILE:8: cases[0].update: must be a text, and YAML reads 570 here"),
        ("Mara lives in Porto.", "Mara lives in Lisbon.", "the same text as cases[0].belief"),
        (
            "Mara parks in Porto.",
            "Mara votes in Lisbon.",
            "cases[0].backers[2]: case mara: the same text as cases[0].web[1]",
        ),
        ("Mara lives in Porto.", "Greta Olofsson lives in Malmö.", "the same text as background"),
        ("        query: Where does Mara live?\n", "", "FILE:5: cases[0].query: this field is missing; add it"),
        ("query:", "qery:", "FILE:10: cases[0].qery: no such field; did you mean query?"),
        (
            "query:",
            "winner: update\n        query:",
            "FILE:10: cases[0].winner: the rule majority-support names the winner",
        ),
        ("majority-support", "stated", "cases[0].winner: `rule: stated` needs a winner in each case"),
        ("sweep:", "repeats: [Mara is in Porto.]\n        sweep:", "both `backers` and `repeats`"),
        ("    cases:", "    mirror: 1\n    cases:", "FILE:4: mirror:"),
        ("name: mara", "name: '!'", "FILE:5: cases[0].name:"),
        ("name: moves", "name: a b", "FILE:2: name:"),
        ("    cases:", "    background: [One., Two.]\n    cases:", "FILE:4: background: 2 facts; write at least 20"),
    ],
)
def test_errors_name_file_line_field_and_cure(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in broken(tmp_path, old, new)


def test_a_case_name_may_stand_once(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"own.yaml:13: cases\[1\].name: 'mara' names a case already \(line 5\)"):
        load(tmp_path, SMALL + "\n" + SMALL[SMALL.index("      - name: mara") :].replace("mara", "Mara!"))


SLOTTED = """\
    engram: micro
    name: moves
    rule: newest
    cases:
      - name: home
        belief: "{name} lives in {old}."
        update: "{name} lives in {new}."
        query: "Where does {name} live?"
        slots:
          - {name: Ann, old: Ayr, new: Bath}
          - {name: Bob, old: Ayr}
"""


def test_a_row_that_lacks_a_slot_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"own.yaml:11: cases\[0\].slots\[1\]: row 2 lacks 'new'; add `new: ...`"):
        load(tmp_path, SLOTTED)


def test_a_misspelt_placeholder_is_told_from_the_slot_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"own.yaml:8: cases\[0\].query: \{nam\} has no slot; did you mean \{name\}\?"):
        load(tmp_path, SLOTTED.replace("does {name}", "does {nam}").replace("Ayr}", "Ayr, new: Bath}"))


def test_two_rows_may_not_give_one_name(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"'home-ann' names a case already"):
        load(tmp_path, SLOTTED.replace("name: Bob, old: Ayr", "name: ann, old: Hull, new: York"))


def test_a_sweep_that_explodes_is_refused_at_its_line(tmp_path: Path) -> None:
    counts = list(range(151))
    web, backers = ([f"Fact of {city} number {i}." for i in counts[1:]] for city in ("Lisbon", "Porto"))
    text = f"""\
    engram: micro
    name: moves
    rule: majority-support
    cases:
      - name: mara
        belief: Mara lives in Lisbon.
        web: {web}
        update: Mara lives in Porto.
        backers: {backers}
        query: Where does Mara live?
        sweep: {{web: {counts}, backers: {counts}}}
"""
    with pytest.raises(SuiteError, match=r":11: cases\[0\]\.sweep: more than 20,000 levels, .*; sweep fewer"):
        load(tmp_path, text)
