"""Count keeps the side whose value more facts name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_engram.memory import Bench, Entry
from pytest_engram.methods.count import Count


def memory(tmp_path: Path, *texts: str) -> Any:
    def refuse() -> Any:
        raise AssertionError("it never embeds")

    made = Count(Bench(k=10, seed=0, embeddings=refuse, cache_dir=tmp_path))
    made.write([Entry(f"e{number}", text, float(number)) for number, text in enumerate(texts)])
    return made


BELIEF, UPDATE = "Ada Bell lives in Rome.", "Ada Bell lives in Oslo."
ROME = ("Ada Bell votes in Rome.", "Ada Bell rents a flat in Rome.")
OSLO = ("Ada Bell's dentist is in Oslo.", "Ada Bell sings in the choir of Oslo.", "Ada Bell has a boat in Oslo.")


@pytest.mark.parametrize(
    ("others", "winner", "why"),
    [
        ((), "e0", "named 0 = 0"),  # of equal strength the earlier stays
        (OSLO[:1], "e1", "named 0 < 1"),
        ((*ROME, *OSLO[:1]), "e0", "named 1 < 2"),
        ((*ROME, *OSLO), "e1", "named 2 < 3"),
        (("Bo Lund lives in Oslo.", "Bo Lund votes in Oslo."), "e0", "named 0 = 0"),  # of somebody else
        (("Ada Bell speaks Norwegian at home.", "Ada Bell skis to work."), "e0", "named 0 = 0"),  # without the name
    ],
)
def test_the_side_that_more_facts_name_stays(tmp_path: Path, others: tuple[str, ...], winner: str, why: str) -> None:
    made = memory(tmp_path, BELIEF, UPDATE, *others)
    found = made.search("Where does Ada Bell live?", 10)
    assert set(found).isdisjoint({"e0", "e1"} - {winner})
    assert winner in found
    (dropped,) = made.trace("Where does Ada Bell live?", 10)
    assert (dropped.by, dropped.why) == (winner, why)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada Bell lives in Rome.", "Bo Lund lives in Oslo."),  # not the same subject
        ("Ada Bell lives in Rome.", "Ada Bell votes in Rome."),  # the same value
        ("Ada Bell lives in Rome.", "Ada Bell votes in Oslo."),  # not the same word behind the subject
        ("Ada Bell is in Rome.", "Ada Bell is the aunt of a dentist."),  # more of its own than shared
        ("Ada Bell lives in Rome.", "Ada Bell lives in Rome, Oslo and Bonn."),  # one has no value of its own
    ],
)
def test_what_is_no_conflict(tmp_path: Path, one: str, other: str) -> None:
    assert len(memory(tmp_path, one, other).search("Where does Ada Bell live?", 10)) == 2


def test_a_serial_number_is_no_value(tmp_path: Path) -> None:
    found = memory(tmp_path, "7. Ada Bell lives in Rome.", "12. Ada Bell lives in Oslo.", "15. Ada Bell rents in Oslo.")
    assert set(found.search("Where does Ada Bell live?", 10)) == {"e1", "e2"}


def test_an_empty_memory_answers(tmp_path: Path) -> None:
    assert memory(tmp_path).search("Where?", 10) == []
