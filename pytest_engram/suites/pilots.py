"""The committed pilot sets: which questions are scored, and the command that wrote the files of numbered facts.

    python -m pytest_engram.suites.pilots DATA CASES

writes `fc_*.yaml` and `demo_fc.yaml` into the folder CASES, from `memoryagentbench/Conflict_Resolution.json` in the
folder DATA. A pilot file holds ids and fingerprints, never a question's text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_engram.suites import files
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.fingerprints import Scored, fingerprint

DEMO_SEED = 20261008
_HOPS = {"sh": "single-hop", "mh": "multi-hop"}


def scored(places: Iterable[Path]) -> list[Scored]:
    """The questions of every pilot set among the files and under the folders `places`, each file read once.

    Raises:
        SuiteError: a pilot file can't be read, so nobody can tell whether a method learnt from it.
    """
    found: dict[Path, list[Scored]] = {}
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.resolve() not in found and path.is_file() and files.is_suite(path):
                found[path.resolve()] = list(_scored_in(path))
    return [question for questions in found.values() for question in questions]


def _scored_in(path: Path) -> Iterator[Scored]:
    data, lines = files.read(path)
    if data.get("engram") != "pilot":
        return
    questions = data.get("questions")
    if not isinstance(questions, list):
        raise SuiteError(path, lines[("questions",)], "questions", "must be a list of questions with `id` and `text`")
    for number, question in enumerate(questions):
        where = ("questions", number)
        # Where a benchmark's texts can't be had to commit their fingerprints, the id alone is what can be compared.
        text = question.get("text", "") if isinstance(question, dict) else None
        if not isinstance(text, str) or not isinstance(question.get("id"), str):
            problem = "must have an `id`, and may have a `text`, the fingerprint of the question"
            raise SuiteError(path, lines[where], f"questions[{number}]", problem)
        yield Scored(str(data.get("name", path.stem)), question["id"], text)


def pilot_files(data: Path) -> dict[str, str]:
    """The text of each pilot file of numbered facts, by file name.

    Args:
        data: a folder with `memoryagentbench/Conflict_Resolution.json`.

    Raises:
        NotRun: a row is missing there.
    """
    from pytest_engram.suites import demo_fc, factconsolidation
    from pytest_engram.suites.facts import answers_digest, digest

    texts: dict[str, str] = {}
    for hops, spelt in _HOPS.items():
        for size in ("6k", "262k"):
            row = factconsolidation.find_row(f"factconsolidation_{hops}_{size}", data)
            fields = {
                "name": f"fc_{hops}_{size}",
                "source": "factconsolidation",
                "rows": row.name,
                "metrics": "[answer@10, subem]",
                "context_sha256": digest(row.context),
                "answers_sha256": answers_digest(question.answers for question in row.questions),
            }
            about = [
                f"FactConsolidation, {spelt}, {size.upper()}: all {len(row.questions)} questions, none left out.",
                "Source: MemoryAgentBench (Hu et al., 2025), dataset ai-hyz/MemoryAgentBench, split",
                "Conflict_Resolution; MIT licence. The sha256 of the context and of the accepted answers are those",
                "of the official data.",
            ]
            texts[f"fc_{hops}_{size}.yaml"] = _yaml(about, fields, {q.id: q.text for q in row.questions})
    row = demo_fc.generate(DEMO_SEED)
    fields = {
        "name": "demo_fc",
        "source": "demo_fc",
        "seed": str(DEMO_SEED),
        "metrics": "[answer@10, subem]",
        "context_sha256": digest(row.context),
    }
    about = [
        "A generated benchmark in the form of FactConsolidation: 256 facts about an invented world, of which 74",
        "contradict an earlier one; 40 single-hop questions, then 40 two-hop ones, three in four of them about a",
        "contradicted fact. Facts and questions are made from the seed when the suite is loaded.",
    ]
    texts["demo_fc.yaml"] = _yaml(about, fields, {q.id: q.text for q in row.questions})
    return texts


def _yaml(about: Iterable[str], fields: Mapping[str, str], questions: Mapping[str, str]) -> str:
    lines = [f"# {line}" for line in about]
    lines += ["# Written by `python -m pytest_engram.suites.pilots`. A question's text is given by its fingerprint:"]
    lines += ["# the first 16 hex digits of the sha256 of the normalised text."]
    lines += ["engram: pilot", *(f"{key}: {value}" for key, value in fields.items()), "questions:"]
    lines += [f'  - {{id: {id_}, text: "{fingerprint(text)}"}}' for id_, text in questions.items()]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> Any:
    """Write the pilot files; see the module's docstring."""
    if len(arguments) != 2 or not Path(arguments[0]).is_dir():
        return "usage: python -m pytest_engram.suites.pilots DATA CASES"
    data, cases = map(Path, arguments)
    cases.mkdir(parents=True, exist_ok=True)
    for name, text in pilot_files(data).items():
        (cases / name).write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
