"""The facts that a question needs: by hand, against a plain recount of the official data, and never guessed."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from both import Both

from pytest_engram.memory import Entry
from pytest_engram.suites import chains, factconsolidation, facts, files
from pytest_engram.suites.base import Hop, Version
from pytest_engram.suites.facts import FactQuestion, Unknown

CASES = Path(__file__).parents[2] / "cases" / "pilot"


def entries(*texts: str) -> list[Entry]:
    return [Entry(str(serial), f"{serial}. {text}", float(serial)) for serial, text in enumerate(texts)]


def needed(
    question: str, answer: str, told: list[Entry], lengths: range = range(1, 5)
) -> list[tuple[list[str], list[str]]]:
    """Of each hop, the ids of the valid and of the superseded versions."""
    found = chains.finder(told, lengths)(FactQuestion("q", question, (answer,), {}))
    return [([v.id for v in hop.valid], [v.id for v in hop.superseded]) for hop in found]


WORLD = entries(
    "Emma was performed by Ana.",  # 0
    "Ana is married to Bo.",  # 1
    "Bo is a citizen of Italy.",  # 2
    "The capital of Italy is Rome.",  # 3
    "Ana is married to Cy.",  # 4
    "Cy is a citizen of Japan.",  # 5
    "The capital of Japan is Kyoto.",  # 6
    "The capital of Japan is Tokyo.",  # 7
    "Ana is a citizen of Chile.",  # 8
)


class TestByHand:
    def test_a_fact_and_what_it_superseded(self) -> None:
        assert needed("Which city is the capital of Japan?", "Tokyo", WORLD) == [(["7"], ["6"])]
        assert needed("Of what country is Ana a citizen?", "Chile", WORLD) == [(["8"], [])]

    def test_a_chain_goes_through_the_values_that_hold(self) -> None:
        question = "What is the capital of the country where the spouse of the performer of Emma holds citizenship?"
        assert needed(question, "Tokyo", WORLD) == [(["0"], []), (["4"], ["1"]), (["5"], []), (["7"], ["6"])]

    @pytest.mark.parametrize("answer", ["Rome", "Kyoto", "Lima", ""])
    def test_an_answer_that_no_valid_chain_gives_is_unknown(self, answer: str) -> None:
        question = "What is the capital of the country where the spouse of the performer of Emma holds citizenship?"
        with pytest.raises(Unknown, match="no chain of facts that still hold"):
            needed(question, answer, WORLD)

    def test_a_shorter_chain_without_a_relation_that_the_question_names_is_none(self) -> None:
        """Ana died in Tokyo as well, which is not what was asked."""
        told = [*WORLD, Entry("9", "9. Ana died in the city of Tokyo.", 9.0)]
        question = "What is the capital of the country where the spouse of the performer of Emma holds citizenship?"
        assert [valid for valid, _ in needed(question, "Tokyo", told)] == [["0"], ["4"], ["5"], ["7"]]
        assert [valid for valid, _ in needed("Where did the performer of Emma die?", "Tokyo", told)] == [["0"], ["9"]]

    def test_of_two_shortest_chains_neither_is_taken(self) -> None:
        told = [
            *WORLD,
            Entry("9", "9. Emma was created by Di.", 9.0),
            Entry("10", "10. Di is a citizen of Chile.", 10.0),
        ]
        with pytest.raises(Unknown, match="several chains"):
            needed("What is the country of citizenship of the one behind Emma?", "Chile", told)

    def test_only_chains_of_the_given_lengths(self) -> None:
        with pytest.raises(Unknown, match="no chain"):
            needed("Of what country is Ana a citizen?", "Chile", WORLD, range(2, 5))
        with pytest.raises(Unknown, match="no chain"):
            needed("Of what country is the performer of Emma a citizen?", "Chile", WORLD, range(1, 2))

    def test_a_value_that_was_said_again_is_valid_twice(self) -> None:
        told = entries(
            "The capital of Japan is Tokyo.", "The capital of Japan is Kyoto.", "The capital of Japan is Tokyo."
        )
        assert needed("What is the capital of Japan?", "Tokyo", told) == [(["0", "2"], ["1"])]

    def test_a_question_names_the_longest_name_that_stands_in_it(self) -> None:
        names = ["York", "New York", "Yorkshire", "Ana", "The capital"]
        assert chains.named("Is Ana from New York?", names) == ["New York", "Ana"]
        assert chains.named("Is Anabel from Yorkshire?", names) == ["Yorkshire"]

    def test_a_word_in_a_name_asks_for_nothing(self) -> None:
        told = entries("The author of The capital is Ana.", "Ana is a citizen of Chile.")
        question = "To which country does the author of The capital hold citizenship?"
        assert needed(question, "Chile", told) == [(["0"], []), (["1"], [])]


class TestHop:
    def test_the_last_value_holds(self) -> None:
        old, new = Version("1", "Rome"), Version("2", "Oslo")
        assert Hop.of([old, new]) == Hop((new,), (old,))
        assert Hop.of([new]) == Hop((new,), ())


@cache
def suite(name: str, data: Path) -> Both:
    path = CASES / f"{name}.yaml"
    raw, lines = files.read(path)
    return Both(*factconsolidation.load(files.validate(factconsolidation.Spec, raw, path, lines), path, data))


def official(name: str, data: Path) -> dict[str, Any]:
    rows = json.loads((data / factconsolidation.FILE).read_text(encoding="utf-8"))
    found: dict[str, Any] = next(row for row in rows if row["metadata"]["source"] == name)
    return found


ALL = ["fc_sh_6k", "fc_mh_6k", "fc_sh_262k", "fc_mh_262k"]


class TestOfficialData:
    def test_how_many_single_hop_answers_were_contradicted_earlier(self, shared_data: Path) -> None:
        """Without any template: the line that ends in an accepted answer and else says most of what the question says.

        In all templates the value stands last, so that an earlier version begins as the later one does.
        """
        row = official("factconsolidation_sh_6k", shared_data)
        said = [line.split(". ", 1)[1].removesuffix(".") for line in row["context"].splitlines()[1:]]
        contradicted = 0
        for question, answers in zip(row["questions"], row["answers"], strict=True):
            words = set(question.strip("?").split())
            answering: dict[tuple[int, int], list[int]] = {}
            for at, text in enumerate(said):
                for answer in answers:
                    if text.endswith(f" {answer}"):
                        beginning = set(text.removesuffix(answer).replace("'s", "").split())
                        answering.setdefault((len(beginning & words), -len(beginning - words)), []).append(at)
            ((at, beginning_of),) = [(at, said[at]) for at in answering[max(answering)]]
            (answer,) = [answer for answer in answers if beginning_of.endswith(answer)]
            contradicted += any(old.startswith(beginning_of.removesuffix(answer)) for old in said[:at])
        key = suite("fc_sh_6k", shared_data)
        found = [key.gold(question).hops[-1] for question in key.questions]
        assert contradicted == sum(bool(hop.superseded) for hop in found) == 74

    @pytest.mark.parametrize("name", ALL)
    def test_a_chain_is_one_and_ends_in_an_accepted_answer(self, shared_data: Path, name: str) -> None:
        one = suite(name, shared_data)
        texts = {entry.id: entry.text for entry in one.haystack(one.questions[0].haystack)}
        for question in one.questions:
            gold = one.gold(question)
            assert bool(gold.hops) != bool(gold.left_out), question.id
            if not gold.hops:
                continue
            assert gold.hops[-1].valid[-1].value in gold.answers
            assert gold.superseded == tuple(version.value for version in gold.hops[-1].superseded)
            before = question.query
            for hop in gold.hops:
                newest = hop.valid[-1]
                told = texts[newest.id].split(". ", 1)[1].removesuffix(".")
                assert told.endswith(newest.value)
                # What is left of a fact without its value holds its subject: named before, by question or fact.
                rest = told.removesuffix(newest.value)
                assert any(
                    rest.startswith(part) or f" {part} " in rest or f" {part}'" in rest for part in _parts(before)
                )
                for version in hop.superseded:
                    assert int(version.id) < int(newest.id)
                    assert version.value != newest.value
                    older = texts[version.id].split(". ", 1)[1].removesuffix(".")
                    assert older == rest + version.value
                before = newest.value

    @pytest.mark.parametrize("name", ALL)
    def test_no_later_fact_contradicts_a_valid_one(self, shared_data: Path, name: str) -> None:
        one = suite(name, shared_data)
        texts = {entry.id: entry.text.split(". ", 1)[1] for entry in one.haystack(one.questions[0].haystack)}
        for question in one.questions:
            for hop in one.gold(question).hops:
                rest = texts[hop.valid[-1].id].removesuffix(".").removesuffix(hop.valid[-1].value)
                about = {id_ for id_, text in texts.items() if text.startswith(rest)}
                told = {version.id for version in (*hop.valid, *hop.superseded)}
                assert told <= about
                # A fact that begins alike and is not of this hop is of a longer subject, in no question of these rows.
                assert about == told, (question.query, [texts[id_] for id_ in about - told])

    @pytest.mark.parametrize(
        ("name", "hops", "unknown"),
        [
            ("fc_sh_6k", {1: 100}, 0),
            ("fc_mh_6k", {2: 61, 3: 24, 4: 11}, 4),
            ("fc_sh_262k", {1: 97}, 3),
            ("fc_mh_262k", {2: 49, 3: 7, 4: 8}, 36),
        ],
    )
    def test_what_is_not_known_is_counted(
        self, shared_data: Path, name: str, hops: dict[int, int], unknown: int
    ) -> None:
        one = suite(name, shared_data)
        assert Counter(len(one.gold(q).hops) for q in one.questions) == Counter(hops | {0: unknown})
        about = one.describe()
        notes = [note for note in about["notes"] if "resolved@N" in note]
        assert [note.split(":")[0] for note in notes] == [
            f"{unknown} of 100 questions are left out of resolved@N"
        ] * bool(unknown)
        assert about["official"] is True

    def test_single_hop_answers_that_are_unknown_were_superseded(self, shared_data: Path) -> None:
        """Where the benchmark's key has a value that a later fact contradicts, nothing is right to return."""
        one = suite("fc_sh_262k", shared_data)
        lines = [entry.text for entry in one.haystack(one.questions[0].haystack)]
        unknown = [question for question in one.questions if one.gold(question).left_out]
        assert [question.query for question in unknown] == [
            "Who founded Shingon Buddhism?",
            "Which city did H. P. Lovecraft work in?",
            "Which city did Ibn Saud work in?",
        ]
        beginnings = [
            "Shingon Buddhism was founded by ",
            "H. P. Lovecraft worked in the city of ",
            "Ibn Saud worked in the city of ",
        ]
        for question, beginning in zip(unknown, beginnings, strict=True):
            told = [
                line.split(beginning)[1].removesuffix(".")
                for line in lines
                if line.split(". ", 1)[1].startswith(beginning)
            ]
            assert told[0] in one.gold(question).answers
            assert told[-1] not in one.gold(question).answers

    def test_answers_to_other_questions_are_hardly_ever_reached(self, shared_data: Path) -> None:
        """How often a chain is found by chance: with the answers of the questions three and seven places on."""
        row = factconsolidation.find_row("factconsolidation_mh_6k", shared_data)
        told = facts.parse_facts(row.context)
        trace = chains.finder(told, factconsolidation.hops(row.name))
        by_chance = asked = 0
        for shift in (3, 7):
            for at, question in enumerate(row.questions):
                other = row.questions[(at + shift) % 100].answers
                if other == question.answers:
                    continue
                asked += 1
                try:
                    trace(question._replace(answers=other))
                    by_chance += 1
                except Unknown:
                    pass
        assert by_chance / asked < 0.02


def _parts(text: str) -> list[str]:
    """Every run of words of a text."""
    words = text.replace('"', " ").replace("?", " ").split()
    forms = [w.strip(",") for w in words]
    runs = [
        " ".join(some[i:j]) for some in (words, forms) for i in range(len(some)) for j in range(i + 1, len(some) + 1)
    ]
    return [text, *runs, *(run.removesuffix("'s") for run in runs), *(run.strip("'") for run in runs)]
