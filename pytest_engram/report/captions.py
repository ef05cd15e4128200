"""The sentence over every table: with what it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_engram.report.log import Log
from pytest_engram.report.wording import by_cluster
from pytest_engram.runs.outcome import READ

SUGGESTIVE = "suggestive, not evidence"


def caption(log: Log, suite: str) -> str:
    """Encoder and its note, k, seeds, data, reader; of a micro-test also number of cases, rules and registration."""
    info = log.suites[suite]
    parts = [encoder(log.manifest), context(log.manifest)]
    if any(method["stochastic"] for method in log.methods.values()):
        parts.append(f"{len(log.manifest.get('seeds') or ())} seeds for stochastic methods (mean and range)")
    if log.kind(suite) == "micro":
        return sentence([*parts, *_cases(log, suite, info), *clustered(log, suite)])
    parts.append(data(info))
    if READ.intersection(log.metrics(suite)):
        parts.append(reader(log.manifest))
    if "judged" in log.metrics(suite):
        parts.append(judge(log.manifest, suite))
    return sentence([*parts, *(str(note) for note in info.get("notes") or ()), *clustered(log, suite)])


def overall(manifest: Mapping[str, Any]) -> str:
    """The same for a table over several suites."""
    seeds = len(manifest.get("seeds") or ())
    parts = [encoder(manifest), context(manifest)]
    if seeds > 1:
        parts.append(f"{seeds} seeds for stochastic methods (mean and range)")
    return sentence([*parts, reader(manifest)])


def clustered(log: Log, suite: str) -> list[str]:
    """By what intervals and tests go, where that is not the single question."""
    noun, drawn = log.cluster(suite), log.clusters(suite)
    return [f"intervals and tests {by_cluster(noun, len(set(drawn.values())))}"] if noun else []


def sentence(parts: list[str]) -> str:
    """Parts, joined by semicolons and closed."""
    joined = "; ".join(part.strip().rstrip(".;") for part in parts if part.strip())
    return f"{joined[:1].upper()}{joined[1:]}." if joined else ""


def encoder(manifest: Mapping[str, Any]) -> str:
    """The encoder's name and, where it stands in for another one, that."""
    found = manifest.get("encoder") or {}
    if not found.get("name"):
        return "no encoder"
    return f"encoder {found['name']}" + (f" ({found['note']})" if found.get("note") else "")


def context(manifest: Mapping[str, Any]) -> str:
    """How much every method might return: k and, where there was one, the budget of tokens."""
    k, budget = f"k = {manifest.get('k', '?')}", manifest.get("budget")
    return k if budget is None else f"{k} and at most {budget} tokens ({tokenizer(manifest)})"


def tokenizer(manifest: Mapping[str, Any]) -> str:
    """What tokens are counted by."""
    return str((manifest.get("tokenizer") or {}).get("name") or "an unknown tokenizer")


def reader(manifest: Mapping[str, Any]) -> str:
    """Who answered, with what, under which prompt."""
    found = manifest.get("reader") or {}
    name = found.get("name")
    if not name or name == "none":
        return "no reader"
    label = "newest (no LLM)" if name == "newest" else str(name)
    prompt = found.get("prompt")
    told = prompt if isinstance(prompt, str) else (prompt or {}).get("label") if isinstance(prompt, dict) else None
    return f"reader {label}" + (f", {told}" if told and name != "newest" else "")


def judge(manifest: Mapping[str, Any], suite: str | None = None) -> str:
    """Who judged the answers, under which prompt, and how often it was asked; "" where nobody did."""
    found = manifest.get("judge") or {}
    if isinstance(found, str):  # as the first versions told it
        return f"judge {found}"
    if not found.get("label"):
        return ""
    prompt = ((found.get("prompts") or {}).get(suite) or {}).get("label")
    runs = found.get("runs") or 1
    return f"judge {found['label']}" + (f", {prompt}" if prompt else "") + (f", asked {runs} times" if runs > 1 else "")


def data(info: Mapping[str, Any]) -> str:
    """Whether the data is the official one."""
    official = info.get("official")
    if official is True:
        return "official data (hash agrees)"
    return "not the official data" if official is False else "data of its own, no benchmark's"


def of_the_experiment(results: Mapping[str, Any]) -> bool:
    """Whether a suite of the experiment is part of the run: one of somebody's own suites alone has no such table."""
    ran = {suite["suite"] for suite in results["suites"]}
    return any(column["suite"] in ran for column in results["experiment"]["columns"])


def registered(value: Any) -> str:
    """The status of a suite's registration, for a person."""
    if isinstance(value, str):
        return value
    return {True: "registered before this run", False: "not registered"}.get(value, "not registered")


def _cases(log: Log, suite: str, info: Mapping[str, Any]) -> list[str]:
    cases = {o.case for group in log.of_suite(suite) for o in group if o.case is not None}
    rule = info.get("rule") or {}
    count = len(cases) or info.get("cases")
    parts = [SUGGESTIVE, f"{count} cases" if count else ""]
    if rule:
        parts.append(f"rule {rule.get('name', '')}: {rule.get('text', '')}".strip(": "))
    if info.get("construction"):
        parts.append(f"construction: {info['construction']}")
    return [*parts, registered(info.get("registered"))]
