"""The families that measure a memory's support: density and hub."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from micro import KeepsAll, Micro, WithSupport, load, read, run
from pydantic import BaseModel
from scipy.stats import percentileofscore
from sklearn.neighbors import NearestNeighbors

from pytest_engram.asking.procedures import percentile
from pytest_engram.encoding import encoders, model
from pytest_engram.memory import Entry
from pytest_engram.retrieval import graph
from pytest_engram.suites import demo_fc, facts, relations
from pytest_engram.suites.base import Key, Lists, Loaded, Question, Suite, SuiteError

CASES = Path(__file__).parents[2] / "cases"


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        ("21. The capital of Tang Empire is Chang'an.", "Tang Empire", "Chang'an"),
        (
            "The univeristy where Galileo Galilei was educated is University of Pisa.",
            "Galileo Galilei",
            "University of Pisa",
        ),
        ("The name of the current head of the Japan government is Shinzō Abe.", "Japan", "Shinzō Abe"),
        ("Walter Chrysler's child is Walter Percy Chrysler Jr..", "Walter Chrysler", "Walter Percy Chrysler Jr."),
        (
            "The author of The Importance of Being Earnest is Oscar Wilde.",
            "The Importance of Being Earnest",
            "Oscar Wilde",
        ),
        ("Born in the U.S.A. was performed by Bruce Springsteen.", "Born in the U.S.A.", "Bruce Springsteen"),
        (
            "Pakistan International Airlines was founded in the city of Karachi.",
            "Pakistan International Airlines",
            "Karachi",
        ),
        ("110. The Mayor of San Diego is Kevin Faulconer.", "Mayor of San Diego", "Kevin Faulconer"),
    ],
)
def test_subject_and_value_of_official_facts(text: str, subject: str, value: str) -> None:
    found = relations.statement(text)
    assert found is not None
    assert (found.subject, found.value) == (subject, value)


def test_pairs_come_from_what_facts_say_not_from_where_they_stand() -> None:
    told = [
        Entry("0", "0. Ann is a citizen of Chad.", 0.0),
        Entry("1", "1. Ann is married to Bob.", 1.0),
        Entry("2", "2. Bob is a citizen of Chad.", 2.0),
        Entry("3", "3. Bob is married to Cleo.", 3.0),
        Entry("4", "4. Ann is a citizen of Peru.", 4.0),
        Entry("5", "5. Bob is married to Cleo.", 5.0),  # said twice, and nothing changed
        Entry("6", "6. Ann is a citizen of Iran.", 6.0),
    ]
    for order in (told, told[::-1]):
        (pair,) = relations.pairs(order)
        assert (pair.subject, pair.original.id, pair.update.id) == ("Ann", "0", "6")


def test_every_official_fact_is_read(shared_data: Path) -> None:
    table = json.loads((shared_data / "memoryagentbench" / "Conflict_Resolution.json").read_text(encoding="utf-8"))
    for row in table:
        entries = facts.parse_facts(row["context"])
        unread = [entry.text for entry in entries if relations.statement(entry.text) is None]
        assert unread == []
    small = next(row["context"] for row in table if row["metadata"]["source"] == "factconsolidation_sh_6k")
    # Counted apart from the templates: facts that agree up to their last words, by subject and relation.
    assert len(relations.pairs(facts.parse_facts(small))) == 161


def test_every_fact_of_the_demo_is_read() -> None:
    entries = facts.parse_facts(demo_fc.generate(20261008).context)
    assert [entry.text for entry in entries if relations.statement(entry.text) is None] == []
    assert len(relations.pairs(entries)) == demo_fc.CONTRADICTED


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[..., Micro]:
    """Reads a suite over a pilot set of five facts."""
    told = [
        "Ann is a citizen of Chad.",
        "Ann is a citizen of Peru Libre.",
        "The capital of Chad is Abéché-Ville.",
        "No fact.",
    ]
    told += ["The capital of Chad is Moundou."]
    entries = [Entry(str(i), f"{i}. {text}", float(i)) for i, text in enumerate(told)]

    class Spec(BaseModel):
        name: str
        source: str
        metrics: list[str] = ["answer@1"]

    def facts_of(spec: Spec, at: Path, _: Path | None) -> Loaded:
        suite = Suite(spec.name, at, [Question("q", "q", "", "all")], Lists({"all": entries}))
        return Loaded(suite, Key(spec.name, at, spec.metrics, {}))

    (tmp_path / "tiny.yaml").write_text("engram: pilot\nname: tiny\nsource: tiny\n", encoding="utf-8")
    path = tmp_path / "density.yaml"
    path.write_text("engram: micro\nname: d\nfamily: density\nover: tiny.yaml\n", encoding="utf-8")
    return partial(read, path, {"tiny": SimpleNamespace(Spec=Spec, load=facts_of)})


def test_density_is_an_item_a_pair(tiny: Callable[..., Micro]) -> None:
    suite = tiny(look=True)
    assert [question.name for question in suite.questions] == ["ann-is-a-citizen-of", "the-capital-of-chad-is"]
    scores = run(suite, WithSupport)
    assert [score.metrics["correct"] for score in scores.values()] == [0.0, 1.0]
    found = {"support_original": 39.0, "support_update": 34.0}
    assert scores["the-capital-of-chad-is"].fields == found | {"original": "2", "update": "4"}
    assert suite.gold(suite.questions[0]).fields["original"] == "0"
    assert suite.texts()[1] == []
    assert (suite.cases, suite.describe()["rule"]["name"]) == (2, "denser-original")


def test_a_method_without_support_is_not_measured(tiny: Callable[..., Micro]) -> None:
    for score in run(tiny(look=True), KeepsAll).values():
        assert score.metrics == {"correct": None}
        assert score.missing == {"correct": "the method has no support()"}
        assert score.hit is None


def test_density_without_its_data_lists_one_item(tiny: Callable[..., Micro]) -> None:
    suite = tiny(look=False)
    assert [question.name for question in suite.questions] == ["pairs"]
    assert suite.cases == 0


def test_density_over_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"own.yaml:4: over: no file gone.yaml"):
        load(tmp_path, "engram: micro\nname: d\nfamily: density\nover: gone.yaml\n")


HUBS = """\
    engram: micro
    name: hub
    family: hub
    neighbours: 3
    hubs: [{name: everything, text: All of it.}]
"""


def test_mutual_neighbours_lower_a_hub(tmp_path: Path) -> None:
    """Twenty groups of three around a hub in the middle: by construction the hub is everybody's fourth-best at most."""
    suite = load(tmp_path, HUBS)
    n = len(suite.haystack("everything"))
    assert n == 61
    vectors = np.zeros((n, 21))
    for i in range(60):
        vectors[i, i // 3] = 1.0
    vectors[:60] += np.random.default_rng(1).normal(0, 0.001, (60, 21))
    vectors[60, :20] = 1.0
    score = run(suite, WithSupport, SimpleNamespace(embed=lambda _: vectors))["everything"]
    # The nearest three of a fact: the two of its group (similarity about 1), then the hub (1 / sqrt(20) = 0.22).
    assert score.fields["in_lists"] == 60
    # Plain: a fact has 1 + 1 + 0.22; the hub three times 0.22, the least of all. Mutual: a fact 1 + 1, and 0.22 more
    # for the three that the hub names; the hub is last either way, which is no limit, so it does not count.
    assert score.fields["percentile_plain"] == 0.0
    assert score.fields["percentile_mutual"] == 0.0
    assert score.hit is False


def test_a_fact_that_others_do_not_name_back_loses_its_support(tmp_path: Path) -> None:
    """Four facts that are almost one, a fact near them, and 56 that are like nothing."""
    suite = load(tmp_path, HUBS)
    vectors = np.eye(61)
    vectors[:4, 0] = 100.0
    vectors[60, 0] = 1.0
    score = run(suite, WithSupport, SimpleNamespace(embed=lambda _: vectors))["everything"]
    # The four name one another. Plain: the hub has three times 0.7, above the 56. Mutual: it has nothing, as they have.
    assert score.fields["percentile_plain"] == pytest.approx(100 * 56 / 60, abs=0.005)
    assert score.fields["percentile_mutual"] == pytest.approx(100 * 28 / 60, abs=0.005)
    assert score.metrics == {"correct": 1.0}
    assert score.fields["percentile_method"] == 0.0  # the shortest text


def test_a_hub_is_about_the_support_of_the_method(tmp_path: Path) -> None:
    """The same facts: sums over plain neighbours limit nothing, and mutual ones earn what they do."""
    suite = load(tmp_path, HUBS)
    vectors = np.eye(61)
    vectors[:4, 0] = 100.0
    vectors[60, 0] = 1.0
    bench = SimpleNamespace(embed=lambda _: vectors)

    def method(sums: Callable[[Any, int], Any]) -> type[KeepsAll]:
        class Sums(KeepsAll):
            def support(self) -> dict[str, float]:
                return {e.id: float(v) for e, v in zip(self.entries, sums(vectors, 3), strict=True)}

        return Sums

    def constant(vectors: Any, _: int) -> Any:
        return np.ones(len(vectors))

    plain, mutual, same, incoming = (
        run(suite, method(sums), bench)["everything"]
        for sums in (graph.knn_support, graph.support, constant, lambda v, _: [0.0] * (len(v) - 1) + [1.0])
    )
    # Above the 56, below the four; level with the 56 alone; level with all; above all.
    measured = [item.fields["percentile_method"] for item in (plain, mutual, same, incoming)]
    assert measured == pytest.approx([100 * 56 / 60, 100 * 28 / 60, 50.0, 100.0], abs=0.005)
    assert [item.metrics["correct"] for item in (plain, mutual, same, incoming)] == [0.0, 1.0, 1.0, 0.0]


def test_the_shipped_hubs_are_hubs(bge: Path) -> None:
    """Twenty of the sixty facts or more count each among their ten nearest, by scikit-learn's neighbours."""
    suite = read(CASES / "micro" / "hub.yaml")
    encode = model.load(encoders.resolve(str(bge), None))
    assert len(suite.questions) == 12
    texts = {q.name: [entry.text for entry in suite.haystack(q.haystack)] for q in suite.questions}
    around = encode(next(iter(texts.values()))[:60])
    for name, hub in zip(texts, encode([every[60] for every in texts.values()]), strict=True):
        vectors = np.vstack([around, hub])
        near = NearestNeighbors(n_neighbors=10, metric="cosine").fit(vectors).kneighbors(return_distance=False)
        assert int((near[:60] == 60).sum()) >= 20, name


def test_hubs_need_support_too(tmp_path: Path) -> None:
    score = run(load(tmp_path, HUBS), KeepsAll)["everything"]
    assert score.missing == {"correct": "the method has no support()"}


@given(st.lists(st.integers(0, 5).map(float), min_size=2, max_size=30), st.data())
def test_percentiles_agree_with_scipy(values: list[float], data) -> None:
    position = data.draw(st.integers(0, len(values) - 1))
    others = values[:position] + values[position + 1 :]
    scipys = percentileofscore(others, values[position], "mean")
    assert percentile(values, position) == pytest.approx(scipys, abs=0.005 + 1e-9)  # ours has two decimals


def test_incoming_support_of_a_star(tmp_path: Path) -> None:
    """Sixty facts that are like nothing but the fact in their middle: all of them name it."""
    vectors = np.eye(61)
    vectors[60] = 1.0
    score = run(load(tmp_path, HUBS), WithSupport, SimpleNamespace(embed=lambda _: vectors))["everything"]
    assert score.fields["in_lists"] == 60
    assert score.fields["percentile_incoming"] == 100.0
