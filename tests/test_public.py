"""What scripts call: the names and signatures that are promised, and the very functions that the plugin uses."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from pytest_engram import graph, metrics, statistics, stats
from pytest_engram.judging import metrics as judged_by
from pytest_engram.retrieval import graph as supported_by

FUNCTIONS = {
    metrics: (
        judged_by,
        {
            "recall_any": "ids, gold, k",
            "recall_all": "ids, gold, k",
            "ndcg_any": "ids, gold, k",
            "answer_at": "texts, answers, k",
            "sub_em": "prediction, answers",
        },
    ),
    stats: (
        statistics,
        {
            "wilson": "successes, n, confidence=0.95",
            "bootstrap": "values, confidence=0.95, resamples=10000, seed=20261008",
            "mcnemar": "a, b",
            "paired_bootstrap": "a, b, confidence=0.95, resamples=10000, seed=20261008",
        },
    ),
    graph: (supported_by, {"mutual_knn": "embeddings, neighbours", "support": "embeddings, neighbours"}),
}
CASES = [
    pytest.param(door, room, name, promised, id=f"{door.__name__.rpartition('.')[2]}.{name}")
    for door, (room, functions) in FUNCTIONS.items()
    for name, promised in functions.items()
]


@pytest.mark.parametrize(("door", "room", "name", "promised"), CASES)
def test_a_function_is_where_it_is_promised(door: ModuleType, room: ModuleType, name: str, promised: str) -> None:
    function = getattr(door, name)
    assert function is getattr(room, name)
    shown = [
        p.name if p.default is p.empty else f"{p.name}={p.default}"
        for p in inspect.signature(function).parameters.values()
    ]
    assert ", ".join(shown[: promised.count(",") + 1]) == promised
    # What is added later must be optional: a call as promised stays possible.
    assert all("=" in added for added in shown[promised.count(",") + 1 :])


@pytest.mark.parametrize("door", FUNCTIONS, ids=lambda door: door.__name__.rpartition(".")[2])
def test_a_door_opens_on_these_alone(door: ModuleType) -> None:
    assert sorted(door.__all__) == sorted(FUNCTIONS[door][1])
