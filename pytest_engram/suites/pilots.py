"""The committed pilot sets: which questions are scored, and the command that wrote their files.

    python -m pytest_engram.suites.pilots DATA CASES

writes `fc_*.yaml`, `backed_fc*.yaml`, `demo_fc.yaml`, `lme_s.yaml` and `locomo.yaml` into the folder CASES, from
`memoryagentbench/Conflict_Resolution.json`, `longmemeval/question_ids.json` and `locomo/locomo10.json` in the folder
DATA, and `backed_fc_full.yaml` into the folder `full` beside CASES. A pilot file holds ids and fingerprints, never a
question's text.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_engram.suites import FULL, files
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.fingerprints import Scored, fingerprint

if TYPE_CHECKING:
    from pytest_engram.suites.backed.source import Kind

SEED = 20261008
_NEXT_LINE = "\n"
METRICS = "[answer@10, resolved@10, subem]"  # of numbered facts
_MICRO = re.compile(rb"^engram: *micro *$", re.MULTILINE)  # no pilot file has such a line, and reading YAML takes long
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
    with suppress(OSError):  # which reading it tells
        if _MICRO.search(path.read_bytes()):
            return
    data, lines = files.read(path)
    if data.get("engram") != "pilot":
        return
    questions = data.get("questions")
    # Which these are, the data alone tells: they are known once the suite is loaded.
    if questions == "all" or data.get("source") in ("own", "beir"):
        return
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


def stratified(strata: Mapping[str, Sequence[str]], n: int, seed: int) -> list[str]:
    """A seeded sample in which every stratum has its share, sorted.

    A stratum gets the whole part of its proportional share; what is then left of `n` goes one each to the largest
    remainders, among equals to the one whose name comes first (Hamilton's method). Stratum by stratum, in the order
    of their names, `random.Random(seed)` samples from the sorted ids.

    Args:
        strata: the ids of each.
        n: how many are drawn, from 0 to as many as there are.
        seed: of the sample.

    Raises:
        ValueError: there are fewer than `n`.
    """
    total = sum(map(len, strata.values()))
    if not 0 <= n <= total:
        raise ValueError(f"{n} of {total} ids can't be drawn")
    names = sorted(strata)
    shares = {name: divmod(n * len(strata[name]), total) if total else (0, 0) for name in names}
    left = n - sum(whole for whole, _ in shares.values())
    topped = sorted(names, key=lambda name: -shares[name][1])[:left]  # stable: among equals the first name
    draw = random.Random(seed)
    drawn: list[str] = []
    for name in names:
        drawn += draw.sample(sorted(strata[name]), shares[name][0] + (name in topped))
    return sorted(drawn)


def pilot_files(data: Path) -> dict[str, str]:
    """The text of each pilot file that is drawn or listed from data, by file name.

    Args:
        data: a folder with the files that the module's docstring names.

    Raises:
        NotRun: one, or a row in it, is missing there.
    """
    return _fact_files(data) | backed_files(data) | {"lme_s.yaml": _longmemeval(data), "locomo.yaml": _locomo(data)}


def _longmemeval(data: Path) -> str:
    from pytest_engram.suites import locations
    from pytest_engram.suites.longmemeval.protocol import KS, MEASURES

    path, _ = locations.locate("longmemeval/question_ids.json", data)
    strata: dict[str, list[str]] = defaultdict(list)
    for question in json.loads(path.read_text(encoding="utf-8"))["questions"]:
        abstains = ", abstains" if "_abs" in question["question_id"] else ""
        strata[question["question_type"] + abstains].append(question["question_id"])
    cuts = sorted(KS, key=lambda k: (k not in (5, 10), k))  # what is decided by, and quoted, comes first
    metrics = [f"{measure}@{k}" for k in cuts for measure in MEASURES]
    fields = {
        "name": "lme_s",
        "source": "longmemeval",
        "split": "s",
        "release": "cleaned",
        "granularity": "session",
        "metrics": "".join(f"\n  - {name}" for name in [*metrics, "judged"]),
        "drawn": _drawn(100, "question type x abstention", "the 500 question ids"),
    }
    about = [
        "LongMemEval_S, cleaned: 100 of its 500 questions over 48 sessions each, by the official retrieval protocol.",
        "Source: LongMemEval (Wu et al., ICLR 2025), dataset xiaowu0162/longmemeval-cleaned; MIT licence. Questions",
        "that abstain (6), and those whose evidence no user turn holds (11 about what the assistant said), are drawn",
        "too, and left out of the retrieval means as the official scripts do: 83 are scored there.",
        "No text is committed: neither of questions nor of sessions.",
    ]
    return _yaml(about, fields, dict.fromkeys(stratified(strata, 100, SEED)))


def _locomo(data: Path) -> str:
    from pytest_engram.suites.locomo import source
    from pytest_engram.suites.locomo.protocol import CATEGORIES

    asked = {question.id: question for c in source.find(data).conversations for question in c.questions}
    strata: dict[str, list[str]] = defaultdict(list)
    for id_, question in asked.items():
        strata[CATEGORIES[question.category]].append(id_)
    chosen = set(stratified(strata, 300, SEED))
    fields = {
        "name": "locomo",
        "source": "locomo",
        "granularity": "turn",
        "metrics": "[recall@10, recall@5, f1, judged]",
        "data_sha256": source.OFFICIAL,
        "drawn": _drawn(300, "category", f"the {len(asked):,} question ids"),
    }
    about = [
        "LoCoMo: 300 of its 1,986 questions, each over its own of ten conversations, turn by turn. Every category has",
        "its share, adversarial ones too. All of them are in cases/full/locomo.yaml.",
        "Source: LoCoMo (Maharana et al., ACL 2024), snap-research/locomo, data/locomo10.json; CC BY-NC 4.0. Nothing",
        "of it is part of this package.",
    ]
    return _yaml(about, fields, {id_: question.query for id_, question in asked.items() if id_ in chosen})


def _drawn(n: int, by: str, ids: str) -> str:
    return f'"stratified(ids by {by}, {n}, seed {SEED}) of pytest_engram.suites.pilots, ids being {ids}"'


BACKED: Mapping[str, tuple[Kind, int]] = {  # how, and how many of a relation
    "backed_fc": ("named", 2),
    "backed_fc_implied": ("implied", 4),
}
BACKED_FULL: Mapping[str, tuple[Kind, int]] = {"backed_fc_full": ("named", 10)}


def backed_files(data: Path, which: Mapping[str, tuple[Kind, int]] = BACKED) -> dict[str, str]:
    """The text of the pilot files of contradictions with a backed side, by file name.

    Args:
        data: as in `pilot_files`.
        which: by the suite's name, how a side is backed, and how many contradictions of each relation are drawn.

    Raises:
        NotRun: the facts are missing there.
    """
    from pytest_engram.suites import factconsolidation
    from pytest_engram.suites.backed import backing, contradictions, levels, source
    from pytest_engram.suites.facts import digest, parse_facts

    row = factconsolidation.find_row(source.ROW, data)
    backed = backing.read(backing.shipped())
    texts: dict[str, str] = {}
    for name, (kind, each) in which.items():
        known = source.known(parse_facts(row.context), backed, kind)
        drawn = contradictions.draw(known, each, SEED)
        relations = {one.contradiction.relation for one in drawn}
        fields = {
            "name": name,
            "source": "backed_fc",
            "kind": kind,
            "rows": row.name,
            "metrics": f"[{', '.join(levels.METRICS)}]",
            "context_sha256": digest(row.context),
            "backing_sha256": backed.sha256,
            "drawn": f'"draw(contradictions, {each} of each relation, seed {SEED}) of '
            f'pytest_engram.suites.backed.contradictions, which are {len(known):,} here"',
        }
        about = [
            f"Official contradictions of which facts back one side: {len(drawn)} of {len(relations)} relations, each",
            f"asked about at {len(levels.LEVELS)} levels and in two orders of time.",
            "Source: FactConsolidation of MemoryAgentBench (Hu et al., 2025), MIT licence; what backs a side is in",
            "cases/backing/facts.yaml. A contradiction is named by the serial numbers of its two facts; `backed` is",
            "the side that is backed, `speakers` how many voices repeat the other one.",
        ]
        asks = {one.contradiction.id: source.ask(one.contradiction, backed) for one in drawn}
        more = {one.contradiction.id: f", backed: {one.backed}, speakers: {one.speakers}" for one in drawn}
        texts[f"{name}.yaml"] = _yaml(about, fields, asks, more)
    return texts


def _fact_files(data: Path) -> dict[str, str]:
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
                "metrics": METRICS,
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
    row = demo_fc.generate(SEED)
    fields = {
        "name": "demo_fc",
        "source": "demo_fc",
        "seed": str(SEED),
        "metrics": METRICS,
        "context_sha256": digest(row.context),
    }
    about = [
        "A generated benchmark in the form of FactConsolidation: 350 facts about an invented world, of which 110",
        "contradict an earlier one; 40 single-hop questions, then 40 two-hop ones, three in four of them about a",
        "contradicted fact. Facts and questions are made from the seed when the suite is loaded.",
    ]
    texts["demo_fc.yaml"] = _yaml(about, fields, {q.id: q.text for q in row.questions})
    return texts


def _yaml(
    about: Iterable[str],
    fields: Mapping[str, str],
    questions: Mapping[str, str | None],
    more: Mapping[str, str] | None = None,
) -> str:
    """A pilot file; a question without a text is committed by its id alone. `more` is what else its line has."""
    lines = [f"# {line}" for line in about]
    lines += ["# Written by `python -m pytest_engram.suites.pilots`."]
    if None not in questions.values():
        lines[-1] += " A question's text is given by its fingerprint:"
        lines += ["# the first 16 hex digits of the sha256 of the normalised text."]
    lines += ["engram: pilot"]
    lines += [f"{key}:{'' if value.startswith(_NEXT_LINE) else ' '}{value}" for key, value in fields.items()]
    lines += ["questions:"]
    for id_, text in questions.items():
        given = f'"{id_}"' if text is None else f'{id_}, text: "{fingerprint(text)}"{(more or {}).get(id_, "")}'
        lines.append(f"  - {{id: {given}}}")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> Any:
    """Write the pilot files; see the module's docstring."""
    if len(arguments) != 2 or not Path(arguments[0]).is_dir():
        return "usage: python -m pytest_engram.suites.pilots DATA CASES"
    data, cases = map(Path, arguments)
    written = {cases / name: text for name, text in pilot_files(data).items()}
    written |= {cases.parent / FULL / name: text for name, text in backed_files(data, BACKED_FULL).items()}
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
