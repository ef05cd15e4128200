"""A run as others read it: TREC's run files and judgements, a Hugging Face dataset folder, or CSV for a paper."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_engram.review import here, trec
from pytest_engram.review.trec import Exported
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.folder import Run
from pytest_engram.runs.outcome import Outcome
from pytest_engram.runs.withheld import withhold
from pytest_engram.suites.base import SuiteError

if TYPE_CHECKING:
    import pyarrow

FORMATS = ("trec", "hf", "csv")
Row = dict[str, Any]

_FIGURES = (
    *("suite", "method", "label", "role", "metric", "group", "without", "n", "value", "low", "high", "interval"),
    *("cluster", "clusters", "seeds", "unit", "status", "reason"),
)
_PAIRED = (
    *("suite", "method", "baseline", "metric", "n", "difference", "low", "high", "p", "p_holm", "test"),
    *("cluster", "clusters"),
)
_ITEMS = {  # column: what a Parquet file says that it holds
    **dict.fromkeys(("suite", "question_id", "group", "cluster", "method"), "string"),
    **dict.fromkeys(("seed", "k"), "int64"),
    **dict.fromkeys(("status", "reason", "query"), "string"),
    **dict.fromkeys(("gold", "ids"), "list"),
    **dict.fromkeys(("answer", "reader", "excluded"), "string"),
    "hit": "bool",
    "haystack": "int64",
    "seconds": "double",
    "tokens": "int64",
}


class Refused(Exception):
    """A folder that nothing is written into. The message is one line, with the cure."""


def export(run: Run, to: Path, style: str, cases: Sequence[Path] = (), data: Path | None = None) -> Exported:
    """Write a run in one of `FORMATS`.

    What a suite's licence keeps from being passed on stays out: questions, answers and texts. So they do where nobody
    can tell, because the suite file is not here.

    Args:
        run: that was read.
        to: a folder; new, or empty.
        style: the format.
        cases: suite files and folders that are not the shipped ones.
        data: the folder of `--engram-data`, if any.

    Raises:
        Refused: something is in the folder.
        SuiteError: a file of `cases` can't be read.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise Refused(f"{to} is there, and is not an empty folder; name another one, or remove it")
    suites = run.manifest.get("suites") or {}
    paths = here.suite_files(cases, suites)
    if style == "trec":
        return trec.write(run, to, paths, data)
    kept = {name for name in suites if name in paths and _shareable(paths[name])}
    outcomes = [line if line.suite in kept else withhold(line) for line in run.outcomes]
    write: Callable[[Run, Sequence[Outcome], Path], list[Path]] = _csv if style == "csv" else _hf
    to.mkdir(parents=True, exist_ok=True)
    told = [_withheld(name, name in paths) for name in suites if name not in kept]
    return Exported(write(run, outcomes, to), told)


def _shareable(path: Path) -> bool:
    try:
        return here.load(path, None, look=False).key.shareable
    except SuiteError:  # its metrics or its source may be of a plugin that is not here
        return False


def _withheld(name: str, known: bool) -> str:
    licence = "its licence does not let everybody pass its texts on"
    why = licence if known else "its suite file is not here; give --cases"
    return f"{name}: without questions, answers and texts: {why}"


def _tables(run: Run, outcomes: Sequence[Outcome]) -> tuple[list[Row], list[Row]]:
    """Figures and paired differences, as the report has them."""
    from pytest_engram.report.aggregate import aggregate

    results = aggregate(outcomes, run.manifest, run.known)
    return results["rows"], results["paired"]


def _metrics(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(name for line in outcomes for name in line.metrics))


def _csv(run: Run, outcomes: Sequence[Outcome], to: Path) -> list[Path]:
    """Figures, differences and items, each a table as wide as it is read; `results.csv` has one number a row."""
    from pytest_engram.report.tables import escape_csv

    figures, paired = _tables(run, outcomes)
    names = _metrics(outcomes)
    columns = [name for name, kind in _ITEMS.items() if kind != "list"]
    items = ({name: getattr(line, name) for name in columns} | line.metrics for line in outcomes)
    written: list[Path] = []
    tables: tuple[tuple[str, Sequence[str], Iterable[Mapping[str, Any]]], ...] = (
        ("figures.csv", _FIGURES, figures),
        ("paired.csv", _PAIRED, paired),
        ("items.csv", [*columns, *names], items),
    )
    for file, header, rows in tables:
        written.append(to / file)
        with (to / file).open("w", encoding="utf-8", errors="backslashreplace", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(header)
            for row in rows:
                cells = [row.get(name) for name in header]
                writer.writerow([escape_csv(cell) if isinstance(cell, str) else cell for cell in cells])
    return written


def _hf(run: Run, outcomes: Sequence[Outcome], to: Path) -> list[Path]:
    """Items, figures and differences as Parquet, below a card that `datasets.load_dataset(folder)` reads."""
    figures, paired = _tables(run, outcomes)
    tables = {"items": _items(outcomes), "figures": _table(figures, _FIGURES), "paired": _table(paired, _PAIRED)}
    from pyarrow.parquet import write_table

    written = [to / "README.md"]
    written[0].write_text(_card(run, tables), encoding="utf-8", errors="backslashreplace")
    for name, table in tables.items():
        written.append(to / "data" / f"{name}.parquet")
        written[-1].parent.mkdir(exist_ok=True)
        write_table(table, written[-1])
    shutil.copyfile(run.folder / runfolder.MANIFEST, to / runfolder.MANIFEST)
    return [*written, to / runfolder.MANIFEST]


def _items(outcomes: Sequence[Outcome]) -> pyarrow.Table:
    import pyarrow

    kinds = {"list": pyarrow.list_(pyarrow.string()), "bool": pyarrow.bool_(), "double": pyarrow.float64()}
    kinds |= {"string": pyarrow.string(), "int64": pyarrow.int64()}
    columns = {
        name: pyarrow.array([_plain(getattr(line, name)) for line in outcomes], kinds[kind])
        for name, kind in _ITEMS.items()
    }
    columns |= {
        name: pyarrow.array([line.metrics.get(name) for line in outcomes], pyarrow.float64())
        for name in _metrics(outcomes)
    }
    return pyarrow.table(columns)


def _table(rows: Sequence[Row], names: Sequence[str]) -> pyarrow.Table:
    import pyarrow

    columns = {name: pyarrow.array([_plain(row.get(name)) for row in rows]) for name in names}
    empty = {name: column.cast(pyarrow.string()) for name, column in columns.items() if column.type == pyarrow.null()}
    return pyarrow.table(columns | empty)


def _plain(value: Any) -> Any:
    """A value that a Parquet file can hold: half a surrogate pair is written as JSON's escape for it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _card(run: Run, tables: Mapping[str, Any]) -> str:
    import yaml

    configs = [
        {"config_name": name, "data_files": [{"split": "test", "path": f"data/{name}.parquet"}]}
        | ({"default": True} if name == "items" else {})
        for name in tables
    ]
    manifest = run.manifest
    head = yaml.safe_dump({"tags": ["agent-memory", "pytest-engram"], "configs": configs}, sort_keys=False)
    labels = [told.get("label", name) for name, told in (manifest.get("methods") or {}).items()]
    encoder = (manifest.get("encoder") or {}).get("name") or "none"
    suites = [
        f"- {name}: {told.get('n')} questions; source {told.get('source') or told.get('kind')}; licence "
        f"{told.get('licence') or 'not told'}"
        for name, told in (manifest.get("suites") or {}).items()
    ]
    lines = [
        f"---\n{head}---",
        "# A run of pytest-engram",
        f"Memories: {', '.join(labels)}. k = {manifest.get('k')}; encoder {encoder}; pytest-engram "
        f"{manifest.get('engram')}; {manifest.get('created')}. All else is in `manifest.json`.",
        "\n".join(["Suites:", "", *suites]),
        "- `items`: what each memory recalled for each question, and what that is worth. A metric that was not "
        "measured is null; a text that a licence keeps back is empty.\n"
        "- `figures`: the mean of each metric with its interval; with `group`, of one category.\n"
        "- `paired`: differences on the same questions, with their tests.",
        '```python\nfrom datasets import load_dataset\n\nitems = load_dataset("FOLDER", split="test")\n'
        'figures = load_dataset("FOLDER", "figures", split="test")\n```',
    ]
    return "\n\n".join(lines) + "\n"
