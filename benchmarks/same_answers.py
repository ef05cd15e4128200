"""The same recorded answers under two measures, for docs/answers.md: `python -m benchmarks.same_answers`.

The four files of `locomo/recorded` become methods and a judge in a folder that is gone afterwards, pytest measures them
on `locomo_full`, and figures alone are written into the page: no text of a question or an answer. The data is that of
ENGRAM_DATA, else of ../shared/data.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any, NamedTuple

from tabulate import tabulate

from benchmarks.readme import ROOT, filled
from pytest_engram import statistics as stats
from pytest_engram.report import pairs, wording
from pytest_engram.report.log import DISPUTED, Log, Part
from pytest_engram.runs import folder as runfolder
from pytest_engram.suites.locomo.protocol import ADVERSARIAL, CATEGORIES

PAGE = ROOT / "docs" / "answers.md"
RECORDED = "locomo/recorded"
SUITE = "locomo_full"
AUDITED = "categories 1 to 4"  # what published figures are over
FORMS = (None, DISPUTED)  # as published, and without the questions whose key is wrong
WIDTH = 120  # of the page's lines
CERTAIN = 1_000_000  # right answers that a judge accepts, all of them: so many leave no doubt of its sensitivity


class Answers(NamedTuple):
    """One recorded file: how tables call it, and, of answers known to be wrong, of which kind they are."""

    file: str
    label: str
    wrong: str | None = None


ANSWERS = {
    "mini41": Answers("full_context.gpt-4.1-mini-cot", "full context, gpt-4.1-mini, step by step"),
    "mini4o": Answers("full_context.gpt-4o-mini-memos", "full context, gpt-4o-mini, short"),
    "vague": Answers("wrong_on_purpose.vague", "wrong on purpose, vague", "vague"),
    "specific": Answers("wrong_on_purpose.specific", "wrong on purpose, specific", "specific"),
}
ONE, OTHER = "mini41", "mini4o"


def data() -> Path | None:
    """The folder that holds the recorded answers."""
    given = os.environ.get("ENGRAM_DATA")
    folders = [Path(given)] if given else [ROOT.parent / "shared" / "data"]
    return next((folder for folder in folders if (folder / RECORDED).is_dir()), None)


def recorded(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The answers of each file as {question_id, answer, verdicts}; wrong ones with `known` and `kind`."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, answers in ANSWERS.items():
        file = json.loads((folder / RECORDED / f"{answers.file}.json").read_bytes())
        known = {"known": "wrong", "kind": answers.wrong} if answers.wrong else {}
        found[name] = [
            {
                "question_id": result["question_id"],
                "answer": result["generated_answer"],
                "verdicts": list(result["llm_judgments"].values()),
                **known,
            }
            for of_conversation in file["detailed_results"].values()
            for result in of_conversation
        ]
    return found


def judge_lines(lines: Mapping[str, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The verdicts as one judge's: an answer that stands in two files stands once.

    Raises:
        SystemExit: the two have other verdicts, so that no judge can have given both.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in (line for of_file in lines.values() for line in of_file):
        first = found.setdefault((line["question_id"], line["answer"]), line)
        if first["verdicts"] != line["verdicts"]:
            sys.exit(f"same_answers: an answer to {line['question_id']} has two sets of verdicts")
    return list(found.values())


def measured(folder: Path, lines: Mapping[str, Sequence[dict[str, Any]]], data: Path) -> runfolder.Run:
    """A run of pytest in `folder` over all four.

    Raises:
        SystemExit: it fails; its output is shown.
    """
    for name, of_file in lines.items():
        head = {"method": {"label": ANSWERS[name].label}}
        answers = [{"question_id": line["question_id"], "answer": line["answer"]} for line in of_file]
        _write(folder / f"{name}.jsonl", [head, *answers])
    _write(folder / "verdicts.jsonl", judge_lines(lines))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ENGRAM_", "PYTEST_"))}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "engram", "-p", "no:cacheprovider", "-q"),
            f"--engram-method={','.join(f'{name}.jsonl' for name in lines)}",
            f"--engram-suite={SUITE}",
            "--engram-no-controls",
            "--engram-judge=recorded:verdicts.jsonl",
            f"--engram-data={data.resolve()}",
        ],
        cwd=folder,
        env=kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "ENGRAM_CACHE": str(folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nsame_answers: pytest failed")
    return runfolder.read(folder / "reports" / "latest")


def _write(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


# From the run to the blocks of the page


def blocks(data: Path) -> dict[str, str]:
    """What docs/answers.md takes from the run, by name. It takes about half a minute."""
    lines = recorded(data)
    with TemporaryDirectory() as folder:
        run = measured(Path(folder), lines, data)
        results = json.loads((Path(folder) / "reports" / "latest" / "results.json").read_bytes())
    cells = {
        (row["method"], row["metric"], row["group"], row["without"]): row
        for row in results["rows"]
        if row["suite"] == SUITE
    }
    log = Log(run.outcomes, run.manifest)
    words = {name: fmean(len(line["answer"].split()) for line in of_file) for name, of_file in lines.items()}
    return {
        "measures": _measures(cells, words),
        "pairs": _pairs(log),
        **{f"{metric}-by-category": _categories(cells, metric) for metric in ("judged", "f1")},
        "ceiling": _ceiling(results, cells, log),
        "correction": _correction(log),
        "runs": _runs(cells),
    }


def _measures(cells: Mapping[Any, Any], words: Mapping[str, float]) -> str:
    rows = [
        [
            answers.label,
            f"{words[name]:.0f}",
            *(_shown(cells[name, metric, AUDITED, form], metric) for metric in ("judged", "f1") for form in FORMS),
        ]
        for name, answers in ANSWERS.items()
    ]
    whole, less = (cells[ONE, "f1", AUDITED, form]["n"] for form in FORMS)
    headers = ["answers", "words", "judged right, %", "without wrong keys", "F1", "without wrong keys"]
    told = f"n = {whole:,} questions of categories 1 to 4; {less:,} without the {whole - less} whose key is wrong."
    return f"{_table(rows, headers)}\n\n{told} Words: of an answer, on average."


def _pairs(log: Log) -> str:
    rows = []
    for metric, title in (("judged", "judged right, % points"), ("f1", "F1")):
        for form in FORMS:
            found = _compared(log, metric, form)
            unit = 100 if metric == "judged" else 1
            digits = 1 if metric == "judged" else 3
            shown = [f"{unit * found[name]:+.{digits}f}".replace("-", "−") for name in ("difference", "low", "high")]
            rows.append(
                [
                    title + (", without wrong keys" if form else ""),
                    f"{found['n']:,}",
                    f"{shown[0]} [{shown[1]}, {shown[2]}]",
                    wording.p_value(found["p"]),
                    f"{found['better']:,}",
                    f"{found['worse']:,}",
                ]
            )
    return _table(rows, ["gpt-4.1-mini minus gpt-4o-mini", "n", "difference", "p", "better", "worse"])


def _compared(log: Log, metric: str, form: str | None) -> dict[str, Any]:
    one, other = (log.measured(SUITE, name, metric, Part(AUDITED, form)) for name in (ONE, OTHER))
    both = pairs.shared(log, [(SUITE, one, other)])
    assert both is not None
    return pairs.compare(both, binary=False)


def _categories(cells: Mapping[Any, Any], metric: str) -> str:
    groups = [category for number, category in CATEGORIES.items() if number != ADVERSARIAL]
    sizes = [" / ".join(str(cells[ONE, metric, group, form]["n"]) for form in FORMS) for group in groups]
    rows = [
        [
            "… without wrong keys" if form else answers.label,
            *(_shown(cells[name, metric, group, form], metric) for group in groups),
        ]
        for name, answers in ANSWERS.items()
        for form in FORMS
    ]
    title = "Judged right, %" if metric == "judged" else "F1"
    return _table(rows, [title, *(f"{group}, n = {size}" for group, size in zip(groups, sizes, strict=True))])


def _ceiling(results: Mapping[str, Any], cells: Mapping[Any, Any], log: Log) -> str:
    (key,) = [row["value"] for row in results["ceilings"] if row["suite"] == SUITE and row["of"] == "answer key"]
    best = cells[ONE, "judged", AUDITED, None]["value"]
    told = (
        f"Answers that are right, and nothing else, score {100 * key:.2f}% by this key. The best figure here is "
        f"{100 * best:.2f}%, {100 * (key - best):.2f} points under that: read as an accuracy, it leaves so much for "
        "all that the system gets wrong. The judge's verdicts where the key is wrong:"
    )
    rows = []
    for name, answers in ANSWERS.items():
        wrong = [line for line in log.of_part(SUITE, name, Part(AUDITED)) if line.disputed]
        values = [line.metrics["judged"] or 0.0 for line in wrong]
        low, high = stats.cluster_interval(values, [line.cluster for line in wrong])
        rows.append([answers.label, _percent(fmean(values), low, high), str(len(values))])
    return f"{fill(told, WIDTH)}\n\n{_table(rows, ['answers', 'judged right, %', 'n'])}"


def _correction(log: Log) -> str:
    judged = {name: _verdicts(log, name) for name in ANSWERS}
    right = stats.Verdicts([1.0] * CERTAIN)
    by_kind = {
        kind: {name: stats.rogan_gladen(judged[name], right, judged[kind]) for name in (ONE, OTHER)}
        for kind in ("specific", "vague")
    }
    rows = [
        [
            ANSWERS[name].label,
            f"{100 * fmean(judged[name].values):.1f}",
            *(_percent(*by_kind[kind][name]) for kind in by_kind),
        ]
        for name in (ONE, OTHER)
    ]
    raw = fmean(judged[ONE].values) - fmean(judged[OTHER].values)
    apart = [by_kind[kind][ONE].value - by_kind[kind][OTHER].value for kind in by_kind]
    rows.append(["difference, % points", *(f"{100 * value:.1f}" for value in (raw, *apart))])
    accepted = [f"{100 * fmean(judged[kind].values):.2f}%" for kind in by_kind]
    headers = [
        "Illustration",
        "as judged, %",
        f"accepts {accepted[0]} of wrong answers (specific), %",
        f"accepts {accepted[1]} (vague), %",
    ]
    return _table(rows, headers)


def _verdicts(log: Log, name: str) -> stats.Verdicts:
    lines = log.of_part(SUITE, name, Part(AUDITED))
    return stats.Verdicts([line.metrics["judged"] or 0.0 for line in lines], [line.cluster for line in lines])


def _runs(cells: Mapping[Any, Any]) -> str:
    spreads = [cells[name, "judged", AUDITED, None]["spread"] for name in ANSWERS]
    widest = max(high - low for low, high in spreads)
    return fill(
        f"Asked three times, this judge differs with itself by at most {100 * widest:.2f} points over all questions. "
        "That it repeats itself says nothing of whether it is right.",
        WIDTH,
    )


def _shown(row: Mapping[str, Any], metric: str) -> str:
    if metric == "judged":
        return _percent(row["value"], row["low"], row["high"])
    return f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def _percent(value: float, low: float, high: float) -> str:
    return f"{100 * value:.2f} [{100 * low:.1f}, {100 * high:.1f}]"


def _table(rows: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    return tabulate(rows, headers, tablefmt="pipe", disable_numparse=True)


def main() -> None:
    """Write them into the page."""
    folder = data()
    if folder is None:
        sys.exit(f"same_answers: no {RECORDED} in ENGRAM_DATA or ../shared/data")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), blocks(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
