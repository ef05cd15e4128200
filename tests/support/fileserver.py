"""A file server on loopback that does what a test tells it, and writes down what it was asked."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Files:
    """Serves `content` by path.

    Attributes:
        ranges: answers a Range as HTTP has it; else the header is ignored and the whole is sent.
        cuts: for each request in turn, after how many bytes the connection is cut; None: not.
        status: answered in place of a file.
        pause: seconds between two pieces of 1000 bytes.
        asked: path and Range of each request.
        announce: whether Content-Length is sent.
    """

    content: dict[str, bytes]
    ranges: bool = True
    cuts: list[int | None] = field(default_factory=list)
    status: int = 200
    pause: float = 0.0
    announce: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def serving(self) -> Iterator[Files]:
        """Serve on a free port."""
        files = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                # A client that goes away is what some tests are about.
                with suppress(BrokenPipeError, ConnectionResetError):
                    files._respond(self)
                self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _respond(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers["Range"]
        self.asked.append((handler.path, wanted))
        whole = self.content.get(handler.path)
        if whole is None or self.status != 200:
            handler.send_error(404 if whole is None else self.status)
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and self.ranges else 0  # type: ignore[index]
        if start and start >= len(whole):
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(whole)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        rest = whole[start:]
        handler.send_response(206 if wanted and self.ranges else 200)
        if wanted and self.ranges:
            handler.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
        if self.announce:
            handler.send_header("Content-Length", str(len(rest)))
        handler.end_headers()
        cut = self.cuts.pop(0) if self.cuts else None
        sent = rest if cut is None else rest[:cut]
        for at in range(0, len(sent), 1000):
            handler.wfile.write(sent[at : at + 1000])
            if self.pause:
                handler.wfile.flush()
                time.sleep(self.pause)
