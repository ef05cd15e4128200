from __future__ import annotations

import base64
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pages
import pytest
import synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_engram.report import embedded, page, questions
from pytest_engram.report.aggregate import aggregate
from pytest_engram.runs.outcome import Outcome

HOSTILE = (
    "<script>boom()</script><!-- \"quoted\" 'single' & </style> \u202eRTL \u2028 \u2029 ]]> {{ 7*7 }} "
    "<img src=x onerror=boom()>"
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>boom()</script><text id="patch_1">x</text></svg>'


class Page(HTMLParser):
    """Which elements a page has, their attributes, and the text of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._raw = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._raw = tag in ("script", "style")
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._raw = False

    def handle_data(self, data: str) -> None:
        if not self._raw:
            self.text.append(data)
        elif self.elements[-1][0] == "script":
            self.scripts[-1] += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    @property
    def data(self) -> dict[str, Any]:
        return pages.told(self.scripts[0])  # type: ignore[no-any-return]

    @property
    def excerpts(self) -> dict[str, Any]:
        return pages.told(self.scripts[1])  # type: ignore[no-any-return]


def run(count: int = 8) -> tuple[dict[str, Any], list[Outcome], dict[str, dict[str, str]]]:
    outcomes, texts = synthetic.pilots(count)
    outcomes += synthetic.micro(2)
    return aggregate(outcomes, synthetic.manifest(outcomes)), outcomes, texts


@pytest.fixture(scope="module")
def made() -> tuple[dict[str, Any], list[Outcome], dict[str, dict[str, str]]]:
    return run()


@pytest.fixture(scope="module")
def html(made: Any) -> str:
    results, outcomes, texts = made
    return page.render(results, outcomes, {"intervals": SVG, "flip_points": SVG}, texts)


def test_the_parts_stand_in_the_order_in_which_they_are_read(html: str) -> None:
    parts = ["run", "verdicts", "results", "intervals", "paired", "flips", "micro", "questions"]
    assert re.findall(r'<section id="(\w+)"', html) == parts
    assert re.findall(r'href="#(\w+)">', html[: html.index("<main>")])[1:] == parts


def test_it_needs_nothing_but_itself(html: str) -> None:
    for tag, attributes in Page(html).elements:
        for name in ("src", "href", "srcset", "action"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:image/svg+xml;base64,")), (tag, address)
    assert "@import" not in html
    assert "url(" not in html


def test_the_run_is_told_before_its_results(html: str) -> None:
    words = Page(html[: html.index('<section id="verdicts"')]).words
    for told in ("bge-small-en-v1.5", "384 dimensions", "10 for every method", "newest", "9a534829a0b1", "7 min"):
        assert told in words
    assert "not run: LongMemEval_S can't be had here" in words


def test_every_number_of_the_experiment_has_its_interval_and_every_gap_its_reason() -> None:
    results, outcomes, _ = run(20)
    words = Page(page.render(results, outcomes, {})).words
    row = next(
        r for r in results["rows"] if (r["method"], r["suite"], r["metric"]) == ("loom", "fc_mh_6k", "answer@10")
    )
    assert f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" in words
    assert "LongMemEval_S can't be had here" in words
    assert "the suite fc_sh_262k was no part of this run" in words
    assert "copied" in words
    assert "not reported" in words


def test_hand_built_cases_carry_their_warning_number_and_rule(html: str) -> None:
    words = Page(html[html.index('<section id="micro"') : html.index('<section id="questions"')]).words
    assert words.count("uggestive, not evidence") == 2
    assert "2 cases" in words
    assert synthetic.RULE in words
    assert "registered before this run" in words


def test_changed_since_registration_is_told(made: Any) -> None:
    results, outcomes, _ = made
    results = json.loads(json.dumps(results))
    for suite in results["suites"]:
        suite["registered"] = "changed since it was registered"
    assert '<span class="tag warn">changed since it was registered</span>' in page.render(results, outcomes, {})


def test_an_incomplete_run_says_so(made: Any) -> None:
    results, outcomes, _ = made
    results = {**results, "manifest": {**results["manifest"], "complete": False, "planned": 999, "ran": 7}}
    assert "Not complete. 7 of 999 planned items ran." in Page(page.render(results, outcomes, {})).words


def test_absent_plots_and_texts_are_left_out(made: Any) -> None:
    results, outcomes, _ = made
    html = page.render(results, outcomes, {})
    assert "<img" not in html
    assert "Entries are shown by their ids" in html
    assert Page(html).excerpts["texts"] == []


def test_a_plot_is_an_image_and_can_not_run(html: str) -> None:
    sources = [attributes["src"] or "" for tag, attributes in Page(html).elements if tag == "img"]
    assert [base64.b64decode(source.split(",")[1]).decode() for source in sources] == [SVG, SVG]
    assert all(attributes.get("alt") for tag, attributes in Page(html).elements if tag == "img")


def test_the_same_input_gives_the_same_bytes(html: str) -> None:
    results, outcomes, texts = run()
    assert page.render(results, outcomes, {"intervals": SVG, "flip_points": SVG}, texts) == html


def test_what_was_not_run_is_not_counted_as_asked(html: str) -> None:
    # 8 questions of FactConsolidation and 40 levels were asked; 8 questions of LongMemEval could not be.
    words = Page(html).words
    assert (
        "8 benchmark questions and 40 micro-test levels, asked of 7 methods that may each return 10 entries; "
        "8 more not run." in words
    )
    assert "Every question that was asked, and 8 not run. Open one" in words


def _one(question: str, status: Any, method: str = "m", suite: str = "s", **more: Any) -> Outcome:
    return Outcome(suite, question, method, 0, 10, [], {"answer@10": None}, status, item=f"{question}-{method}", **more)


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        (
            [_one("q1", "ok"), _one("q2", "ok")],
            "2 benchmark questions, asked of 1 method that may each return 10 entries.",
        ),
        (
            [_one("q1", "ok"), _one("q2", "not run"), _one("q3", "not run")],
            "1 benchmark question, asked of 1 method that may each return 10 entries; 2 more not run.",
        ),
        ([_one("q1", "not run")], "No questions, asked of 1 method that may each return 10 entries; 1 not run."),
        # One method could not be asked, another was; a violation and an error come of asking.
        (
            [_one("q1", "not run"), _one("q1", "ok", "n"), _one("q2", "violation"), _one("q3", "error")],
            "3 benchmark questions, asked of 2 methods that may each return 10 entries.",
        ),
        (
            [_one("q1", "ok"), _one("c1", "not run", suite="t", family="f"), _one("c2", "ok", suite="t", family="f")],
            "1 benchmark question and 1 micro-test level, asked of 1 method that may each return 10 entries; "
            "1 more not run.",
        ),
    ],
    ids=["all", "some", "none", "by one method", "levels"],
)
def test_a_question_was_asked_if_any_method_was_asked_it(outcomes: list[Outcome], told: str) -> None:
    results = aggregate(outcomes, {"k": 10, "suites": {}, "methods": {}})
    words = Page(page.render(results, outcomes, {})).words
    assert told in words
    assert ("not run. Open one" in words) == ("not run" in told)


def test_a_run_of_somebody_s_own_suites_alone_has_no_table_of_the_experiment() -> None:
    outcomes = synthetic.micro(1)
    facts = synthetic.manifest(outcomes)
    facts["suites"] = {"gradual_override": facts["suites"]["gradual_override"]}
    parsed = Page(page.render(aggregate(outcomes, facts), outcomes, {}))
    for absent in ("The experiment", "LongMemEval", "copied", "was no part of this run"):
        assert absent not in parsed.words
    ids = {attributes.get("id") for _, attributes in parsed.elements}
    assert {"micro", "questions"} < ids
    assert "results" not in ids
    assert all(attributes.get("href") != "#results" for _, attributes in parsed.elements)
    own = [replace(o, suite="mine") for o in synthetic.pilots(4)[0] if o.suite == "fc_mh_6k"]
    facts["suites"] = {"mine": synthetic.manifest(synthetic.pilots(4)[0])["suites"]["fc_mh_6k"]}
    parsed = Page(page.render(aggregate(own, facts), own, {}))
    for absent in ("The experiment", "LongMemEval", "copied", "was no part of this run"):
        assert absent not in parsed.words
    assert "results" in {attributes.get("id") for _, attributes in parsed.elements}
    assert "mine" in parsed.words


def test_one_suite_of_the_experiment_brings_its_table() -> None:
    outcomes = [o for o in synthetic.pilots(4)[0] if o.suite == "lme_s"]  # not run, and planned all the same
    facts = synthetic.manifest(outcomes)
    facts["suites"] = {"lme_s": facts["suites"]["lme_s"]}
    words = Page(page.render(aggregate(outcomes, facts), outcomes, {})).words
    assert "The experiment" in words
    assert "Rows marked “copied” were not measured here." in words


def test_an_empty_run_is_a_page_too() -> None:
    results = aggregate([], {"k": 10, "suites": {}, "methods": {}})
    assert "No questions" in page.render(results, [], {})


# --- what comes from data


def hostile() -> tuple[dict[str, Any], list[Outcome], dict[str, dict[str, str]]]:
    """A run in which whatever a person or a file can name holds markup."""
    outcomes, texts = synthetic.pilots(4)
    outcomes += synthetic.micro(1)
    manifest = synthetic.manifest(outcomes)
    text = json.dumps(manifest)
    escaped = json.dumps(HOSTILE)[1:-1]
    for value in (
        "Loom",
        "bge-small-en-v1.5",
        "newest",
        "fc_mh_6k",
        "gradual_override",
        synthetic.RULE,
        synthetic.NO_DATA,
    ):
        text = text.replace(json.dumps(value), f'"{value} {escaped}"')
    names = {"fc_mh_6k": f"fc_mh_6k {HOSTILE}", "gradual_override": f"gradual_override {HOSTILE}"}
    for outcome in outcomes:
        outcome.suite = names.get(outcome.suite, outcome.suite)
        outcome.query += HOSTILE
        outcome.question_id += HOSTILE
        outcome.reason += HOSTILE if outcome.reason else ""
        outcome.gold = [HOSTILE]
        outcome.ids = [id_ + HOSTILE for id_ in outcome.ids]
        outcome.answer = HOSTILE
        outcome.dropped = [{"id": HOSTILE, "by": outcome.ids[0], "why": HOSTILE}] if outcome.ids else []
        outcome.winner = HOSTILE if outcome.winner == "neither" else outcome.winner
    texts = {names.get(suite, suite): {id_ + HOSTILE: HOSTILE for id_ in known} for suite, known in texts.items()}
    return aggregate(outcomes, json.loads(text)), outcomes, texts


def test_markup_in_data_stays_text(html: str) -> None:
    results, outcomes, texts = hostile()
    for verdict in results["verdicts"]:
        verdict["name"] = verdict["text"] = HOSTILE
    parsed = Page(page.render(results, outcomes, {"intervals": SVG}, texts))
    assert parsed.count("script") == 3
    assert parsed.count("style") == 1
    assert parsed.count("img") == 1
    assert "boom()" not in parsed.scripts[2]
    assert all(re.fullmatch(r"[A-Za-z0-9+/]+=*", packed) for packed in parsed.scripts[:2])
    assert "{{ 7*7 }}" in parsed.words
    assert "<img src=x onerror=boom()>" in parsed.words  # as text
    assert HOSTILE in parsed.data["strings"]
    assert HOSTILE in parsed.excerpts["texts"]
    assert all(name[:2] != "on" for _, attributes in parsed.elements for name in attributes)


def test_a_lone_surrogate_harms_nothing(made: Any) -> None:
    results, outcomes, texts = run(2)
    outcomes[0].query = "half \ud83d a character"
    html = page.render(results, outcomes, {}, texts)
    assert html.encode("utf-8")
    assert outcomes[0].query in Page(html).data["strings"]


# --- the questions


NO_TEXTS: dict[str, Any] = {"texts": [], "shared": [{}], "own": {}}


def unpacked(data: dict[str, Any], texts: dict[str, Any] = NO_TEXTS) -> list[dict[str, Any]]:
    """The page's questions as its script reads them."""
    strings = data["strings"]
    found: list[dict[str, Any]] = []
    for number, question in enumerate(data["questions"]):
        suite, id_, query, haystack, gold, excluded, entries, golden, case, packed = question
        own = texts["own"].get(str(number), [None] * len(entries))
        said = [texts["shared"][suite].get(str(e)) if o is None else o for e, o in zip(entries, own, strict=True)]
        for method, seed, state, ms, places, values, *further in packed:
            more = further[0] if further else {}
            ids = [questions.PLACES.index(place) for place in places] if isinstance(places, str) else places
            found.append(
                {
                    "suite": data["suites"][suite][0],
                    "question_id": strings[id_],
                    "query": strings[query],
                    "haystack": haystack,
                    "gold": [strings[text] for text in gold],
                    "excluded": strings[excluded],
                    "method": data["methods"][method][0],
                    "seed": seed,
                    "state": questions.STATES[state],
                    "ms": ms,
                    "ids": [strings[entries[place]] for place in ids],
                    "texts": [None if said[place] is None else texts["texts"][said[place]] for place in ids],
                    "golden": [strings[entries[place]] for place in golden],
                    "metrics": dict(zip(data["suites"][suite][2], values, strict=True)),
                    "reason": strings[more["r"]] if "r" in more else "",
                    "dropped": [strings[entries[drop[0]]] for drop in more.get("d", [])],
                    "lost": bool(more.get("l")),
                    "answer": strings[more["a"]] if "a" in more else None,
                    "case": strings[case[1]] if case else None,
                }
            )
    return found


def test_every_outcome_of_the_log_is_on_the_page(made: Any, html: str) -> None:
    _, outcomes, texts = made
    parsed = Page(html)
    shown = {(o["suite"], o["question_id"], o["method"], o["seed"]): o for o in unpacked(parsed.data, parsed.excerpts)}
    assert len(shown) == len(outcomes)
    for outcome in outcomes:
        found = shown[outcome.suite, outcome.question_id, outcome.method, outcome.seed]
        assert found["ids"] == outcome.ids
        assert found["texts"] == [texts.get(outcome.suite, {}).get(id_) for id_ in outcome.ids]
        assert found["query"] == outcome.query
        assert found["gold"] == outcome.gold
        assert found["reason"] == outcome.reason
        assert found["dropped"] == [drop["id"] for drop in outcome.dropped]
        assert found["lost"] == bool(outcome.lost)
        assert found["answer"] == outcome.answer
        assert found["case"] == outcome.case
        assert {name: found["metrics"][name] for name in outcome.metrics} == outcome.metrics
        assert found["ms"] == pytest.approx(outcome.seconds * 1000, abs=0.05)


@pytest.mark.parametrize(
    ("status", "hit", "state"),
    [
        ("ok", True, "hit"),
        ("ok", False, "miss"),
        ("ok", None, "not scored"),
        ("violation", None, "violation"),
        ("error", None, "error"),
        ("not run", None, "not run"),
    ],
)
def test_the_state_of_an_outcome(status: Any, hit: bool | None, state: str) -> None:
    outcome = Outcome("s", "q", "m", 0, 10, [], {}, status, hit=hit)
    data = questions.pack([outcome], [], [], {}, k=10)
    assert unpacked(data)[0]["state"] == state


def test_gold_is_known_by_the_log_by_its_id_and_by_the_answer_in_its_text() -> None:
    def item(question: str, **told: Any) -> Outcome:
        return Outcome("s", question, "m", 0, 3, ["e1", "e2"], {}, "ok", **told)

    outcomes = [item("q1", gold_ids=["e2"], gold=["Oslo"]), item("q2", gold=["e2"]), item("q3", gold=["The Oslo"])]
    texts = {"s": {"e1": "She moved to oslo.", "e2": "She lives in Leeds."}}
    by_log, by_id, by_text = unpacked(questions.pack(outcomes, [], [], texts, k=3))
    assert by_log["golden"] == ["e2"]
    assert by_id["golden"] == ["e2"]
    assert by_text["golden"] == ["e1"]


def test_an_entry_of_a_haystack_of_its_own_may_have_no_text_or_a_shared_one() -> None:
    outcomes = [Outcome("s", question, "m", 0, 3, ["e1", "e2", "e3"], {}, "ok") for question in ("q1", "q2")]
    texts = {"s": {"q1/e2": "own", "e1": "shared"}}
    data = questions.pack(outcomes, [], [], texts, k=3)
    excerpts = pages.told(embedded.packed(questions.excerpts(data, texts, 100)))
    first, second = unpacked(data, excerpts)
    assert first["texts"] == ["shared", "own", None]
    assert second["texts"] == ["shared", None, None]


def test_questions_with_haystacks_of_their_own_have_texts_of_their_own() -> None:
    outcomes = [Outcome("s", question, "m", 0, 3, ["e1"], {}, "ok", gold=["one"]) for question in ("q1", "q2")]
    texts = {"s": {"q1/e1": "one", "q2/e1": "two"}}
    data = questions.pack(outcomes, [], [], texts, k=3)
    excerpts = pages.told(embedded.packed(questions.excerpts(data, texts, 100)))
    first, second = unpacked(data, excerpts)
    assert (first["texts"], first["golden"]) == (["one"], ["e1"])
    assert (second["texts"], second["golden"]) == (["two"], [])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300))
def test_any_number_of_entries_keeps_its_order(count: int) -> None:
    ids = [f"e{number}" for number in range(count)]
    outcomes = [
        Outcome("s", "q", "m", 0, count, ids, {}, "ok"),
        Outcome("s", "q", "n", 0, count, ids[::-1], {}, "ok"),
    ]
    forth, back = unpacked(questions.pack(outcomes, [], [], {}, k=count))
    assert forth["ids"] == ids
    assert back["ids"] == ids[::-1]


def test_excerpts_grow_shorter_until_the_page_is_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    results, outcomes, texts = run(40)
    rng = random.Random(1)  # so that twice the text is about twice the size, compressed too
    long = {
        suite: {id_: text + " " + rng.randbytes(500).hex() for id_, text in known.items()}
        for suite, known in texts.items()
    }

    def longest() -> int:
        return max(map(len, Page(page.render(results, outcomes, {}, long)).excerpts["texts"]), default=0)

    html = page.render(results, outcomes, {}, long)
    packed, beginnings, _ = map(len, Page(html).scripts)
    assert longest() == 600
    monkeypatch.setattr(page, "LIMIT", packed + beginnings + 1)
    assert longest() == 600
    monkeypatch.setattr(page, "LIMIT", packed + beginnings)
    assert longest() == 300
    monkeypatch.setattr(page, "LIMIT", packed + beginnings * 3 // 10)  # of a text of 150, half is hexadecimal
    assert longest() == 150
    monkeypatch.setattr(page, "LIMIT", packed)
    assert longest() == 0
