"""A memory behind HTTP, as an example: BM25 over what each namespace was given, kept in memory, on loopback only.

`python -m pytest_engram.methods.adapters.http_server_example --port 8080` serves until it is stopped. Nothing in here
needs this project: what `http.py` sends, and what it wants to be answered, is all that a server has to know.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

K1, B = 1.5, 0.75


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class Store:
    """The entries of one namespace."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}  # of an entry's words, by its id
        self.holders: Counter[str] = Counter()  # word to the number of entries that have it

    def write(self, entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            self.holders.subtract(self.counts.get(entry["id"], {}).keys())  # a write may be repeated
            self.counts[entry["id"]] = Counter(words(entry["text"]))
            self.holders.update(self.counts[entry["id"]].keys())

    def search(self, query: str, k: int) -> list[str]:
        n = len(self.counts)
        mean = sum(count.total() for count in self.counts.values()) / max(1, n) or 1.0
        asked = {
            word: math.log(1 + (n - held + 0.5) / (held + 0.5)) for word in words(query) if (held := self.holders[word])
        }

        def score(id_: str) -> float:
            count = self.counts[id_]
            length = K1 * (1 - B + B * count.total() / mean)
            return sum(idf * count[word] * (K1 + 1) / (count[word] + length) for word, idf in asked.items())

        return sorted(self.counts, key=score, reverse=True)[:k]


class Server(ThreadingHTTPServer):
    """All namespaces."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.stores: dict[str, Store] = {}
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.lock:
            if path == "/write":
                self.stores.setdefault(body["namespace"], Store()).write(body["entries"])
                return 200, {"held": len(self.stores[body["namespace"]].counts)}
            if path == "/search":
                store = self.stores.get(body["namespace"])
                if store is None:
                    return 409, {"error": f"nothing was written to {body['namespace']}"}
                return 200, {"results": [{"id": id_} for id_ in store.search(body["query"], body["k"])]}
            if path == "/close":
                return 200, {}
        return 404, {"error": f"no {path} here; there are /write, /search and /close"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a client keeps its connection
    disable_nagle_algorithm = True  # or each answer waits for the client's acknowledgement
    server: Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            status, answer = self.server.answer(self.path, json.loads(raw))
        except (ValueError, KeyError, TypeError) as error:
            status, answer = 400, {"error": f"{type(error).__name__}: {error}"}
        sent = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """One line a question would be too much."""


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description="A memory behind HTTP, as an example: BM25, in memory, on loopback.")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    server = Server(parser.parse_args().port)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
