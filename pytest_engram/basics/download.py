"""A file over HTTP that goes on where an earlier attempt stopped: a downloader for pooch, which checks and places it.

What has come lies in a part file beside the target until all of it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_engram.basics.progress import progress

if TYPE_CHECKING:
    from requests import Response

ATTEMPTS = 5  # connections in one call, where each brings something and then breaks
TIMEOUT = (5.0, 20.0)  # seconds until a connection, and between two pieces of the answer
PIECE = 1 << 13  # bytes that are written at once; what came of the next is lost where a connection breaks


class DownloadError(Exception):
    """A file that can't be had. One line; `unreachable` where its host could not be asked at all."""

    def __init__(self, reason: str, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.unreachable = unreachable


@dataclass(slots=True)
class Resuming:
    """Fetches one file of known size, as pooch calls it.

    Attributes:
        part: where what has come so far lies.
        size: bytes of the whole file.
        label: what the progress bar says.
        called: whether it was needed.
    """

    part: Path
    size: int
    label: str
    called: bool = False

    def __call__(self, url: str, output: Any, _pooch: object) -> None:
        """Get what is missing, and move the whole to the file `output`.

        Raises:
            DownloadError: it can't be had; a part that the next call can go on from is left.
            OSError: it can't be written.
        """
        self.called = True
        if self.held > self.size:
            self.part.unlink()
        with progress(self.label, -(-self.size // 1000), unit="kB", patience=1.0) as bar:
            shown = 0

            def show(came: int) -> None:
                nonlocal shown
                bar.advance(came // 1000 - shown)
                shown = came // 1000

            for _ in range(ATTEMPTS):
                before = self.held
                show(before)
                if before == self.size or self._all_came(url, show):
                    break
                if self.held == before:
                    raise self._broken(url)
            else:
                raise self._broken(url)
            show(self.size)
        self.part.replace(output)

    @property
    def held(self) -> int:
        """Bytes in the part file."""
        return self.part.stat().st_size if self.part.is_file() else 0

    def _all_came(self, url: str, show: Callable[[int], None]) -> bool:
        """Ask for the rest once; whether the server then had nothing more to send."""
        import requests

        start = self.held
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        try:
            response = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)
        except requests.RequestException as error:
            raise DownloadError(f"{_host(url)} could not be reached ({_why(error)})", unreachable=True) from None
        with response:
            if response.status_code == requests.codes.requested_range_not_satisfiable and start:
                self.part.unlink()
                return False
            if not response.ok:
                raise DownloadError(f"{_host(url)} answers {response.status_code} {response.reason} for {url}")
            goes_on = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
            if response.status_code == requests.codes.partial_content and not goes_on:
                self.part.unlink(missing_ok=True)
                return False
            came = self._write(response, "ab" if goes_on else "wb", show)
        if came is None:
            return False
        announced = "Content-Length" in response.headers or "chunked" in response.headers.get("Transfer-Encoding", "")
        return announced or came == self.size  # else nobody said where it ends, and it may have been cut

    def _write(self, response: Response, mode: str, show: Callable[[int], None]) -> int | None:
        """Append what comes; the bytes that are then there, or None where the connection broke."""
        import requests

        with self.part.open(mode) as file:
            try:
                for piece in response.iter_content(PIECE):
                    file.write(piece)
                    if file.tell() > self.size:
                        break
                    show(file.tell())
            except requests.RequestException:
                return None
            came = file.tell()
        if came > self.size:
            self.part.unlink()
            raise DownloadError(f"{_host(response.url)} sends more than the {self.size:,} bytes that it is")
        return came

    def _broken(self, url: str) -> DownloadError:
        return DownloadError(f"the connection to {_host(url)} broke at {self.held:,} of {self.size:,} bytes")


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _why(error: BaseException) -> str:
    """The operating system's own words, which lie at the bottom of what requests and urllib3 make of them."""
    seen: list[BaseException] = []
    at: Any = error
    while isinstance(at, BaseException) and at not in seen:
        seen.append(at)
        inner = getattr(at, "reason", None) or next((a for a in at.args if isinstance(a, BaseException)), None)
        at = inner if isinstance(inner, BaseException) else at.__cause__ or at.__context__
    words = [e.strerror for e in seen if isinstance(e, OSError) and e.strerror]
    return words[-1] if words else type(seen[-1]).__name__
