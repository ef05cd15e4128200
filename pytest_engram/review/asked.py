"""Reader and judge of several runs: whether numbers depend on the same ones, and what the runs took together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TOOK = ("totals", "notes")  # what a run took and was told
_BY_BENCHMARK = ("settings", "prompt")  # of the benchmarks that a run asked about: two runs need not have the same


def shared(one: Any, other: Any) -> tuple[Any, Any]:
    """What two manifests tell of reader or judge, as far as numbers depend on it and both tell of it.

    Two that are equal then gave comparable answers. Anything else than a reader or a judge is given back as it is.
    """
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return one, other
    first, second = _plain(one), _plain(other)
    for name in _BY_BENCHMARK:
        a, b = first.get(name), second.get(name)
        if isinstance(a, dict) and isinstance(b, dict) and _is_by_benchmark(a) and _is_by_benchmark(b):
            both = a.keys() & b.keys()
            first[name], second[name] = ({key: found[key] for key in sorted(both)} for found in (a, b))
    if not (first.get("server") and second.get("server")):  # one could not be asked
        first.pop("server", None), second.pop("server", None)
    return first, second


def together(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Reader or judge of the whole that parts are of: all benchmarks, and the sum of what was taken."""
    found = dict(told[0])
    settings = [one["settings"] for one in told if isinstance(one.get("settings"), dict)]
    if settings:
        found["settings"] = {key: value for one in settings for key, value in one.items()}
    prompts = [one["prompt"] for one in told if isinstance(one.get("prompt"), dict)]
    if prompts and all("benchmarks" in prompt for prompt in prompts):
        benchmarks = {key: value for prompt in prompts for key, value in prompt["benchmarks"].items()}
        labels = list(dict.fromkeys(prompt["label"] for prompt in prompts if prompt["label"]))
        official = bool(benchmarks) and all(prompt["official"] for prompt in benchmarks.values())
        found["prompt"] = {"label": "; ".join(labels), "official": official, "benchmarks": benchmarks}
    totals = [one["totals"] for one in told if one.get("totals")]
    return found | ({"totals": _sum(totals)} if totals else {})


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in told.items() if key not in _TOOK}
    if isinstance(prompt := found.get("prompt"), dict) and "benchmarks" in prompt:
        # Where a text was found changes nothing.
        found["prompt"] = {
            name: {key: value for key, value in one.items() if key != "source"}
            for name, one in prompt["benchmarks"].items()
        }
    if isinstance(server := found.get("server"), dict):
        found["server"] = {key: value for key, value in server.items() if key != "system_fingerprint"}
    return found


def _is_by_benchmark(told: Mapping[str, Any]) -> bool:
    return all(isinstance(value, dict) for value in told.values())


def _sum(totals: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in totals for name in one):
        given = [one.get(name) for one in totals]
        counts = [one for one in given if isinstance(one, Mapping)]
        if counts:
            found[name] = _sum(counts)
        elif any(one is None for one in given) and name == "cost":
            found[name] = None
        else:
            found[name] = sum(one or 0 for one in given)
    return found
