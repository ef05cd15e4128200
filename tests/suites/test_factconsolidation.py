"""FactConsolidation: the official counts and hashes, and what happens with data that is not what it should be."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from both import Both
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.asking.rules import Violation, check_training
from pytest_engram.basics.cache import CacheError, cache_dir
from pytest_engram.suites import factconsolidation, facts, files, handover, locations, pilots
from pytest_engram.suites.base import NotRun, SuiteError
from pytest_engram.suites.fingerprints import fingerprint

CASES = Path(__file__).parents[2] / "cases" / "pilot"
ROW = "factconsolidation_sh_6k"
CONTEXT = "Here is a list of facts:\n0. Kai lives in Oslo.\n1. Kai lives in Rome.\n2. Ana lives in Bern.\n"


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and no hub."""
    from huggingface_hub import constants

    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    locations._unreachable.cache_clear()


def row(name: str = ROW, **changes: Any) -> dict[str, Any]:
    questions = ["Where does Kai live?", "Where does Ana live?"]
    ids = [f"{name}_no{i}" for i in range(2)]
    return {
        "context": CONTEXT,
        "questions": questions,
        "answers": [["Rome", "Roma"], ["Bern"]],
        "metadata": {"source": name, "qa_pair_ids": ids, "demo": None},
    } | changes


def folder(at: Path, *rows: Any) -> Path:
    path = at / factconsolidation.FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")
    return at


def spec(**changes: Any) -> factconsolidation.Spec:
    texts = ["Where does Kai live?", "Where does Ana live?"]
    questions = [{"id": f"{ROW}_no{i}", "text": fingerprint(text)} for i, text in enumerate(texts)]
    fields = {"engram": "pilot", "name": "mine", "source": "factconsolidation", "rows": ROW}
    return factconsolidation.Spec.model_validate(
        fields | {"metrics": ["answer@1", "answer@3", "subem"], "questions": questions} | changes
    )


def suite(data: Path, **changes: Any) -> Both:
    return Both(*factconsolidation.load(spec(**changes), Path("mine.yaml"), data))


def committed(name: str, data: Path | None, reason: str = "not looked for") -> Both:
    path = CASES / f"{name}.yaml"
    raw, lines = files.read(path)
    made = files.validate(factconsolidation.Spec, raw, path, lines)
    if data is None:
        return Both(*factconsolidation.missing(made, path, reason))
    return Both(*factconsolidation.load(made, path, data))


class TestOfficialData:
    """Counts and hashes are those that the data's own description states."""

    @pytest.mark.parametrize(
        ("size", "entries", "sha256"),
        [
            ("6k", 455, "e46cb14b53eedd71bf92762974a597d46b001157b6b769c03865dee9641818a1"),
            ("262k", 18_332, "9c8ce1ed911d25a3c9d52e5758d9a8d23fa769ded88c5e59dbc1e1a3f6eb1f10"),
        ],
    )
    def test_both_hops_of_a_size(self, shared_data: Path, size: str, entries: int, sha256: str) -> None:
        single, multi = (committed(f"fc_{hops}_{size}", shared_data) for hops in ("sh", "mh"))
        for one in (single, multi):
            about = one.describe()
            assert (about["entries"], about["context_sha256"], about["official"]) == (entries, sha256, True)
            # Which questions these are, and why, stands in test_chains.py.
            assert [note for note in about["notes"] if "left out of resolved@N" not in note] == []
            assert len(one.questions) == 100
            assert all(one.gold(question).ceiling for question in one.questions)
        keys = {question.haystack for one in (single, multi) for question in one.questions}
        assert len(keys) == 1  # so that a memory is built once for both
        key = keys.pop()
        assert single.haystack(key) is multi.haystack(key)

    def test_text_and_time_of_an_entry(self, shared_data: Path) -> None:
        one = committed("fc_mh_6k", shared_data)
        entries = one.haystack(one.questions[0].haystack)
        assert entries[6] == ("6", "6. Rogério Ceni plays the position of goalkeeper.", 6.0, "")
        assert [entry.id for entry in entries] == [str(serial) for serial in range(455)]
        question = one.questions[17]
        assert (question.name, question.id) == ("q017", "factconsolidation_mh_6k_no17")

    @pytest.mark.parametrize("name", ["fc_sh_6k", "fc_mh_6k"])
    @pytest.mark.parametrize("method", ["bm25", "dense"])
    def test_answer_at_10_of_the_reference(self, shared_data: Path, name: str, method: str) -> None:
        """Ids and their mean were computed apart from this project."""
        reference = json.loads((shared_data / "reference" / "fc_6k.json").read_text(encoding="utf-8"))[name]
        one = committed(name, shared_data)
        answered = [
            one.judge(question, [str(serial) for serial in serials]).metrics["answer@10"]
            for question, serials in zip(one.questions, reference["ids"][method], strict=True)
        ]
        assert answered.count(1.0) / 100 == reference["answer@10"][method]

    def test_committed_files_are_what_the_script_writes(self, shared_data: Path) -> None:
        for name, text in pilots.pilot_files(shared_data).items():
            assert (CASES / name).read_text(encoding="utf-8") == text, name

    def test_no_question_text_is_committed(self, shared_data: Path) -> None:
        texts = "".join(path.read_text(encoding="utf-8") for path in CASES.glob("fc_*.yaml"))
        assert not any(question.query in texts for question in committed("fc_sh_262k", shared_data).questions)


class TestCopies:
    """A copy that is not the official data is told apart, and never stands in for it."""

    def test_own_data_without_official_hash(self, tmp_path: Path) -> None:
        one = suite(folder(tmp_path, row()))
        assert one.describe() == {
            "source": "factconsolidation",
            "licence": "MIT",
            "row": ROW,
            "origin": "memoryagentbench/Conflict_Resolution.json in --engram-data",
            "context_sha256": hashlib.sha256(CONTEXT.encode()).hexdigest(),
            "official": None,
            "entries": 3,
            "notes": [],
        }

    def test_changed_context_is_not_official(self, tmp_path: Path) -> None:
        about = suite(folder(tmp_path, row(context=CONTEXT + "3. One more.\n")), context_sha256="0" * 64).describe()
        assert about["official"] is False
        assert about["notes"] == ["the context is not the official text (its sha256 differs)"]

    def test_changed_answers_are_not_official(self, tmp_path: Path) -> None:
        official = {
            "context_sha256": hashlib.sha256(CONTEXT.encode()).hexdigest(),
            "answers_sha256": hashlib.sha256(b'[["Rome", "Roma"], ["Bern"]]').hexdigest(),
        }
        assert suite(folder(tmp_path, row()), **official).describe()["official"] is True
        about = suite(folder(tmp_path, row(answers=[["Oslo"], ["Bern"]])), **official).describe()
        assert about["official"] is False
        assert about["notes"] == ["the accepted answers are not the official ones (their sha256 differs)"]

    def test_changed_question_is_not_run(self, tmp_path: Path) -> None:
        one = suite(folder(tmp_path, row(questions=["Where does Kai live?", "Who lives in Bern?"])))
        changed = one.questions[1]
        reason = r"has another text for this question than the pilot set.* Cure: "
        assert re.search(reason, str(changed.not_run))
        line = one.unasked(changed)
        assert (line.status, line.reason) == ("not run", changed.not_run)
        assert (changed.query, one.gold(changed).answers, line.ceiling) == ("", (), None)
        assert one.questions[0].query == "Where does Kai live?"
        assert one.describe()["notes"] == ["1 of 2 questions are not in this copy"]

    def test_case_and_punctuation_of_a_question_do_not_matter(self, tmp_path: Path) -> None:
        one = suite(folder(tmp_path, row(questions=["where does Kai live", "Where  does Ana live??"])))
        assert one.describe()["notes"] == []

    def test_absent_question_is_not_run(self, tmp_path: Path) -> None:
        few = row(questions=["Where does Kai live?"], answers=[["Rome"]], metadata={"source": ROW})
        one = suite(folder(tmp_path, few))
        assert "does not have this question" in str(one.questions[1].not_run)
        line = one.unasked(one.questions[1])
        assert (line.status, line.reason) == ("not run", one.questions[1].not_run)

    def test_order_of_the_copy_does_not_matter(self, tmp_path: Path) -> None:
        turned = row(questions=["Where does Ana live?", "Where does Kai live?"], answers=[["Bern"], ["Rome"]])
        turned["metadata"]["qa_pair_ids"].reverse()
        one = suite(folder(tmp_path, turned))
        assert [one.gold(question).answers for question in one.questions] == [("Rome",), ("Bern",)]

    def test_without_data_the_questions_are_listed(self) -> None:
        one = committed("fc_mh_262k", None, "the reason")
        assert [question.name for question in one.questions] == [f"q{i:03d}" for i in range(100)]
        assert {question.query for question in one.questions} == {""}
        assert (one.suite.not_run, one.key.not_run, one.suite.runnable()) == ("the reason", "the reason", [])
        line = one.unasked(one.questions[0])
        assert (line.status, line.reason) == ("not run", "the reason")


class TestScore:
    def test_answer_counts_within_its_k(self, tmp_path: Path) -> None:
        one = suite(folder(tmp_path, row()), metrics=["answer@1", "answer@3"])
        kai = one.questions[0]
        assert one.judge(kai, ["0", "1"]).metrics == {"answer@1": 0.0, "answer@3": 1.0}
        assert one.judge(kai, ["1"]).metrics == {"answer@1": 1.0, "answer@3": 1.0}
        assert one.judge(kai, []).metrics == {"answer@1": 0.0, "answer@3": 0.0}
        assert one.judge(kai, ["0", "2", "1"]).gold_ids == ["1"]
        assert one.judge(kai).gold == ["Rome", "Roma"]

    def test_ceiling(self, tmp_path: Path) -> None:
        one = suite(folder(tmp_path, row(answers=[["Lima"], ["", "Bern"]])))
        assert [one.gold(question).ceiling for question in one.questions] == [False, True]

    def test_texts_to_embed(self, tmp_path: Path) -> None:
        passages, queries = suite(folder(tmp_path, row())).texts()
        assert passages == ["0. Kai lives in Oslo.", "1. Kai lives in Rome.", "2. Ana lives in Bern."]
        assert queries == ["Where does Kai live?", "Where does Ana live?"]


class TestParse:
    def test_line_ends_empty_lines_and_order(self) -> None:
        parsed = facts.parse_facts("Title\r\n10. b\u2028c\r\n\r\n  \r\n9. ä\n2.\n")
        assert parsed == (("2", "2.", 2.0, ""), ("9", "9. ä", 9.0, ""), ("10", "10. b\u2028c", 10.0, ""))

    def test_one_entry_and_no_heading(self) -> None:
        assert facts.parse_facts("0. Only this.") == (("0", "0. Only this.", 0.0, ""),)

    @pytest.mark.parametrize(
        ("context", "problem"),
        [
            ("Title\n0. a\nno serial\n", "line 3 of the context has no serial number: no serial"),
            ("Title\n0. a\n0.5 b\n", "line 3 of the context has no serial number: 0.5 b"),
            ("Title\n7. a\n07. b\n", "line 3 of the context has the serial number 7 for the second time"),
            ("Title\n", "the context holds no fact"),
            ("", "the context holds no fact"),
        ],
    )
    def test_what_is_no_list_of_facts(self, context: str, problem: str) -> None:
        with pytest.raises(ValueError, match=problem):
            facts.parse_facts(context)

    @given(st.dictionaries(st.integers(0, 10**6), st.text(st.characters(exclude_characters="\r\n")), min_size=1))
    def test_any_text_comes_back(self, held: dict[int, str]) -> None:
        context = "Title\n" + "".join(f"{serial}. {text}\n" for serial, text in held.items())
        expected = tuple((str(serial), f"{serial}. {held[serial]}", float(serial), "") for serial in sorted(held))
        assert facts.parse_facts(context) == expected


class TestMalformedData:
    @pytest.mark.parametrize(
        ("rows", "problem"),
        [
            ([], "has no row 'factconsolidation_sh_6k'; there: none with a metadata.source"),
            ([row("other"), 3, {"metadata": []}], "has no row 'factconsolidation_sh_6k'; there: other"),
            ([row(), row()], "has 2 rows 'factconsolidation_sh_6k'"),
            ([row(questions=["one"])], r"unequal numbers of questions \(1\), answers \(2\)"),
            ([row(answers=["Rome", "Bern"])], r"answers\.0: Input should be a valid list"),
            ([{"metadata": {"source": ROW}}], "context: Field required"),
            ([row(context="Title\nno fact\n")], "line 2 of the context has no serial number"),
            ([row(metadata={"source": ROW, "qa_pair_ids": ["a", "a"]})], "'a' stands twice"),
        ],
    )
    def test_reason_names_file_row_problem_and_cure(self, tmp_path: Path, rows: list[Any], problem: str) -> None:
        with pytest.raises(NotRun, match=rf"^{factconsolidation.FILE} in --engram-data.*{problem}.*Fetch the official"):
            factconsolidation.load(spec(), Path("mine.yaml"), folder(tmp_path, *rows))

    def test_cache_that_cannot_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "file"))
        one = suite(folder(tmp_path, row()))
        with pytest.raises(CacheError, match=r"can't be written .*; set ENGRAM_CACHE"):
            handover.write(one.suite, cache_dir() / "asked")

    def test_surrogates_and_unicode_survive_the_cache(self, tmp_path: Path) -> None:
        odd = "Title\n0. \ud800 Łódź 東京 is Rome.\n"
        one = suite(folder(tmp_path, row(context=odd)))
        name = handover.write(one.suite, cache_dir() / "asked")
        handed = handover.read(name, Path("mine.yaml"), cache_dir() / "asked", {"factconsolidation": factconsolidation})
        for got in (one.suite, handed):
            assert got.haystack(got.questions[0].haystack)[0].text == "0. \ud800 Łódź 東京 is Rome."


class TestMalformedSuiteFile:
    TEXT = f"""\
engram: pilot
name: mine
source: factconsolidation
rows: {ROW}
metrics: [answer@10]
questions:
  - {{id: a_no0, text: "0123456789abcdef"}}
"""

    def problem(self, tmp_path: Path, old: str, new: str) -> str:
        assert old in self.TEXT
        path = tmp_path / "mine.yaml"
        path.write_text(self.TEXT.replace(old, new), encoding="utf-8")
        raw, lines = files.read(path)
        with pytest.raises(SuiteError) as told:
            files.validate(factconsolidation.Spec, raw, path, lines)
        return str(told.value).removeprefix(str(path))

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            (f"rows: {ROW}\n", "", ":1: rows: this field is missing; add it"),
            ("name: mine", "name: 3", ":2: name: input should be a valid string; got 3"),
            (
                "name: mine",
                "name: mine\nrow: 1",
                ":3: row: no such field; known are answers_sha256, context",
            ),
            ("[answer@10]", "[recall_any@5]", ":5: metrics: 'recall_any@5' can't be measured on these questions"),
            ("[answer@10]", "[Answer 10]", ":5: metrics: 'Answer 10' is no metric's name"),
            ("[answer@10]", "[]", ":5: metrics: list should have at least 1 item"),
            ("0123456789abcdef", "Where?", ":7: questions[0].text: string should match pattern"),
            ("id: a_no0", "id: 7", ":7: questions[0].id: input should be a valid string; got 7"),
            ("id: a_no0, ", "", ":7: questions[0].id: this field is missing; add it"),
        ],
    )
    def test_line_field_and_cure(self, tmp_path: Path, old: str, new: str, expected: str) -> None:
        assert self.problem(tmp_path, old, new).find(expected) >= 0

    def test_question_that_stands_twice(self, tmp_path: Path) -> None:
        line = '  - {id: a_no0, text: "0123456789abcdef"}\n'
        assert ":6: questions: the question 'a_no0' stands twice; delete one" in self.problem(tmp_path, line, 2 * line)

    def test_empty_suite(self, tmp_path: Path) -> None:
        assert suite(folder(tmp_path, row()), questions=[]).questions == []


class TestAllQuestions:
    """`questions: all`: whatever the row has."""

    FULL = CASES.parent / "full"

    def test_they_are_those_of_the_row(self, tmp_path: Path) -> None:
        one = suite(folder(tmp_path, row()), questions="all")
        assert [(q.id, q.name, q.query) for q in one.questions] == [
            (f"{ROW}_no0", "q000", "Where does Kai live?"),
            (f"{ROW}_no1", "q001", "Where does Ana live?"),
        ]
        assert one.gold(one.questions[0]).answers == ("Rome", "Roma")
        assert one.key.questions() == [f"{ROW}_no0", f"{ROW}_no1"]

    def test_the_pilot_set_is_all_of_its_row(self, shared_data: Path) -> None:
        chosen = committed("fc_mh_6k", shared_data)
        changes = {"name": "fc_mh_6k", "rows": "factconsolidation_mh_6k", "questions": "all"}
        whole = suite(shared_data, **changes, metrics=list(chosen.key.metrics))
        assert whole.questions == chosen.questions
        assert all(whole.gold(q) == chosen.gold(q) for q in whole.questions)

    def test_without_data_one_stands_for_all(self) -> None:
        found = factconsolidation.missing(spec(questions="all"), Path("mine.yaml"), "no data")
        assert [(q.id, q.name) for q in found.suite.questions] == [("all", "all")]
        assert found.suite.not_run == "no data"

    def test_every_size_and_hop_is_shipped(self) -> None:
        names = {files.read(path)[0].get("rows") for folder in (CASES, self.FULL) for path in folder.glob("fc_*.yaml")}
        sizes = ("6k", "32k", "64k", "262k")
        assert names == {f"factconsolidation_{hops}_{size}" for hops in ("sh", "mh") for size in sizes}

    def test_a_row_of_the_sizes_between_may_be_learnt_from_unless_it_is_asked(self, tmp_path: Path) -> None:
        from pytest_engram.asking import training

        path = self.FULL / "fc_mh_32k.yaml"
        raw, lines = files.read(path)
        made = files.validate(factconsolidation.Spec, raw, path, lines)
        data = folder(tmp_path, row(made.rows))
        learnt = factconsolidation.training(made.rows, data)
        check_training("mine", learnt, training.scored([CASES, self.FULL], []))
        asked = factconsolidation.load(made, path, data).suite
        with pytest.raises(Violation, match="2 of its 2 training questions are scored"):
            check_training("mine", learnt, training.scored([CASES, self.FULL], [asked]))


class TestTraining:
    """Rule 2 of the design names this case: the 32K row shares ten questions with the 6K pilot set."""

    def shared_questions(self, data: Path, at: Path) -> Path:
        pilot = committed("fc_mh_6k", data).questions
        name = "factconsolidation_mh_32k"
        texts = [question.query for question in pilot[40:50]] + [f"Who is number {i}?" for i in range(90)]
        ids = [f"{name}_no{i}" for i in range(100)]
        metadata = {"source": name, "qa_pair_ids": ids}
        return folder(at, row(name, questions=texts, answers=[["x"]] * 100, metadata=metadata))

    def test_shared_questions_under_other_ids_are_refused(self, shared_data: Path, tmp_path: Path) -> None:
        data = self.shared_questions(shared_data, tmp_path)
        learnt = factconsolidation.training("factconsolidation_mh_32k", data)
        assert len(learnt) == 100
        with pytest.raises(Violation, match=r"10 of its 100 training questions are scored: \w*_mh_32k_no0 \(same text"):
            check_training("mine", learnt, pilots.scored([CASES]))
        check_training("mine", learnt[10:], pilots.scored([CASES]))

    def test_absent_row_is_not_run(self, shared_data: Path) -> None:
        with pytest.raises(NotRun, match="has no row 'factconsolidation_mh_32k'; there: factconsolidation_mh_262k"):
            factconsolidation.training("factconsolidation_mh_32k", shared_data)
