"""The generated demo: the same everywhere, true to its own facts, and nothing of it from the official data."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from statistics import mean

import pytest
from both import METRICS, Both
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from scipy.stats import hypergeom

from pytest_engram.basics.registry import Registry
from pytest_engram.basics.texts import normalise
from pytest_engram.judging.chance import floors
from pytest_engram.judging.metrics import answer_at
from pytest_engram.suites import SOURCES, chains, demo_fc, factconsolidation, facts, files, loading, pilots
from pytest_engram.suites.base import NotRun
from pytest_engram.suites.fingerprints import fingerprint

PILOT = Path(__file__).parents[2] / "cases" / "pilot" / "demo_fc.yaml"
DOCS = Path(__file__).parents[2] / "docs"
SEEDS = st.integers(0, 2**63)


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def spec() -> demo_fc.Spec:
    raw, lines = files.read(PILOT)
    return files.validate(demo_fc.Spec, raw, PILOT, lines)


def told(row: facts.FactRow) -> dict[tuple[demo_fc.Relation, str], list[str]]:
    """What the context says, read back from its lines: (relation, subject) to values, oldest first."""
    patterns = {
        relation: re.compile(re.escape(relation.fact).replace(r"\{s\}", "(.+)").replace(r"\{v\}", "(.+)"))
        for relation in demo_fc.RELATIONS
    }
    values: dict[tuple[demo_fc.Relation, str], list[str]] = {}
    for entry in facts.parse_facts(row.context):
        text = entry.text.split(". ", 1)[1]
        matches = [(relation, match) for relation, p in patterns.items() if (match := p.fullmatch(text))]
        assert len(matches) == 1, text
        relation, match = matches[0]
        subject, value = (
            match.groups() if relation.fact.index("{s}") < relation.fact.index("{v}") else match.groups()[::-1]
        )
        values.setdefault((relation, subject), []).append(value)
    return values


class TestCommitted:
    def test_it_is_what_the_generator_gives(self, spec: demo_fc.Spec) -> None:
        one = Both(*demo_fc.load(spec, PILOT, None))
        about = one.describe()
        assert about["notes"] == []
        assert about["official"] is None
        assert about["context_sha256"] == spec.context_sha256
        assert about["origin"] == "generated, seed 20261008"
        assert len(one.questions) == 80
        assert all(one.gold(question).ceiling for question in one.questions)
        assert [one.gold(question).fields["hops"] for question in one.questions] == [1] * 40 + [2] * 40
        assert one.questions[79].name == "q079"

    def test_file_is_what_the_script_writes(self, shared_data: Path) -> None:
        assert PILOT.read_text(encoding="utf-8") == pilots.pilot_files(shared_data)["demo_fc.yaml"]

    def test_another_text_than_the_committed_one_is_not_run(self, spec: demo_fc.Spec) -> None:
        other = spec.model_copy(update={"context_sha256": "0" * 64})
        with pytest.raises(NotRun, match="this version generates other facts"):
            demo_fc.load(other, PILOT, None)

    def test_no_name_is_from_the_official_data(self, shared_data: Path) -> None:
        official = "".join(
            factconsolidation.find_row(f"factconsolidation_sh_{size}", shared_data).context for size in ("6k", "262k")
        )
        words = set(re.findall(r"\w+", official.lower()))
        names = {name for _, subject in told(demo_fc.generate(pilots.SEED)) for name in subject.split()}
        ordinary = {"Letters", "of", "Winter", "Return", "Songs", "Works", "Freight", "Instruments", "Mills"}
        assert {name for name in names - ordinary if name.lower() in words} == set()


def by_chance(row: facts.FactRow) -> list[float]:
    """For each question, how often ten random facts have its answer: of all facts, some hold it, and ten are drawn."""
    texts = [normalise(entry.text) for entry in facts.parse_facts(row.context)]
    held = [sum(normalise(question.answers[0]) in text for text in texts) for question in row.questions]
    return [1 - float(hypergeom.pmf(0, len(texts), number, 10)) for number in held]


def by_words(row: facts.FactRow) -> float:
    """The share of answers that rank-bm25 finds."""
    texts = [entry.text for entry in facts.parse_facts(row.context)]
    okapi = BM25Okapi([normalise(text).split() for text in texts])
    found = 0.0
    for question in row.questions:
        scores = okapi.get_scores(normalise(question.text).split())
        best = sorted(range(len(texts)), key=lambda at: -scores[at])[:10]
        found += answer_at([texts[at] for at in best], question.answers, 10)
    return found / len(row.questions)


class TestMeansSomething:
    """Who knows nothing has next to nothing, and who looks for words has some of it and not all."""

    def test_ten_random_facts_have_few_answers(self) -> None:
        shares = by_chance(demo_fc.generate(pilots.SEED))
        assert mean(shares) <= 0.08
        assert max(mean(shares[:40]), mean(shares[40:])) <= 0.1  # of one hop, and of two
        one = loading.load(PILOT, None, sources=Registry("data source", SOURCES), metrics=METRICS)
        assert floors(one.suite, one.key, 10)["answer@10"] == pytest.approx(mean(shares))

    def test_it_is_not_this_seeds_luck(self) -> None:
        assert mean(mean(by_chance(demo_fc.generate(seed))) for seed in range(10)) <= 0.08

    def test_words_find_about_half_of_them(self) -> None:
        assert 0.4 < by_words(demo_fc.generate(pilots.SEED)) < 0.7

    def test_the_gate_of_the_docs_lets_words_pass_and_no_random_facts(self) -> None:
        gate = float(re.findall(r"demo_fc:answer@10=([\d.]+)", (DOCS / "ci.md").read_text(encoding="utf-8"))[0])
        row = demo_fc.generate(pilots.SEED)
        shares = by_chance(row)
        # As many standard deviations above what is to be expected of 80 questions.
        spread = sum(p * (1 - p) for p in shares) ** 0.5
        assert (gate * len(shares) - sum(shares)) / spread > 8
        assert by_words(row) > gate


class TestGenerated:
    @settings(max_examples=10, deadline=None)
    @given(SEEDS)
    def test_answers_follow_from_the_newest_facts(self, seed: int) -> None:
        row = demo_fc.generate(seed)
        values = told(row)
        assert len(values) == 240
        assert sum(len(v) for v in values.values()) == len(facts.parse_facts(row.context)) == 350
        assert Counter(relation for relation, _ in values) == dict.fromkeys(demo_fc.RELATIONS, 12)
        assert all(len(set(v)) == len(v) <= 2 for v in values.values())
        newest = {relation.phrase.format(s=subject): v[-1] for (relation, subject), v in values.items()}
        for question in row.questions:
            asked = re.sub(r"^(?:Who|What) is (.*)\?$", r"\1", question.text)
            if question.fields["hops"] == 2:
                inner = next(phrase for phrase in sorted(newest, key=len, reverse=True) if phrase in asked)
                asked = asked.replace(inner, newest[inner])
            assert question.answers == (newest[asked],)
        assert len({question.text for question in row.questions}) == 80

    @settings(max_examples=10, deadline=None)
    @given(SEEDS)
    def test_hops_are_the_facts_behind_the_question(self, seed: int) -> None:
        """Read back from the context: whom each fact is about, and what of the same was told before."""
        row = demo_fc.generate(seed)
        texts = {entry.id: entry.text.split(". ", 1)[1] for entry in facts.parse_facts(row.context)}
        values = told(row)
        for question in row.questions:
            phrase = before = ""
            for hop in question.hops:
                (valid,) = hop.valid
                (relation, subject) = next(
                    (relation, subject)
                    for (relation, subject), said in values.items()
                    if texts[valid.id] == relation.fact.format(s=subject, v=said[-1])
                )
                assert before in {"", subject}
                assert [*(old.value for old in hop.superseded), valid.value] == values[relation, subject]
                for old in hop.superseded:
                    assert texts[old.id] == relation.fact.format(s=subject, v=old.value)
                    assert int(old.id) < int(valid.id)
                phrase = relation.phrase.format(s=phrase or subject)
                before = valid.value
            assert question.text.split(" is ", 1)[1] == f"{phrase}?"
            assert (before,) == question.answers
            assert question.fields["hops"] == len(question.hops)
            assert question.fields["contradicted"] == sum(bool(hop.superseded) for hop in question.hops)

    @pytest.mark.parametrize("seed", [pilots.SEED, 1, 2])
    def test_chains_that_are_found_without_the_generator_are_its_own(self, seed: int) -> None:
        row = demo_fc.generate(seed)
        told = facts.parse_facts(row.context)
        found = []
        for question in row.questions:
            hops = len(question.hops)
            with suppress(facts.Unknown):
                found.append(chains.finder(told, range(hops, hops + 1))(question._replace(hops=())) == question.hops)
        assert len(found) > 65
        assert all(found)

    def test_the_key_has_hops_and_what_they_superseded(self, spec: demo_fc.Spec) -> None:
        one = Both(*demo_fc.load(spec, PILOT, None))
        for question, generated in zip(one.questions, demo_fc.generate(pilots.SEED).questions, strict=True):
            gold = one.gold(question)
            assert gold.hops == generated.hops
            assert gold.superseded == tuple(old.value for old in generated.hops[-1].superseded)
        assert sum(bool(one.gold(question).superseded) for question in one.questions[:40]) == 30

    @settings(max_examples=10, deadline=None)
    @given(SEEDS)
    def test_an_answer_is_found_in_no_other_name(self, seed: int) -> None:
        row = demo_fc.generate(seed)
        names = {name for (_, subject), v in told(row).items() for name in (subject, *v)}
        for name in names:
            assert [other for other in names if normalise(name) in normalise(other)] == [name]

    def test_same_seed_same_text_other_seed_other_text(self) -> None:
        assert demo_fc.generate(1) == demo_fc.generate(1)
        assert demo_fc.generate(1).context != demo_fc.generate(2).context

    def test_contradicted_questions(self) -> None:
        asked = demo_fc.generate(pilots.SEED).questions
        assert sum(q.fields["contradicted"] > 0 for q in asked) == 60

    def test_stale_fact_does_not_answer(self) -> None:
        row = demo_fc.generate(pilots.SEED)
        for question in row.questions[10:40]:
            texts = [entry.text for entry in facts.parse_facts(row.context)]
            asked = question.text.removesuffix("?").split(" is ", 1)[1]
            relation, subject = next(key for key in told(row) if key[0].phrase.format(s=key[1]) == asked)
            old, new = told(row)[relation, subject]
            stale = next(t for t in texts if t.endswith(relation.fact.format(s=subject, v=old)))
            fresh = next(t for t in texts if t.endswith(relation.fact.format(s=subject, v=new)))
            assert texts.index(stale) < texts.index(fresh)
            assert answer_at([fresh], question.answers, 1)
            assert not answer_at([stale], question.answers, 1)


def test_fingerprints_are_of_the_generated_questions(spec: demo_fc.Spec) -> None:
    generated = demo_fc.generate(spec.seed)
    # By hand, from the definition: NFKC, case folded, punctuation to spaces; plain ASCII here.
    text = generated.questions[0].text
    plain = " ".join(re.sub(r"[^a-z0-9]", " ", text.lower()).split())
    assert spec.questions[0].text == hashlib.sha256(plain.encode()).hexdigest()[:16] == fingerprint(text)
