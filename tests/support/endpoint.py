"""An OpenAI-compatible endpoint on loopback that does what a test tells it, and writes down what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Headers = dict[str, str]


@dataclass
class Reply:
    """One HTTP response: after `delay` seconds, `body` as JSON, or as it is where it is text."""

    status: int = 200
    body: Any = None
    headers: Headers = field(default_factory=dict)
    delay: float = 0.0


def completion(text: Any, *, finish: str | None = "stop", more: dict[str, Any] | None = None, **usage: Any) -> Reply:
    """A chat completion as OpenAI's API reference has it; `more` is put into its message."""
    message = {"role": "assistant", "content": text} | (more or {})
    return Reply(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {"index": 0, "finish_reason": finish, "message": message},
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 3, "total_tokens": 103} | usage,
        }
    )


def failure(status: int, message: str = "no", headers: Headers | None = None) -> Reply:
    """An error as OpenAI's API has it."""
    return Reply(status, {"error": {"message": message, "type": "error", "code": None}}, headers or {})


class Endpoint:
    """`reply(request)` decides; `requests` holds the bodies, `keys` the Authorization headers, in order.

    `models` is what it lists as its models, None where it has no such list; `listed` counts how often it was asked.
    """

    def __init__(self, reply: Callable[[dict[str, Any]], Reply], models: list[dict[str, Any]] | None = None) -> None:
        self.reply = reply
        self.models = models
        self.listed = 0
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.times: list[float] = []
        self.busiest = 0
        self._busy = 0
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    @property
    def base_url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def _respond(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            assert handler.path == "/v1/chat/completions", handler.path
            self.requests.append(body)
            self.keys.append(handler.headers["Authorization"])
            self.times.append(time.monotonic())
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            reply = self.reply(body)
        time.sleep(reply.delay)
        with self._lock:
            self._busy -= 1
        self._send(handler, reply)

    def _list(self, handler: BaseHTTPRequestHandler) -> None:
        assert handler.path == "/v1/models", handler.path
        self.listed += 1
        none = failure(404, "no such place")
        self._send(handler, none if self.models is None else Reply(body={"object": "list", "data": self.models}))

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        handler.send_response(reply.status)
        headers = {"Content-Type": "text/html" if isinstance(reply.body, str) else "application/json"} | reply.headers
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    @contextmanager
    def serving(self) -> Iterator[Endpoint]:
        """Serve on a free port."""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                # A client that gives up waiting is what some tests are about.
                with suppress(BrokenPipeError, ConnectionResetError):
                    endpoint._respond(self)

            def do_GET(self) -> None:
                with suppress(BrokenPipeError, ConnectionResetError):
                    endpoint._list(self)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
