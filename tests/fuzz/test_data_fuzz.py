"""Whatever a benchmark's file holds: its questions have gold and haystacks, or one line says why they are not run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz import RUBBISH, TEXTS, as_json, bounded, budget, changed, damaged, one_line
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_engram.suites import factconsolidation, locations
from pytest_engram.suites.base import Loaded, NotRun
from pytest_engram.suites.locomo import audit
from pytest_engram.suites.locomo import source as locomo
from pytest_engram.suites.longmemeval import parse, protocol
from pytest_engram.suites.longmemeval import source as longmemeval

FACTS = [
    {
        "context": "Facts:\n0. The capital of Ibra is Ossa.\n1. Ann lives in Ibra.\n2. The capital of Ibra is Pell.",
        "questions": ["What is the capital of Ibra?", "What is the capital of the country in which Ann lives?"],
        "answers": [["Pell"], ["Pell", "the city of Pell"]],
        "metadata": {"source": "factconsolidation_sh_6k", "qa_pair_ids": ["sh_no0", "sh_no1"]},
    },
    {"context": "Facts:\n7. x", "questions": [], "answers": [], "metadata": {"source": "other"}},
]
FC_SPEC = factconsolidation.Spec.model_validate(
    {"engram": "pilot", "name": "fc", "source": "factconsolidation", "rows": "factconsolidation_sh_6k"}
    | {"metrics": ["answer@10", "resolved@10", "subem"]}
    | {"questions": [{"id": "sh_no0", "text": "0" * 16}, {"id": "sh_no1", "text": "1" * 16}]}
)


def _turn(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {"speaker": "Ann", "dia_id": f"D1:{number}", "text": text, **more}


CONVERSATIONS = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [_turn(1, "Hello!"), _turn(2, "A cat.", blip_caption="a cat on a mat", img_url=["x"])],
            "session_2_date_time": "2:56 pm on 8 May, 2023",
            "session_2": [_turn(1, "Bye.") | {"dia_id": "D2:1"}],
        },
        "qa": [
            {"question": "Where is the cat?", "answer": "mat", "evidence": ["D1:2"], "category": 4},
            {"question": "How many?", "answer": 2, "evidence": ["D1:1", "D2:1; D1:2"], "category": 1},
            {"question": "Who barked?", "adversarial_answer": "Ann", "evidence": [], "category": 5},
        ],
    }
]
ERRORS = [{"question_id": "locomo_0_qa0", "error_type": "HALLUCINATION", "question": "Where is the cat?", "note": "x"}]
LOCOMO_SPEC = locomo.Spec.model_validate(
    {"engram": "pilot", "name": "l", "source": "locomo", "metrics": ["recall@5", "f1"], "questions": "all"}
)

HISTORIES = [
    {
        "question_id": f"q{number}{'_abs' * (number == 1)}",
        "question_type": "single-session-user",
        "question": "Which degree do I have?",
        "answer": ["Botany", 3][number],
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["answer_1", "ultrachat_2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I studied botany.", "has_answer": True},
                {"role": "assistant", "content": "How nice!", "has_answer": False},
            ],
            [{"role": "user", "content": "What rhymes with orange?"}],
        ],
        "answer_session_ids": ["answer_1"],
    }
    for number in range(2)
]


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder as `--engram-data` names one; nothing else is found on this machine."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENGRAM_CACHE", str(folder / "cache"))
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder / "hub"))
        yield folder


def put(folder: Path, name: str, content: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    locations.forget()  # two files in one tick of the clock look alike


def whole(load: Any, folder: Path) -> Loaded | None:
    """What is loaded, each haystack and each question's gold looked at; None where it is refused as it should be."""
    with bounded():
        try:
            found: Loaded = load()
        except NotRun as reason:
            # A manifest shows it to everybody: no path of this machine.
            one_line(reason, lacks=str(folder), cure=("etch", "Cure", "delete it"))
            return None
        for question in found.suite.runnable():
            assert found.suite.haystack(question.haystack)
        for id_ in found.key.questions():
            found.key.gold(id_)
        json.dumps(found.key.describe(), allow_nan=False)
    return found


def test_what_is_sound_is_loaded(data: Path) -> None:
    put(data, factconsolidation.FILE, as_json(FACTS))
    put(data, locomo.FILE, as_json(CONVERSATIONS))
    put(data, audit.FILE, as_json(ERRORS))
    row = factconsolidation.find_row("factconsolidation_sh_6k", data)
    assert [question.answers for question in row.questions] == [("Pell",), ("Pell", "the city of Pell")]
    found = whole(lambda: locomo.load(LOCOMO_SPEC, Path("l.yaml"), data), data)
    assert found is not None
    assert len(found.suite.runnable()) == 3
    put(data, "longmemeval/longmemeval_s_cleaned.json", as_json(HISTORIES))
    assert [one.id for one in parse.records(data / "longmemeval/longmemeval_s_cleaned.json", "x")] == ["q0", "q1_abs"]


@budget(2)
@example(content=as_json([FACTS[0] | {"metadata": {"source": "two\nlines"}}]))  # was told on two lines
@given(content=changed(FACTS).map(as_json) | damaged(as_json(FACTS)))
def test_rows_of_facts(data: Path, content: bytes) -> None:
    put(data, factconsolidation.FILE, content)
    whole(lambda: factconsolidation.load(FC_SPEC, Path("fc.yaml"), data), data)


@budget()
@given(
    facts=st.lists(TEXTS | st.sampled_from(["The capital of Ibra is Ossa.", "Ann lives in Ibra."]), max_size=6),
    answer=TEXTS,
)
def test_facts_of_any_text(data: Path, facts: list[str], answer: str) -> None:
    context = "\n".join(["Facts:", *(f"{serial}. {fact}" for serial, fact in enumerate(facts))])
    put(data, factconsolidation.FILE, as_json([FACTS[0] | {"context": context, "answers": [[answer], [answer, ""]]}]))
    whole(lambda: factconsolidation.load(FC_SPEC, Path("fc.yaml"), data), data)
    try:
        row = factconsolidation.find_row("factconsolidation_sh_6k", data)
    except NotRun:
        return
    spec = FC_SPEC.model_copy(
        update={
            "questions": [
                q.model_copy(update={"text": _print(t.text)})
                for q, t in zip(FC_SPEC.questions, row.questions, strict=True)
            ]
        }
    )
    found = whole(lambda: factconsolidation.load(spec, Path("fc.yaml"), data), data)
    assert found is not None
    assert len(found.suite.runnable()) == 2


def _print(text: str) -> str:
    from pytest_engram.suites.fingerprints import fingerprint

    return fingerprint(text)


@budget(2)
@given(content=changed(CONVERSATIONS).map(as_json) | damaged(as_json(CONVERSATIONS)))
def test_conversations(data: Path, content: bytes) -> None:
    put(data, audit.FILE, as_json(ERRORS))
    put(data, locomo.FILE, content)
    for granularity in ("turn", "session"):
        spec = LOCOMO_SPEC.model_copy(update={"granularity": granularity})
        whole(lambda: locomo.load(spec, Path("l.yaml"), data), data)  # noqa: B023


@budget(0.5)
@given(content=changed(ERRORS).map(as_json) | damaged(as_json(ERRORS)) | RUBBISH.map(as_json))
def test_an_audit_that_is_none_is_a_note(data: Path, content: bytes) -> None:
    put(data, locomo.FILE, as_json(CONVERSATIONS))
    put(data, audit.FILE, content)
    found = whole(lambda: locomo.load(LOCOMO_SPEC, Path("l.yaml"), data), data)
    assert found is not None
    for note in found.key.describe()["notes"]:
        assert "\n" not in note


@budget(2)
@example(content=as_json([HISTORIES[0] | {"answer_session_ids": 1}]))  # was a TypeError
@given(content=changed(HISTORIES).map(as_json) | damaged(as_json(HISTORIES)))
def test_histories_are_read_question_by_question(data: Path, content: bytes) -> None:
    put(data, "h.json", content)
    survey = parse.Survey()
    with bounded():
        try:
            for record in parse.records(data / "h.json", "h.json"):
                assert len(record.session_ids) == len(record.times) == len(record.sessions)
                assert record.documents("session") is not None
                assert len(record.documents("turn")) == sum(len(session.turns) for session in record.sessions)
                survey.add(record)
        except NotRun as reason:
            one_line(reason, "h.json", cure=("etch it again",))
        survey.oddities()


@budget(0.75)
@given(content=changed(HISTORIES, 2).map(as_json), granularity=st.sampled_from(["session", "turn"]))
def test_histories_as_a_run_has_them(data: Path, content: bytes, granularity: protocol.Granularity) -> None:
    put(data, "longmemeval/longmemeval_s_cleaned.json", content)
    spec = longmemeval.Spec.model_validate(
        {"engram": "pilot", "name": "h", "source": "longmemeval", "granularity": granularity}
        | {"metrics": ["recall_any@5", "ndcg_any@1"], "questions": [{"id": "q0"}, {"id": "q1_abs"}]}
    )
    found = whole(lambda: longmemeval.load(spec, Path("h.yaml"), data), data)
    if found is not None:
        assert [question.id for question in found.suite.questions] == ["q0", "q1_abs"]
