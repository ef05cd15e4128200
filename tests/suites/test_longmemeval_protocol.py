"""LongMemEval's protocol by hand: names, tokens, ties, official ids, and who is left out."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_engram.suites.longmemeval import protocol
from pytest_engram.suites.longmemeval.protocol import Session


def test_the_metrics_of_sessions_and_of_turns() -> None:
    plain = protocol.metric_names("session")
    assert len(plain) == 18  # three measures at six cut-offs
    assert plain[:4] == ("recall_any@1", "recall_all@1", "ndcg_any@1", "recall_any@3")
    assert plain[-1] == "ndcg_any@50"
    turns = protocol.metric_names("turn")
    assert turns[:18] == plain
    assert turns[18:] == tuple(f"session_{name}" for name in plain)


def test_tokens_are_parted_at_single_spaces_and_keep_their_case() -> None:
    assert protocol.tokenize("A  b\tc.") == ["A", "", "b\tc."]
    assert protocol.tokenize("") == [""]


def test_the_best_comes_first_and_the_last_of_equals() -> None:
    assert protocol.rank(np.array([0.1, 0.9, 0.5])).tolist() == [1, 2, 0]
    assert protocol.rank(np.array([1.0, 1.0])).tolist() == [1, 0]  # argsort turned round, as in the official code


SAID = Session(("one", "two", "three"), (1, 3, 5), (False, True, False))
SILENT = Session(("one",), (2,), (False,))


def test_official_ids() -> None:
    assert protocol.document_ids("answer_7", SAID, "session") == ["answer_7"]
    assert protocol.document_ids("answer_7", SAID, "turn") == ["noans_7_1", "answer_7_3", "noans_7_5"]
    assert protocol.document_ids("answer_answer", SILENT, "session") == ["noans_noans"]
    assert protocol.document_ids("sharegpt_1", SILENT, "session") == ["sharegpt_1"]
    assert protocol.document_ids("answer_7", Session((), (), ()), "turn") == []
    with pytest.raises(ValueError, match="zip"):
        protocol.document_ids("x", Session(("a", "b"), (1, 2), (True,)), "turn")


def test_an_id_tells_whether_a_document_answers() -> None:
    assert protocol.is_gold("my_answer_1")
    assert not protocol.is_gold("noans_1")


@pytest.mark.parametrize(
    ("id_", "evidence", "why"),
    [
        ("q_abs", True, protocol.ABSTENTION),
        ("q_abs_1", False, protocol.ABSTENTION),
        ("q", False, protocol.NO_EVIDENCE),
        ("q", True, None),
        ("abs", True, None),
    ],
)
def test_who_is_left_out_of_the_means(id_: str, evidence: bool, why: str | None) -> None:
    assert protocol.excluded(id_, evidence) == why
    assert protocol.ABSTENTION == "abstention: its id has _abs"
    assert protocol.NO_EVIDENCE == "no user turn has the answer"
