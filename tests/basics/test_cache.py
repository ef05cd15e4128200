"""Arrays that are computed once and then mapped."""

from __future__ import annotations

import multiprocessing
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pytest_engram.basics import sealed
from pytest_engram.basics.cache import CacheError, cache_dir, cached_arrays


def never():
    raise AssertionError("computed again")


def files(folder):
    return sorted(p for p in Path(folder).rglob("*") if p.is_file())


def test_computed_once_then_mapped_read_only(tmp_path):
    made = {
        "data": np.arange(12.0).reshape(3, 4),
        "where": np.array([1, 2]),
        "none": np.empty((0, 3)),
        "n": np.array(7),
    }
    first = cached_arrays(tmp_path / "indexes", "key", lambda: made)
    again = cached_arrays(tmp_path / "indexes", "key", never)
    for arrays in (first, again):
        assert list(arrays) == list(made)
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, made[name])
            assert array.dtype == made[name].dtype
            assert not array.flags.writeable
    assert cached_arrays(tmp_path / "indexes", "other", lambda: {"x": np.ones(1)})["x"] == 1


@given(
    array=hnp.arrays(
        st.sampled_from(["f4", "f8", "i8", "u1", "?", "U3", "c8"]), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)
    ),
    fortran=st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_any_plain_array_comes_back_as_it_was(tmp_path_factory, array, fortran):
    given_ = np.asarray(array, order="F" if fortran else "C")
    found = cached_arrays(tmp_path_factory.mktemp("c"), "k", lambda: {"any name / at all": given_})["any name / at all"]
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    np.testing.assert_array_equal(found, array)


def test_one_bit_anywhere_in_what_is_kept_is_noted_and_computed_again(tmp_path):
    made = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "y": np.arange(3)}
    cached_arrays(tmp_path, "key", lambda: made)
    sealed.noted()
    for path in files(tmp_path):
        whole = path.read_bytes()
        for at in range(len(whole)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            found = cached_arrays(tmp_path, "key", lambda: made)
            assert {name: array.dtype for name, array in found.items()} == {name: a.dtype for name, a in made.items()}
            for name, array in made.items():
                np.testing.assert_array_equal(found[name], array)
            # Only a header has bytes that say nothing, such as what fills it up.
            assert sealed.noted() or (path.suffix == ".npy" and at < 128), (path, at)
            path.write_bytes(whole)


@pytest.mark.parametrize("damage", ["cut", "empty", "flip", "header", "zip", "no array", "no list", "garbled list"])
def test_what_is_damaged_is_computed_again(tmp_path, damage):
    made = {"x": np.arange(5000, dtype=np.float32)}
    cached_arrays(tmp_path, "key", lambda: made)
    array, listing = tmp_path / "key" / "0.npy", tmp_path / "key" / "arrays.json"
    content = array.read_bytes()
    if damage == "cut":
        array.write_bytes(content[:-100])
    elif damage == "empty":
        array.write_bytes(b"")
    elif damage == "flip":
        array.write_bytes(content[:9000] + bytes([content[9000] ^ 1]) + content[9001:])
    elif damage == "header":
        array.write_bytes(content[:20] + b"\xff({[" + content[24:])
    elif damage == "zip":
        array.write_bytes(b"PK\x03\x04" + content[4:])
    elif damage == "no array":
        array.unlink()
    elif damage == "no list":
        listing.unlink()
    else:
        listing.write_text("[1, 2")
    calls = []
    found = cached_arrays(tmp_path, "key", lambda: calls.append(1) or made)
    np.testing.assert_array_equal(found["x"], made["x"])
    assert calls == [1]
    np.testing.assert_array_equal(cached_arrays(tmp_path, "key", never)["x"], made["x"])


def test_a_failed_computation_leaves_nothing(tmp_path):
    with pytest.raises(AssertionError, match="computed again"):
        cached_arrays(tmp_path, "key", never)
    with pytest.raises(ValueError, match="Object"):
        cached_arrays(tmp_path, "key", lambda: {"x": np.array([{}], dtype=object)})
    assert [p for p in files(tmp_path) if p.suffix != ".lock"] == []


def _slow(folder, calls):
    def compute():
        with calls.get_lock():
            calls.value += 1
        time.sleep(0.5)
        return {"x": np.arange(3)}

    assert list(cached_arrays(folder, "key", compute)["x"]) == [0, 1, 2]


def test_many_processes_compute_once(tmp_path):
    context = multiprocessing.get_context("fork")
    calls = context.Value("i", 0)
    workers = [context.Process(target=_slow, args=(tmp_path, calls)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert calls.value == 1
    assert not list(tmp_path.glob("*.tmp"))
    assert not list(tmp_path.glob("*.lock"))


def test_a_folder_that_can_not_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match=r"file.*can't be written \(.*\); set ENGRAM_CACHE"):
        cached_arrays(tmp_path / "file", "key", lambda: {"x": np.ones(1)})


def test_where_it_lies(monkeypatch, tmp_path):
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path))
    assert cache_dir() == tmp_path
    monkeypatch.delenv("ENGRAM_CACHE")
    assert cache_dir().name == "pytest-engram"
    shutil.rmtree(tmp_path)


def test_a_damaged_record_is_noted_once_and_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    sealed.keep(path, {"seconds": 0.5})
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6"))
    sealed.noted()
    assert sealed.recall(path) == {}
    assert sealed.noted() == [f"{path}: damaged in the cache; made anew"]
    assert not path.exists()
    assert sealed.recall(path) == {}
    assert sealed.noted() == []
