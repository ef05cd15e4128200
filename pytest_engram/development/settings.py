"""What Loom and Tide are set to, as `calibrate` chose it and wrote it to `calibration.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OUTCOME = Path(__file__).with_name("calibration.json")


@dataclass(frozen=True, slots=True)
class Settings:
    """What Loom and Tide are set to.

    Attributes:
        depth: how far the dense ranking is walked for conflicts, in entries.
        neighbours: k of the mutual k-nearest neighbours.
        sided: the same for Loom (sided).
        similarity: cosine from which two entries may be in conflict, for Loom.
        duplicate: cosine from which an entry only says another one again.
        tide: cosine from which two entries are versions of one, for Tide.
    """

    depth: int
    neighbours: int
    sided: int
    similarity: float
    duplicate: float
    tide: float


@cache
def known() -> dict[str, Settings]:
    """Settings by the hash of the encoder that they are calibrated for."""
    outcome = json.loads(OUTCOME.read_text(encoding="utf-8"))
    return {encoder["hash"]: Settings(**encoder["chosen"]) for encoder in outcome["encoders"]}
