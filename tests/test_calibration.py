from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from pytest_engram import calibrate, devdata
from pytest_engram.calibrate import Settings
from pytest_engram.memory import Bench
from pytest_engram.rules import Scored, Violation, check_training, fingerprint

ROOT = Path(__file__).parents[1]
OUTCOME = json.loads(calibrate.OUTCOME.read_text(encoding="utf-8"))


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
    assert not official & {fingerprint(learnt["text"]) for learnt in devdata.learnt()}


def test_the_same_seed_gives_the_same_data() -> None:
    assert devdata.cases() == devdata.cases(seed=devdata.SEED)
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
    assert len({case.belief.slot[1] for case in devdata.cases()}) == 6


def test_f1_is_scikit_learns() -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(0)
    pairs = [(float(value), bool(value + rng.normal(0, 0.2) > 0.7)) for value in rng.random(400)]
    truth = [truth for _, truth in pairs]
    expected = [f1_score(truth, [value >= t for value, _ in pairs], zero_division=0) for t in calibrate.THRESHOLDS]
    np.testing.assert_allclose(calibrate._f1(pairs), expected, atol=5e-5)


def test_of_equally_good_thresholds_the_middle_of_the_longest_run_is_taken() -> None:
    curve = dict.fromkeys(calibrate.THRESHOLDS, 0.1) | dict.fromkeys((0.52, 0.6, 0.61, 0.62), 0.9)
    assert calibrate._best(list(curve.values())) == 0.61


@pytest.mark.parametrize("encoder", OUTCOME["encoders"], ids=lambda encoder: encoder["name"])
def test_the_committed_choice_follows_from_the_committed_grid(encoder: dict[str, object]) -> None:
    chosen = Settings(**encoder["chosen"])
    thresholds = OUTCOME["grid"]["thresholds"]
    for name, curve in (("duplicate", encoder["duplicate_f1"]), ("similarity", encoder["similarity_right"])):
        assert len(curve) == len(thresholds)
        assert curve[thresholds.index(getattr(chosen, name))] == max(curve)
    points = encoder["points"]
    assert len(points) == len(OUTCOME["grid"]["depth"]) * len(OUTCOME["grid"]["neighbours"])
    best = [p for p in points if p["right"] == max(point["right"] for point in points)]
    smallest = min(best, key=lambda point: (point["depth"], point["neighbours"]))
    assert (smallest["depth"], smallest["neighbours"]) == (chosen.depth, chosen.neighbours)


def test_the_committed_outcome_is_of_this_data_and_grid() -> None:
    assert OUTCOME["seed"] == devdata.SEED
    assert OUTCOME["data"] == devdata.digest()
    assert OUTCOME["grid"]["thresholds"] == list(calibrate.THRESHOLDS)
    assert {encoder["name"] for encoder in OUTCOME["encoders"]} == {"bge-small-en-v1.5", "all-MiniLM-L6-v2"}


def test_points_of_the_grid_can_be_had_again(bge: Path) -> None:
    from pytest_engram.encoders import EmbeddingStore, cache_dir, resolve

    store = EmbeddingStore(resolve(str(bge), None), cache_dir())
    committed = next(e for e in OUTCOME["encoders"] if e["hash"] == store.spec.hash)
    chosen = Settings(**committed["chosen"])
    assert calibrate._f1(calibrate._repeats(store.embed)) == pytest.approx(committed["duplicate_f1"], abs=0.003)
    right = calibrate._right_levels(store.embed, store.embed_query)(chosen)
    # Another machine's linear algebra may turn a level or two that stands on the edge.
    assert right == pytest.approx(max(point["right"] for point in committed["points"]), abs=3)
    # An encoder that was not known would get the same thresholds, to within the distance of two pairs.
    again = calibrate.thresholds_at(committed["shares"], store.embed)
    assert again == pytest.approx({"similarity": chosen.similarity, "duplicate": chosen.duplicate}, abs=0.01)


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
        return calibrate.settings_for(bench)

    first = settings()
    asked = store.asked
    assert asked > 0
    assert settings() == first
    assert store.asked == asked
    known = Settings(**OUTCOME["encoders"][0]["chosen"])
    assert (first.depth, first.neighbours) == (known.depth, known.neighbours)
    shares = OUTCOME["encoders"][0]["shares"]
    for name, pairs in (("similarity", calibrate._one_subject), ("duplicate", calibrate._repeats)):
        reached = [similarity >= getattr(first, name) for similarity, _ in pairs(store.embed)]
        assert np.mean(reached) == pytest.approx(shares[name], abs=0.02)


def test_loom_and_tide_declare_what_they_learnt() -> None:
    from pytest_engram.methods import loom, tide

    for made in (loom.loom, loom.loom_distinct, tide.tide):
        assert made.__engram_method__.trained_on == devdata.learnt()
