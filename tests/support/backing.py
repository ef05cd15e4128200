"""Backing facts of a few relations, and official-looking facts for them: small, and of the tests alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_engram.suites.factconsolidation import FILE

ROW = "factconsolidation_sh_262k"
SPORT = "{s} is associated with the sport of {v}"
RELATIONS: dict[str, Any] = {
    SPORT: {
        "ask": "Which sport is {s} associated with?",
        "backs": [
            "A local paper printed a long report about {s} and the coming {v} season.",
            "{s} signed a petition for a new {v} hall last spring.",
            "The fan club of {s} collects old {v} posters.",
            "A museum of {v} keeps a letter that {s} wrote to it.",
            "{s} was asked to open the {v} fair in the old harbour.",
            "An almanac of {v} has a page on {s}, with a photograph.",
        ],
        "repeats": [
            "With {s}, people think of {v}.",
            "{v} is the sport that goes with {s}.",
            "When it comes to sport, {s} means {v}.",
            "{s}? That's {v}, of course.",
            "As far as sports go, {s} belongs to {v}.",
        ],
        "implied": {
            "cricket": [
                "{s} took five wickets before tea.",
                "Rain stopped {s} at 240 for 3.",
                "{s} declared at lunch on the third day.",
                "A leg-spinner troubled {s} on a dusty pitch.",
                "{s} waited for the umpire's verdict on leg before.",
            ],
            "basketball": [
                "{s} missed two free throws in overtime.",
                "A slam dunk by {s} made the evening news.",
                "{s} led the league in rebounds.",
                "The shot clock ran out on {s}.",
                "{s} made eleven three-pointers in a row.",
            ],
        },
    },
    "{s} is employed by {v}": {
        "ask": "Who is {s} employed by?",
        "backs": [
            "The badge that {s} wears has the logo of {v} on it.",
            "{s} parks in the staff garage of {v}.",
            "{v} pays the pension contributions of {s}.",
            "The switchboard of {v} puts callers through to {s}.",
            "{s} took part in the summer outing of {v}.",
        ],
        "repeats": [
            "{s} has a job with {v}.",
            "{v} is where {s} works.",
            "{v} has {s} on its payroll.",
            "{s} earns a living at {v}.",
            "The employer of {s} is {v}.",
        ],
    },
}


def document() -> dict[str, Any]:
    """The whole file."""
    return {"relations": json.loads(json.dumps(RELATIONS))}


def write(path: Path, content: Mapping[str, Any] | None = None) -> Path:
    """The file, as JSON, which is YAML."""
    path.write_text(json.dumps(content or document(), indent=1), encoding="utf-8")
    return path


def facts(around: int = 100) -> list[str]:
    """Facts of 6 contradictions (4 about sports, 2 about employers), one of each relation that is tangled, and others.

    The original of the contradiction number i stands at i, its update at i + 8.
    """
    sports = [("cricket", "basketball"), ("basketball", "cricket"), ("cricket", "sumo"), ("golf", "basketball")]
    said = [(f"Player {name}", values) for name, values in zip(("Kai", "Ana", "Bo", "Cy"), sports, strict=True)]
    said.append(("Golf Club Luna", ("golf", "cricket")))  # the subject names a value
    jobs = [("Dora Vink", ("Acme", "Globex")), ("Emil Rask", ("Initech", "Umbrella")), ("Fay", ("Hooli", "Hooli Inc"))]
    wording = [*(SPORT for _ in said), *("{s} is employed by {v}" for _ in jobs)]
    told = list(zip(wording, [*said, *jobs], strict=True))
    sides = [
        template.replace("{s}", subject).replace("{v}", values[side])
        for side in (0, 1)
        for template, (subject, values) in told
    ]
    other = [f"Town {number} is located in the continent of Land {number % 7}" for number in range(around)]
    return [f"{text}." for text in [*sides, *other]]


def folder(at: Path, texts: list[str] | None = None) -> Path:
    """A folder for `--engram-data` with one row of these facts."""
    lines = [f"{serial}. {text}" for serial, text in enumerate(facts() if texts is None else texts)]
    row = {
        "context": "\n".join(["Here is a list of facts:", *lines]) + "\n",
        "questions": [],
        "answers": [],
        "metadata": {"source": ROW},
    }
    path = at / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([row]), encoding="utf-8")
    return at
