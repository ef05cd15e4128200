"""From a run's outcomes and manifest to its results: every number that any table, plot or page shows.

The results are plain JSON data, the content of `results.json`. All lists are in the order in which they are shown.
Floats are exact; what is not a finite number is None.

`manifest`
    As given.
`methods`
    {method, label, role, stochastic, named, encoder}, in the order of every table: a named method of the user's own
    first.
`suites`
    {suite, kind, metrics, n, encoder, official, caption, rule, registered, notes, not_run, cluster, clusters, groups,
    disputed}: `caption` is the sentence that stands over every table of the suite (encoder and its note, k, seeds,
    data, reader, rule, clusters). `cluster` is a noun for what its questions were drawn with, where any two were drawn
    together, and `clusters` how many were measured; `groups` are its categories and the pools of them; `disputed` is
    the number of questions whose key is wrong. Each is None where there is none.
`rows`
    One a method, suite and metric, then one for each part of a suite as well: {method, label, role, suite, metric,
    group, without, n, value, low, high, interval, cluster, clusters, status, reason, flags, marks, errors, effective_k,
    lost, differs, seeds, sides, reader, unit}. `group` is a category, or a pool of categories that the suite's manifest
    names (`pooled`), and None where the row is over all questions; `without` is "disputed" where questions with a wrong
    key are left out, and None for the published form: `group` and `without` are None for the suite's own figure.
    `interval` is "wilson", "bootstrap", "cluster t" (of a suite with clusters), "range" (of the seeds' means) or None
    where there is no value, or where all questions are of one cluster, which tells no spread. `cluster` (a noun) and
    `clusters` (how many) say what was resampled, and are None where single questions were. `status` is "ok"; "covers"
    (k covers the haystack: there is a value, and it measures nothing); "partial" (only some of the planned questions
    were asked, or some items ended in an error, which `errors` counts: value and interval are those of what was
    measured); "not run", "violation" and "error" (no item was measured) have no value. `reason` is then one sentence,
    and so it is where a value has no interval. `marks` are sentences about what the method returned on the suite, which
    stand as footnotes at its figures: nothing for some questions; of a memory with texts of its own, how many entries
    are behind k and whether its texts are longer, or made of more, than others' may be; how many hits rest on a serial
    number or on a part of a word alone; gold that stands in no haystack; texts that BM25 could not split; and entries
    that are longer than the encoder's window. `effective_k` is the
    mean number of ids returned, `lost` the number of questions whose answer was ranked in the first k and then dropped
    in a conflict (None: the method tells nothing), `differs` the number on which it returned other ids than Dense, or
    in another order (both: mean over seeds). `sides`: of `correct` in a micro-test where one side is right, what a
    method returned that never returned one side alone ("both", "neither" or "both or neither"): tables say that in
    place of the value, which is no number to rank by. `reader` is set for metrics of an answer. `unit` is "%" where
    people print the metric in per cent, else "". Values are fractions in any case.
    A row of the metric `judged` has more: `judge` (whose verdicts it is of); `corrected`, `corrected_low` and
    `corrected_high`, the accuracy corrected for the judge's errors, by `correction`: "ppi" where people judged some of
    the answers, else "rogan-gladen", or None where there is none, and `correction_reason` says why; `spread`: [lowest,
    highest] accuracy of one run of a judge that was asked several times about each answer, else None.
`gates`
    What decided over the run's exit code, as the manifest has it: {gate, name, suite, metric, method, label, threshold,
    value, n, difference, low, high, p, p_holm, tests, passed, reason}, one a figure that a gate looked at. `gate` is
    "fail-under" or "fail-worse-than", `name` the option as it was given. `threshold` is the bound, or the earlier run's
    value on the `n` questions of both; `difference` is value minus threshold. Interval and p of a comparison are those
    of the paired test with the earlier run, `p_holm` adjusted over the `tests` of that gate; of a bound they are None.
    `passed` is None where the earlier run has nothing to compare with. What can't be told did not pass, has no numbers
    where there are none, and `reason` says why.
`costs`
    One a method and suite, where the log tells of costs: {method, label, suite, n, write_seconds, entries, search_p50,
    search_p95, query_encoding, tokens_returned, usage, bytes, errors, retries}, over `n` items that ended well.
    `write_seconds` is per 1,000 of the `entries` that were written in all. `search_p50` and `search_p95` are seconds,
    with `query_encoding`, the seconds that embedding a query takes, for each query whose embedding came out of the
    bench's store: 0.0 where none did, None where some did and that time was not measured, and is not in them.
    `tokens_returned` is the mean a question, `usage` the sums of what the memory says that it used, `bytes` the size of
    all its folders.
`judges`
    One a judge, suite and kind of answer known to be wrong or right: {judge, suite, kind, wrong_accepted, low, high, n,
    right_rejected, right_low, right_high, right_n, prompt, runs, status, reason}. `kind` is "all", "another", "vague",
    "superseded", "reworded", or what a file of recorded verdicts says; a rate without such answers is None. `runs` is
    how often the judge was asked about each. Status is "ok", "partial" (it gave no verdict on some) or "not run".
`states`
    Of suites with `resolved@N`, one a method, suite and hop: {method, label, suite, metric, hop, n, new, old, both,
    neither}. Of `n` facts that questions need and that were contradicted earlier, how many came back among the first N
    in the new version alone, in an old one alone, in both or in neither (over several seeds: the mean). `hop` is 1, 2
    ... for the place of the fact in its question's chain, "last" for the one that answers, None for all of them.
`frontier`
    Of suites with a frontier, one a suite, method and point: {suite, kind, method, label, role, axis, count, followed,
    followed_low, followed_high, followed_n, resisted, resisted_low, resisted_high, resisted_n, cluster, clusters,
    status, reason}. `axis` "b": `count` facts back one side, and nobody says the other again; "m": three facts back one
    side, and the other is said again `count` times in other words. `followed` is the share of questions in which the
    newer side came back alone, of those in which it is the backed one; `resisted` is that of the older side. Where
    nothing is backed both are over all questions: the zero of the scale. `kind` says how backers back: "named" or
    "implied".
`floors`
    {suite, metric, k, answer, value}: what k random entries get on average, exactly, for each metric of which that is
    known (`answer` None); and for metrics of an answer, what a reader gets that gives this `answer` to every question
    (`k` None), where a benchmark has such an answer.
`answer_baselines`
    Where the run asked for them, one a baseline of answers, suite, metric of an answer and part: as in `rows`, with
    `baseline` ("no-memory", "placebo", "oracle", "full-context") in place of the method, `apart` (what sets it apart
    from a method) and `tokens`, the mean that the reader was given. No method, and in no comparison.
`strategies`
    {suite, strategy, metric, value}: what somebody gets who reads no text and always takes the older of two statements,
    the newer, or the one that places speak for ("always older", "always newer", "by position"); counted, exactly.
`ceilings`
    {suite, of, metric, n, value, low, high, interval, cluster, clusters}. `of` is "k entries": the best that any k
    entries get in `metric`, which is a share of the evidence (counted); else "entry": the share of questions that any
    entry of the haystack answers, which bounds the first metric; or "answer key": what right answers alone score, where
    some of the key are wrong (counted, and so without an interval).
`paired`
    {method, label, baseline, baseline_label, suite, metric, n, difference, low, high, p, p_holm, test, cluster,
    clusters, better, worse, smallest_difference, first_step, status, reason}: method minus baseline on the same
    questions; two methods stand there once. `test` is "mcnemar", "paired bootstrap" or, by cluster, "sign flips".
    `better` and `worse` count questions. `p_holm` is adjusted over the tests of the suite that compare a named method;
    of others None. Status as in `rows`.
`power`
    {suite, metric, n, cluster, clusters, smallest_difference, discordance, first_step, tests}: what the paired tests of
    this n find with 80% power (None: nothing); of several, that of the one that needs the largest difference. It is
    where questions differ, or spread, as was seen: of McNemar's test, `discordance` is the share on which the two
    methods differ (of others None), and a difference above it needs more to differ than did, all one way. `first_step`
    is what is found at the first step of Holm's adjustment, the level 0.05 over the `tests` of the suite that have an
    adjusted p; None where no test has one. The same in each row of `paired`.
`families`
    One a micro-test suite and method: {suite, family, method, label, role, cases, levels, scored, decided, correct,
    false_conflicts, sides, status, reason}; `decided` (one side came back alone), `correct` and `false_conflicts`
    (something was dropped though nothing contradicts it; rule keep-both) are {value, low, high, interval, n} or None.
`flips`
    {method, label, suite, family, axis, undecided, sides, cases, seen, cluster, case, seed, web, state, flip_point,
    monotone, winners}: `state` is "flipped", "held" (the belief came back alone, the update never did) or "no conflict
    seen" (no side ever came back alone); of all `cases` of the method, in `seen` a side did at some level. `flip_point`
    is the smallest number of backers at which the update wins, None where it never does; `monotone` tells that it wins
    at every larger number as well; `winners` is [[backers, winner], ...]. `cluster` is what cases were drawn with.
`flip_summary`
    {method, ..., cluster, web, n, unseen, held, median, low, high, most}: over the `n` cases in which a conflict was
    seen, `unseen` others left out; `axis` ("backers" or "repeats") says what is counted; `undecided` tells that the
    method never returned one side alone, and `sides` then what it returned: "both", "neither" or "both or neither". A
    median or a bound that is a case that held is None: more than `most`, the largest number of backers tried.
`flip_trend`
    {method, ..., cluster, n, clusters, tau, low, high, p, constant, backed, unbacked, unbacked_low, unbacked_high,
    flips_back, loses_both}: Kendall's tau of flip point and web size over the same cases, interval and p by cluster;
    None where all flip points are equal (`constant`), there is one web size, or too few clusters. `unbacked` is the
    share of `backed` cases (at each web size but 0) in which the update wins with no backer at all. Cases at one web
    size in which, at a larger number than the flip point, the belief wins again (`flips_back`) or neither side comes
    back (`loses_both`).
`curves`
    {method, ..., cluster, web, backers, n, flipped, share, low, high}: of the cases in which a conflict was seen, the
    share where the update wins.
`verdicts`
    {name, method, claimed, holds, answer, text}: `name` is the statement, `claimed` whether it was a claim before the
    run (else the run just compares), `holds` is True, False or None, `answer` is "yes", "no", "can't tell" or
    "not run", or a number where the statement asks for one. A paired test answers where the adjusted p in its text is
    below 0.05: that of `paired`, or, of a test that has none there, Holm's over those of the verdict.
`published`
    {system, suite, metric, value, printed, setting, source}: copied from papers.
`experiment` and `others`
    The table of the experiment, and the same for the other pilot suites' first metric and SubEM: {columns: [{title,
    suite, metric, unit}], rows: [{method, label, kind, source, cells}]}. `kind` is "ours" or "published", `method` None
    for "published"; a cell is the row of `rows` (also where nothing ran: status "not run" and the reason), and for
    a published row {value, printed, status: "copied" or "not reported"}.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_engram.report import baselines as answers
from pytest_engram.report import costs as costing
from pytest_engram.report import flips, pairs, verdicts
from pytest_engram.report.captions import caption
from pytest_engram.report.estimates import estimate
from pytest_engram.report.frontier import frontier
from pytest_engram.report.judged import JUDGED, Judges
from pytest_engram.report.log import WHOLE, Log, Measured, Part
from pytest_engram.report.marks import of_metric
from pytest_engram.report.published import published
from pytest_engram.report.states import states
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import READ, Outcome

Row = dict[str, Any]

EXPERIMENT = (
    ("LongMemEval-S recall@5", "lme_s", "recall_any@5"),
    ("LongMemEval-S NDCG@10", "lme_s", "ndcg_any@10"),
    ("FC-MH 6K answer in top 10", "fc_mh_6k", "answer@10"),
    ("FC-SH 262K SubEM", "fc_sh_262k", "subem"),
    ("FC-MH 262K SubEM", "fc_mh_262k", "subem"),
)


def aggregate(
    outcomes: Iterable[Outcome],
    manifest: Mapping[str, Any],
    known: Iterable[KnownAnswer] = (),
    baselines: Iterable[Outcome] = (),
) -> Row:
    """The results of a run, whose judge was asked about `known` and whose reader answered `baselines` as well.

    See the module's text.

    The same for the same log and manifest, whatever the order of the log's lines.
    """
    # A manifest of this very process must look as it does when read again.
    manifest = json.loads(json.dumps(manifest))
    log = Log(outcomes, manifest)
    told = {
        (suite, method): [*costing.marks(group), *costing.cut(log.suites.get(suite, {}), group)]
        for (suite, method), group in log.groups.items()
    }
    rows = [
        _row(log, suite, method, metric, told.get((suite, method)))
        for suite in log.suites
        for metric in log.metrics(suite)
        for method in log.methods
    ]
    parts = [
        _row(log, suite, method, metric, told.get((suite, method)), part)
        for suite in log.suites
        for part in log.parts(suite)
        for metric in log.metrics(suite)
        for method in log.methods
    ]
    judges = Judges(log, known)
    for row in rows + parts:
        if row["metric"] == JUDGED:
            judges.correct(row, Part(row["group"], row["without"]))
    compared = pairs.paired(log)
    flipped = flips.flips(log)
    points = frontier(log)
    copied = published()
    results = {
        "manifest": manifest,
        "methods": [
            {"method": name, **info, "encoder": costing.encoder(log, name)} for name, info in log.methods.items()
        ],
        "suites": [_suite(log, name) for name in log.suites],
        "rows": rows + parts,
        "gates": list(manifest.get("gates") or ()),
        "costs": costing.costs(log),
        "judges": judges.rows(),
        "states": states(log),
        "frontier": points,
        "floors": _floors(log),
        "strategies": _strategies(log),
        "ceilings": _ceilings(log),
        "answer_baselines": answers.rows(baselines, manifest, known, _row),
        "paired": compared,
        "power": pairs.power(compared),
        "families": flips.families(log, rows),
        **flipped,
        "verdicts": verdicts.verdicts(log, flipped, compared, rows, points),
        "published": copied,
        "experiment": _experiment(log, rows, copied),
        "others": _others(log, rows),
    }
    return finite(results)  # type: ignore[no-any-return]


def finite(value: Any) -> Any:
    """The same data with None for what JSON has no number for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: item if type(item) in _FINITE else finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _FINITE else finite(item) for item in value]
    return value


_FINITE = {str, int, bool, type(None)}


def _suite(log: Log, name: str) -> Row:
    info = log.suites[name]
    return {
        "suite": name,
        "kind": log.kind(name),
        "family": log.family(name),
        "metrics": log.metrics(name),
        "n": info.get("n"),
        "encoder": (log.manifest.get("encoder") or {}).get("name"),
        "official": info.get("official"),
        "caption": caption(log, name),
        "rule": info.get("rule"),
        "construction": info.get("construction"),
        "registered": info.get("registered"),
        "notes": list(info.get("notes") or ()),
        "excluded": dict(info.get("excluded") or {}),
        "not_run": info.get("not_run"),
        "cluster": log.cluster(name),
        "clusters": len(set(log.clusters(name).values())) or None,
        "groups": [part.group for part in log.parts(name) if part.group and not part.without] or None,
        "disputed": len({o.question_id for group in log.of_suite(name) for o in group if o.disputed}) or None,
    }


def _row(log: Log, suite: str, method: str, metric: str, marks: list[str] | None = None, part: Part = WHOLE) -> Row:
    measured = log.measured(suite, method, metric, part)
    group = log.of_part(suite, method, part)
    about = log.returned(suite, method, part)
    reader = (log.manifest.get("reader") or {}).get("name") if metric in READ else None
    found = _estimate(log, suite, measured, binary=log.binary(suite, metric))
    reasons = [measured.reason] * bool(measured.reason)
    if found["clusters"] == 1:
        reasons.append(f"no interval: all of these questions are of one {found['cluster']}")
    return {
        "method": method,
        "label": log.label(method),
        "role": log.methods[method]["role"],
        "suite": suite,
        "metric": metric,
        "group": part.group,
        "without": part.without,
        "n": len(measured.questions),
        **found,
        "status": measured.status,
        "reason": "; ".join(reasons),
        "flags": [] if measured.status == "ok" else [measured.status],
        "marks": [*(marks or []), *of_metric(group, metric)],
        "errors": measured.errors,
        "effective_k": about.effective_k,
        "lost": about.lost,
        "differs": log.differs(suite, method) if part == WHOLE else None,
        "seeds": about.seeds,
        "sides": flips.sides(group) if metric == "correct" and log.kind(suite) == "micro" else None,
        "reader": next((o.reader for o in group if o.reader), reader) if metric in READ else None,
        "unit": "%" if metric in ("subem", JUDGED) else "",
    }


def _estimate(log: Log, suite: str, measured: Measured, *, binary: bool) -> Row:
    """Value and interval: over questions with one seed, or by what they were drawn with; over several seeds' means."""
    values = measured.values
    nothing = {"value": None, "low": None, "high": None, "interval": None, "cluster": None, "clusters": None}
    if values is None:
        return nothing
    if values.shape[1] > 1:
        means = values.mean(axis=0)
        found = {"value": means.mean(), "low": means.min(), "high": means.max()}
        return {**nothing, **{name: float(value) for name, value in found.items()}, "interval": "range"}
    by_question = dict(zip(measured.questions, values[:, 0].tolist(), strict=True))
    return nothing | estimate(log, suite, by_question, binary=binary)


def _floors(log: Log) -> list[Row]:
    found = []
    for suite, info in log.suites.items():
        same = info.get("constant") or {}
        for answer, k, values in (
            (None, log.manifest.get("k"), info.get("floor")),
            (same.get("answer"), None, same.get("metrics")),
        ):
            found += [
                {"suite": suite, "metric": metric, "k": k, "answer": answer, "value": value}
                for metric, value in (values or {}).items()
            ]
    return found


def _strategies(log: Log) -> list[Row]:
    return [
        {"suite": suite, "strategy": strategy, "metric": metric, "value": value}
        for suite, info in log.suites.items()
        for strategy, values in (info.get("strategies") or {}).items()
        for metric, value in values.items()
    ]


def _ceilings(log: Log) -> list[Row]:
    found: list[Row] = []
    for suite, info in log.suites.items():
        known = {
            o.question_id: float(o.ceiling) for group in log.of_suite(suite) for o in group if o.ceiling is not None
        }
        errors = info.get("key_errors") or {}
        nothing = {"low": None, "high": None, "interval": None, "cluster": None, "clusters": None}
        for metric, value in (info.get("ceiling") or {}).items():
            about = {"suite": suite, "of": "k entries", "metric": metric, "n": len(known)}
            found.append({**about, "value": value, **nothing})
        if known and not info.get("ceiling"):
            about = {"suite": suite, "of": "entry", "metric": next(iter(log.metrics(suite)), None), "n": len(known)}
            found.append({**about, **nothing, **estimate(log, suite, known, binary=True)})
        if errors.get("ceiling") is not None:  # of the whole key, which no sample stands for
            about = {"suite": suite, "of": "answer key", "metric": None, "n": errors.get("questions")}
            found.append({**about, "value": float(errors["ceiling"]), **nothing})
    return found


def _experiment(log: Log, rows: list[Row], copied: list[Row]) -> Row:
    columns = [
        {"title": title, "suite": suite, "metric": metric, "unit": "%" if metric == "subem" else ""}
        for title, suite, metric in EXPERIMENT
    ]
    table = _table(log, rows, columns)
    for line in table["rows"]:
        if log.methods[line["method"]]["role"] == "anchor":  # a paper's row below may have the same name
            line["label"] += " (ours)"
    for system in dict.fromkeys(row["system"] for row in copied):
        figures = {(row["suite"], row["metric"]): row for row in copied if row["system"] == system}
        first = next(iter(figures.values()))
        table["rows"].append(
            {
                "method": None,
                "label": system,
                "kind": "published",
                "source": f"{first['source']}, {first['setting']}",
                "cells": [_copied(figures.get((column["suite"], column["metric"]))) for column in columns],
            }
        )
    return table


def _copied(row: Row | None) -> Row:
    if row is None:
        return {"value": None, "printed": None, "status": "not reported"}
    return {"value": row["value"], "printed": row["printed"], "status": "copied"}


def _others(log: Log, rows: list[Row]) -> Row:
    shown = {(suite, metric) for _, suite, metric in EXPERIMENT}
    columns = [
        {
            "title": f"{suite} {'SubEM' if metric == 'subem' else metric}",
            "suite": suite,
            "metric": metric,
            "unit": "%" if metric == "subem" else "",
        }
        for suite in log.suites
        if log.kind(suite) == "pilot"
        for metric in dict.fromkeys([*log.metrics(suite)[:1], *(m for m in log.metrics(suite) if m == "subem")])
        if (suite, metric) not in shown
    ]
    return _table(log, rows, columns)


def _table(log: Log, rows: list[Row], columns: list[Row]) -> Row:
    cells = {(row["method"], row["suite"], row["metric"]): row for row in rows}
    table: Row = {"columns": columns, "rows": []}
    for method, info in log.methods.items():
        line = []
        for column in columns:
            suite, metric = column["suite"], column["metric"]
            line.append(cells.get((method, suite, metric)) or _row_of_nothing(log, suite, method, metric))
        table["rows"].append({"method": method, "label": info["label"], "kind": "ours", "source": None, "cells": line})
    return table


def _row_of_nothing(log: Log, suite: str, method: str, metric: str) -> Row:
    # A column of the fixed table whose suite, or whose metric, is no part of this run.
    if suite not in log.suites:
        return _row(log, suite, method, metric)
    return {**_row(log, suite, method, metric), "reason": f"the suite {suite} of this run has no metric {metric}"}
