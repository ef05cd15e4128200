"""The benchmarks' official prompts: whose, which parts, and the sha256 that tells that a text is one of them.

None of them is part of this package. A part is looked for among the texts of the files below, JSON or Python (parsed
as literals and never executed), in each folder of data; what has its sha256 is it, whatever the file calls it.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_engram.suites import downloads

# By benchmark, the sha256 of the UTF-8 text of each part.
SHA256: dict[str, dict[str, str]] = {
    # MemoryAgentBench (Hu et al., 2025), utils/templates.py; MIT.
    "factconsolidation": {
        "rag_agent": "ca4ea130355adab357ce8cd00bb11c1cdbe7cb945454764a66f1ac7f692f501d",
        "system": "fbb5a811635de72d10075fa9ef51c69e6e33b8ea4ed5fbfd193526910de6a2a5",
    },
    # snap-research/locomo, task_eval/gpt_utils.py (CC BY-NC 4.0); `judge`: mem0ai/mem0 (Apache-2.0), with which
    # LoCoMo's results are commonly published.
    "locomo": {
        "answer": "a30fe18a6c9b58c5d22b6188860e5a99cdfef33fcc8a36141b571d954b9b0266",
        "answer category 5": "57005b715f4c2a7c848ab0d7829037afd08d5bb68ba626e4f5a83e8493104986",
        "suffix category 2": "dae3c8b7fe10cf0fdc3b3e062dae355dad2af77e82b78fe90cb67426f2a927fe",
        "suffix category 5": "768d9890ca3a9aba6d2665dd44ac6e9822502677abf5a1e05f27e7ad8525b854",
        "judge": "62395dd312a631dfd9355026a0b69cc936018274c3198b6365b5c2a5c9bca9e0",
    },
    # xiaowu0162/LongMemEval, src/evaluation/evaluate_qa.py and src/generation/run_generation.py; MIT.
    "longmemeval": {
        "single-session-user, single-session-assistant, multi-session": (
            "fba020ba3d57982efdc9a937c1c01f897b789a608c7f88e60244121f6505e5bc"
        ),
        "temporal-reasoning": "8d33a5fdd83afeeb4592454a965eab43d1fcb2dedc042d1d3892f4254be6c273",
        "knowledge-update": "183a9b3a6197ec620940f610cdc1207201ec98c1113dd633ea685cfc322fafac",
        "single-session-preference": "741ee3bcbea7ff5e8ed359acef61d2f8ded3de021bbcff6ee13de455f2e2aa9b",
        "abstention": "5c0b365a1e1d06db36377c735432b56e122ca3c428f89faf61d43a0d5a7e050b",
        "answer step by step": "9e2b3110622929ab896696dd8937231c7436740ec3b9586f653f97346e19ab2c",
        "answer direct": "e427ff913456e51a132ec865b1b5038d562bdc36890976943ad421cc9b365c9d",
    },
}

# Where else than where `engram fetch` puts them, and the places beside those.
_ELSEWHERE = {
    "factconsolidation": ("prompts.json", "memoryagentbench/utils/templates.py", "utils/templates.py"),
}


@dataclass(frozen=True, slots=True)
class Texts:
    """What was found of a benchmark's official prompts.

    Attributes:
        texts: by part, to the last character; only those whose sha256 agrees.
        source: where they are, in words that may stand in a report; empty where there is none.
        problem: what is missing, and why; empty where all are there.
    """

    texts: Mapping[str, str]
    source: str
    problem: str


def files(benchmark: str) -> list[str]:
    """The names of the files that may hold a benchmark's prompts, in the folders of data."""
    wanted = [d for d in downloads.TABLE if d.name == f"{benchmark}-prompts"]
    fetched = [name for d in wanted for name in (*d.also, d.file)]
    return list(dict.fromkeys([*fetched, *_ELSEWHERE.get(benchmark, ())]))


def find(benchmark: str, data: Path | None, parts: Collection[str] | None = None) -> Texts:
    """A benchmark's official prompts, as far as they are on this machine.

    Args:
        benchmark: of `SHA256`.
        data: the folder of `--engram-data`, if any.
        parts: those that are needed; None: all.
    """
    from pytest_engram.suites import locations  # only now: NumPy, which a run without a model may do without

    wanted = {digest: part for part, digest in SHA256[benchmark].items() if parts is None or part in parts}
    texts: dict[str, str] = {}
    sources: list[str] = []
    reasons: list[str] = []
    for path, origin in locations.found(files(benchmark), data):
        try:
            held = {wanted[digest]: text for text in _strings(path) if (digest := sha256(text)) in wanted}
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            reasons.append(f"{origin} can't be read")
            continue
        if not held:
            reasons.append(f"{origin} holds no official text")
        elif not held.keys() <= texts.keys():
            sources.append(origin)
            texts = held | texts
    lacks = [part for part in wanted.values() if part not in texts]
    if not lacks:
        return Texts(texts, " and ".join(sources), "")
    what = "the official prompt" if len(lacks) == len(wanted) else f"the official text of {' and of '.join(lacks)}"
    where = "; ".join(reasons) or f"no {files(benchmark)[0]} in --engram-data or fetched"
    cure = f"`engram fetch {benchmark}-prompts`"
    return Texts(texts, " and ".join(sources), f"{what} is not here ({where}); {cure}")


def sha256(text: str) -> str:
    """Of its UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _strings(path: Path) -> Iterator[str]:
    """All texts of a JSON file, or all that stand in a Python file, which is not executed."""
    content = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".json":
        yield from _inner(json.loads(content))
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _inner(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _inner(inner)
