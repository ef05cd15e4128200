"""Data is looked for in a fixed order, fails within seconds where it can't be had, and says where it looked."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from harm import flip

from pytest_engram.basics import sealed
from pytest_engram.suites import downloads
from pytest_engram.suites import locations as data
from pytest_engram.suites.base import NotRun
from pytest_engram.suites.downloads import Download

SPLIT = data.HubSplit("ai-hyz/MemoryAgentBench", "Conflict_Resolution")
FILE = data.HubFile("somebody/some-data", "some_file.json")
ROWS = [{"context": "Heading\n0. Ünï ist blau.\n", "questions": ["Wer?"], "answers": [["Ünï"]]}]
RELATIVE = "memoryagentbench/Conflict_Resolution.json"


@pytest.fixture(autouse=True)
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Hugging Face cache, nothing fetched, and a hub that counts as offline."""
    from huggingface_hub import constants

    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "kept"))
    cache = tmp_path / "hf" / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for memo in (data._unreachable, data._read_json, data._read_parquet):
        memo.cache_clear()
    return cache


def snapshot(cache: Path, repo: str, revision: str, main: bool = True) -> Path:
    """A cached revision in the hub's own layout."""
    home = cache / f"datasets--{repo.replace('/', '--')}"
    folder = home / "snapshots" / revision
    folder.mkdir(parents=True)
    if main:
        (home / "refs").mkdir(exist_ok=True)
        (home / "refs" / "main").write_text(revision)
    return folder


def write_parquet(folder: Path, rows: list[dict[str, Any]], shards: int = 1) -> None:
    import pyarrow
    import pyarrow.parquet

    (folder / "data").mkdir(parents=True)
    for shard in range(shards):
        name = f"{SPLIT.split}-{shard:05d}-of-{shards:05d}.parquet"
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows[shard::shards]), folder / "data" / name)


def write_json(folder: Path, text: str) -> Path:
    path = folder / RELATIVE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return folder


class TestFolders:
    def test_given_then_fetched_without_what_is_not_there(self, tmp_path: Path) -> None:
        given, fetched = tmp_path / "given", tmp_path / "kept" / "fetched"
        assert data.fetched() == fetched
        assert data.folders(None) == data.folders(given) == []
        fetched.mkdir(parents=True)
        assert data.folders(None) == data.folders(given) == [fetched]
        given.mkdir()
        assert data.folders(given) == [given, fetched]

    def test_every_file_by_folder_and_then_by_name(self, tmp_path: Path) -> None:
        given, fetched = tmp_path / "given", tmp_path / "kept" / "fetched"
        for folder, name in ((given, "b/2.py"), (fetched, "a.json"), (fetched, "b/1.py"), (fetched, "b/2.py")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("")
        assert list(data.found(["b/*.py", "a.json", "c"], given)) == [
            (given / "b/2.py", "b/2.py in --engram-data"),
            (fetched / "b/1.py", "b/1.py in the fetched data"),
            (fetched / "b/2.py", "b/2.py in the fetched data"),
            (fetched / "a.json", "a.json in the fetched data"),
        ]


class TestLocate:
    @pytest.mark.parametrize("at", [0, 0.5, 1])
    def test_a_fetched_file_that_was_damaged_is_not_used_and_noted_with_the_cure(
        self, tmp_path: Path, hub_cache: Path, monkeypatch: pytest.MonkeyPatch, at: float
    ) -> None:
        pinned = Download(
            "bench", "a", "b/some.json", "hub", "o/n", "c", "p", 4, hashlib.sha256(b"data").hexdigest(), "MIT"
        )
        monkeypatch.setattr(downloads, "TABLE", (pinned,))
        path = data.fetched() / "b" / "some.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"data")
        sealed.noted()
        assert data.locate("b/some.json", None) == (path, "b/some.json in the fetched data")
        assert sealed.noted() == []
        flip(path, at)
        (snapshot(hub_cache, FILE.repo, "abc") / FILE.filename).write_text("cached")
        for _ in range(2):
            found, origin = data.locate("b/some.json", None, FILE)
            assert (found.read_text(), origin) == ("cached", f"{FILE} in the Hugging Face cache")
        with pytest.raises(NotRun, match="`engram fetch bench`"):
            data.locate("b/some.json", None)
        assert sealed.noted() == [
            f"{path}: not what was fetched (its sha256 differs), and not used; `engram fetch bench` gets it anew"
        ]
        assert data.altered(pinned, None)
        # The same file where the user put it is the user's own.
        given = tmp_path / "given" / "b" / "some.json"
        given.parent.mkdir(parents=True)
        given.write_bytes(path.read_bytes())
        assert data.locate("b/some.json", tmp_path / "given") == (given, "b/some.json in --engram-data")
        assert sealed.noted() == []

    def test_fetched_comes_before_the_cache(self, tmp_path: Path, hub_cache: Path) -> None:
        (snapshot(hub_cache, FILE.repo, "abc") / FILE.filename).write_text("cached")
        data.fetched().mkdir(parents=True)
        (data.fetched() / "some.json").write_text("fetched")
        path, origin = data.locate("some.json", tmp_path, FILE)
        assert (path.read_text(), origin) == ("fetched", "some.json in the fetched data")

    def test_folder_comes_first(self, tmp_path: Path, hub_cache: Path) -> None:
        (snapshot(hub_cache, FILE.repo, "abc") / FILE.filename).write_text("cached")
        (tmp_path / "some.json").write_text("own")
        path, origin = data.locate(["old_name.json", "some.json"], tmp_path, FILE)
        assert (path.read_text(), origin) == ("own", "some.json in --engram-data")

    def test_cache_comes_second(self, tmp_path: Path, hub_cache: Path) -> None:
        (snapshot(hub_cache, FILE.repo, "abc") / FILE.filename).write_text("cached")
        path, origin = data.locate("some.json", tmp_path, FILE)
        assert path.read_text() == "cached"
        assert origin == "somebody/some-data (some_file.json) in the Hugging Face cache"

    def test_revision_of_main_is_taken(self, hub_cache: Path) -> None:
        (snapshot(hub_cache, FILE.repo, "bbb") / FILE.filename).write_text("main")
        (snapshot(hub_cache, FILE.repo, "aaa", main=False) / FILE.filename).write_text("newer, but not main")
        assert data.locate("x", None, FILE)[0].read_text() == "main"

    def test_cache_without_a_ref_is_found(self, hub_cache: Path) -> None:
        (snapshot(hub_cache, FILE.repo, "aaa", main=False) / FILE.filename).write_text("by commit")
        assert data.locate("x", None, FILE)[0].read_text() == "by commit"

    def test_interrupted_download_is_not_taken(self, hub_cache: Path) -> None:
        (snapshot(hub_cache, FILE.repo, "abc") / FILE.filename).symlink_to(hub_cache / "no-such-blob")
        with pytest.raises(NotRun):
            data.locate("x", None, FILE)

    def test_former_name_on_the_hub_is_tried(self, hub_cache: Path) -> None:
        former = data.HubFile("somebody/former", "f.json")
        (snapshot(hub_cache, former.repo, "abc") / former.filename).write_text("former")
        assert data.locate("x", None, FILE, former)[0].read_text() == "former"

    def test_downloaded_once_the_hub_answers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import huggingface_hub

        asked: list[tuple[Any, ...]] = []

        def download(repo: str, filename: str, *, repo_type: str) -> str:
            asked.append((repo, filename, repo_type))
            (tmp_path / filename).write_text("fetched")
            return str(tmp_path / filename)

        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda *_args, **_options: None)
        monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
        path, origin = data.locate("x", None, FILE)
        assert (path.read_text(), origin) == ("fetched", f"{FILE} from the Hugging Face hub")
        assert asked == [("somebody/some-data", "some_file.json", "dataset")]


class TestReasons:
    def test_every_place_and_the_cure_are_named_without_absolute_path(self, tmp_path: Path) -> None:
        with pytest.raises(NotRun) as told:
            data.locate(["a/b.json", "a/c.json"], tmp_path, FILE)
        assert str(told.value) == (
            "no a/b.json or a/c.json in --engram-data or fetched; somebody/some-data (some_file.json) not in the "
            "Hugging Face cache; HF_HUB_OFFLINE is set, so the hub was not asked. Cure: give --engram-data DIR with "
            "DIR/a/b.json, or run once where the Hugging Face hub can be reached"
        )

    def test_file_that_is_not_on_the_hub(self) -> None:
        with pytest.raises(NotRun) as told:
            data.locate("prompts.json", None)
        assert str(told.value) == (
            "no --engram-data given, nothing fetched. Cure: give --engram-data DIR with DIR/prompts.json"
        )

    def test_what_can_be_fetched_is_named_in_the_cure(self, tmp_path: Path) -> None:
        with pytest.raises(NotRun) as told:
            data.rows(RELATIVE, tmp_path, SPLIT)
        assert str(told.value).endswith(
            f"Cure: `engram fetch factconsolidation`, or give --engram-data DIR with DIR/{RELATIVE}, "
            "or run once where the Hugging Face hub can be reached"
        )

    def test_unreachable_hub_is_asked_once_and_fails_within_seconds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a resolver that knows no name: what an offline machine has."""
        import socket

        from huggingface_hub import constants

        asked: list[str] = []

        def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
            asked.append(str(host))
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        start = time.monotonic()
        counts = []
        for _ in range(4):
            with pytest.raises(NotRun, match="the hub could not be reached for ai-hyz/MemoryAgentBench"):
                data.rows(RELATIVE, None, SPLIT)
            counts.append(len(asked))
        assert time.monotonic() - start < 5
        assert counts[0] >= 1
        assert counts == counts[:1] * 4

    def test_failed_download_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import huggingface_hub

        def refuse(*args: Any, **kwargs: Any) -> str:
            raise PermissionError(13, "Permission denied", "/secret/place")

        monkeypatch.setattr(data, "_unreachable", lambda _repo: None)
        monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
        with pytest.raises(NotRun, match=r"could not be fetched \(PermissionError: Permission denied\)") as told:
            data.locate("x", None, FILE)
        assert "/secret" not in str(told.value)


class TestWhence:
    DOWNLOAD = Download(
        "n",
        "about",
        "a/b.py",
        "hub",
        "somebody/some-data",
        "c" * 40,
        "some_file.json",
        1,
        "0" * 64,
        "MIT",
        ("a/b.json",),
    )

    def test_a_folder_before_the_cache_and_nowhere_is_none(self, tmp_path: Path, hub_cache: Path) -> None:
        assert data.whence(self.DOWNLOAD, tmp_path) is None
        (snapshot(hub_cache, FILE.repo, "abc") / FILE.filename).write_text("cached")
        assert data.whence(self.DOWNLOAD, tmp_path) == f"{FILE} in the Hugging Face cache"
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b.json").write_text("the same in another form")
        assert data.whence(self.DOWNLOAD, tmp_path) == "a/b.json in --engram-data"

    def test_what_is_not_on_the_hub_is_not_looked_for_there(self, hub_cache: Path) -> None:
        (snapshot(hub_cache, FILE.repo, "abc") / FILE.filename).write_text("cached")
        assert data.whence(dataclasses.replace(self.DOWNLOAD, site="github"), None) is None

    def test_altered_goes_by_the_sha256_of_the_file_that_is_pinned(self, tmp_path: Path, hub_cache: Path) -> None:
        # FIPS 180-2's example.
        pinned = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        download = dataclasses.replace(self.DOWNLOAD, size=3, sha256=pinned)
        assert not data.altered(download, tmp_path)  # nothing is here
        cached = snapshot(hub_cache, FILE.repo, "abc") / FILE.filename
        cached.write_text("abc")
        assert not data.altered(download, tmp_path)
        cached.write_text("ab")
        assert data.altered(download, tmp_path)
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b.json").write_text("the same in another form")
        assert not data.altered(download, tmp_path)
        (tmp_path / "a" / "b.py").write_text("abd")
        assert data.altered(download, tmp_path)


class TestRows:
    def test_json_in_the_folder(self, tmp_path: Path, hub_cache: Path) -> None:
        write_parquet(snapshot(hub_cache, SPLIT.repo, "abc"), [{"context": "other"}])
        found = data.rows(RELATIVE, write_json(tmp_path, json.dumps(ROWS)), SPLIT)
        assert found == data.Rows(ROWS, f"{RELATIVE} in --engram-data")

    @pytest.mark.parametrize("shards", [1, 2])
    def test_the_hub_s_own_files_in_a_folder(
        self, hub_cache: Path, shards: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Which is what `engram fetch factconsolidation` puts there, at the commit that is pinned."""
        monkeypatch.setattr(downloads, "TABLE", ())
        rows = [dict(ROWS[0], number=n) for n in range(2)]
        write_parquet(data.fetched(), rows, shards)
        (data.fetched() / "data").rename(data.fetched() / "memoryagentbench")
        first = f"memoryagentbench/{SPLIT.split}-00000-of-0000{shards}.parquet"
        assert data.rows(RELATIVE, None, SPLIT) == data.Rows(rows, f"{first} in the fetched data")

    def test_damaged_file_in_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "memoryagentbench").mkdir()
        (tmp_path / "memoryagentbench" / f"{SPLIT.split}-00000-of-00001.parquet").write_bytes(b"PAR1 cut short")
        with pytest.raises(NotRun, match=r"00001.parquet in --engram-data can't be read .*; delete it there"):
            data.rows(RELATIVE, tmp_path, SPLIT)

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        assert data.rows(RELATIVE, write_json(tmp_path, "\ufeff[]"), SPLIT).rows == []

    def test_changed_file_is_read_again(self, tmp_path: Path) -> None:
        write_json(tmp_path, "[1]")
        assert data.rows(RELATIVE, tmp_path, SPLIT).rows == [1]
        write_json(tmp_path, "[1, 2]")
        assert data.rows(RELATIVE, tmp_path, SPLIT).rows == [1, 2]

    @pytest.mark.parametrize("shards", [1, 2])
    def test_hub_cache(self, hub_cache: Path, shards: int) -> None:
        rows = [dict(ROWS[0], number=n) for n in range(2)]
        write_parquet(snapshot(hub_cache, SPLIT.repo, "abc"), rows, shards)
        found = data.rows(RELATIVE, None, SPLIT)
        assert found == data.Rows(rows, f"{SPLIT} in the Hugging Face cache")

    def test_hub_through_datasets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """`datasets` reads a local folder in the hub's layout as it reads the hub."""
        monkeypatch.setattr(data, "_unreachable", lambda _repo: None)
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
        write_parquet(tmp_path / "repo", ROWS)
        (tmp_path / "repo" / "data" / "Other-00000-of-00001.parquet").write_bytes(b"another split, never read")
        found = data.rows(RELATIVE, None, data.HubSplit(str(tmp_path / "repo"), SPLIT.split))
        assert found.rows == ROWS
        assert found.origin.endswith("from the Hugging Face hub")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("[{", r"is not JSON \(line 1: "),
            ("", r"is not JSON \(line 1: "),
            ('{"a": 1}', "must be a list of rows, but is a dict"),
            (f"[{'9' * 6000}]", "can't be read: Exceeds the limit"),
            ("[" * 100_000, "is nested too deeply"),
        ],
    )
    def test_malformed_json_names_the_file_and_the_cure(self, tmp_path: Path, text: str, problem: str) -> None:
        with pytest.raises(NotRun, match=rf"^{RELATIVE} in --engram-data {problem}.*; fetch it again$"):
            data.rows(RELATIVE, write_json(tmp_path, text), SPLIT)

    def test_not_utf8(self, tmp_path: Path) -> None:
        write_json(tmp_path, "").joinpath(RELATIVE).write_bytes(b'["\xff"]')
        with pytest.raises(NotRun, match="is not UTF-8 text"):
            data.rows(RELATIVE, tmp_path, SPLIT)

    def test_damaged_parquet(self, hub_cache: Path) -> None:
        folder = snapshot(hub_cache, SPLIT.repo, "abc")
        (folder / "data").mkdir()
        (folder / "data" / f"{SPLIT.split}-00000-of-00001.parquet").write_bytes(b"PAR1 cut short")
        with pytest.raises(NotRun, match=r"can't be read .*; delete it there, so that it is fetched again"):
            data.rows(RELATIVE, None, SPLIT)
