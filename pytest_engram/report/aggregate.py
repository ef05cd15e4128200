"""From a run's outcomes and manifest to its results: every number that any table, plot or page shows.

The results are plain JSON data, the content of `results.json`. All lists are in the order in which they are shown.
Floats are exact; what is not a finite number is None.

`manifest`
    As given.
`methods`
    {method, label, role, stochastic, named, encoder}, in the order of every table: a named method of the user's own
    first.
`suites`
    {suite, kind, metrics, n, encoder, official, caption, rule, registered, notes, not_run}: `caption` is the
    sentence that stands over every table of the suite (encoder and its note, k, seeds, data, reader, rule).
`rows`
    One a method, suite and metric: {method, label, role, suite, metric, n, value, low, high, interval, status, reason,
    flags, marks, errors, effective_k, lost, differs, seeds, reader, unit}. `interval` is "wilson", "bootstrap", "range"
    (of the seeds' means) or None where there is no value. `status` is "ok"; "covers" (k covers the haystack: there is a
    value, and it measures nothing); "partial" (only some of the planned questions were asked, or some items ended in an
    error, which `errors` counts: value and interval are those of what was measured); "not run", "violation" and "error"
    (no item was measured) have no value. `reason` is then one sentence. `marks` are sentences about what the method
    returned on the suite, which stand as footnotes at its figures: nothing for some questions, or, of a memory with
    texts of its own, how many entries are behind k and whether its texts are longer, or made of more, than others' may
    be. `effective_k` is the mean number of ids returned, `lost` the number of questions whose answer was ranked in the
    first k and then dropped in a conflict (None: the method tells nothing), `differs` the number on which it returned
    other ids than Dense, or in another order (both: mean over seeds). `reader` is set for `subem` alone. `unit` is "%"
    where people print the metric in per cent, else "". Values are fractions in any case.
`costs`
    One a method and suite, where the log tells of costs: {method, label, suite, n, write_seconds, entries, search_p50,
    search_p95, query_encoding, tokens_returned, usage, bytes, errors, retries}, over `n` items that ended well.
    `write_seconds` is per 1,000 of the `entries` that were written in all. `search_p50` and `search_p95` are seconds,
    with `query_encoding`, the seconds that embedding a query takes, for each query whose embedding came out of the
    bench's store: 0.0 where none did, None where some did and that time was not measured, and is not in them.
    `tokens_returned` is the mean a question, `usage` the sums of what the memory says that it used, `bytes` the size of
    all its folders.
`ceilings`
    {suite, n, value, low, high, interval}: the share of questions that any entry of the haystack answers.
`paired`
    {method, label, baseline, baseline_label, suite, metric, n, difference, low, high, p, p_holm, test, better,
    worse, smallest_difference, status, reason}: method minus baseline on the same questions; two methods stand there
    once. `test` is "mcnemar" or "paired bootstrap". `better` and `worse` count questions. `p_holm` is adjusted over
    all tests of the suite. Status as in `rows`.
`power`
    {suite, metric, n, smallest_difference}: what the paired tests of this n find with 80% power (None:
    nothing).
`families`
    One a micro-test suite and method: {suite, family, method, label, role, cases, levels, scored, decided,
    correct, false_conflicts, status, reason}; `decided` (one side came back alone), `correct` and
    `false_conflicts` (something was dropped though nothing contradicts it; rule keep-both) are {value, low,
    high, interval, n} or None.
`flips`
    {method, label, suite, family, axis, undecided, sides, case, seed, web, flip_point, monotone, winners}:
    `flip_point` is the smallest number of backers at which the update wins, None where it never does;
    `monotone` tells that it wins at every larger number as well; `winners` is [[backers, winner], ...].
`flip_summary`
    {method, label, suite, family, axis, undecided, sides, web, n, never, median, low, high, most}: over cases; `axis`
    ("backers" or "repeats") says what is counted; `undecided` tells that the method never returned one side
    alone, and `sides` then what it returned: "both", "neither" or "both or neither".
    A median or a bound that is a case that never flips is None: more than `most`, the largest number of
    backers tried.
`flip_trend`
    {method, label, suite, family, axis, undecided, sides, n, tau, low, high, constant, flips_back}: Kendall's tau of
    flip point and web size; None where all flip points are equal (`constant`) or there is one web size.
    `flips_back`: number of cases.
`curves`
    {method, label, suite, family, axis, undecided, sides, web, backers, n, flipped, share, low, high}: share of cases
    where the update wins.
`verdicts`
    {name, method, claimed, holds, answer, text}: `name` is the statement, `claimed` whether it was a claim before the
    run (else the run just compares), `holds` is True, False or None, `answer` is "yes", "no", "can't tell" or
    "not run". A paired test answers where the adjusted p in its text, that of `paired`, is below 0.05.
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

from pytest_engram import statistics as stats
from pytest_engram.report import costs as costing
from pytest_engram.report import flips, pairs, verdicts
from pytest_engram.report.captions import caption
from pytest_engram.report.log import Log, Measured, wilson
from pytest_engram.report.published import published
from pytest_engram.runs.outcome import Outcome

Row = dict[str, Any]

EXPERIMENT = (
    ("LongMemEval-S recall@5", "lme_s", "recall_any@5"),
    ("LongMemEval-S NDCG@10", "lme_s", "ndcg_any@10"),
    ("FC-MH 6K answer in top 10", "fc_mh_6k", "answer@10"),
    ("FC-SH 262K SubEM", "fc_sh_262k", "subem"),
    ("FC-MH 262K SubEM", "fc_mh_262k", "subem"),
)


def aggregate(outcomes: Iterable[Outcome], manifest: Mapping[str, Any]) -> Row:
    """The results of a run: see the module's text.

    The same for the same log and manifest, whatever the order of the log's lines.
    """
    # A manifest of this very process must look as it does when read again.
    manifest = json.loads(json.dumps(manifest))
    log = Log(outcomes, manifest)
    told = {key: costing.marks(group) for key, group in log.groups.items()}
    rows = [
        _row(log, suite, method, metric, told.get((suite, method)))
        for suite in log.suites
        for metric in log.metrics(suite)
        for method in log.methods
    ]
    compared = pairs.paired(log)
    flipped = flips.flips(log)
    copied = published()
    results = {
        "manifest": manifest,
        "methods": [
            {"method": name, **info, "encoder": costing.encoder(log, name)} for name, info in log.methods.items()
        ],
        "suites": [_suite(log, name) for name in log.suites],
        "rows": rows,
        "costs": costing.costs(log),
        "ceilings": _ceilings(log),
        "paired": compared,
        "power": pairs.power(compared),
        "families": flips.families(log, rows),
        **flipped,
        "verdicts": verdicts.verdicts(log, flipped, compared),
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
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


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
    }


def _row(log: Log, suite: str, method: str, metric: str, marks: list[str] | None = None) -> Row:
    measured = log.measured(suite, method, metric)
    group = log.groups.get((suite, method), [])
    told = [outcome.lost for outcome in group if outcome.lost is not None]
    seeds = len({outcome.seed for outcome in group})
    ran = [outcome.returned for outcome in group if outcome.status == "ok" and not outcome.unrecalled]
    reader = (log.manifest.get("reader") or {}).get("name") if metric == "subem" else None
    return {
        "method": method,
        "label": log.label(method),
        "role": log.methods[method]["role"],
        "suite": suite,
        "metric": metric,
        "n": len(measured.questions),
        **_estimate(measured, binary=log.binary(suite, metric)),
        "status": measured.status,
        "reason": measured.reason,
        "flags": [] if measured.status == "ok" else [measured.status],
        "marks": marks or [],
        "errors": measured.errors,
        "effective_k": sum(ran) / len(ran) if ran else None,
        "lost": sum(told) / seeds if told else None,
        "differs": log.differs(suite, method),
        "seeds": seeds,
        "reader": next((o.reader for o in group if o.reader), reader) if metric == "subem" else None,
        "unit": "%" if metric == "subem" else "",
    }


def _estimate(measured: Measured, *, binary: bool) -> Row:
    """Value and interval: over questions with one seed, over the seeds' means with several."""
    values = measured.values
    if values is None:
        return {"value": None, "low": None, "high": None, "interval": None}
    if values.shape[1] > 1:
        means = values.mean(axis=0)
        return {
            "value": float(means.mean()),
            "low": float(means.min()),
            "high": float(means.max()),
            "interval": "range",
        }
    single = values[:, 0]
    low, high = wilson(int(single.sum()), len(single)) if binary else stats.bootstrap(single.tolist())
    return {
        "value": float(single.mean()),
        "low": float(low),
        "high": float(high),
        "interval": "wilson" if binary else "bootstrap",
    }


def _ceilings(log: Log) -> list[Row]:
    found = []
    for suite in log.suites:
        known = {o.question_id: o.ceiling for group in log.of_suite(suite) for o in group if o.ceiling is not None}
        if known:
            low, high = wilson(sum(known.values()), len(known))
            share = sum(known.values()) / len(known)
            found.append(
                {"suite": suite, "n": len(known), "value": share, "low": low, "high": high, "interval": "wilson"}
            )
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
