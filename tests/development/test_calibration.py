from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from pytest_engram.asking.rules import Scored, Violation, check_training, fingerprint
from pytest_engram.development import devdata, thresholds
from pytest_engram.development.settings import OUTCOME as COMMITTED
from pytest_engram.development.settings import Settings
from pytest_engram.memory import Bench
from pytest_engram.methods import calibrated

ROOT = Path(__file__).parents[2]
OUTCOME = json.loads(COMMITTED.read_text(encoding="utf-8"))


def scored() -> list[Scored]:
    """The questions of all committed pilot sets."""
    questions = []
    for path in sorted((ROOT / "cases" / "pilot").glob("*.yaml")):
        suite = yaml.safe_load(path.read_text(encoding="utf-8"))
        questions += [Scored(suite["name"], q["id"], q.get("text", "")) for q in suite.get("questions", ())]
    return questions


def test_development_data_meets_no_pilot_set() -> None:
    assert len(scored()) >= 200
    check_training("loom", devdata.learnt(), scored())
    texts = [learnt["text"] for learnt in devdata.learnt()]
    assert len(set(map(fingerprint, texts))) == len(texts) > 1000
    # The check bites: the same list with one scored text in it is refused.
    caught = Scored("a pilot set", "q1", fingerprint(texts[0].upper()))
    with pytest.raises(Violation, match="same text as a pilot set:q1"):
        check_training("loom", devdata.learnt(), [caught])


def test_development_data_meets_no_official_fact_or_question(shared_data: Path) -> None:
    rows = json.loads((shared_data / "memoryagentbench" / "Conflict_Resolution.json").read_text(encoding="utf-8"))
    official = {fingerprint(question) for row in rows for question in row["questions"]}
    official |= {fingerprint(line.split(". ", 1)[-1]) for row in rows for line in row["context"].split("\n")}
    ours = [learnt["text"] for learnt in devdata.learnt()]
    ours += [fact.text.split(". ", 1)[1] for fact in devdata.records()]
    assert not official & set(map(fingerprint, ours))


def test_the_same_seed_gives_the_same_data() -> None:
    assert devdata.cases() == devdata.cases(seed=devdata.SEED)
    assert devdata.records() == devdata.records(seed=devdata.SEED)
    assert devdata.cases(seed=1) != devdata.cases()


def test_what_the_data_holds() -> None:
    for case in devdata.cases():
        assert devdata.contradict(case.belief, case.update)
        assert [len(side) for side in (case.web, case.backers, case.repeats)] == [5, 5, 5]
        assert {fact.value for fact in case.web} == {case.belief.value}
        assert {fact.value for fact in (*case.backers, *case.repeats)} == {case.update.value}
        level = case.facts(2, 3)
        assert [fact for fact in level if fact in case.web] == list(case.web[:2])
        assert [fact for fact in level if fact in case.backers] == list(case.backers[:3])
        # Nothing around it takes a side, and many-valued facts contradict nothing.
        pairs = list(combinations(case.facts(5, 5), 2))
        assert [pair for pair in pairs if devdata.contradict(*pair)] == [(case.belief, case.update)]
        assert sum(fact.slot in case.many for fact in case.around) == 2
    contradictions = [pair for pair in combinations(devdata.records(), 2) if devdata.contradict(*pair)]
    assert len(contradictions) > 50
    assert len({fact.slot[1] for fact in devdata.records()}) == 10


def test_f1_is_scikit_learns() -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(0)
    pairs = [(float(value), bool(value + rng.normal(0, 0.2) > 0.7)) for value in rng.random(400)]
    truth = [truth for _, truth in pairs]
    expected = [f1_score(truth, [value >= t for value, _ in pairs], zero_division=0) for t in thresholds.THRESHOLDS]
    np.testing.assert_allclose(thresholds.f1(pairs), expected, atol=5e-5)


def test_of_equally_good_thresholds_the_middle_of_the_longest_run_is_taken() -> None:
    curve = dict.fromkeys(thresholds.THRESHOLDS, 0.1) | dict.fromkeys((0.4, 0.6, 0.61, 0.62), 0.9)
    assert thresholds.best(list(curve.values())) == 0.61


@pytest.mark.parametrize("encoder", OUTCOME["encoders"], ids=lambda encoder: encoder["name"])
def test_the_committed_choice_follows_from_the_committed_grid(encoder: dict[str, object]) -> None:
    chosen = Settings(**encoder["chosen"])
    for name, curve in encoder["f1"].items():
        assert len(curve) == len(OUTCOME["grid"]["thresholds"])
        assert curve[OUTCOME["grid"]["thresholds"].index(getattr(chosen, name))] == max(curve)
    points = encoder["winners"]
    assert len(points) == len(OUTCOME["grid"]["depth"]) * len(OUTCOME["grid"]["neighbours"])
    best = [p for p in points if p["correct"] == max(point["correct"] for point in points)]
    smallest = min(best, key=lambda point: (point["depth"], point["neighbours"]))
    assert (smallest["depth"], smallest["neighbours"]) == (chosen.depth, chosen.neighbours)
    sided = encoder["winners_sided"]
    assert [point["neighbours"] for point in sided] == OUTCOME["grid"]["neighbours"]
    assert {point["depth"] for point in sided} == {chosen.depth}
    assert chosen.sided == next(
        p["neighbours"] for p in sided if p["correct"] == max(point["correct"] for point in sided)
    )


def test_the_committed_outcome_is_of_this_data_and_grid() -> None:
    assert OUTCOME["seed"] == devdata.SEED
    assert OUTCOME["data"] == devdata.digest()
    assert OUTCOME["grid"]["thresholds"] == list(thresholds.THRESHOLDS)
    assert {encoder["name"] for encoder in OUTCOME["encoders"]} == {"bge-small-en-v1.5", "all-MiniLM-L6-v2"}


@pytest.mark.parametrize("encoder", OUTCOME["encoders"], ids=lambda encoder: encoder["name"])
def test_the_names_test_is_worth_having_on_development_data(encoder: dict[str, dict[str, dict[str, Any]]]) -> None:
    for name, curve in (("similarity", encoder["f1"]["similarity"]), ("tide", encoder["f1"]["tide"])):
        used, unused = encoder["names_test"][name]["with"], encoder["names_test"][name]["without"]
        for outcome in (used, unused):  # F1 from its definition
            wrong = outcome["false"] + outcome["of"] - outcome["found"]
            assert outcome["f1"] == pytest.approx(2 * outcome["found"] / (2 * outcome["found"] + wrong), abs=5e-5)
        assert (used["threshold"], used["f1"]) == (encoder["chosen"][name], max(curve))
        assert used["of"] == unused["of"]
        assert used["f1"] > unused["f1"]


def test_f1_and_the_best_thresholds_can_be_had_again(bge: Path) -> None:
    from sklearn.metrics import f1_score

    from pytest_engram.encoding.encoders import EmbeddingStore, cache_dir, resolve
    from pytest_engram.methods import loom_reading

    store = EmbeddingStore(resolve(str(bge), None), cache_dir())
    committed = next(e for e in OUTCOME["encoders"] if e["hash"] == store.spec.hash)
    chosen, _ = calibrated.best_thresholds(store.embed)
    assert chosen == {name: committed["chosen"][name] for name in ("similarity", "duplicate", "tide")}

    # Loom's F1 over the pairs that matter, once more from the facts themselves.
    pairs = list(thresholds.pairs())
    texts = sorted({fact.text for pair in pairs for fact in pair})
    vectors = dict(zip(texts, store.embed(texts), strict=True))
    readings = {text: loom_reading.read(text) for text in texts}

    def found(one: str, other: str) -> bool:
        a, b = readings[one], readings[other]
        close = float(vectors[one] @ vectors[other]) >= chosen["similarity"]
        return close and loom_reading.same_subject(a.subject, b.subject) and loom_reading.differ(a, b)

    truth = [devdata.contradict(*pair) for pair in pairs]
    expected = f1_score(truth, [found(one.text, other.text) for one, other in pairs])
    assert expected == pytest.approx(max(committed["f1"]["similarity"]), abs=0.005)


class Bags:
    """An encoder that nobody calibrated for: hashed character triples."""

    spec = SimpleNamespace(name="bags", hash="not calibrated", dimensions=256)
    asked = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += 1
        rows = np.zeros((len(texts), 256), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for start in range(len(text) - 2):
                row[sum(map(ord, text[start : start + 3])) * 31 % 256] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_an_unknown_encoder_is_calibrated_once(tmp_path: Path) -> None:
    store = Bags()

    def settings() -> Settings:
        bench = Bench(k=10, seed=0, embeddings=lambda: store, cache_dir=tmp_path)  # type: ignore[arg-type, return-value]
        return calibrated.settings_for(bench)

    first = settings()
    asked = store.asked
    assert asked > 0
    assert settings() == first
    assert store.asked == asked
    known = Settings(**OUTCOME["encoders"][0]["chosen"])
    assert (first.depth, first.neighbours) == (known.depth, known.neighbours)
    assert 0.3 <= first.similarity < 1
    assert calibrated.best_thresholds(store.embed)[0]["similarity"] == first.similarity


def test_loom_and_tide_declare_what_they_learnt() -> None:
    from pytest_engram.methods import loom, tide

    for made in (loom.loom, loom.loom_distinct, loom.loom_sided, tide.tide):
        assert made.__engram_method__.trained_on == devdata.learnt()


def test_the_page_on_the_methods_shows_the_committed_numbers() -> None:
    page = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    for encoder in OUTCOME["encoders"]:
        chosen = " | ".join(str(encoder["chosen"][name]) for name in Settings.__slots__)
        assert f"| {encoder['name']} | {chosen} |" in page
        for name, method in (("similarity", "Loom"), ("tide", "Tide")):
            for used in ("without", "with"):
                outcome = encoder["names_test"][name][used]
                cells = (
                    *(f"{outcome[key]:.2f}" for key in ("threshold", "f1")),
                    f"{outcome['found']} of {outcome['of']}",
                    str(outcome["false"]),
                    str(outcome["false_own_backer"]),
                )
                assert f"| {encoder['name']} | {method} | {used} | {' | '.join(cells)} |" in page
