"""From a suite file to a suite and its key, with whatever data sources there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_engram.suites import files
from pytest_engram.suites.base import Loaded, NotRun, Source, Suite, SuiteError, absent, parse_metric

if TYPE_CHECKING:
    from pytest_engram.suites.files import Lines, Location


Find: TypeAlias = Callable[[Source, Any, Path], Loaded]


def load(
    path: Path,
    data: Path | None,
    *,
    sources: Mapping[str, Source],
    metrics: Mapping[str, Any],
    shipped_metrics: Collection[str] = (),
    look: bool = True,
) -> Loaded:
    """Read a suite file and its data, which may be in the folder `data`, that of `--engram-data`.

    Args:
        path: the suite file.
        data: the folder of `--engram-data`, if any.
        sources: data sources by name.
        metrics: what can be measured, by name without depth.
        shipped_metrics: those of them that come with the package: a source says itself which of these fit its gold.
        look: whether data is looked for; else its questions alone are listed, as far as the file tells them.

    Raises:
        SuiteError: the file is wrong.
    """
    content, lines = files.read(path)
    kind = content.get("engram")
    if kind not in ("pilot", "micro"):
        raise SuiteError(path, lines[("engram",)], "engram", f"must be `pilot` or `micro`; got {kind!r}")
    others = {"metrics": set(metrics) - set(shipped_metrics)}

    def find(source: Source, spec: Any, at: Path) -> Loaded:
        if not look:
            raise NotRun("not looked for")
        return source.load(spec, at, data)

    if kind == "pilot":
        loaded = _pilot(path, content, lines, find, sources, others)
        _check_metrics(loaded, path, lines, metrics)
    else:
        from pytest_engram.suites import microtests

        def pilot(spec: Any) -> Suite | None:
            return _measured_on(spec, path, lines, find, sources, others)

        loaded = microtests.load(path, content, lines, pilot)
    names: set[str] = set()
    for number, question in enumerate(loaded.suite.questions):
        if question.name in names:
            at: Location = ("questions", number) if ("questions", number) in lines.at else ()
            raise SuiteError(path, lines[at], files.dotted(at), f"two items are named {question.name!r}; rename one")
        names.add(question.name)
    return loaded


def check_names(loaded: Loaded, others: Iterable[Suite]) -> None:
    """Refuse a suite that has the name of another one of the run.

    Raises:
        SuiteError: it has.
    """
    suite = loaded.suite
    for other in others:
        if other.name == suite.name:
            line = files.read(suite.path)[1][("name",)]
            problem = f"{suite.name!r} is also the name of {other.path}; rename one"
            raise SuiteError(suite.path, line, "name", problem)


def _pilot(
    path: Path,
    content: dict[str, Any],
    lines: Lines,
    find: Find,
    sources: Mapping[str, Source],
    context: dict[str, Any],
) -> Loaded:
    name = content.get("source")
    if not isinstance(name, str) or name not in sources:
        problem = "this field is missing; add it" if name is None else f"no data source {name!r}"
        raise SuiteError(path, lines[("source",)], "source", f"{problem}; known are {', '.join(sorted(sources))}")
    source = sources[name]
    spec = files.validate(source.Spec, content, path, lines, context=context)
    try:
        return find(source, spec, path)
    except NotRun as reason:
        if hasattr(source, "missing"):
            missing: Loaded = source.missing(spec, path, str(reason))
            return missing
        ids = [question.id for question in getattr(spec, "questions", ()) if hasattr(question, "id")]
        return absent(spec, path, ids or ["all"], str(reason))


def _check_metrics(loaded: Loaded, path: Path, lines: Lines, known: Mapping[str, Any]) -> None:
    for number, name in enumerate(loaded.key.metrics):
        try:
            there = parse_metric(name)[0] in known
        except ValueError as error:
            raise SuiteError(path, lines[("metrics", number)], f"metrics[{number}]", str(error)) from None
        if not there:
            problem = f"no metric {name!r}; known are {', '.join(sorted(known))}"
            raise SuiteError(path, lines[("metrics", number)], f"metrics[{number}]", problem)


def _measured_on(
    spec: Any,
    path: Path,
    lines: Lines,
    find: Find,
    sources: Mapping[str, Source],
    context: dict[str, Any],
) -> Suite | None:
    """The pilot set that a micro-test's `over` names, relative to its file; None where there is no such file."""
    at = path.parent / spec.over
    if not os.path.isfile(at):  # unlike `Path.is_file`, False of what can be no file's name
        return None
    content, its_lines = files.read(at)
    if content.get("engram") != "pilot" or content.get("source") not in sources:
        raise SuiteError(path, lines[("over",)], "over", f"{spec.over} is no pilot set with a known source; give one")
    return _pilot(at, content, its_lines, find, sources, context).suite
