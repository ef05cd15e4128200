"""`run.json`: what a run is, put down as it begins, so that a later one can tell whether it may go on with its log.

It stands in the report folder as long as the log does, also when a run is killed. It holds no secret, no absolute path
and no text of a benchmark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_engram.basics import sealed

NAME = "run.json"


class Damaged(ValueError):
    """It can't be read. The message says what is wrong."""


@dataclass(frozen=True)
class Begun:
    """A run that began.

    Attributes:
        fingerprint: all that its outcomes depend on, as JSON.
        resumed: how often it was continued.
        kept: how many items the last continuation took over.
        embedded: whether anything was embedded before its first item was done.
    """

    fingerprint: Mapping[str, Any]
    resumed: int = 0
    kept: int = 0
    embedded: bool = False

    @property
    def sha256(self) -> str:
        """In hex, of the fingerprint: by it a manifest tells whose it is."""
        return hashlib.sha256(json.dumps(self.fingerprint, sort_keys=True).encode()).hexdigest()


def write(folder: Path, begun: Begun) -> None:
    """Put it down whole.

    Raises:
        OSError: the folder can't be written.
    """
    sealed.placed(folder / NAME, (json.dumps(asdict(begun), indent=1) + "\n").encode())


def read(folder: Path) -> Begun | None:
    """What `write` put there; None where there is none.

    Raises:
        Damaged: it can't be read.
    """
    try:
        told = json.loads((folder / NAME).read_bytes())
        found = Begun(**told)
        numbers = (found.resumed, found.kept)
        if not isinstance(found.fingerprint, dict) or not all(type(number) is int for number in numbers):
            raise ValueError("not what a run puts there")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Damaged(str(error.strerror)) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise Damaged(" ".join(str(error).split())) from None
    return found
