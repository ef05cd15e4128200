"""The command line: what is done with runs after they ran, and what helps to begin.

Every command imports what it needs when it is called, so that `engram --help` is instant.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import click

from pytest_engram.cli.speech import encodable, hang_up, say

_RUN = click.Path(path_type=Path, exists=True)
_DATA = click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="ENGRAM_DATA",
    help="A local copy of the benchmarks, as `--engram-data` takes it (environment: ENGRAM_DATA).",
)


def _after(one: str | None, *examples: str) -> str:
    """What stands below a command's options: its exit codes, `one` for the code 1, and examples."""
    codes = ["0  all is well"] + [f"1  {one}"] * (one is not None)
    codes.append("2  it could not be done: a wrong option, a file that can't be read, a refusal")
    # \b: lines that click must not join.
    parts = [
        ["\b", "Exit codes:", *(f"  {code}" for code in codes)],
        ["\b", "Examples:", *(f"  {e}" for e in examples)],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts)


class _Group(click.Group):
    """Tells in one line, with exit code 2, what a user can cause; all else is our fault, and keeps its traceback.

    The exit code 1 is a command's own answer, such as "worse": no fault, and no key that was pressed, ends with it.
    """

    def main(self, *args: Any, **extra: Any) -> Any:
        encodable()
        try:
            return super().main(*args, **extra)
        except Exception:
            if not extra.get("standalone_mode", True):
                raise
            traceback.print_exc()
            sys.exit(2)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise _Interrupted("interrupted") from None
        except BrokenPipeError:
            hang_up()
            ctx.exit(2)
        except (click.exceptions.Exit, click.Abort, click.ClickException):
            raise
        except Exception as error:
            if _is_the_users(error):
                raise _Told(str(error)) from None
            raise
        finally:
            from pytest_engram.basics import sealed

            for line in sealed.noted():
                say(f"note: {line}", err=True)


class _Told(click.ClickException):
    exit_code = 2

    def format_message(self) -> str:
        from pytest_engram.report.wording import plain

        return plain(self.message)


class _Interrupted(_Told):
    exit_code = 130  # as shells have it


def _is_the_users(error: Exception) -> bool:
    from pytest_engram.basics import cache
    from pytest_engram.review import compare, export, merge, pack, registration
    from pytest_engram.runs import folder as runfolder
    from pytest_engram.runs import log as runlog
    from pytest_engram.suites.base import NotRun, SuiteError

    return isinstance(
        error,
        (
            cache.CacheError,
            compare.Incomparable,
            export.Refused,
            merge.Refused,
            pack.Refused,
            registration.LockError,
            runfolder.RunError,
            runlog.LogError,
            NotRun,
            OSError,
            SuiteError,
        ),
    )


_COMPLETION = """\b
Shell completion, for bash (zsh and fish likewise):
  eval "$(_ENGRAM_COMPLETE=bash_source engram)"
"""


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_COMPLETION)
@click.version_option(package_name="pytest-engram", prog_name="engram")
def main() -> None:
    """Runs of pytest-engram: their reports, comparisons and checks.

    A run itself is `pytest --engram-method=loom -n auto`; it leaves its report in reports/latest. A RUN is such a
    folder, or the items.jsonl in it, packed (items.jsonl.gz) or not.
    """


@main.command(epilog=_after(None, "engram report reports/latest", "engram report reports/latest/items.jsonl -o tables"))
@click.argument("run", type=_RUN)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="Write there [default: the run]."
)
def report(run: Path, output: Path | None) -> None:
    """Write the tables of a run again.

    All tables, plots and the page of RUN are computed from its log and manifest, and are the same byte for byte. Of a
    packed RUN, log and excerpts stay compressed.
    """
    from pytest_engram import report as reports
    from pytest_engram.runs import folder as runfolder

    found = runfolder.read(run, killed=True)
    folder = output or found.folder
    with runfolder.alone(folder):
        written = reports.write(
            folder, found.outcomes, found.manifest, texts=found.texts, known=found.known, baselines=found.baselines
        )
        runfolder.copy(found.folder, folder)
    for path in written:
        say(str(path))


@main.command(
    epilog=_after(
        "some method is significantly worse on some metric (p < 0.05, Holm-adjusted over all tests)",
        "engram compare reports/main reports/latest",
        "engram compare reports/latest reports/latest --method dense:loom",
        "engram compare reports/main reports/latest -o changes.html",
    )
)
@click.argument("earlier", type=_RUN)
@click.argument("later", type=_RUN)
@click.option(
    "-m", "--method", "methods", multiple=True, metavar="NAME|EARLIER:LATER", help="Only this one; repeatable."
)
@click.option("--anyway", is_flag=True, help="Compare though data, k or encoder differ.")
@click.option(
    "-f",
    "--format",
    "style",
    type=click.Choice(["terminal", "markdown", "html", "json"]),
    help="[default: by the ending of -o, else terminal]",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False, writable=True), help="Write to this file."
)
def compare(
    earlier: Path, later: Path, methods: tuple[str, ...], anyway: bool, style: str | None, output: Path | None
) -> None:
    """Pair two runs, question by question.

    What got better in LATER, what got worse? 0/1 metrics are tested by the exact McNemar test, all others by the paired
    bootstrap. Runs on different data, with another k or another encoder are not compared.
    """
    from pytest_engram.review import compare as comparing
    from pytest_engram.runs import folder as runfolder

    pairs = [(name.partition(":")[0], name.partition(":")[2] or name.partition(":")[0]) for name in methods]
    try:
        found = comparing.compare(runfolder.read(earlier), runfolder.read(later), pairs, anyway=anyway)
    except comparing.Incomparable as refusal:
        raise _Told(f"not compared: {refusal}" + ("" if anyway else "; --anyway compares all the same")) from None
    endings = {".md": "markdown", ".html": "html", ".json": "json"}
    text = _rendered(found, style or endings.get(output.suffix if output else "", "terminal"), output is None)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(text.encode("utf-8", "backslashreplace"))
        say(str(output))
    if any(comparing.worse(found)):
        sys.exit(1)


def _rendered(found: dict[str, Any], style: str, on_screen: bool) -> str:
    import json
    import shutil

    from pytest_engram.report import comparison

    if style == "json":
        # In ASCII: no character can steer the terminal, and none is lost where the encoding lacks it.
        return json.dumps(found, indent=1) + "\n"
    if style == "markdown":
        return comparison.to_markdown(found)
    if style == "html":
        return comparison.to_html(found)
    width = shutil.get_terminal_size().columns
    return comparison.to_terminal(found, width, colour=on_screen and sys.stdout.isatty())


@main.command(
    epilog=_after(
        "items are missing: the run is written, and marked as incomplete", "engram merge parts/* -o reports/latest"
    )
)
@click.argument("parts", nargs=-1, required=True, type=_RUN)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the whole run.",
)
def merge(parts: tuple[Path, ...], output: Path) -> None:
    """Make one run of several parts.

    PARTS ran on several machines, or one after the other. They must agree in version, k, seeds, methods,
    encoder, reader, commit, suite files and data. An item that stands in several parts must have one outcome; one that
    ended in an error, or was not run, is replaced by one that was measured.
    """
    from pytest_engram import report as reports
    from pytest_engram.review import merge as merging
    from pytest_engram.runs import folder as runfolder

    found = merging.merge([runfolder.read(part) for part in parts])
    with runfolder.alone(output):
        reports.write_run(output, found.outcomes, found.manifest, found.texts, found.known, found.baselines)
    say(f"{output}: {found.manifest['ran']} of {found.manifest['planned']} items, from {len(parts)} parts")
    _list("in several parts, with the same outcome", found.doubled)
    _list("an error, or not run, in one part and measured in another", found.mended)
    _list("missing", found.missing)
    if found.missing:
        sys.exit(1)


def _list(what: str, items: list[str], shown: int = 10) -> None:
    if items:
        say(f"{what}: {len(items)}")
        for item in items[:shown]:
            say(f"  {item}")
        if len(items) > shown:
            say(f"  and {len(items) - shown} more")


@main.command(
    epilog=_after(
        None,
        "engram export reports/latest --format trec --to trec",
        "engram export reports/latest --format hf --to dataset --cases my_cases",
    )
)
@click.argument("run", type=_RUN)
@click.option("--to", "folder", required=True, type=click.Path(path_type=Path), help="A new or an empty folder.")
@click.option("-f", "--format", "style", required=True, type=click.Choice(["trec", "hf", "csv"]))
@click.option(
    "--cases",
    multiple=True,
    type=_RUN,
    help="Suite files and folders, where they are not the shipped ones; repeatable.",
)
@_DATA
def export(run: Path, folder: Path, style: str, cases: tuple[Path, ...], data: Path | None) -> None:
    """Write a run as others read it.

    \b
    FORMAT:
      trec  of each benchmark a folder: a run file for each method, and qrels.txt, as trec_eval, ir_measures and ranx
            read them; the score of an entry is k - rank
      hf    a Hugging Face dataset: a card, and Parquet files of items, figures and differences
      csv   the same three as CSV, for a paper

    Questions, answers and texts of a benchmark whose licence does not let everybody pass them on stay out.
    """  # noqa: D301 - \b: lines that click must not join
    from pytest_engram.review import export as exporting
    from pytest_engram.runs import folder as runfolder

    found = exporting.export(runfolder.read(run), folder, style, cases, data)
    for path in found.paths:
        say(str(path))
    for note in found.notes:
        say(f"note: {note}", err=True)


@main.command(
    epilog=_after(
        "something does not agree",
        "engram verify reports/reference",
        "engram verify reports/latest --cases my_cases --data ~/benchmarks",
    )
)
@click.argument("run", type=_RUN)
@click.option(
    "--cases",
    multiple=True,
    type=_RUN,
    help="Suite files and folders, where they are not the shipped ones; repeatable.",
)
@_DATA
@click.option("-q", "--quiet", is_flag=True, help="Only what does not agree, and the last line.")
def verify(run: Path, cases: tuple[Path, ...], data: Path | None, quiet: bool) -> None:
    """Check a run's hashes, tables and scores.

    All of them are computed again, and what does not agree is told. Nothing is fetched: what can't be checked because a
    suite, its data or the encoder is not here is listed as unchecked. Whether a method really returned the logged
    ids, only another run can tell.
    """
    from collections import Counter

    from pytest_engram.report.wording import plain
    from pytest_engram.review import verify as verifying
    from pytest_engram.runs import folder as runfolder

    colours = {"agrees": "green", "differs": "red", "unchecked": "yellow"}
    counts: Counter[str] = Counter()
    for finding in verifying.verify(runfolder.read(run), cases, data):
        counts[finding.status] += 1
        if not quiet or finding.status == "differs":
            status = click.style(f"{finding.status:9}", fg=colours[finding.status])
            click.echo(f"{status}  {plain(f'{finding.what}: {finding.detail}')}")
    told = {"agrees": "agree", "differs": "do not agree", "unchecked": "could not be checked"}
    say(", ".join(f"{counts[status]} {words}" for status, words in told.items() if counts[status]))
    if counts["differs"]:
        sys.exit(1)


@main.command(epilog=_after(None, "engram pack reports/reference", "engram pack reports/*"))
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
def pack(folders: tuple[Path, ...]) -> None:
    """Make a run's folder small, for a repository.

    \b
    In each of FOLDERS
      compressed  items.jsonl, texts.json and known_answers.jsonl, each to a .gz
      removed     results.json, results.csv and results.tex, which nobody opens by hand
      stays       results.md, results.html, all plots, manifest.json, and what is no file of a run

    `engram report` writes what was removed again, byte for byte. It reads a packed folder as it is, and so do compare,
    merge and verify. A folder whose log or tables were changed after the run is left as it is. The same run packs to
    the same bytes.
    """  # noqa: D301 - \b: lines that click must not join
    from pytest_engram.review import pack as packing
    from pytest_engram.runs import folder as runfolder

    for folder in folders:
        with runfolder.alone(folder):
            done = packing.pack(folder)
        say(f"{folder}: {_size(done.before)} → {_size(done.after)}")
        for what, names in (("compressed", done.compressed), ("removed", done.removed)):
            if names:
                say(f"  {what:10}  {', '.join(names)}")


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


@main.command(epilog=_after(None, "engram init", "engram init ~/my-agent"))
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
def init(folder: Path) -> None:
    """Begin: a memory and a case in FOLDER.

    A conftest.py with a memory that works, and a case to run it on. Nothing is overwritten.
    """
    from pytest_engram.cli import starter

    started = starter.start(folder)
    for path in started.written:
        say(f"written  {path}")
    for path in started.left:
        say(f"left     {path} (it was there)")
    say(f"\nNext:\n  {started.command}")


@main.command(
    epilog=_after("the default run could not work here", "engram doctor", "engram doctor --data ~/benchmarks")
)
@_DATA
@click.option(
    "--encoder",
    default="auto",
    envvar="ENGRAM_ENCODER",
    show_default=True,
    metavar="auto|NAME|PATH",
    help="As `--engram-encoder` takes it (environment: ENGRAM_ENCODER).",
)
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
def doctor(data: Path | None, encoder: str, as_json: bool) -> None:
    """Say what is here, and how to get the rest.

    What is installed, cached, reachable and official, and what is odd in LongMemEval's files. Nothing is downloaded.
    The hub is asked once, for five seconds at most.
    """
    from pytest_engram.cli import doctor as examining
    from pytest_engram.report.wording import plain

    colours = {"ok": "green", "note": "yellow", "bad": "red"}
    checks: list[examining.Check] = []
    for check in examining.examine(data, encoder):
        if not as_json:
            if not checks or checks[-1].section != check.section:
                click.echo(click.style(check.section, bold=True))
            status = click.style(f"{check.status:4}", fg=colours[check.status])
            click.echo(f"  {status}  {plain(f'{check.what}: {check.detail}')}")
            if check.cure:
                say(f"        cure: {check.cure}")
        checks.append(check)
    bad = [check.what for check in checks if check.status == "bad"]
    if as_json:
        import json

        say(json.dumps(examining.table(checks), indent=1))
    else:
        verdict = (
            f"A run can't work: {', '.join(bad)}." if bad else "`pytest --engram-method=loom -n auto` can run here."
        )
        say(f"\n{verdict}")
    if bad:
        sys.exit(1)


def _fetchable(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    from pytest_engram.suites import downloads

    return [name for name in downloads.groups() if name.startswith(begun)]


@main.command(
    epilog=_after(
        "something could not be had; what else was asked for is there",
        "engram fetch --list",
        "engram fetch prompts",
        "engram fetch locomo locomo-audit --to ~/benchmarks",
    )
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_fetchable)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Put them there, and give runs --engram-data with it [default: `fetched` in the cache, where runs look].",
)
@click.option("-l", "--list", "listed", is_flag=True, help="Fetch nothing; say what there is, and what is here.")
def fetch(names: tuple[str, ...], folder: Path | None, listed: bool) -> None:
    """Get benchmarks and official prompts, each from its own source.

    None of them is part of this package. Each comes from a fixed commit of its public repository. Licence, source, size
    and sha256 are told first, and the sha256 is checked in the end. What was interrupted goes on where it stopped, and
    what is here is not fetched again.

    \b
    NAME:
      locomo                       2.8 MB  LoCoMo (CC BY-NC 4.0: no commercial use)
      locomo-audit                 0.2 MB  errors in its answer key (CC BY-NC 4.0)
      locomo-prompts               its prompts (CC BY-NC 4.0), its judge's (Apache-2.0)
      factconsolidation            1.5 MB  of MemoryAgentBench (MIT)
      factconsolidation-prompts    its prompts (MIT)
      longmemeval                  277 MB  LongMemEval_S, cleaned (MIT)
      longmemeval-prompts          its prompts (MIT)
      prompts                      all of the prompts
      all                          all of these

    \b
    Environment:
      ENGRAM_CACHE         the folder of what is kept between runs
      ENGRAM_FETCH_MIRROR  a mirror: URL/HOST/PATH is asked in place of https://HOST/PATH
      HF_ENDPOINT          a mirror of the Hugging Face hub
    """  # noqa: D301 - \b: lines that click must not join
    from pytest_engram.cli import fetch as fetching
    from pytest_engram.suites import downloads, locations

    known = downloads.groups()
    if unknown := [name for name in names if name not in known]:
        raise click.UsageError(f"nothing is called {', '.join(unknown)}; there are {', '.join(known)}")
    if not (names or listed):
        raise click.UsageError("say what to fetch; `engram fetch --list` says what there is")
    wanted = [d for d in downloads.TABLE if not names or any(d in known[name] for name in names)]
    if listed:
        for line in fetching.listed(wanted, folder):
            say(line)
        return
    place = (folder or locations.fetched()).expanduser().absolute()
    try:
        failed = fetching.fetch(wanted, place, say)
    except fetching.Unwritable as error:
        say(f"not fetched: {error}", err=True)
        sys.exit(1)
    for reason, files in failed.items():
        say(f"not fetched: {', '.join(files)}: {reason}", err=True)
    if failed:
        sys.exit(1)
    if folder is not None:
        say(f"Give runs --engram-data {folder}, or set ENGRAM_DATA.")


@main.command(
    epilog=_after(
        "with --check: a suite is not registered, or was changed since",
        "engram register cases/micro",
        "engram register --check",
    )
)
@click.argument("paths", nargs=-1, type=_RUN)
@click.option(
    "--lock", type=click.Path(path_type=Path, dir_okay=False), help="The lock file [default: the nearest engram.lock]."
)
@click.option("--check", is_flag=True, help="Write nothing; say whether all are as registered.")
def register(paths: tuple[Path, ...], lock: Path | None, check: bool) -> None:
    """Fix what micro-tests expect, before a run.

    The hashes of case file, rule and code are written to engram.lock, which you commit. PATHS are suite files and
    folders, by default this folder. Reports then say of a suite whether it was registered before the run, or what was
    changed since.
    """
    from pytest_engram.review import registration

    places = paths or (Path(),)
    found = registration.statuses(places) if check else registration.register(places, lock)
    for path, status in found:
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        fresh = not check and status != registration.BEFORE
        say(f"{shown}: {f'registered ({status})' if fresh else status}")
    if not found:
        raise _Told(f"no micro-test suite under {', '.join(map(str, places))}")
    if check and any(status != registration.BEFORE for _, status in found):
        sys.exit(1)
