"""The shipped micro-tests say what their construction rules claim."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from micro import FILES, Micro
from micro import shipped as load

from pytest_engram.suites.microtests.background import people
from pytest_engram.suites.microtests.suite import CaseKey

FAMILIES = {
    "gradual_override",
    "gradual_implied",
    "arithmetic_webs",
    "sites",
    "density",
    "reaffirmed",
    "reworded",
    "keep_both",
    "never_neither",
    "unbacked_alarm",
    "repetition",
    "hub",
}


def texts(level) -> list[str]:
    case = level.case
    again = [case.again] if case.again else []
    return [case.belief, *case.web, case.update, *case.backers, *case.repeats, *case.also, *again]


def cases(suite: Micro):
    """A level of each case; a mirror has the same texts."""
    return {level.case.name: level for level in suite.levels() if not level.case.mirrored}.values()


CASE_SUITES = [path.stem for path in FILES if isinstance(load(path.stem).key, CaseKey)]


def test_all_families_are_shipped() -> None:
    assert {load(path.stem).key.family for path in FILES} == FAMILIES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_editors_find_the_schema_from_the_first_line(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    relative = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / relative).resolve().name == "engram.schema.json"
    assert (path.parent / relative).is_file()


@pytest.mark.parametrize("name", CASE_SUITES)
def test_k_does_not_cover_any_haystack(name: str) -> None:
    suite = load(name)
    assert min(len(suite.haystack(question.haystack)) for question in suite.questions) >= 60


@pytest.mark.parametrize("name", CASE_SUITES)
def test_the_background_is_about_others(name: str) -> None:
    persons = {" ".join(text.replace("'s", "").split()[:2]) for text in people()}
    assert len(persons) == 12
    for level in cases(load(name)):
        for text in [*texts(level), level.case.query]:
            assert not [person for person in persons if person in text]


@pytest.mark.parametrize("name", CASE_SUITES)
def test_no_case_backs_two_subjects(name: str) -> None:
    """Cases of one suite never share a statement: one person is the subject of one case."""
    statements = [text for level in cases(load(name)) for text in (level.case.belief, level.case.update)]
    assert len(statements) == len(set(statements))


def test_gradual_override_has_60_templates_or_more_over_15_relations_or_more() -> None:
    suite = load("gradual_override")
    templates = {level.template for level in suite.levels()}
    assert len(templates) >= 60
    assert len({case.name.split("-")[0] for case in suite.key.spec.cases}) >= 15
    texts = [text for case in suite.key.spec.cases for text in (case.belief, *case.web, *case.backers)]
    assert len(texts) == len(set(texts))  # no two templates share a sentence
    for name in {level.case.name for level in suite.levels()}:
        grid = {(level.web, level.backers) for level in suite.levels() if level.case.name == name}
        assert grid == {(web, backers) for web in (0, 1, 3, 5) for backers in (0, 1, 3, 5)}


@pytest.mark.parametrize("name", ["gradual_override", "gradual_implied"])
def test_in_its_mirror_every_case_has_the_other_side_first(name: str) -> None:
    levels = load(name).levels()
    plain = {level.case.name: level.case for level in levels if not level.case.mirrored}
    mirrored = {level.case.name: level.case for level in levels if level.case.mirrored}
    assert {f"{name}-mirrored" for name in plain} == set(mirrored)
    for name, case in plain.items():
        other = mirrored[f"{name}-mirrored"]
        assert (case.belief, case.web, case.update, case.backers) == (
            other.update,
            other.backers,
            other.belief,
            other.web,
        )


def test_implied_backers_name_no_value() -> None:
    for level in cases(load("gradual_implied")):
        belief, update = (set(re.findall(r"\w+", text.casefold())) for text in (level.case.belief, level.case.update))
        values = {word[:5] for word in belief ^ update if len(word) > 2}
        assert values
        for text in (*level.case.web, *level.case.backers):
            assert not [value for value in values if value in text.casefold()], text


def test_gradual_override_backing_names_its_own_value_only() -> None:
    for level in cases(load("gradual_override")):
        belief, update = level.case.belief.split(), level.case.update.split()
        old = [word for word in belief if word not in update]
        new = [word for word in update if word not in belief]
        for text in level.case.web:
            assert all(word.rstrip(".") in text for word in old)
            assert not any(word.rstrip(".") in text for word in new)
        for text in level.case.backers:
            assert all(word.rstrip(".") in text for word in new)
            assert not any(word.rstrip(".") in text for word in old)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def agrees(whole: int, text: str) -> bool:
    """Whether the numbers of a sentence, with the whole, make a true sum, difference, product or quotient."""
    found = numbers(text)
    assert len(found) == 2
    a, b = found
    return whole in {a + b, a * b} or a == whole * b or b == whole * a


def test_arithmetic_webs_add_up() -> None:
    for level in cases(load("arithmetic_webs")):
        (old,), (new,) = numbers(level.case.belief), numbers(level.case.update)
        assert len(level.case.web) == len(level.case.backers) == 4
        assert all(agrees(old, text) for text in level.case.web)
        assert not any(agrees(new, text) for text in level.case.web)
        assert all(agrees(new, text) for text in level.case.backers)
        assert not any(agrees(old, text) for text in level.case.backers)


def test_repeats_say_nothing_but_the_update() -> None:
    """No word of a paraphrase brings a new circumstance: all are of the update (by their stem), or of grammar."""
    grammar = set(
        re.findall(
            r"\w+",
            "a all alone an and are as for has have in is it its no of one other place s that the their what where "
            "which with",
        )
    )
    for level in cases(load("repetition")):
        said = {word[:4] for word in re.findall(r"\w+", level.case.update.casefold())}
        for text in level.case.repeats:
            words = {word for word in re.findall(r"\w+", text.casefold()) if word[:4] not in said}
            assert words <= grammar, text
        assert len(level.case.repeats) == 5
        assert level.expected == "belief"


def test_unbacked_alarm_expects_the_backed_side_throughout() -> None:
    suite = load("unbacked_alarm")
    assert {(level.case.mirrored, level.expected) for level in suite.levels()} == {(False, "belief"), (True, "update")}
    assert {min(level.web, level.backers) for level in suite.levels()} == {0}


def test_keep_both_holds_nothing_that_excludes_anything() -> None:
    suite = load("keep_both")
    assert {level.expected for level in suite.levels()} == {"both"}
    assert suite.cases == 11 + 8


def test_reaffirmed_states_the_first_value_last() -> None:
    for level in cases(load("reaffirmed")):
        a = [word for word in level.case.belief.split() if word not in level.case.update.split()]
        assert all(word.rstrip(".") in level.case.again for word in a)
        assert level.expected == "belief"


@pytest.mark.parametrize("name", CASE_SUITES)
def test_names_of_items_need_no_quoting(name: str) -> None:
    for question in load(name).questions:
        assert re.fullmatch(r"[\w-]+", question.name)


@pytest.mark.parametrize("name", CASE_SUITES)
def test_a_level_never_holds_a_text_twice(name: str) -> None:
    for level in cases(load(name)):
        for one, other in combinations(texts(level), 2):
            assert one != other
