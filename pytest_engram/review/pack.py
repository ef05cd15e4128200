"""A run's folder made small, with nothing lost: what it is is compressed, and what can be written again goes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import packed
from pytest_engram.runs.folder import Run

# Tables for programs, as large as the log is long. What people open stays, and so does what shows whether a later
# version still writes the same.
WRITTEN_AGAIN = ("results.json", "results.csv", "results.tex")
_HASHES = {
    runfolder.LOG: "log_sha256",
    runfolder.TEXTS: "texts_sha256",
    runfolder.KNOWN: "known_sha256",
    runfolder.BASELINES: "baselines_sha256",
}


class Refused(Exception):
    """A folder that would lose something. The message is one line, with the cure."""


@dataclass(frozen=True)
class Packed:
    """What became of a folder.

    Attributes:
        before, after: bytes of all files in it, without those of its sub-folders.
        compressed: names of the files that are compressed now, as they were before.
        removed: names of the files that are gone.
    """

    before: int
    after: int
    compressed: list[str]
    removed: list[str]


def pack(folder: Path) -> Packed:
    """Compress log, excerpts and known answers, and remove the tables of `WRITTEN_AGAIN`. Twice does as once.

    Raises:
        RunError: there is no run in it, or a killed one, or a file of it is damaged.
        LogError: its log is damaged.
        Refused: its log was changed after the run, or a table is not what its log gives. Nothing was changed.
    """
    run = runfolder.read(folder)
    for name, key in _HASHES.items():
        path, told = runfolder.find(folder, name), run.manifest.get(key)
        if path and told and runfolder.sha256_of(path) != told:
            raise Refused(f"{path} was changed after the run: its sha256 is not the manifest's; restore it")
    tables = [name for name in WRITTEN_AGAIN if (folder / name).is_file()]
    _check(run, tables)
    before = _bytes(folder)
    plain = [name for name in runfolder.PACKED if (folder / name).is_file()]
    for name in plain:
        packed.pack(folder / name)
    for name in tables:
        (folder / name).unlink()
    return Packed(before, _bytes(folder), plain, tables)


def _check(run: Run, tables: Collection[str]) -> None:
    """Every one of the tables can be had again as it is."""
    from pytest_engram import report

    if not tables:
        return
    with TemporaryDirectory() as made:
        for path in report.write(
            Path(made), run.outcomes, run.manifest, only=tables, known=run.known, baselines=run.baselines
        ):
            if path.read_bytes() != (run.folder / path.name).read_bytes():
                cure = f"`engram report {run.folder}` writes it as this version does"
                raise Refused(f"{run.folder / path.name} is not what the log gives, so that it would be lost; {cure}")


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
