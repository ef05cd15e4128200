"""LoCoMo: equal to the official evaluation, which is rewritten plainly here, on the official file and on odd ones."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from both import METRICS, Both
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.asking import rules
from pytest_engram.basics.registry import Registry
from pytest_engram.development import devdata
from pytest_engram.judging.named import NO_EVIDENCE, UNTRACED, Found, Unmeasured, of
from pytest_engram.suites import SOURCES, dates, files, handover, loading, locations, pilots
from pytest_engram.suites.base import Gold, NotRun, SuiteError
from pytest_engram.suites.fingerprints import fingerprint
from pytest_engram.suites.locomo import audit, parse, protocol
from pytest_engram.suites.locomo import source as locomo
from pytest_engram.suites.locomo.protocol import Evidence

CASES = Path(__file__).parents[2] / "cases"


def session(number: int, *texts: str, speaker: str = "Ann", date: str = "1:56 pm on 8 May, 2023") -> dict[str, Any]:
    turns = [{"speaker": speaker, "dia_id": f"D{number}:{i}", "text": text} for i, text in enumerate(texts, 1)]
    return {f"session_{number}": turns, f"session_{number}_date_time": date}


def qa(**fields: Any) -> dict[str, Any]:
    return {"question": "Where is the cat?", "answer": "mat", "evidence": ["D1:2"], "category": 4} | fields


def sample(*questions: dict[str, Any], sample_id: str = "conv-1", **conversation: Any) -> dict[str, Any]:
    """A conversation of two sessions, the second an hour later."""
    held = session(1, "Hello!", "The cat sat.") | session(2, "Bye.", speaker="Bob", date="2:56 pm on 8 May, 2023")
    return {"sample_id": sample_id, "conversation": held | conversation, "qa": list(questions) or [qa()]}


def put(folder: Path, samples: Any, errors: Any = None) -> Path:
    """The files where `--engram-data folder` has them."""
    for name, content in ((locomo.FILE, samples), (audit.FILE, errors)):
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def spec(**fields: Any) -> locomo.Spec:
    made = {"engram": "pilot", "name": "loc", "source": "locomo", "metrics": ["recall@2", "f1"], "questions": "all"}
    return locomo.Spec.model_validate(made | fields)


def suite(folder: Path, **fields: Any) -> Both:
    return Both(*locomo.load(spec(**fields), Path("loc.yaml"), folder))


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))


# The official code, rewritten plainly


def official_turns(raw: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Text and date of each turn, by its id, as `prepare_for_rag` collects them."""
    found = {}
    conversation = raw["conversation"]
    numbers = [int(k.split("_")[-1]) for k in conversation if "session" in k and "date_time" not in k]
    for i in range(min(numbers), max(numbers) + 1):
        for dialog in conversation[f"session_{i}"]:
            text = dialog["speaker"] + ' said, "' + dialog["text"] + '"'
            if "blip_caption" in dialog:
                text += " and shared " + dialog["blip_caption"]
            found[dialog["dia_id"]] = (text, conversation[f"session_{i}_date_time"])
    return found


def official_recall(context: list[str], evidence: list[str]) -> float:
    """Recall of `eval_question_answering`, for a context of turns ("D1:3") or of sessions ("S1")."""
    if not evidence:
        return 1
    if context and context[0].startswith("S"):
        sessions = [id_[1:] for id_ in context]
        return float(sum([ev.split(":")[0][1:] in sessions for ev in evidence])) / len(evidence)
    return float(sum([ev in context for ev in evidence])) / len(evidence)


@pytest.fixture(scope="module")
def raw(shared_data: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((shared_data / locomo.FILE).read_text(encoding="utf-8"))
    return found


class TestTheOfficialFile:
    def test_every_turn_as_the_official_retrieval_has_it(self, shared_data: Path, raw: list[dict[str, Any]]) -> None:
        made = suite(shared_data)
        assert made.describe()["official"] is True
        assert made.describe()["entries"] == 5882
        ids: list[str] = []
        for one in raw:
            entries = made.haystack(one["sample_id"])
            expected = official_turns(one)
            assert [entry.id for entry in entries] == [f"{one['sample_id']}:{id_}" for id_ in expected]
            assert [entry.text for entry in entries] == [text for text, _ in expected.values()]
            assert [dates.locomo(entry.time) for entry in entries] == [date for _, date in expected.values()]
            turns = {
                turn["dia_id"]: turn for said in one["conversation"].values() if type(said) is list for turn in said
            }
            assert [entry.source for entry in entries] == [turns[id_]["speaker"] for id_ in expected]
            times = [entry.time for entry in entries]
            assert times == sorted(set(times))
            ids += [entry.id for entry in entries]
        assert len(set(ids)) == len(ids) == 5882

    def test_a_session_is_its_turns(self, shared_data: Path, raw: list[dict[str, Any]]) -> None:
        made = suite(shared_data, granularity="session")
        for one in raw:
            entries = made.haystack(one["sample_id"])
            numbers = range(1, len(entries) + 1)
            assert [entry.id for entry in entries] == [f"{one['sample_id']}:S{i}" for i in numbers]
            texts = {id_: text for id_, (text, _) in official_turns(one).items()}
            for i, entry in zip(numbers, entries, strict=True):
                said = [texts[turn["dia_id"]] for turn in one["conversation"][f"session_{i}"]]
                assert (entry.text, entry.source) == ("\n".join(said), "")
                assert dates.locomo(entry.time) == one["conversation"][f"session_{i}_date_time"]

    @pytest.mark.parametrize("granularity", ["turn", "session"])
    @pytest.mark.parametrize("seed", [1, 2])
    def test_recall_of_any_ranking_is_the_official_one(
        self, shared_data: Path, raw: list[dict[str, Any]], granularity: str, seed: int
    ) -> None:
        made = suite(shared_data, granularity=granularity, metrics=["recall@1", "recall@5", "recall@25"])
        draw = random.Random(seed)
        compared = Counter[bool]()
        questions = iter(made.questions)
        for number, one in enumerate(raw):
            entries = [entry.id for entry in made.haystack(one["sample_id"])]
            for place, asked in enumerate(one["qa"]):
                question = next(questions)
                assert question.id == f"locomo_{number}_qa{place}"
                assert (question.query, question.haystack) == (asked["question"], one["sample_id"])
                gold = made.gold(question)
                named = {f"{one['sample_id']}:{ev}" for ev in asked["evidence"]}
                likely = sorted(named.intersection(entries)) if granularity == "turn" else []
                ids = list(dict.fromkeys([*draw.sample(entries, min(20, len(entries))), *likely]))
                draw.shuffle(ids)
                compared[bool(asked["evidence"])] += 1
                if not asked["evidence"]:
                    assert (gold.excluded, gold.ceiling) == (protocol.NO_EVIDENCE, None)
                    continue
                found = Found.of(made.line(question, ids, 25), gold)
                for k in (1, 5, 25):
                    context = [id_.split(":", 1)[1] for id_ in ids[:k]]
                    assert of(METRICS["recall"]).measure(found, k) == official_recall(context, asked["evidence"])
        assert compared == {True: 1982, False: 4}

    def test_categories_clusters_and_answers(self, shared_data: Path, raw: list[dict[str, Any]]) -> None:
        made = suite(shared_data)
        golds = [made.gold(question) for question in made.questions]
        assert Counter(gold.group for gold in golds) == {
            "multi-hop": 282,
            "temporal": 321,
            "open-domain": 96,
            "single-hop": 841,
            "adversarial": 446,
        }
        assert (made.key.cluster, made.key.prompts) == ("conversation", "locomo")
        assert {gold.cluster for gold in golds} == {one["sample_id"] for one in raw}
        every = [asked for one in raw for asked in one["qa"]]
        for asked, gold in zip(every, golds, strict=True):
            assert gold.prompt["category"] == asked["category"]
            if asked["category"] == 5:
                offered = asked.get("answer", asked["adversarial_answer"])
                assert sorted(gold.prompt["options"]) == sorted(["Not mentioned in the conversation", str(offered)])
                assert gold.answers == ("Not mentioned in the conversation",)
            else:
                assert gold.answers == (str(asked["answer"]),)
                assert "options" not in gold.prompt
        first = sum(
            gold.prompt["options"][0] == protocol.NOT_MENTIONED for gold in golds if gold.group == "adversarial"
        )
        assert 180 < first < 266  # a fair coin of 446 throws: 223, and four standard deviations either way

    def test_the_errors_of_the_answer_key(self, shared_data: Path) -> None:
        made = suite(shared_data)
        disputed = Counter(made.gold(question).disputed for question in made.questions)
        assert disputed == {
            None: 1887,
            "HALLUCINATION": 33,
            "TEMPORAL_ERROR": 26,
            "ATTRIBUTION_ERROR": 24,
            "AMBIGUOUS": 13,
            "INCOMPLETE": 3,
        }
        errors = made.describe()["key_errors"]
        assert (errors["answers"], errors["citations"], errors["questions"]) == (99, 57, 1540)
        assert errors["ceiling"] == pytest.approx(0.9357, abs=5e-5)
        assert "dial481/locomo-audit" in errors["source"]

    def test_the_pilot_set_is_the_documented_draw_and_is_here(
        self, shared_data: Path, raw: list[dict[str, Any]]
    ) -> None:
        pilot, _ = shipped("pilot/locomo.yaml")
        names = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
        strata: dict[str, list[str]] = {}
        for number, one in enumerate(raw):
            for place, asked in enumerate(one["qa"]):
                strata.setdefault(names[asked["category"]], []).append(f"locomo_{number}_qa{place}")
        assert sorted(q.id for q in pilot.questions) == pilots.stratified(strata, 300, 20261008)
        assert pilot.drawn.startswith("stratified(ids by category, 300, seed 20261008)")
        made = Both(*locomo.load(pilot, Path("x.yaml"), shared_data))
        assert [question.not_run for question in made.questions] == [None] * 300
        # By hand: 300/1986 of 282, 321, 96, 841 and 446 are 42.60, 48.49, 14.50, 127.04 and 67.37.
        assert Counter(made.gold(question).group for question in made.questions) == {
            "multi-hop": 43,
            "temporal": 48,
            "open-domain": 15,
            "single-hop": 127,
            "adversarial": 67,
        }
        assert made.describe()["official"] is True

    def test_the_whole_is_a_suite_of_its_own(self, shared_data: Path) -> None:
        whole, path = shipped("full/locomo.yaml")
        assert len(locomo.load(whole, path, shared_data).suite.questions) == 1986
        absent = locomo.missing(whole, path, "the reason")
        assert [question.id for question in absent.suite.questions] == ["all"]
        assert (absent.key.cluster, absent.key.not_run) == ("conversation", "the reason")

    def test_what_is_odd(self, shared_data: Path) -> None:
        assert parse.oddities(locomo.find(shared_data).conversations) == [
            "4 questions, the first locomo_0_qa30: without evidence: left out of recall",
            "9 questions, the first locomo_0_qa37: with evidence that names no turn: it counts as not found",
            "6 questions, the first locomo_0_qa1: with a number as the answer",
            "444 questions, the first locomo_0_qa152: adversarial, without an answer",
        ]


def shipped(name: str) -> tuple[Any, Path]:
    path = CASES / name
    content, lines = files.read(path)
    return files.validate(locomo.Spec, content, path, lines), path


class TestGold:
    def test_a_picture_s_caption_is_told(self, tmp_path: Path) -> None:
        pictured = session(3, "Look!", date="3:00 pm on 8 May, 2023")
        pictured["session_3"][0]["blip_caption"] = "a photo of a cat"
        made = suite(put(tmp_path, [sample(**pictured)]))
        assert made.haystack("conv-1")[-1].text == 'Ann said, "Look!" and shared a photo of a cat'

    def test_entries_are_in_time_order_and_a_session_stays_together(self, tmp_path: Path) -> None:
        earlier = session(3, "x", "y", date="1:55 pm on 8 May, 2023")
        made = suite(put(tmp_path, [sample(**earlier)]))
        ids = [entry.id for entry in made.haystack("conv-1")]
        assert ids == [f"conv-1:{id_}" for id_ in ("D3:1", "D3:2", "D1:1", "D1:2", "D2:1")]

    def test_ids_are_unique_over_conversations(self, tmp_path: Path) -> None:
        made = suite(put(tmp_path, [sample(), sample(sample_id="conv-2")]))
        assert [question.id for question in made.questions] == ["locomo_0_qa0", "locomo_1_qa0"]
        ids = [entry.id for key in ("conv-1", "conv-2") for entry in made.haystack(key)]
        assert len(set(ids)) == len(ids) == 6

    def test_evidence_that_names_no_turn_counts_as_not_found(self, tmp_path: Path) -> None:
        made = suite(put(tmp_path, [sample(qa(evidence=["D1:2", "D", "D1:2; D2:1", "D1:2"]))]))
        gold = made.gold(made.questions[0])
        assert (gold.relevant, gold.ceiling) == (["conv-1:D1:2"], True)
        # Two of the four pieces, one of which stands twice.
        assert made.judge(made.questions[0], ["conv-1:D1:2"]).metrics["recall@2"] == 0.5
        assert made.judge(made.questions[0], ["conv-1:D2:1"]).metrics["recall@2"] == 0.0
        assert made.describe()["notes"][1] == "evidence of 1 question names no turn and counts as not found"
        by_session = suite(tmp_path, granularity="session")
        assert by_session.gold(by_session.questions[0]).detail.ids == (
            "conv-1:S1",
            "conv-1:S",
            "conv-1:S1",
            "conv-1:S1",
        )
        assert by_session.judge(by_session.questions[0], ["conv-1:S1"]).metrics["recall@2"] == 0.75

    def test_what_a_worker_gets_holds_no_gold(self, tmp_path: Path) -> None:
        lure = qa(category=5, adversarial_answer="canary lure", evidence=["D1:1"])
        del lure["answer"]
        asked = [qa(answer="canary answer", evidence=["D1:2"]), lure]
        made = suite(put(tmp_path, [sample(*asked)]))
        name = handover.write(made.suite, tmp_path / "asked")
        written = b"".join(path.read_bytes() for path in (tmp_path / "asked").iterdir())
        for secret in (b"canary", b"Not mentioned", b"category", b"adversarial", b"evidence"):
            assert secret not in written
        sources: Registry[Any] = Registry("data source", SOURCES)
        handed = handover.read(name, Path("loc.yaml"), tmp_path / "asked", sources)
        assert handed.haystack("conv-1") == made.haystack("conv-1")
        assert handed.questions == list(made.questions)
        assert handed.rank is protocol.rank
        assert handed.tokenize is None

    def test_ties_stand_in_the_official_order(self) -> None:
        scores = np.array([1.0, 3.0, 1.0, 3.0, 2.0] * 9)
        assert protocol.rank(scores).tolist() == np.argsort(scores)[::-1].tolist()

    def test_a_question_that_the_copy_lacks_or_has_otherwise_is_not_run(self, tmp_path: Path) -> None:
        wanted = [
            {"id": "locomo_0_qa0", "text": fingerprint("Where is the cat?")},
            {"id": "locomo_0_qa1"},
            {"id": "locomo_0_qa0x", "text": "0" * 16},
        ]
        made = suite(put(tmp_path, [sample(qa(), qa(question="Why?"))]), questions=wanted)
        assert [question.not_run is None for question in made.questions] == [True, True, False]
        assert "does not have this question. Cure: " in str(made.questions[2].not_run)
        wanted[1]["text"] = "0" * 16
        assert "has another text" in str(suite(tmp_path, questions=wanted).questions[1].not_run)
        assert made.describe()["notes"][-1] == "1 of 3 questions are not in this copy"

    def test_a_copy_that_is_not_official_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        described = suite(put(tmp_path, [sample()])).describe()
        assert described["official"] is False
        assert described["notes"][0] == "the data is not the official file (its sha256 differs)"
        drawn_from_it = suite(tmp_path, data_sha256=described["data_sha256"]).describe()["notes"]
        assert not any("drawn from" in note for note in drawn_from_it)
        drawn_from_another = suite(tmp_path, data_sha256="0" * 64).describe()["notes"]
        assert any("is not the file that the questions were drawn from" in note for note in drawn_from_another)
        monkeypatch.setattr(locomo, "OFFICIAL", described["data_sha256"])
        assert suite(tmp_path).describe()["official"] is True


ERROR = {"question_id": "locomo_0_qa0", "question": "Where is the cat?", "error_type": "AMBIGUOUS"}


class TestAudit:
    def test_a_wrong_citation_disputes_no_answer(self, tmp_path: Path) -> None:
        cited = ERROR | {"question_id": "locomo_0_qa1", "error_type": "WRONG_CITATION"}
        lure = qa(category=5, adversarial_answer="x")
        made = suite(put(tmp_path, [sample(qa(), qa(), lure)], [ERROR, cited]))
        assert [made.gold(question).disputed for question in made.questions] == ["AMBIGUOUS", None, None]
        errors = made.describe()["key_errors"]
        assert (errors["answers"], errors["citations"], errors["questions"], errors["ceiling"]) == (1, 1, 2, 0.5)

    def test_only_what_the_suite_asks_is_counted(self, tmp_path: Path) -> None:
        put(tmp_path, [sample(qa(), qa())], [ERROR])
        errors = suite(tmp_path, questions=[{"id": "locomo_0_qa1"}]).describe()["key_errors"]
        assert (errors["answers"], errors["questions"], errors["ceiling"]) == (0, 1, 1.0)

    @pytest.mark.parametrize(
        ("errors", "problem"),
        [
            (None, "no locomo/audit/errors.json"),
            ("{", "is not JSON"),
            ([{"question_id": "locomo_0_qa0"}], "each error needs question_id, error_type, question"),
            ([3], "each error needs"),
            ([ERROR | {"error_type": "BAD"}], "unknown error_type 'BAD'"),
            ([ERROR | {"question": "Who?"}], "locomo_0_qa0 is not the question of that id"),
        ],
    )
    def test_without_it_the_figures_stand_once_and_a_note_says_so(
        self, tmp_path: Path, errors: Any, problem: str
    ) -> None:
        made = suite(put(tmp_path, [sample()], errors))
        assert made.gold(made.questions[0]).disputed is None
        described = made.describe()
        assert "key_errors" not in described
        (note,) = [note for note in described["notes"] if "which answers of the key are wrong is not known" in note]
        assert problem in note


DAMAGED = [
    ("", "is not JSON"),
    ("[", "is not JSON"),
    ("{}", "must be a list of rows, but is a dict"),
    ([], "it holds no conversation"),
    ([3], "conversation 0: must be a mapping, but is a int"),
    ([{}], "conversation 0: has no sample_id"),
    ([sample(), sample()], "conversation 1: sample_id 'conv-1' stands twice"),
    ([sample() | {"conversation": []}], "conversation 0: conversation must be a dict, but is a list"),
    ([sample() | {"conversation": {}}], "conversation 0: it has no session with a turn"),
    ([sample() | {"conversation": {"session_1": []}}], "conversation 0: it has no session with a turn"),
    ([sample(session_1="x")], "conversation 0: session_1 must be a list, but is a str"),
    ([sample(session_1=["x"])], "conversation 0: session_1[0]: must be a mapping, but is a str"),
    ([sample(session_1=[{"speaker": "A", "text": "x"}])], "conversation 0: session_1[0]: has no dia_id"),
    ([sample(session_1_date_time="8 Mai")], "session_1_date_time: '8 Mai' is no date that can be read"),
    ([sample(session_1_date_time=None)], "session_1_date_time must be a str, but is a NoneType"),
    ([sample(**{f"session_{n}": session(1, "x")["session_1"] for n in (1, 2)})], "dia_id 'D1:1' stands twice"),
    ([sample(qa(category=6))], "conversation 0: qa[0]: category must be one of 1, 2, 3, 4, 5, but is 6"),
    ([sample(qa(category="1"))], "qa[0]: category must be a int, but is a str"),
    ([sample(qa(answer=None))], "conversation 0: qa[0]: has no answer"),
    ([sample(qa(evidence=[1]))], "qa[0]: evidence must be a list of texts"),
    ([sample(qa(), "x")], "conversation 0: qa[1]: must be a mapping, but is a str"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("samples", "problem"), DAMAGED)
def test_a_damaged_file_is_told_in_one_line_with_place_and_cure(tmp_path: Path, samples: Any, problem: str) -> None:
    with pytest.raises(NotRun) as raised:
        suite(put(tmp_path, samples))
    told = str(raised.value)
    assert problem in told
    assert told.startswith("locomo/locomo10.json in --engram-data ")
    assert told.endswith("fetch it again")
    assert "\n" not in told
    assert str(tmp_path) not in told


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(broken=json_values, where=st.sampled_from(["sample_id", "conversation", "qa", "session_1", "question", "text"]))
def test_whatever_stands_in_a_file_is_read_or_refused(broken: Any, where: str) -> None:
    found = sample()
    holder = {
        "session_1": found["conversation"],
        "question": found["qa"][0],
        "text": found["conversation"]["session_1"][0],
    }
    holder.get(where, found)[where] = broken
    told = "conversation 0: "
    try:
        parse.conversations([found])
    except parse.Misfit as problem:
        told = str(problem)
    assert told.startswith("conversation 0: ")  # and nothing else was raised


def test_without_the_file_every_question_is_listed_and_the_cure_told(tmp_path: Path) -> None:
    sources: Registry[Any] = Registry("data source", SOURCES)
    path = CASES / "pilot" / "locomo.yaml"
    loaded = loading.load(path, tmp_path, sources=sources, metrics=METRICS, shipped_metrics=METRICS)
    assert len(loaded.suite.questions) == 300
    assert "DIR/locomo/locomo10.json" in str(loaded.suite.not_run)
    assert loaded.key.cluster == "conversation"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"metrics": ["recall"]}, "'recall' can't be measured on these questions; known are recall@N"),
        ({"metrics": ["f1@5"]}, "'f1@5' can't be measured"),
        ({"metrics": ["answer@5"]}, "'answer@5' can't be measured"),
        ({"questions": "some"}, "questions"),
        ({"questions": []}, "questions"),
        ({"questions": [{"id": "a"}, {"id": "a"}]}, "'a' stands twice"),
        ({"granularity": "word"}, "granularity"),
    ],
)
def test_a_wrong_suite_file_is_told_in_one_line(fields: dict[str, Any], problem: str) -> None:
    path = CASES / "pilot" / "locomo.yaml"
    content, lines = files.read(path)
    with pytest.raises(SuiteError) as raised:
        files.validate(locomo.Spec, content | fields, path, lines)
    assert problem in str(raised.value)


class TestTraining:
    def test_all_or_a_conversation_s_and_never_the_scored_ones(self, shared_data: Path) -> None:
        assert len(locomo.training("locomo", shared_data)) == 1986
        first = locomo.training("locomo_1", shared_data)
        assert len(first) == 105
        assert {learnt.id.rsplit("_", 1)[0] for learnt in first} == {"locomo_1"}
        scored = pilots.scored([CASES])
        with pytest.raises(rules.Violation, match=r"30\d of its 1986 training questions are scored"):
            rules.check_training("mine", locomo.training("locomo", shared_data), scored)
        with pytest.raises(NotRun, match="has no questions 'locomo_x'; there: locomo, and locomo_0 to locomo_9"):
            locomo.training("locomo_x", shared_data)
        locations.forget()

    def test_no_method_learnt_from_it(self) -> None:
        rules.check_training("loom", devdata.learnt(), pilots.scored([CASES / "pilot" / "locomo.yaml"]))


class TestRecall:
    """The metric apart from LoCoMo's file: of a suite that lists what answers, and of memories that rewrite."""

    def measure(self, found: Found, depth: int | None) -> float:
        return of(METRICS["recall"]).measure(found, depth)

    def test_without_an_official_list_it_is_of_the_relevant_entries(self) -> None:
        gold = Gold(relevant=frozenset({"a", "b", "c", "d"}))
        assert self.measure(Found(["x", "b", "a"], 10, gold), 2) == 0.25
        assert self.measure(Found(["x", "b", "a"], 10, gold), 3) == 0.5

    def test_nothing_to_recall_is_no_number(self) -> None:
        for gold in (Gold(), Gold(detail=Evidence(()))):
            with pytest.raises(Unmeasured, match=NO_EVIDENCE):
                self.measure(Found(["x"], 10, gold), 5)

    def test_it_needs_a_depth(self) -> None:
        with pytest.raises(Unmeasured, match="needs a depth"):
            self.measure(Found(["x"], 10, Gold(relevant=["x"])), None)

    def test_entries_behind_a_text_are_returned(self) -> None:
        gold = Gold(relevant=["a", "b", "c"], detail=Evidence(("a", "b", "c", "nowhere")))
        found = Found(["a", "c"], 10, gold, texts=["joined", None], behind=[["a", "b"], ["c"]])
        assert self.measure(found, 1) == 0.5
        assert self.measure(found, 2) == 0.75

    def test_what_can_t_be_traced_is_no_number(self) -> None:
        found = Found([""], 10, Gold(relevant=["a"]), texts=["own"], behind=[[]])
        with pytest.raises(Unmeasured, match=UNTRACED):
            self.measure(found, 1)


def test_a_session_s_number_is_told_as_officially() -> None:
    named = {
        "D1:3": "conv-1:S1",
        "D30:05": "conv-1:S30",
        "D8:6; D9:17": "conv-1:S8",
        "D": "conv-1:S",
        "D:11:26": "conv-1:S",
    }
    assert {ev: protocol.evidence_id("conv-1", ev, "session") for ev in named} == named
