"""What a run may spend on models: one limit for its reader and its judge together."""

from __future__ import annotations

import threading

from pytest_engram.runs.outcome import LIMIT


class Purse:
    """US dollars that a run spends, counted by several threads: `--engram-max-cost`.

    Nobody is asked any more once `limit` is reached; calls that are under way then still end, and count.

    Args:
        limit: None: there is none.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._spent = 0.0
        self._unknown = False
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """As far as it is known."""
        return self._spent

    def take(self, cost: float | None) -> None:
        """Count what a call has cost; None: nobody knows."""
        with self._lock:
            if cost is None:
                self._unknown = True
            else:
                self._spent += cost

    def closed(self) -> str | None:
        """Why nobody may be asked any more, in one line; None where it may go on."""
        with self._lock:
            if self.limit is None:
                return None
            if self._unknown:
                return f"{LIMIT} can't be kept: what an answer costs is not known; set ENGRAM_READER_PRICE"
            return f"{LIMIT} of ${self.limit:g} is reached" if self._spent >= self.limit else None
