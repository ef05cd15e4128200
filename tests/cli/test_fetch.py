"""`engram fetch` against a server that breaks, lies, hangs or is not there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fileserver import Files

from pytest_engram.cli.commands import main
from pytest_engram.suites import downloads, locations
from pytest_engram.suites.downloads import Download

BIG = bytes(range(256)) * 4000  # 1,024,000 bytes
SMALL = b"def f():\n    return 'a prompt'\n"
COMMAND = [sys.executable, "-c", "from pytest_engram.cli.commands import main; main(prog_name='engram')", "fetch"]


def download(name: str, file: str, content: bytes, **changed: Any) -> Download:
    described: dict[str, Any] = {
        "name": name,
        "about": f"what {name} is",
        "file": file,
        "site": "github",
        "repo": "somebody/some",
        "commit": "c" * 40,
        "path": file,
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "licence": "MIT",
    }
    return Download(**described | changed)


BENCHMARK = download("bench", "bench/data.json", BIG, site="hub", licence=downloads.NON_COMMERCIAL)
PROMPTS = download("bench-prompts", "bench/prompts.py", SMALL)
ADDRESSES = {
    f"/m/huggingface.co/datasets/somebody/some/resolve/{'c' * 40}/bench/data.json": BIG,
    f"/m/raw.githubusercontent.com/somebody/some/{'c' * 40}/bench/prompts.py": SMALL,
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and a table of two small files."""
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(downloads, "TABLE", (BENCHMARK, PROMPTS))
    return tmp_path / "cache" / "fetched"


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    with Files(dict(ADDRESSES)).serving() as serving:
        monkeypatch.setenv("ENGRAM_FETCH_MIRROR", f"{serving.url}/m/")
        yield serving


def fetch(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["fetch", *arguments])


def told(result: Result) -> list[str]:
    return result.stderr.splitlines()


def put(folder: Path) -> list[str]:
    """What a user sees in a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("[!.]*") if p.is_file())


def test_each_file_is_told_of_put_in_its_place_and_not_fetched_again(files: Files, cache: Path) -> None:
    first = fetch("all")
    assert first.exit_code == 0, first.output
    assert (cache / "bench" / "data.json").read_bytes() == BIG
    assert (cache / "bench" / "prompts.py").read_bytes() == SMALL
    assert sorted(p.name for p in cache.rglob("*") if p.is_file()) == ["data.json", "prompts.py"]
    before, _, _ = first.stdout.partition("fetched,")
    for part in (
        "bench\n",
        "no commercial use",
        BENCHMARK.sha256,
        "1.0 MB",
        f"{files.url}/m/huggingface.co/datasets/somebody/some/resolve/{'c' * 40}/bench/data.json",
    ):
        assert part in before
    assert [path for path, _ in files.asked] == list(ADDRESSES)
    again = fetch("all")
    assert again.exit_code == 0
    assert again.stdout.count("already here, the sha256 agrees") == 2
    assert len(files.asked) == 2


def test_runs_find_what_was_fetched(files: Files, cache: Path) -> None:
    assert fetch("bench").exit_code == 0
    path, origin = locations.locate("bench/data.json", None)
    assert (path.read_bytes(), origin) == (BIG, "bench/data.json in the fetched data")


def test_prompts_are_one_word(files: Files, cache: Path) -> None:
    assert fetch("prompts").exit_code == 0
    assert put(cache) == ["bench/prompts.py"]


def test_a_name_given_twice_is_fetched_once(files: Files) -> None:
    assert fetch("bench-prompts", "prompts", "bench-prompts").exit_code == 0
    assert len(files.asked) == 1


def test_another_folder_is_told_how_to_be_used(files: Files, cache: Path, tmp_path: Path) -> None:
    result = fetch("bench", "--to", str(tmp_path / "a b" / "data"))
    assert result.exit_code == 0
    assert put(tmp_path / "a b" / "data") == ["bench/data.json"]
    assert f"--engram-data {tmp_path / 'a b' / 'data'}" in result.stdout
    assert not cache.exists()


def test_a_file_of_another_version_is_replaced_and_its_part_dropped(files: Files, cache: Path) -> None:
    (cache / "bench").mkdir(parents=True)
    (cache / "bench" / "data.json").write_bytes(b"an older version")
    (cache / "bench" / ".data.json.0123456789ab.part").write_bytes(b"half of a third")
    result = fetch("bench")
    assert "fetched in place of another version, the sha256 agrees" in result.stdout
    assert [p.name for p in (cache / "bench").iterdir()] == ["data.json"]
    assert (cache / "bench" / "data.json").read_bytes() == BIG


def test_wrong_content_is_not_kept_and_both_sums_are_told(files: Files, cache: Path) -> None:
    wrong = BIG[:-1] + b"!"
    files.content = dict.fromkeys(ADDRESSES, wrong)
    result = fetch("bench")
    assert result.exit_code == 1
    (line,) = told(result)
    assert BENCHMARK.sha256 in line
    assert hashlib.sha256(wrong).hexdigest() in line
    assert put(cache) == []
    assert len(files.asked) == 1


def test_a_login_page_in_place_of_the_file_is_not_kept(files: Files, cache: Path) -> None:
    files.content = dict.fromkeys(ADDRESSES, b"<html>please log in</html>")
    assert fetch("bench").exit_code == 1
    assert put(cache) == []


def test_a_part_that_does_not_fit_is_got_anew(files: Files, cache: Path) -> None:
    """It was cut from another content: the sum does not agree, and the whole is asked for once more."""
    part = cache / "bench" / f".data.json.{BENCHMARK.sha256[:12]}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 5000)
    result = fetch("bench")
    assert result.exit_code == 0, result.output
    assert [asked for _, asked in files.asked] == ["bytes=5000-", None]
    assert (cache / "bench" / "data.json").read_bytes() == BIG


def test_one_failure_leaves_the_others_fetched(files: Files, cache: Path) -> None:
    del files.content[next(iter(ADDRESSES))]
    result = fetch("all")
    assert result.exit_code == 1
    (line,) = told(result)
    assert line.startswith("not fetched: bench/data.json: ")
    assert "answers 404" in line
    assert put(cache) == ["bench/prompts.py"]


def test_a_cut_connection_leaves_no_half_file_and_the_next_call_goes_on(files: Files, cache: Path) -> None:
    files.cuts = [100_000, 0]
    result = fetch("bench")
    assert result.exit_code == 1
    (line,) = told(result)
    assert re.search(r"broke at \d[\d,]+ of 1,024,000 bytes", line)
    assert put(cache) == []
    files.asked.clear()
    assert fetch("bench").exit_code == 0
    (asked,) = [asked for _, asked in files.asked]
    assert asked is not None
    assert int(asked.removeprefix("bytes=").removesuffix("-")) > 90_000
    assert (cache / "bench" / "data.json").read_bytes() == BIG


def test_without_a_network_one_line_at_once(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ENGRAM_FETCH_MIRROR", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        started = time.monotonic()
        result = fetch("all")
    assert time.monotonic() - started < 5
    assert result.exit_code == 1
    (line,) = told(result)
    assert line.startswith("not fetched: bench/data.json, bench/prompts.py: 127.0.0.1:")
    assert line.endswith("could not be reached (Connection refused)")
    assert put(cache) == []


def test_the_hub_is_left_alone_where_it_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENGRAM_FETCH_MIRROR", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    result = fetch("bench")
    assert result.exit_code == 1
    assert told(result) == ["not fetched: bench/data.json: HF_HUB_OFFLINE is set, so the hub was not asked"]


def test_a_mirror_of_the_hub_is_asked(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    path = f"/hf/datasets/somebody/some/resolve/{'c' * 40}/bench/data.json"
    with Files({path: BIG}).serving() as files:
        monkeypatch.setenv("HF_ENDPOINT", f"{files.url}/hf")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        assert fetch("bench").exit_code == 0
    assert put(cache) == ["bench/data.json"]


def test_a_folder_that_can_t_be_written_is_told_in_one_line(files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = fetch("all", "--to", str(tmp_path / "file" / "data"))
    assert result.exit_code == 1
    (line,) = told(result)
    assert "can't be written (Not a directory); give --to a folder that can" in line


def test_a_disk_without_room_is_told_before_anything_is_asked(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil_usage(1000, 0, 1000))
    result = fetch("bench")
    assert result.exit_code == 1
    (line,) = told(result)
    assert line.endswith("1.0 MB are needed, 1.0 kB are free; give --to another")
    assert files.asked == []


def shutil_usage(*values: int) -> Any:
    import shutil

    return shutil._ntuple_diskusage(*values)  # type: ignore[attr-defined]


def outside(tmp_path: Path, files: Files, **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own, with the two small files as its table."""
    code = "from pytest_engram.suites import downloads; from pytest_engram.suites.downloads import Download; "
    code += f"downloads.TABLE = ({BENCHMARK!r}, {PROMPTS!r}); {COMMAND[2]}"
    environment = os.environ | {
        "ENGRAM_CACHE": str(tmp_path / "cache"),
        "ENGRAM_FETCH_MIRROR": f"{files.url}/m",
    }
    command = [sys.executable, "-c", code, "fetch", "bench"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, **options)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))


def test_a_disk_that_is_full_midway_is_told_in_one_line(files: Files, cache: Path, tmp_path: Path) -> None:
    """A limit on a file's size is what the operating system refuses as it refuses a full disk."""
    done = outside(tmp_path, files, preexec_fn=limited)
    _, error = done.communicate(timeout=60)
    assert done.returncode == 1
    (line,) = [line for line in error.splitlines() if line.startswith("not fetched")]
    assert "can't be written (File too large)" in line
    assert "Traceback" not in error
    assert put(cache) == []


def test_ctrl_c_keeps_what_came_and_the_next_call_goes_on(files: Files, cache: Path, tmp_path: Path) -> None:
    files.pause = 0.01
    running = outside(tmp_path, files)
    part = cache / "bench" / f".data.json.{BENCHMARK.sha256[:12]}.part"
    deadline = time.monotonic() + 60
    while not (part.is_file() and part.stat().st_size > 50_000):
        assert time.monotonic() < deadline, running.communicate()
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    output, error = running.communicate(timeout=30)
    assert running.returncode == 130
    assert re.search(r"stopped with [\d,]+ of 1,024,000 bytes; the same command goes on from there", output)
    assert "Traceback" not in error
    assert put(cache) == []
    came = part.stat().st_size
    assert came > 0
    assert part.read_bytes() == BIG[:came]
    files.pause = 0.0
    files.asked.clear()
    assert fetch("bench").exit_code == 0
    assert [asked for _, asked in files.asked] == [f"bytes={came}-"]
    assert (cache / "bench" / "data.json").read_bytes() == BIG


def test_two_at_once_fetch_it_once(files: Files, cache: Path, tmp_path: Path) -> None:
    files.pause = 0.001
    both = [outside(tmp_path, files) for _ in range(2)]
    with ThreadPoolExecutor() as pool:
        outputs = [future.result() for future in [pool.submit(one.communicate, timeout=90) for one in both]]
    assert [one.returncode for one in both] == [0, 0], outputs
    assert len(files.asked) == 1
    assert sorted("already here" in output for output, _ in outputs) == [False, True]
    assert (cache / "bench" / "data.json").read_bytes() == BIG


def test_who_waits_is_told(files: Files, cache: Path) -> None:
    from filelock import FileLock

    (cache / "bench").mkdir(parents=True)
    held = threading.Event()

    def another() -> None:
        with FileLock(cache / "bench" / ".data.json.lock"):
            held.set()
            time.sleep(0.5)

    with ThreadPoolExecutor() as pool:
        pool.submit(another)
        held.wait()
        result = fetch("bench")
    assert result.exit_code == 0, result.output
    assert "waiting for another `engram fetch` that is getting it" in result.stdout


def test_the_list_fetches_nothing_and_says_what_is_here(files: Files, cache: Path) -> None:
    (cache / "bench").mkdir(parents=True)
    (cache / "bench" / "prompts.py").write_bytes(SMALL)
    result = fetch("--list")
    assert result.exit_code == 0
    assert files.asked == []
    assert "no: `engram fetch bench` gets it" in result.stdout
    assert "yes: bench/prompts.py in the fetched data" in result.stdout
    (cache / "bench" / "prompts.py").write_bytes(SMALL[:-1])
    told = "yes, but not the pinned file (its sha256 differs): bench/prompts.py in the fetched data"
    assert told in fetch("--list").stdout
    for one in (BENCHMARK, PROMPTS):
        assert {one.licence, one.sha256, one.about} <= {part.strip() for part in re.split(r"\n|  +", result.stdout)}


@pytest.mark.parametrize("lacks", [False, True])
def test_prompts_are_known_by_the_sha256_of_each_text(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, files: Files, lacks: bool
) -> None:
    answers = json.loads((shared_data / "locomo" / "answer_prompts.json").read_text("utf-8"))
    judge = json.loads((shared_data / "locomo" / "judge_prompt.json").read_text("utf-8"))["judge"]
    texts = [answers[part] for part in answers["sha256"]] + [judge] * (not lacks)
    content = "".join(f"X{n} = {text!r}\n" for n, text in enumerate(texts)).encode()
    one = download("locomo-prompts", "locomo/task_eval/gpt_utils.py", content)
    monkeypatch.setattr(downloads, "TABLE", (one,))
    files.content = {f"/m/raw.githubusercontent.com/somebody/some/{'c' * 40}/{one.path}": content}
    result = fetch("prompts")
    if lacks:
        assert result.exit_code == 1
        (line,) = told(result)
        assert line.startswith("not fetched: locomo-prompts: the official text of judge is not here")
    else:
        assert result.exit_code == 0, result.output
        assert "locomo-prompts: all 5 official texts, by their sha256" in result.stdout


def test_usage(files: Files) -> None:
    nothing = fetch()
    assert (nothing.exit_code, files.asked) == (2, [])
    assert "`engram fetch --list`" in nothing.stderr
    unknown = fetch("bench", "lokomo")
    assert (unknown.exit_code, files.asked) == (2, [])
    assert "nothing is called lokomo; there are bench, bench-prompts, prompts, all" in unknown.stderr


def test_the_help_names_everything_with_its_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    shown = fetch("--help").stdout
    for name, group in downloads.groups().items():
        (line,) = re.findall(rf"^    {name} .*$", shown, re.MULTILINE)
        if name not in ("prompts", "all"):
            assert all(one.licence.partition(":")[0] in line for one in group)
    assert "ENGRAM_FETCH_MIRROR" in shown


def test_names_are_completed() -> None:
    environment = os.environ | {
        "_ENGRAM_COMPLETE": "bash_complete",
        "COMP_WORDS": "engram fetch locomo-",
        "COMP_CWORD": "2",
    }
    code = "from pytest_engram.cli.commands import main; main(prog_name='engram')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["plain,locomo-audit", "plain,locomo-prompts"]


def test_locomo_itself_comes_from_a_mirror(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, cache: Path, tmp_path: Path
) -> None:
    """The pinned sums and sizes are those of the official files."""
    monkeypatch.undo()
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    content = {
        "/raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/data/locomo10.json": (
            shared_data / "locomo" / "locomo10.json"
        ).read_bytes(),
        "/raw.githubusercontent.com/dial481/locomo-audit/9493fb4b4af4256ed17a18e8fd0b3cfdeec29539/errors.json": (
            shared_data / "locomo" / "audit" / "errors.json"
        ).read_bytes(),
    }
    with Files(content).serving() as files:
        monkeypatch.setenv("ENGRAM_FETCH_MIRROR", files.url)
        result = fetch("locomo", "locomo-audit")
    assert result.exit_code == 0, result.output
    assert put(cache) == ["locomo/audit/errors.json", "locomo/locomo10.json"]
