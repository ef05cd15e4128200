"""What `engram fetch` can get, each file at one commit of its source: content that can't change.

Nothing of it is part of this package. The sizes and sha256 are those of the files at that commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

MIT = "MIT"
APACHE = "Apache-2.0"
NON_COMMERCIAL = "CC BY-NC 4.0: name the source, and no commercial use"


@dataclass(frozen=True, slots=True)
class Download:
    """One file of a public repository.

    Attributes:
        name: what `engram fetch` takes; several files may share one.
        about: what it is, in a few words.
        file: its place in the folder that it is put into, the one where readers of data look for it.
        site: where the repository is: on GitHub, or among the datasets of the Hugging Face hub.
        repo: "owner/name".
        commit: 40 hex digits.
        path: its place in the repository.
        size: bytes.
        sha256: of its bytes, in hex.
        licence: in words.
        also: other places of a data folder that hold the same, in this form or another.
    """

    name: str
    about: str
    file: str
    site: Literal["github", "hub"]
    repo: str
    commit: str
    path: str
    size: int
    sha256: str
    licence: str
    also: tuple[str, ...] = ()

    def url(self, hub: str = "https://huggingface.co") -> str:
        """Where it is, at its commit; `hub` is the Hugging Face hub, or a mirror of it."""
        if self.site == "hub":
            return f"{hub.rstrip('/')}/datasets/{self.repo}/resolve/{self.commit}/{self.path}"
        return f"https://raw.githubusercontent.com/{self.repo}/{self.commit}/{self.path}"


_LOCOMO = "3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376"
_LONGMEMEVAL = "9e0b455f4ef0e2ab8f2e582289761153549043fc"

TABLE = (
    Download(
        name="locomo",
        about="LoCoMo: ten conversations and their questions",
        file="locomo/locomo10.json",
        site="github",
        repo="snap-research/locomo",
        commit=_LOCOMO,
        path="data/locomo10.json",
        size=2_805_274,
        sha256="79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
        licence=NON_COMMERCIAL,
    ),
    Download(
        name="locomo-audit",
        about="the errors that a public audit found in LoCoMo's answer key",
        file="locomo/audit/errors.json",
        site="github",
        repo="dial481/locomo-audit",
        commit="9493fb4b4af4256ed17a18e8fd0b3cfdeec29539",
        path="errors.json",
        size=150_552,
        sha256="f298ef46263fada20688a1d672be37d4f488c6da3b19343eea55ae5c1b5fe55e",
        licence=NON_COMMERCIAL,
    ),
    Download(
        name="locomo-prompts",
        about="LoCoMo's prompts for an answer",
        file="locomo/task_eval/gpt_utils.py",
        site="github",
        repo="snap-research/locomo",
        commit=_LOCOMO,
        path="task_eval/gpt_utils.py",
        size=15_800,
        sha256="5fc977375878199735acd28fba5ae6f4d657fa0e000c0d2918a90c07b6035793",
        licence=NON_COMMERCIAL,
        also=("locomo/answer_prompts.json",),
    ),
    Download(
        name="locomo-prompts",
        about="the judge's prompt with which LoCoMo's results are commonly published",
        file="mem0/evaluation/metrics/llm_judge.py",
        site="github",
        repo="mem0ai/mem0",
        commit="b3ede5b7c0ac0e847b03786a603c107ac943b3ee",
        path="evaluation/metrics/llm_judge.py",
        size=4_872,
        sha256="ac2e242f6ea0b817ba1b229ff9e5271f6846b7b8a9aefa8a5a5a81ea58df3b3c",
        licence=APACHE,
        also=("locomo/judge_prompt.json",),
    ),
    Download(
        name="factconsolidation",
        about="FactConsolidation: the conflict-resolution split of MemoryAgentBench",
        file="memoryagentbench/Conflict_Resolution-00000-of-00001.parquet",
        site="hub",
        repo="ai-hyz/MemoryAgentBench",
        commit="7ea066982b140a19337e17e60d45d4076e042faf",
        path="data/Conflict_Resolution-00000-of-00001.parquet",
        size=1_491_588,
        sha256="24d5c3f09ce0ce15625cb9f8a98f44f0d864ca6c94d7b4ad04eb697ca3a5ff45",
        licence=MIT,
        also=("memoryagentbench/Conflict_Resolution.json",),
    ),
    Download(
        name="factconsolidation-prompts",
        about="MemoryAgentBench's prompts",
        file="MemoryAgentBench/utils/templates.py",
        site="github",
        repo="HUST-AI-HYZ/MemoryAgentBench",
        commit="fe1735de8cf8b9908e1e3d3b5612afc815698062",
        path="utils/templates.py",
        size=11_961,
        sha256="148c40d48d19f155ae845482c4417ba59cfa7ae4e194019509e023bd3a8755dd",
        licence=MIT,
        also=("memoryagentbench/prompts.json",),
    ),
    Download(
        name="longmemeval",
        about="LongMemEval_S, cleaned: 500 questions, each with its history",
        file="longmemeval/longmemeval_s_cleaned.json",
        site="hub",
        repo="xiaowu0162/longmemeval-cleaned",
        commit="98d7416c24c778c2fee6e6f3006e7a073259d48f",
        path="longmemeval_s_cleaned.json",
        size=277_383_467,
        sha256="d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
        licence=MIT,
    ),
    Download(
        name="longmemeval-prompts",
        about="LongMemEval's prompts for a judge",
        file="longmemeval/src/evaluation/evaluate_qa.py",
        site="github",
        repo="xiaowu0162/LongMemEval",
        commit=_LONGMEMEVAL,
        path="src/evaluation/evaluate_qa.py",
        size=7_436,
        sha256="ecce9c4c79dc89d99534ac17b383a5cbb5b9f0c69ee98adaf0684742e3d95251",
        licence=MIT,
        also=("longmemeval/prompts.json",),
    ),
    Download(
        name="longmemeval-prompts",
        about="LongMemEval's prompts for an answer",
        file="longmemeval/src/generation/run_generation.py",
        site="github",
        repo="xiaowu0162/LongMemEval",
        commit=_LONGMEMEVAL,
        path="src/generation/run_generation.py",
        size=21_608,
        sha256="4f1eb3c69d7ad40f04065b9c0bc86f6582441018fc6ff751d162d66c95baf672",
        licence=MIT,
        also=("longmemeval/prompts.json",),
    ),
)


def groups() -> dict[str, list[Download]]:
    """The files behind each word that `engram fetch` takes: every name, `prompts` and `all`."""
    known: dict[str, list[Download]] = {}
    for download in TABLE:
        known.setdefault(download.name, []).append(download)
    known["prompts"] = [download for download in TABLE if download.name.endswith("-prompts")]
    known["all"] = list(TABLE)
    return known


def names_of(files: Iterable[str]) -> list[str]:
    """The names under which one of these places of a data folder can be fetched."""
    wanted = set(files)
    return list(dict.fromkeys(d.name for d in TABLE if wanted & {d.file, *d.also}))
