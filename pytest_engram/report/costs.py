"""What each method took, and what it gave for it: time, tokens, money, size. A function of log and manifest alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_engram.report.log import Log
from pytest_engram.runs.outcome import Outcome

Row = dict[str, Any]
UNSPLIT = "split at white space, texts of a script without spaces are (nearly) one token each"
CHARACTERS = "it ranks by chance; a suite file of your own may say `tokenize: characters`"


def costs(log: Log) -> list[Row]:
    """One row a method and suite, where the log tells of costs; those of earlier versions do not."""
    return [
        _row(log, suite, group[0].method, group)
        for suite in log.suites
        for group in log.of_suite(suite)
        if any(o.tokens is not None or o.wrote or o.usage or o.retries for o in group)
    ]


def _row(log: Log, suite: str, method: str, group: Sequence[Outcome]) -> Row:
    done = [o for o in group if o.status == "ok"]
    query = _of_encoder(log) if any(o.encodings for o in done) else 0.0
    # A query's embedding comes out of the bench's store; a memory in use has to make it.
    seconds = [o.seconds + o.encodings * (query or 0.0) for o in done if o.seconds]
    counted = [o.tokens for o in done if o.tokens is not None and (was_searched(o) or o.unrecalled)]
    wrote = [o.wrote for o in group if o.wrote.get("entries")]
    entries = sum(int(w["entries"]) for w in wrote)
    sizes = [w["bytes"] for w in wrote if "bytes" in w]
    names = sorted({name for o in group for name in o.usage})
    return {
        "method": method,
        "label": log.label(method),
        "suite": suite,
        "n": len(done),
        "write_seconds": 1000 * math.fsum(w.get("seconds", 0.0) for w in wrote) / entries if entries else None,
        "entries": entries,
        "search_p50": _percentile(seconds, 50),
        "search_p95": _percentile(seconds, 95),
        "query_encoding": query,
        "tokens_returned": sum(counted) / len(counted) if counted else None,
        "usage": {name: math.fsum(o.usage.get(name, 0.0) for o in group) for name in names},
        "bytes": sum(sizes) if sizes else None,
        "errors": sum(o.status == "error" for o in group),
        "retries": sum(o.retries for o in group),
    }


def _of_encoder(log: Log) -> float | None:
    found = (log.manifest.get("encoder") or {}).get("query_seconds")
    return None if found is None else float(found)


def _percentile(values: Sequence[float], share: int) -> float | None:
    if not values:
        return None
    import numpy as np

    return float(np.percentile(values, share))


def was_searched(outcome: Outcome) -> bool:
    """Whether an item that ended well is known to have searched: some micro-tests only ask what a memory computed."""
    if outcome.unrecalled:
        return False
    return outcome.family is None or bool(outcome.seconds) or outcome.returned > 0


def marks(group: Sequence[Outcome]) -> list[str]:
    """What a reader must know beside the figure of a method on a suite: one sentence each."""
    asked = [o for o in group if o.status == "ok" and was_searched(o)]
    found: list[str] = []
    again = sum(o.reruns > 0 for o in group)
    if again:
        was = "items were" if len(group) > 1 else "item was"
        found.append(f"{again} of {len(group)} {was} run again; the last outcome counts, and a violation stands")
    empty = sum(o.returned == 0 for o in asked)
    if empty:
        found.append(f"returned nothing for {empty} of {len(asked)} questions")
    unsplit = sum(o.unsplit > 0 for o in asked)
    if unsplit:
        # Only of a method that had the bench split its texts.
        where = "" if unsplit == len(asked) else f" for {unsplit} of {len(asked)} questions"
        found.append(f"{UNSPLIT}{where}: {CHARACTERS}")
    rewritten = [o for o in asked if o.recalled]
    if not rewritten:
        return found
    found.append(f"entries behind k: {sum(len(o.ids) for o in rewritten) / len(rewritten):.1f} (mean)")
    texts = [(o, place) for o in rewritten for place in o.recalled if "text" in place]
    long = sum(len(place["text"]) > o.longest > 0 for o, place in texts)
    if long:
        found.append(f"{long} text{'s are' if long > 1 else ' is'} longer than the haystack's longest entry")
    wide = sum(len(place.get("sources") or ()) > o.k for o, place in texts)
    if wide:
        found.append(f"{wide} result{'s have' if wide > 1 else ' has'} more than k sources")
    return found


def cut(suite: Mapping[str, Any], group: Sequence[Outcome]) -> list[str]:
    """What the bench's encoder did not read, of a method that embeds with it."""
    told = suite.get("cut") or {}
    if not told.get("entries") or not any(o.encodings for o in group):
        return []
    return [f"the encoder's window cuts {told['entries']:,} of {told['of']:,} entries: their ends are not embedded"]


def encoder(log: Log, method: str) -> str | None:
    """What a method embeds with: as its author says, else the bench's, where it was used; None: nothing is known."""
    own = (log.manifest.get("methods") or {}).get(method, {}).get("encoder")
    if own:
        return str(own)
    used = log.manifest.get("encoder") or {}
    embeds = any(o.encodings for (_, name), group in log.groups.items() if name == method for o in group)
    if not embeds or not used.get("name"):
        return None
    prefix = used.get("query_prefix")
    return f"{used['name']}, queries behind {prefix!r}" if prefix else str(used["name"])
