"""A packed log reads as the plain one, line by line; a damaged one is told in one line."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import runs

from pytest_engram import report
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import log as runlog
from pytest_engram.runs import packed


def gzipped(path: Path) -> Path:
    """The file as the command `gzip` packs it, name and time included."""
    subprocess.run(["gzip", "--force", str(path)], check=True)
    return path.with_name(path.name + ".gz")


def test_a_folder_packed_by_gzip_reads_as_before_by_its_own_path_and_by_its_log_s(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    before = runfolder.read(folder)
    assert before.texts
    log = gzipped(folder / "items.jsonl")
    gzipped(folder / "texts.json")
    assert runfolder.read(folder) == runfolder.read(log) == before


def test_the_hash_is_of_the_uncompressed_bytes(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_bytes(content := b"one\ntwo\n" * 1000)
    log = gzipped(tmp_path / "items.jsonl")
    assert runfolder.sha256_of(log) == hashlib.sha256(content).hexdigest()


def test_packing_is_reproducible_and_leaves_no_name_and_no_time(tmp_path: Path) -> None:
    content = "".join(f"line {n}: {n * n}\n" for n in range(100_000)).encode()
    made = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.jsonl").write_bytes(content)
        made.append(packed.pack(tmp_path / name / f"{name}.jsonl"))
        assert list((tmp_path / name).iterdir()) == [made[-1]]
    assert [path.name for path in made] == ["one.jsonl.gz", "other.jsonl.gz"]
    assert made[0].read_bytes() == made[1].read_bytes()
    # RFC 1952, 2.3: magic, deflate, no flags (so no name), time 0, 2 = slowest and smallest
    assert made[0].read_bytes()[:9] == b"\x1f\x8b\x08\x00" + b"\0" * 4 + b"\x02"
    assert subprocess.run(["gzip", "-dc", str(made[0])], check=True, capture_output=True).stdout == content


def test_the_plain_file_stays_where_the_disk_did_not_keep_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "items.jsonl").write_bytes(content := b"one\ntwo\n")
    monkeypatch.setattr("shutil.copyfileobj", lambda plain, out, _: out.write(plain.read(4)))
    with pytest.raises(OSError, match=r"items\.jsonl: not compressed: what was written can't be read again"):
        packed.pack(tmp_path / "items.jsonl")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"items.jsonl": content}


@pytest.mark.parametrize("name", ["items.jsonl", "texts.json", "known_answers.jsonl"])
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda content: content[: len(content) // 2], "was cut short"),
        (lambda content: content[:-3], "was cut short"),
        (lambda content: content[:5], "was cut short"),
        (lambda content: content[:-8] + bytes(byte ^ 1 for byte in content[-8:]), "is damaged"),  # checksum and length
        (lambda content: content[:40] + b"\xff" * 40 + content[80:], "is damaged"),
        (lambda _: b"no gzip at all", "is damaged"),
        (lambda content: content + b"and more", "is damaged"),
    ],
)
def test_a_damaged_file_is_one_line_with_the_cure(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes], told: str
) -> None:
    folder = runs.run(tmp_path)
    if name == "known_answers.jsonl":
        (folder / name).write_text("")
    path = gzipped(folder / name)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises((runfolder.RunError, runlog.LogError), match=f"the compressed file {told}") as raised:
        runfolder.read(folder)
    assert str(raised.value).startswith(f"{path}: ")
    assert str(raised.value).endswith("; restore it, or repeat the run")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["items.jsonl", "texts.json"])
@pytest.mark.parametrize("given", [".", "items.jsonl"])
def test_a_file_in_both_forms_is_refused_and_no_guess_made(tmp_path: Path, name: str, given: str) -> None:
    folder = runs.run(tmp_path)
    (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    with pytest.raises(runfolder.RunError, match=f"both {name} and {name}.gz are here; remove the one"):
        runfolder.read(folder / given)


def test_a_run_that_is_written_over_a_packed_one_leaves_none_of_it(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    before = runfolder.read(folder)
    for name in ("items.jsonl", "texts.json"):
        gzipped(folder / name)
    report.write_run(folder, before.outcomes, before.manifest, before.texts)
    assert not list(folder.glob("*.gz"))
    assert runfolder.read(folder) == before


def test_a_line_cut_by_a_kill_is_left_out_of_a_packed_log_too(tmp_path: Path) -> None:
    lines = [runs.outcome(f"q{n}", 1.0).to_line() for n in range(3)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines)[:-20])
    plain = runlog.read(tmp_path / "items.jsonl")
    assert [outcome.question_id for outcome in plain] == ["q0", "q1"]
    assert runlog.read(gzipped(tmp_path / "items.jsonl")) == plain
    (tmp_path / "items.jsonl").write_text(f"{lines[0][:-20]}\n{lines[1]}\n")
    with pytest.raises(runlog.LogError, match=r"items\.jsonl\.gz:1: not a line of a run log"):
        runlog.read(gzipped(tmp_path / "items.jsonl"))


def test_a_packed_log_is_never_whole_in_memory(tmp_path: Path) -> None:
    """Read and hashed a little at a time: of 50 MB, less than 5 MB are held."""
    path = tmp_path / "items.jsonl.gz"
    line = b" " * 9_999 + b"\n"
    with gzip.open(path, "wb") as out:
        for _ in range(5_000):
            out.write(line)
    should = hashlib.sha256(line * 5_000).hexdigest()
    tracemalloc.start()
    assert runlog.read(path) == []
    assert runfolder.sha256_of(path) == should
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()
