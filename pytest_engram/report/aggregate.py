"""From a run's outcomes and manifest to its results: every number that any table, plot or page shows.

The results are plain JSON data, the content of `results.json`. All lists are in the order in which they are shown.
Floats are exact; what is not a finite number is None.

`manifest`
    As given.
`methods`
    {method, label, role, stochastic, named}, in the order of every table: a named method of the user's own first.
`suites`
    {suite, kind, metrics, n, encoder, official, caption, rule, registered, notes, not_run}: `caption` is the sentence
    that stands over every table of the suite (encoder and its note, k, seeds, data, reader, rule).
`rows`
    One a method, suite and metric: {method, label, role, suite, metric, n, value, low, high, interval, status, reason,
    flags, effective_k, lost, seeds, reader, unit}.
    `interval` is "wilson", "bootstrap", "range" (of the seeds' means) or None where there is no value.
    `status` is "ok"; "covers" (k covers the haystack: there is a value, and it measures nothing); "partial" (only some
    of the planned questions were asked: value and interval are those of what was asked); "not run", "violation" and
    "error" have no value. `reason` is then one sentence. `effective_k` is the mean number of ids returned, `lost` the
    number of questions whose answer was ranked in the first k and then dropped in a conflict (None: the method tells
    nothing). `reader` is set for `subem` alone. `unit` is "%" where people print the metric in per cent, else "".
    Values are fractions in any case.
`ceilings`
    {suite, n, value, low, high, interval}: the share of questions that any entry of the haystack answers.
`paired`
    {method, label, baseline, baseline_label, suite, metric, n, difference, low, high, p, p_holm, test, better, worse,
    status, reason}: method minus baseline on the same questions. `test` is "mcnemar" or "paired bootstrap". `better`
    and `worse` count questions. `p_holm` is adjusted over all tests of the suite. Status as in `rows`.
`power`
    {suite, metric, n, smallest_difference}: what a paired test of this n finds with 80% power.
`families`
    One a micro-test suite and method: {suite, family, method, label, n, cases, levels, scored, decided, correct,
    status, reason}; `decided` and `correct` are {value, low, high, interval, n} or None.
`flips`
    {method, label, suite, family, case, seed, web, flip_point, monotone, winners}: `flip_point` is the smallest number
    of backers at which the update wins, None where it never does; `monotone` tells that it wins at every larger
    number as well; `winners` is [[backers, winner], ...].
`flip_summary`
    {method, label, suite, family, web, n, never, median, low, high}: over cases. A median or a bound that is a case that
    never flips is None, and `most` (the largest number of backers tried) says more than what it is.
`flip_trend`
    {method, label, suite, family, n, tau, low, high, flips_back}: Kendall's tau of flip point and web size.
`curves`
    {method, label, suite, family, web, backers, n, flipped, share, low, high}: share of cases where the update wins.
`verdicts`
    {name, method, holds, answer, text}: `name` is the claim, `holds` is True, False or None, `answer` is "yes", "no",
    "can't tell" or "not run".
`published`
    {system, suite, metric, value, printed, setting, source}: copied from papers.
`experiment` and `others`
    The table of the experiment, and the same for all other pilot suites: {columns: [{title, suite, metric, unit}],
    rows: [{method, label, kind, source, cells}]}. `kind` is "ours" or "published", `method` None for "published"; a
    cell is the row of `rows` (also where nothing ran: status "not run" and the reason), and for a published row
    {value, printed, status: "copied" or "not reported"}.
"""

from __future__ import annotations
