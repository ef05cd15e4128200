"""Two runs, question by question: what got better, what got worse, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_engram.review import asked
from pytest_engram.runs.folder import Run

if TYPE_CHECKING:
    from pytest_engram.report.log import Log, Measured

Row = dict[str, Any]

# What a suite's numbers depend on besides the memory.
_OF_SUITE = ("sha256", "hashes", "context_sha256", "data_sha256", "granularity")


class Incomparable(Exception):
    """Two runs that say nothing about each other. The message is one line, and names what differs."""


def compare(
    earlier: Run, later: Run, methods: Sequence[tuple[str, str]] = (), *, anyway: bool = False, first: bool = False
) -> Row:
    """The later run minus the earlier one, on the questions that both asked.

    Args:
        earlier: the run to compare with.
        later: the run that is judged.
        methods: which method of the earlier run with which of the later; default: all that are in both.
        anyway: compare though data, k or encoder differ; the result names what does.
        first: only the first metric of each suite, which decides HIT or MISS.

    Returns:
        `runs`: {name, created, k, encoder, complete} of both. `differs`: what makes the comparison doubtful. `suites`:
        names in their order. `rows`, one a suite, pair of methods and metric: {suite, metric, method, earlier_method,
        label, n, earlier, later, difference, low, high, p, p_holm, test, cluster, clusters, better, worse,
        smallest_difference, better_ids, worse_ids, only_earlier, only_later, changed, status, reason, later_errors}.
        Values are means over the paired questions, tests as in a run's own tables (clusters are the later run's);
        status and reason are those of the run of the two that measured less; `later_errors` counts items of the later
        run that ended in an error; `p_holm` is adjusted over the tests that decide (the given methods, else the later
        run's named ones, on the first metric of each suite), and None for others; `changed` counts those whose returned
        ids differ; `only_earlier` and `only_later` count
        questions that the other run did not measure. `skipped`: {suite, metric, method, earlier_method, label,
        reason, lost} where there is nothing to compare; `lost`: the later run asked, and has no number where the
        earlier one had. `costs`: {suite, method, earlier_method, label, earlier, later}, the
        last two as in the runs' own results, or None where the log does not tell: they stand beside the quality, and
        decide nothing.

    Raises:
        Incomparable: data, k or encoder differ, or the runs have no method or no suite in common.
    """
    from pytest_engram.report.aggregate import finite
    from pytest_engram.report.log import Log

    a, b = Log(earlier.outcomes, earlier.manifest), Log(later.outcomes, later.manifest)
    pairs = list(methods) or [(name, name) for name in b.methods if name in a.methods]
    _check_methods(a, b, pairs)
    suites = [suite for suite in b.suites if suite in a.suites]
    if not suites:
        raise Incomparable(f"no suite is in both: {', '.join(a.suites)} against {', '.join(b.suites)}")
    differs = differences(earlier.manifest, later.manifest, suites)
    if differs and not anyway:
        raise Incomparable("; ".join(differs))
    rows: list[Row] = []
    skipped: list[Row] = []
    for suite in suites:
        metrics = _common(a, b, suite)
        for metric in metrics[:1] if first else metrics:
            for pair in pairs:
                row = _row(a, b, suite, metric, pair)
                (skipped if "lost" in row else rows).append(row)
    deciding = {(suite, metrics[0]) for suite in suites if (metrics := _common(a, b, suite))}
    about = {pair[1] for pair in methods} or set(later.manifest.get("named") or ()) or set(b.methods)
    _adjust(rows, deciding, about)
    found: Row = finite(
        {
            "runs": [_described(run, name) for run, name in zip((earlier, later), _names(earlier, later), strict=True)],
            "differs": differs,
            "suites": suites,
            "rows": rows,
            "skipped": skipped,
            "costs": _costs(a, b, suites, pairs),
        }
    )
    return found


def differences(earlier: Mapping[str, Any], later: Mapping[str, Any], suites: Sequence[str]) -> list[str]:
    """What of two manifests makes numbers of these suites incomparable: k, encoder, reader, suite files, data."""
    from pytest_engram.runs.outcome import READ

    found: list[str] = []
    for name, shown in (("k", "k"), ("budget", "the budget of tokens")):
        if earlier.get(name) != later.get(name):
            found.append(f"{shown} differs ({earlier.get(name)}, {later.get(name)})")
    one, other = earlier.get("encoder"), later.get("encoder")
    # A run without an encoder had none that its methods could have used.
    if one and other and one["hash"] != other["hash"]:
        found.append(f"the encoder differs ({_encoder(one)}, {_encoder(other)})")
    ours, theirs = (run.get("suites") or {} for run in (earlier, later))
    for suite in suites:
        info, its = ours.get(suite, {}), theirs.get(suite, {})
        # Where one run lacked the data, there is no number to compare.
        parts = [part for part in _OF_SUITE if info.get(part) and its.get(part) and info[part] != its[part]]
        if "hashes" in parts:
            hashes, its_hashes = info["hashes"], its["hashes"]
            named = [name for name in {**hashes, **its_hashes} if hashes.get(name) != its_hashes.get(name)]
            found.append(f"{suite}: {' and '.join(named)} differ" + "s" * (len(named) == 1))
        elif parts:
            names = {"sha256": "suite file", "granularity": "granularity"}
            named = list(dict.fromkeys(names.get(part, "data") for part in parts))
            found.append(f"{suite}: {' and '.join(named)} differ" + "s" * (len(named) == 1))
    if any(READ.intersection(of.get(suite, {}).get("metrics") or ()) for of in (ours, theirs) for suite in suites):
        first, second = asked.shared(earlier.get("reader"), later.get("reader"))
        if first and second and first != second:
            found.append(f"the reader differs ({first.get('name')}, {second.get('name')}, or its prompt)")
    return found


def _encoder(encoder: Mapping[str, Any]) -> str:
    return f"{encoder['name']} {encoder['hash'][:8]}"


def _check_methods(a: Log, b: Log, pairs: Sequence[tuple[str, str]]) -> None:
    for names, log, which in (([p[0] for p in pairs], a, "earlier"), ([p[1] for p in pairs], b, "later")):
        for name in names:
            if name not in log.methods:
                raise Incomparable(f"no method {name!r} in the {which} run; there: {', '.join(log.methods)}")
    if not pairs:
        raise Incomparable(
            f"no method is in both: {', '.join(a.methods)} against {', '.join(b.methods)}; "
            "name two with --method EARLIER:LATER"
        )


def _common(a: Log, b: Log, suite: str) -> list[str]:
    return [metric for metric in b.metrics(suite) if metric in a.metrics(suite)]


def _row(a: Log, b: Log, suite: str, metric: str, pair: tuple[str, str]) -> Row:
    from pytest_engram.report import pairs

    before, after = a.measured(suite, pair[0], metric), b.measured(suite, pair[1], metric)
    row: Row = {"suite": suite, "metric": metric, **_pair(a, b, pair)}
    old, new = before.per_question(), after.per_question()
    shared = [question for question in new if question in old]
    both = pairs.shared(b, [(suite, after, before)])
    if both is None:
        sides = [f"{which}: {m.reason}" for which, m in (("earlier", before), ("later", after)) if m.reason]
        told = [f"both: {before.reason}"] if before.reason == after.reason else sides
        why = "; ".join(told if sides else ["no question is in both"])
        return {**row, "reason": why, "lost": before.values is not None and (suite, pair[1]) in b.groups}
    single = all(m.values is not None and m.values.shape[1] == 1 for m in (before, after))
    return {
        **row,
        "earlier": float(both.b.mean()),
        "later": float(both.a.mean()),
        **pairs.compare(both, binary=b.binary(suite, metric) and single),
        "better_ids": [q for q in shared if new[q] > old[q]],
        "worse_ids": [q for q in shared if new[q] < old[q]],
        "only_earlier": len(old) - len(shared),
        "only_later": len(new) - len(shared),
        "changed": len(_changed(a, b, suite, pair).intersection(shared)),
        **_incomplete(before, after),
    }


def _pair(a: Log, b: Log, pair: tuple[str, str]) -> Row:
    label = b.label(pair[1]) if pair[0] == pair[1] else f"{a.label(pair[0])} → {b.label(pair[1])}"
    return {"method": pair[1], "earlier_method": pair[0], "label": label}


def _costs(a: Log, b: Log, suites: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Row]:
    from pytest_engram.report.costs import costs

    before, after = ({(row["suite"], row["method"]): row for row in costs(log)} for log in (a, b))
    return [
        {"suite": suite, **_pair(a, b, pair), "earlier": earlier, "later": later}
        for suite in suites
        for pair in pairs
        for earlier, later in [(before.get((suite, pair[0])), after.get((suite, pair[1])))]
        if earlier or later
    ]


def _incomplete(before: Measured, after: Measured) -> Row:
    told = [f"{which}: {m.reason}" for which, m in (("earlier", before), ("later", after)) if m.reason]
    statuses = {before.status, after.status}
    status = next((s for s in ("covers", "partial") if s in statuses), "ok")
    return {"status": status, "reason": "; ".join(told), "later_errors": after.errors}


def _changed(a: Log, b: Log, suite: str, pair: tuple[str, str]) -> set[str]:
    """Questions whose returned ids differ in any seed that both runs have."""
    before = {(o.question_id, o.seed): o.ids for o in a.groups.get((suite, pair[0]), [])}
    after = {(o.question_id, o.seed): o.ids for o in b.groups.get((suite, pair[1]), [])}
    return {key[0] for key, ids in after.items() if key in before and before[key] != ids}


def _adjust(rows: list[Row], deciding: set[tuple[str, str]], methods: set[str]) -> None:
    """Holm over the tests that decide: of the methods that the comparison is about, the first metric of each suite."""
    from pytest_engram import statistics as stats

    family = [row for row in rows if (row["suite"], row["metric"]) in deciding and row["method"] in methods]
    for row in rows:
        row["p_holm"] = None
    for row, p in zip(family, stats.holm([row["p"] for row in family]), strict=True):
        row["p_holm"] = p


def _names(earlier: Run, later: Run) -> tuple[str, str]:
    """The folders' names, with as much of the path as tells them apart."""
    one, other = earlier.folder.resolve().parts, later.folder.resolve().parts
    for length in range(1, max(len(one), len(other)) + 1):
        names = "/".join(one[-length:]), "/".join(other[-length:])
        if names[0] != names[1]:
            return names
    return one[-1], other[-1]


def _described(run: Run, name: str) -> Row:
    return {
        "name": name,
        "created": run.manifest.get("created"),
        "k": run.manifest.get("k"),
        "encoder": (run.manifest.get("encoder") or {}).get("name"),
        "complete": run.manifest.get("complete"),
    }


def worse(comparison: Row) -> Iterator[Row]:
    """The rows in which the later run is significantly worse: those that decide, by their adjusted p."""
    from pytest_engram.report.pairs import significant

    return (row for row in comparison["rows"] if row["difference"] < 0 and significant(row))
