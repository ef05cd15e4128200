"""What a reader is asked: the official prompt where it can be had and its sha256 agree, else wording of our own.

The templates are MemoryAgentBench's for FactConsolidation (Hu et al., 2025), query of `rag_agent` and system message.
They are no part of this package: they are read from `prompts.json` in the data folder or from a checkout of the
benchmark there, whose `utils/templates.py` is parsed as literals and never executed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHA256 = {
    "rag_agent": "ca4ea130355adab357ce8cd00bb11c1cdbe7cb945454764a66f1ac7f692f501d",
    "system": "fbb5a811635de72d10075fa9ef51c69e6e33b8ea4ed5fbfd193526910de6a2a5",
}
FILES = (
    "memoryagentbench/prompts.json",
    "prompts.json",
    "MemoryAgentBench/utils/templates.py",
    "memoryagentbench/utils/templates.py",
    "utils/templates.py",
)
TASK = "factconsolidation"
QUESTION = "{question}"

OWN_SYSTEM = "You answer questions from a list of remembered facts, and from nothing else."
OWN_QUERY = (
    "The memories above are numbered facts. Where two of them contradict each other, the one with the larger number "
    "holds. Answer the question from these facts alone, even where they differ from what you know, in as few words "
    "as possible.\n\nQuestion: {question}\nAnswer:"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system message and a template for the question, which holds `{question}`; `source` says where they are from."""

    system: str
    query: str
    source: str

    @property
    def sha256(self) -> dict[str, str]:
        """Of the UTF-8 text of both parts, in hex, by the benchmark's names for them."""
        return {"rag_agent": _sha256(self.query), "system": _sha256(self.system)}

    @property
    def official(self) -> bool:
        """Whether both are the benchmark's, to the last character."""
        return self.sha256 == SHA256

    @property
    def label(self) -> str:
        """How a table names it."""
        return "official prompt" if self.official else "our own prompt, not the official one"

    def describe(self) -> dict[str, Any]:
        """For a manifest, as JSON."""
        return {"label": self.label, "official": self.official, "sha256": self.sha256, "source": self.source}

    def messages(self, question: str, texts: Sequence[str]) -> list[dict[str, str]]:
        r"""The messages of one question: each text under its `Memory 1:`, in the given order, then the query.

        The layout is that of the benchmark's RAG agents (`agent.py`): the numbered memories joined by line breaks, a
        line break, the query.
        """
        memories = [f"Memory {number}:\n{text}" for number, text in enumerate(texts, 1)]
        query = self.query.replace(QUESTION, question)
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": "\n".join([*memories, query])},
        ]


def find(data: Path | None) -> Prompt:
    """The official prompt out of the data folder; where that has none, or another text, our own."""
    reasons = []
    for name in FILES if data is not None else ():
        path = data / name  # type: ignore[operator]
        if not path.is_file():
            continue
        try:
            system, query = _of_json(path) if path.suffix == ".json" else _of_python(path)
        except (OSError, SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError):
            reasons.append(f"{name} in --engram-data has no {TASK} templates that can be read")
            continue
        prompt = Prompt(system, query, f"{name} in --engram-data")
        if prompt.official:
            return prompt
        differs = " and ".join(part for part, digest in prompt.sha256.items() if digest != SHA256[part])
        reasons.append(f"{name} in --engram-data is not official (sha256 of {differs} differs)")
    if not reasons:
        where = "in --engram-data" if data is not None else "without --engram-data"
        reasons = [f"no {FILES[0]} and no checkout of MemoryAgentBench {where}"]
    return Prompt(OWN_SYSTEM, OWN_QUERY, f"pytest-engram; {'; '.join(reasons)}")


def parse_answer(text: str) -> str:
    """The answer in a model's text: what follows `Answer:` where the model repeats it, else the text.

    As in the benchmark's `parse_output`, the first `Answer:` counts, and its case does not. Where nothing follows it,
    the text is taken as it is.
    """
    repeated = re.search(r"\banswer:\s*(?P<answer>\S.*)", text, re.IGNORECASE | re.DOTALL)
    return (repeated["answer"] if repeated else text).strip()


def _of_json(path: Path) -> tuple[str, str]:
    templates = json.loads(path.read_text(encoding="utf-8-sig"))[TASK]
    return _texts(templates["system"], templates["rag_agent"])


def _of_python(path: Path) -> tuple[str, str]:
    for value in _literals(ast.parse(path.read_text(encoding="utf-8-sig"))):
        if isinstance(value, dict) and TASK in value:
            templates = value[TASK]
            return _texts(templates["system"], templates["query"]["rag_agent"])
    raise KeyError(TASK)


def _texts(system: object, query: object) -> tuple[str, str]:
    if not (isinstance(system, str) and isinstance(query, str) and QUESTION in query):
        raise TypeError("a template is no text with a place for the question")
    return system, query


def _literals(module: ast.Module) -> Iterator[Any]:
    """The values of a module's assignments that are literals; a name stands for the literal assigned to it before."""
    known: dict[str, ast.expr] = {}
    for statement in module.body:
        if not isinstance(statement, ast.Assign) or not all(isinstance(t, ast.Name) for t in statement.targets):
            continue
        expression = _Names(known).visit(statement.value)
        try:
            value = ast.literal_eval(expression)
        except (ValueError, TypeError):
            continue
        known |= {target.id: expression for target in statement.targets if isinstance(target, ast.Name)}
        yield value


class _Names(ast.NodeTransformer):
    def __init__(self, known: dict[str, ast.expr]) -> None:
        self._known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._known.get(node.id, node)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
