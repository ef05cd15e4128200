"""What one thread found out about an endpoint, for the others of the run: they need not find out themselves."""

from __future__ import annotations

import threading
import time


class Outage:
    """Of one endpoint."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text: str | None = None
        self._until = 0.0

    def reason(self, again: float) -> str | None:
        """Why asking is pointless now, else None. Who gets None after an outage is the one who tries again.

        Args:
            again: seconds for which the others then still go by it.
        """
        with self._lock:
            if self._text is None or time.monotonic() < self._until:
                return self._text
            self._until = time.monotonic() + again
            return None

    def declare(self, reason: str, seconds: float) -> None:
        """Tell the others; it is believed for so long."""
        with self._lock:
            self._text, self._until = reason, time.monotonic() + seconds

    def over(self) -> None:
        """The endpoint answers."""
        with self._lock:
            self._text = None
