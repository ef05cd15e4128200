"""What a memory of any size costs, from the measured curves: `python -m benchmarks.scale [--core-hour USD] ...`.

The curves are those of `growth.py` and of embedding, measured once (`docs/scale.md` says when and on what) and written
down here. What they are multiplied with is the size of a benchmark. Nothing is measured when this runs.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

from tabulate import tabulate

DIMENSIONS = 384
NEIGHBOURS = 10
# Of one core: bge-small-en-v1.5, 21,035 texts of 17 tokens in 152 s on two cores.
EMBEDDING = 2 * 152 / (21_035 * 17)  # seconds a token
BUILD = 68.1 / 100_000**2  # seconds a pair of entries, at 100,000
WRITE = 0.0394 / 100_000  # seconds a new entry and an entry that is there
DENSE = 0.168 / 1_000_000  # seconds a query and entry, at a million
BM25 = 0.0223 / 1_000_000
POSTINGS = 344 * 2**20 / 1_000_000 / 12  # bytes a word of an entry
WINDOW = 512  # tokens that the encoder reads of an entry


class Memory(NamedTuple):
    """Haystacks of one size: how many, of how many entries, of how many tokens each; and questions over each."""

    name: str
    haystacks: int
    entries: int
    tokens: int
    questions: int


MEMORIES = (
    Memory("LongMemEval_M, sessions", 500, 500, 3_000, 1),
    Memory("BEAM, one conversation of 10M tokens", 1, 50_000, 200, 20),
    Memory("a million entries", 1, 1_000_000, 17, 100),
    Memory("a hundred million entries", 1, 100_000_000, 17, 100),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="What a memory of any size costs.")
    parser.add_argument("--core-hour", type=float, default=0.04, help="price of a core for an hour (0.04)")
    parser.add_argument(
        "--million-tokens", type=float, default=0.02, help="price of embedding a million elsewhere (0.02)"
    )
    options = parser.parse_args()
    lines = [_line(memory, options.core_hour, options.million_tokens) for memory in MEMORIES]
    headers = [
        "memory",
        "embedding",
        "or elsewhere",
        "support",
        "a write",
        "Dense query",
        "BM25 query",
        "memory",
        "money",
    ]
    print(tabulate(lines, headers=headers, tablefmt="github", disable_numparse=True))


def _line(memory: Memory, core_hour: float, million_tokens: float) -> list[str]:
    read = min(memory.tokens, WINDOW) * memory.entries * memory.haystacks
    embedding = read * EMBEDDING
    support = BUILD * memory.entries**2 * memory.haystacks
    asked = (DENSE + BM25) * memory.entries * memory.questions * memory.haystacks
    vectors, near = 4 * DIMENSIONS * memory.entries, 16 * NEIGHBOURS * memory.entries
    words = POSTINGS * min(memory.tokens, 400) * memory.entries  # a long text repeats its words
    money = (embedding + support + asked) / 3600 * core_hour
    return [
        memory.name,
        _time(embedding),
        f"{read / 1e6 * million_tokens:,.2f} USD",
        _time(support),
        _time(WRITE * memory.entries),
        _time(DENSE * memory.entries),
        _time(BM25 * memory.entries),
        f"{(vectors + near + words) / 2**30:,.3g} GiB",
        f"{money:,.2f} USD",
    ]


def _time(seconds: float) -> str:
    """Of one core."""
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds * 1000:,.2g} ms"


if __name__ == "__main__":
    main()
