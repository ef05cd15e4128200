"""Who should win, read by others: each case's winner twice, independently, without the rule in view.

`python -m pytest_engram.suites.microtests.readings ask notes.jsonl` writes what a reader is given: of each case one
level that names a winner, drawn by seed, as the notes about it in their order, and the two that contradict each other
as A and B, in an order of their own. The reader answers A, B or "can't tell", a line each: {"id": ..., "answer": ...}.

`... tally FIRST SECOND --readers WHO` compares two such files with each other and with the rule, and writes
`readings.json`: every answer, the agreement, and Cohen's kappa (Cohen 1960) over the three answers. A case on which the
readers differ, or on which both differ from the rule, has to say `disputed` in its file; a test holds the files to it.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_engram.suites.microtests.background import people
from pytest_engram.suites.microtests.levels import Level, expand
from pytest_engram.suites.microtests.model import Cases

SEED = 20_261_201
OUTCOME = "readings.json"
SUITES = ("gradual_override", "gradual_implied", "repetition", "unbacked_alarm", "reworded")
TELLS_NOT = "can't tell"


class Note(NamedTuple):
    """What a reader is given of one case, and what the rule makes of it."""

    id: str
    suite: str
    case: str
    notes: tuple[str, ...]
    a: str
    b: str
    right: str  # "A" or "B"

    def blind(self) -> dict[str, Any]:
        """Without the rule's winner, and without a name that tells the suite."""
        return {"id": self.id, "notes": list(self.notes), "A": self.a, "B": self.b}


def notes(folder: Path) -> list[Note]:
    """One of each case, the disputed ones too, in an order that mixes the suites.

    Args:
        folder: with the files of `SUITES`.
    """
    found = [note for name in SUITES for note in _of(folder / f"{name}.yaml", name)]
    return sorted(found, key=lambda note: note.id)


def _of(path: Path, name: str) -> Iterator[Note]:
    from pytest_engram.suites.files import read, validate

    data, lines = read(path)
    spec = validate(Cases, data, path, lines)
    for case in spec.cases:
        case.disputed = None
    by_case: dict[str, list[Level]] = {}
    for level in expand(spec, people(), path, lines):
        by_case.setdefault(level.case.name.removesuffix("-mirrored"), []).append(level)
    for case_name, levels in by_case.items():
        rng = random.Random(f"{SEED} {name} {case_name}")
        level = rng.choice([level for level in levels if level.expected in ("belief", "update")])
        own = [entry.text for entry in level.written(())[0]]
        sides = [level.case.belief, level.case.update]
        rng.shuffle(sides)
        right = level.case.belief if level.expected == "belief" else level.case.update
        id_ = hashlib.sha256(f"{SEED} {name} {case_name}".encode()).hexdigest()[:10]
        a, b = sides
        yield Note(id_, name, case_name, tuple(own), a, b, "A" if a == right else "B")


def tally(given: Sequence[Note], first: dict[str, str], second: dict[str, str]) -> dict[str, Any]:
    """Agreement by suite and of all: `n`, `agree`, `kappa`, `right` (both name the rule's winner), and each case."""
    rows = [
        {"suite": n.suite, "case": n.case, "rule": n.right, "first": first[n.id], "second": second[n.id]} for n in given
    ]
    by_suite = {name: [row for row in rows if row["suite"] == name] for name in SUITES}
    return {
        "seed": SEED,
        "all": _agreement(rows),
        "suites": {name: _agreement(found) for name, found in by_suite.items()},
        "disputed": {
            name: sorted(row["case"] for row in found if not row["rule"] == row["first"] == row["second"])
            for name, found in by_suite.items()
        },
        "answers": sorted(rows, key=lambda row: (row["suite"], row["case"])),
    }


def _agreement(rows: Sequence[dict[str, str]]) -> dict[str, Any]:
    from sklearn.metrics import cohen_kappa_score

    first, second = ([row[who] for row in rows] for who in ("first", "second"))
    kappa = float(cohen_kappa_score(first, second, labels=["A", "B", TELLS_NOT])) if rows else float("nan")
    return {
        "n": len(rows),
        "agree": sum(a == b for a, b in zip(first, second, strict=True)),
        "kappa": round(kappa, 3) if kappa == kappa else None,
        "right": sum(row["rule"] == row["first"] == row["second"] for row in rows),
    }


def answers(path: Path) -> dict[str, str]:
    """The answers of a reader's file, by id.

    Raises:
        ValueError: a line is no answer.
    """
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        record = json.loads(line)
        if record["answer"] not in ("A", "B", TELLS_NOT):
            raise ValueError(f"{path}:{number}: answer: {record['answer']!r} is not A, B or {TELLS_NOT!r}")
        found[record["id"]] = record["answer"]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Write what is read, or compare what was."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="python -m pytest_engram.suites.microtests.readings", description="Winners, read."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    ask = commands.add_parser("ask", help="write what a reader is given")
    ask.add_argument("output", type=Path)
    compare = commands.add_parser("tally", help="compare two readers' answers")
    compare.add_argument("answers", type=Path, nargs=2)
    compare.add_argument("--readers", required=True, help="who or what read, for the file")
    for command in (ask, compare):
        command.add_argument("--cases", type=Path, default=Path("cases"))
    options = parser.parse_args(arguments)
    given = notes(options.cases / "micro")
    if options.command == "ask":
        lines = [json.dumps(note.blind(), ensure_ascii=False) for note in given]
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{len(lines)} cases in {options.output}")
        return
    outcome = {"readers": options.readers, **tally(given, *map(answers, options.answers))}
    text = json.dumps(outcome, indent=1, ensure_ascii=False) + "\n"
    (options.cases / OUTCOME).write_text(text, encoding="utf-8")
    print(json.dumps({name: outcome[name] for name in ("all", "suites", "disputed")}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
