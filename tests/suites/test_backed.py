"""Contradictions of which facts back one side: what is asked, what is right, and that nothing but texts tells it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import backing as written
import pytest
from both import METRICS, Both

from pytest_engram.asking.rules import Violation, check_training
from pytest_engram.asking.training import scored, split
from pytest_engram.basics.registry import Registry
from pytest_engram.judging.chance import floors
from pytest_engram.suites import SOURCES, factconsolidation, files, handover, loading
from pytest_engram.suites.backed import backing, source
from pytest_engram.suites.base import NotRun, SuiteError
from pytest_engram.suites.fingerprints import fingerprint

SOURCES_HERE: Registry[Any] = Registry("data source", SOURCES)
# Of `written.facts()`: serial numbers of original and update, subject, question.
KAI, ANA, DORA = "0-8", "1-9", "5-13"
ASKS = {
    KAI: "Which sport is Player Kai associated with?",
    ANA: "Which sport is Player Ana associated with?",
    DORA: "Who is Dora Vink employed by?",
}
LEVELS = [(0, 0), (1, 0), (3, 0), (5, 0), (3, 1), (3, 3), (3, 5)]  # of the issue: b, m

Make = Callable[..., Both]


def suite_file(folder: Path, *questions: str, **fields: str) -> Path:
    """A suite over the facts of `written`; a question is given as "KAI older one"."""
    lines = {
        "engram": "pilot",
        "name": "mine",
        "source": "backed_fc",
        "kind": "named",
        "backing": "facts.json",
    } | fields
    text = [f"{name}: {value}" for name, value in lines.items()]
    text.append("questions:")
    for id_, backed, speakers in map(str.split, questions or [f"{KAI} older many", f"{ANA} newer one"]):
        text.append(f'  - {{id: {id_}, text: "{fingerprint(ASKS[id_])}", backed: {backed}, speakers: {speakers}}}')
    path = folder / "mine.yaml"
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A suite, with its key, over small data."""

    def made(*questions: str, data: Path | None = None, **fields: str) -> Both:
        written.write(tmp_path / "facts.json")
        path = suite_file(tmp_path, *questions, **fields)
        here = data or written.folder(tmp_path / "data")
        return Both(*loading.load(path, here, sources=SOURCES_HERE, metrics=METRICS, shipped_metrics=METRICS))

    return made


def parts(one: Both, question: Any) -> dict[str, list[Any]]:
    """The entries of a haystack about the subject, by what they are: told from their texts alone."""
    entries = one.haystack(question.haystack)
    gold = one.gold(question)
    subject = "Player Kai" if KAI in question.id else "Player Ana" if ANA in question.id else "Dora Vink"
    about = [entry for entry in entries if subject in entry.text]
    relation = written.RELATIONS[gold.fields["relation"]]

    def of(name: str) -> list[Any]:
        texts = [re.escape(t.replace("{s}", subject)).replace(r"\{v\}", ".+") for t in relation[name]]
        return [entry for entry in about if any(re.fullmatch(text, entry.text) for text in texts)]

    found = {name: of(name) for name in ("backs", "repeats")}
    stated = [entry for entry in about if entry not in found["backs"] + found["repeats"]]
    return found | {"stated": stated, "around": [entry for entry in entries if entry not in about]}


class TestQuestions:
    def test_every_level_in_both_orders_of_time(self, make: Make) -> None:
        one = make()
        ids = [f"{id_}-b{b}-m{m}-{order}" for id_ in (KAI, ANA) for b, m in LEVELS for order in ("ab", "ba")]
        assert [question.id for question in one.questions] == ids
        assert [question.name for question in one.questions] == ids
        assert [question.query for question in one.questions] == [ASKS[KAI]] * 14 + [ASKS[ANA]] * 14

    def test_what_stands_in_a_haystack(self, make: Make) -> None:
        one = make(f"{KAI} older many", f"{ANA} newer one", f"{DORA} newer many")
        for question in one.questions:
            fields, found = one.gold(question).fields, parts(one, question)
            assert (len(found["backs"]), len(found["repeats"])) == (fields["b"], fields["m"])
            assert (len(found["stated"]), len(found["around"])) == (2, 60)
            entries = one.haystack(question.haystack)
            assert len(entries) == 62 + fields["b"] + fields["m"]
            assert [entry.id for entry in entries] == [f"e{n:03d}" for n in range(1, len(entries) + 1)]
            assert [entry.time for entry in entries] == [float(n) for n in range(1, len(entries) + 1)]

    def test_official_wording_and_which_is_older(self, make: Make) -> None:
        one = make()
        cricket, basketball = (
            f"Player Kai is associated with the sport of {value}." for value in ("cricket", "basketball")
        )
        for question in one.questions[:14]:
            expected = [cricket, basketball] if question.id.endswith("-ab") else [basketball, cricket]
            assert [entry.text for entry in parts(one, question)["stated"]] == expected

    def test_backers_name_the_backed_value_and_remarks_the_other(self, make: Make) -> None:
        one = make()
        values = {KAI: ("cricket", "basketball"), ANA: ("basketball", "cricket")}
        for question in one.questions:
            contradiction, _, _, order = question.id.rsplit("-", 3)
            older, newer = values[contradiction] if order == "ab" else values[contradiction][::-1]
            backed, other = (older, newer) if contradiction == KAI else (newer, older)
            found = parts(one, question)
            assert all(f" {backed}" in f" {entry.text}" for entry in found["backs"])
            assert all(other in entry.text for entry in found["repeats"])

    def test_implied_backers_do_not_name_it(self, make: Make) -> None:
        one = make(kind="implied")
        implied = written.RELATIONS[written.SPORT]["implied"]
        for question in one.questions[:14]:
            entries, fields = one.haystack(question.haystack), one.gold(question).fields
            value = "cricket" if question.id.endswith("-ab") else "basketball"  # the older one is backed
            there = [text.replace("{s}", "Player Kai") for text in implied[value]]
            assert sum(entry.text in there for entry in entries) == fields["b"]
            assert fields["kind"] == "implied"

    def test_a_level_with_more_is_the_one_with_less_and_some_put_in(self, make: Make) -> None:
        one = make()
        haystacks = {question.id: one.haystack(question.haystack) for question in one.questions}
        for id_ in (KAI, ANA):
            for order in ("ab", "ba"):
                for (b, m), (more_b, more_m) in combinations(LEVELS, 2):
                    if b > more_b or m > more_m:
                        continue
                    less = [(e.text, e.source) for e in haystacks[f"{id_}-b{b}-m{m}-{order}"]]
                    more = [(e.text, e.source) for e in haystacks[f"{id_}-b{more_b}-m{more_m}-{order}"]]
                    assert [entry for entry in more if entry in less] == less

    def test_both_orders_have_the_same_places(self, make: Make) -> None:
        one = make()
        for question, mirrored in zip(one.questions[::2], one.questions[1::2], strict=True):
            for name, entries in parts(one, question).items():
                assert [entry.id for entry in entries] == [entry.id for entry in parts(one, mirrored)[name]]

    def test_who_said_it(self, make: Make) -> None:
        one = make()
        for question in one.questions:
            entries, found = one.haystack(question.haystack), parts(one, question)
            counted = Counter(entry.source for entry in entries)
            assert all(entry.source for entry in entries)
            m = one.gold(question).fields["m"]
            if KAI in question.id:  # many
                assert set(counted.values()) == {1}
            else:  # the newer side is backed: whoever stated the older one repeats it
                assert counted[found["stated"][0].source] == 1 + m
                assert {entry.source for entry in found["repeats"]} <= {found["stated"][0].source}

    def test_the_same_seed_gives_the_same_text(self, make: Make) -> None:
        one, again = make(), make()
        for question in one.questions:
            assert one.haystack(question.haystack) == again.haystack(question.haystack)

    def test_workers_get_the_whole_entries(self, make: Make, tmp_path: Path) -> None:
        one = make()
        name = handover.write(one.suite, tmp_path)
        there = handover.read(name, one.suite.path, tmp_path, SOURCES_HERE)
        for question in one.questions:
            assert list(there.haystack(question.haystack)) == list(one.haystack(question.haystack))


class TestGold:
    def test_what_the_log_says(self, make: Make) -> None:
        one = make()
        question = next(q for q in one.questions if q.id == f"{KAI}-b3-m1-ba")
        gold = one.gold(question)
        assert gold.fields == {
            "expected": "belief",
            "relation": written.SPORT,
            "contradiction": KAI,
            "order": "ba",
            "backed": "older",
            "b": 3,
            "m": 1,
            "speakers": "many",
            "kind": "named",
        }
        assert (gold.cluster, one.key.cluster) == (written.SPORT, "relation")
        unbacked = one.gold(one.questions[0]).fields
        assert (unbacked["expected"], unbacked["backed"], unbacked["speakers"]) == (None, None, None)

    @pytest.mark.parametrize("returned", ["belief", "update", "both", "neither"])
    def test_metrics(self, make: Make, returned: str) -> None:
        one = make()
        for question in one.questions:
            older, newer = (entry.id for entry in parts(one, question)["stated"])
            ids = {"belief": [older], "update": [newer], "both": [newer, older], "neither": []}[returned]
            line = one.judge(question, ids)
            b = one.gold(question).fields["b"]
            right = returned == ("belief" if KAI in question.id else "update")
            alone = ["correct"] if one.gold(question).fields["m"] == 0 else []
            names = {0: [], 1: alone}.get(b, [*alone, "resisted" if KAI in question.id else "followed"])
            assert line.metrics == dict.fromkeys(names, float(right))
            assert line.left_out.keys() == {"correct", "followed", "resisted"} - set(names)
            assert line.hit == (right if b else None)
            assert (line.winner, line.case, line.web, line.backers, line.family) == (returned, None, None, None, None)
            assert line.expected == one.gold(question).fields["expected"]

    def test_why_a_question_is_left_out(self, make: Make) -> None:
        one = make()
        reasons = {q.id: one.judge(q).left_out for q in one.questions}
        nothing = "no fact backs either side: nothing is right"
        assert reasons[f"{KAI}-b0-m0-ab"] == dict.fromkeys(["correct", "followed", "resisted"], nothing)
        older, few = "the older side is backed", "fewer than 3 facts back the side"
        assert reasons[f"{KAI}-b1-m0-ab"] == {"followed": older, "resisted": few}
        assert reasons[f"{KAI}-b3-m0-ab"] == {"followed": older}
        assert reasons[f"{KAI}-b3-m5-ab"] == {"correct": "the other side is repeated", "followed": older}
        assert reasons[f"{ANA}-b5-m0-ab"] == {"resisted": "the newer side is backed"}

    def test_a_memory_that_tells_no_sources_can_t_be_judged(self, make: Make) -> None:
        one = make()
        question = next(q for q in one.questions if q.id == f"{KAI}-b3-m0-ab")
        line = one.judge(question, recalled=[{"text": "something", "sources": []}])
        assert set(line.metrics.values()) == {None}
        assert all("can't be traced" in why for why in line.missing.values())
        assert line.metrics.keys() == line.missing.keys() == {"correct", "resisted"}

    def test_always_newer_and_always_older_get_a_half_each(self, make: Make) -> None:
        one = make()
        for place in (0, 1):
            backed = [q for q in one.questions if "correct" not in one.gold(q).left_out]
            values = [one.judge(q, [parts(one, q)["stated"][place].id]).metrics["correct"] for q in backed]
            assert sum(value or 0 for value in values) == len(values) / 2

    def test_whoever_goes_by_the_value_gets_a_half(self, make: Make) -> None:
        one = make(f"{KAI} older many")
        backed = [q for q in one.questions if "correct" not in one.gold(q).left_out]
        cricket = [next(e.id for e in parts(one, q)["stated"] if "cricket" in e.text) for q in backed]
        values = [one.judge(q, [id_]).metrics["correct"] for q, id_ in zip(backed, cricket, strict=True)]
        assert sum(value or 0 for value in values) == len(values) / 2

    def test_floors_are_those_of_the_hypergeometric_distribution(self, make: Make) -> None:
        """C(n - 2, k - 1) / C(n, k), by the size of each haystack: 62 facts, b backers and m remarks."""
        one = make()

        def mean(levels: list[tuple[int, int]]) -> float:
            sizes = [62 + b + m for b, m in levels]
            return sum(comb(n - 2, 9) / comb(n, 10) for n in sizes) / len(sizes)

        found = floors(one.suite, one.key, 10)
        assert found == {
            "correct": pytest.approx(mean(LEVELS[1:4])),
            "followed": pytest.approx(mean(LEVELS[2:])),
            "resisted": pytest.approx(mean(LEVELS[2:])),
        }


class TestData:
    def test_what_the_manifest_says(self, make: Make) -> None:
        about = make().describe()
        expected = {
            "source": "backed_fc",
            "licence": "MIT",
            "frontier": True,
            "backing": "named",
            "contradictions": 2,
            "relations": 1,
            "row": "factconsolidation_sh_262k",
            "entries": 116,
            "official": None,
        }
        assert about.items() >= expected.items()
        assert "60 official facts that mention neither" in about["construction"]

    def test_a_changed_context_is_not_official(self, make: Make) -> None:
        about = make(context_sha256="a" * 64, backing_sha256="b" * 64).describe()
        assert about["official"] is False
        assert about["notes"][:2] == [
            "the context is not the official text (its sha256 differs)",
            "the facts that back a side are not those that the contradictions were drawn with",
        ]

    def test_without_data_every_question_is_listed_and_not_run(self, make: Make, tmp_path: Path) -> None:
        (tmp_path / "nothing").mkdir()
        one = make(data=tmp_path / "nothing")
        assert [q.id for q in one.questions] == [q.id for q in make().questions]
        assert "no memoryagentbench/Conflict_Resolution.json" in str(one.suite.not_run)
        assert one.unasked(one.questions[0]).status == "not run"
        assert (one.describe()["frontier"], one.key.cluster) == (True, "relation")

    def test_a_contradiction_that_this_copy_lacks_is_not_run(self, make: Make, tmp_path: Path) -> None:
        texts = written.facts()
        texts[8] = texts[0]  # the update says the same
        one = make(data=written.folder(tmp_path / "other", texts))
        gone, there = one.questions[:14], one.questions[14:]
        assert all("does not have this question" in str(question.not_run) for question in gone)
        assert all(question.not_run is None for question in there)
        assert "14 of 28 questions are not in this copy" in one.describe()["notes"]
        assert one.unasked(gone[0]).status == "not run"

    def test_too_few_facts_around(self, make: Make, tmp_path: Path) -> None:
        one = make(data=written.folder(tmp_path / "few", written.facts(around=40)))
        assert "fewer than 60 facts mention none of its names" in str(one.suite.not_run)

    def test_names_that_are_part_of_each_other_are_no_contradiction(self, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        row = factconsolidation.find_row(written.ROW, written.folder(tmp_path / "data"))
        backed = backing.read(written.write(tmp_path / "facts.json"))
        from pytest_engram.suites.facts import parse_facts

        # Neither "Golf Club Luna" with its golf (4) nor Hooli against Hooli Inc (7).
        entries = parse_facts(row.context)
        assert [one.id for one in source.known(entries, backed, "named")] == [
            "0-8",
            "1-9",
            "2-10",
            "3-11",
            "5-13",
            "6-14",
        ]
        assert [one.id for one in source.known(entries, backed, "implied")] == ["0-8", "1-9"]

    @pytest.mark.parametrize(
        ("field", "value", "problem"),
        [
            (
                "metrics",
                "[recall@10]",
                r"mine\.yaml:6: metrics: 'recall@10' can't be measured.*known are correct, followed",
            ),
            ("kind", "both", r"mine\.yaml:4: kind: .*'named' or 'implied'"),
            ("backing", "absent.json", r"absent\.json: can't be read"),
        ],
    )
    def test_a_wrong_file(self, make: Make, field: str, value: str, problem: str) -> None:
        with pytest.raises(SuiteError, match=problem):
            make(**{field: value})

    def test_a_contradiction_stands_once(self, make: Make) -> None:
        with pytest.raises(SuiteError, match=r"'0-8' stands twice"):
            make(f"{KAI} older one", f"{KAI} newer one")


class TestTraining:
    def test_its_questions_are_refused(self, make: Make, tmp_path: Path) -> None:
        one = make()
        known = scored([one.suite.path], [one.suite])
        for learnt in ("Please: which sport is Player Kai associated with?", {"id": KAI, "text": "Something else"}):
            with pytest.raises(Violation, match="no training on scored data"):
                check_training("mine", [learnt], known)
        check_training("mine", ["Which sport is Player Zed associated with?"], known)

    def test_its_own_split_is_checked(self, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        one = make()
        monkeypatch.setattr(backing, "shipped", lambda: tmp_path / "facts.json")
        with pytest.raises(Violation, match="2 of its 6 training questions are scored"):
            split("backed_fc", tmp_path / "data", scored([one.suite.path], []), SOURCES_HERE)
        with pytest.raises(NotRun, match="there are no questions 'backed_fc_more'; there: backed_fc"):
            split("backed_fc_more", tmp_path / "data", [], SOURCES_HERE)


def test_a_suite_file_without_texts_is_none(tmp_path: Path) -> None:
    assert not files.is_suite(written.write(tmp_path / "facts.yaml"))
