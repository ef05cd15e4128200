"""When a ranking of turns may be scored as sessions: by hand, at the edges where it ends."""

from __future__ import annotations

import pytest

from pytest_engram.judging.longmemeval import scores

# Twelve turns of four sessions, three each; the answer is in the last session's last turn.
TURNS = [f"{session}_{turn}" for session in ("s1", "s2", "s3") for turn in (1, 2, 3)]
TURNS += ["noans_4_1", "noans_4_2", "answer_4_3"]


def found(ranking: list[int], k: int) -> tuple[dict[str, float | None], dict[str, str]]:
    return scores(ranking, TURNS, "turn", k)


def test_a_ranking_that_fills_k_and_covers_too_few_sessions_can_not_be_scored() -> None:
    # Six turns of two sessions; three sessions would need a seventh, which k did not allow.
    values, missing = found([0, 1, 2, 3, 4, 5], 6)
    assert values["session_recall_any@3"] is None
    assert missing["session_recall_any@3"] == (
        "needs more ids, to cover 3 sessions, than k, which is 6: raise --engram-k"
    )
    assert values["session_recall_any@1"] == 0.0
    assert "session_recall_any@1" not in missing


def test_one_that_returned_less_than_it_might_has_no_more_to_say() -> None:
    values, missing = found([0, 1, 2, 3, 4, 5], 7)
    assert values["session_recall_any@3"] == 0.0
    assert "session_recall_any@3" not in missing


@pytest.mark.parametrize("k", [12, 13])
def test_one_that_returned_everything_has_no_more_to_say_either(k: int) -> None:
    # All twelve turns; five sessions are in no haystack of four (the fourth stands under two ids, so there are five).
    values, missing = found(list(range(12)), k)
    assert values["session_recall_any@10"] == 1.0
    assert values["session_recall_all@5"] == 1.0
    assert not any(name.endswith(("@10", "@5")) for name in missing)
    assert values["session_recall_any@30"] is None  # more than k


def test_one_that_returned_all_but_one_has() -> None:
    values, missing = found(list(range(11)), 11)
    assert values["session_recall_any@5"] is None
    assert "session_recall_any@10" in missing
    # Four sessions, the fourth as `noans_4`: three are covered by the seventh turn.
    assert values["session_recall_any@3"] == 0.0


def test_k_ids_that_cover_just_as_many_sessions_can_be_scored() -> None:
    # Seven turns of three sessions, k is 7: the seventh covers the third session, and no more is needed.
    values, missing = found([0, 1, 2, 3, 4, 5, 6], 7)
    assert values["session_recall_any@3"] == 0.0
    assert "session_recall_any@3" not in missing
    assert "session_recall_any@5" in missing


def test_an_id_of_a_session_may_hold_the_mark_that_parts_off_the_number() -> None:
    turns = ["a_1_1", "a_2_1", "answer_3_1", "b_1", "c_1"]  # the first three are of three sessions: a_1, a_2, answer_3
    values, missing = scores([0, 1, 2], turns, "turn", 3)
    assert (values["session_recall_any@1"], values["session_recall_any@3"]) == (0.0, 1.0)
    assert "session_recall_any@3" not in missing


def test_a_session_that_stands_twice_in_the_haystack_counts_twice_in_the_ideal() -> None:
    # Two documents of one id are gold, and one of them came back: DCG 1 over (1 + 1).
    values, _ = scores([0, 2], ["answer_1", "answer_1", "noans_2"], "session", 3)
    assert values["ndcg_any@3"] == 0.5
    assert values["recall_all@3"] == 1.0


def test_a_cut_off_grows_until_it_covers_that_many_sessions() -> None:
    # Turns 0, 1, 9, 3, 11 are of s1, s1, noans_4, s2, answer_4: the fourth place covers three sessions.
    values, _ = found([0, 1, 9, 3, 11], 10)
    assert values["session_recall_any@3"] == 0.0
    assert values["session_recall_any@5"] == 1.0
    assert values["session_recall_any@1"] == 0.0
    # DCG of one hit at place 5, over the best of gold at place 1: 1/log2(5).
    assert values["session_ndcg_any@5"] == pytest.approx(0.43067655807339306, abs=1e-15)


def test_nothing_returned_is_zero_and_not_unmeasured() -> None:
    values, missing = found([], 10)
    assert {values[f"{prefix}recall_any@{cut}"] for prefix in ("", "session_") for cut in (1, 3, 5, 10)} == {0.0}
    assert set(missing) == {name for name in values if name.endswith(("@30", "@50"))}


def test_a_cut_off_of_exactly_k_can_be_measured() -> None:
    values, missing = found([11, 0, 1], 3)
    assert values["recall_any@3"] == values["recall_any@1"] == values["ndcg_any@3"] == 1.0
    assert missing["recall_any@5"] == "needs 5 ids, k is 3: raise --engram-k for every method"
    assert values["recall_any@5"] is None


def test_sessions_are_no_turns() -> None:
    values, missing = scores([1, 0], ["answer_1", "noans_2"], "session", 2)
    assert values["recall_any@1"] == 0.0
    assert not any(name.startswith("session_") for name in [*values, *missing])
