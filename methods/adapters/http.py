"""Any memory behind HTTP, in whatever language: two endpoints, JSON in and out. Only the standard library is used.

- `POST /write` `{"namespace", "entries": [{"id", "text", "time"}]}`: any 2xx, once it can be found. A write that
  failed may be repeated, so that an id which is there already is replaced.
- `POST /search` `{"namespace", "query", "k"}`: `{"results": [...]}`, best first, each `{"id"}` of an entry, or, where
  the memory rewrites, `{"text", "sources": [ids]}`.
- `POST /close` `{"namespace"}`, where the server has it: this client asks no more. Others may: nothing is deleted.

Any answer may have `"usage": {"tokens": 12, "usd": 0.0003}`: what this one call has used.

`ENGRAM_HTTP_URL=http://127.0.0.1:8080 pytest --engram-method=http` asks a server without any file; one that needs more
is five lines of a conftest:

```python
from pytest_engram import method
from pytest_engram.methods.adapters.http import http_memory

@method(label="Ours", shared=True)
def ours():
    return http_memory("http://127.0.0.1:8080", headers={"Authorization": "Bearer ..."})
```

`http_server_example.py`, beside this file, is such a server. Proxies are not asked.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_engram.memory import Bench, Entry, MemoryFactory, Recalled, method

EXCERPT = 200  # characters of an answer that an error shows
ABSENT = (404, 405, 501)  # what a server without an endpoint says
CURES = {
    401: "the server wants to know who asks: http_memory(..., headers={'Authorization': ...})",
    403: "the server does not let this client in: http_memory(..., headers={'Authorization': ...})",
    404: "it must answer POST /write and POST /search below the address that was given; see docs/adapters.md",
    405: "it must answer POST; see docs/adapters.md",
    413: "too much at once: http_memory(..., batch=100)",
    429: "it asks for fewer calls: --engram-retries=5 waits and tries again",
}


class HttpError(Exception):
    """A server that did not do what it was asked for: which call, what came back, and a cure. One line."""


class HttpMemory:
    """A memory that a server keeps.

    Args:
        bench: names the namespace.
        url: what the endpoints are below.
        headers: of every request.
        timeout: seconds that a call may take.
        batch: entries of one /write at most.
    """

    def __init__(self, bench: Bench, url: str, headers: Mapping[str, str], timeout: float, batch: int) -> None:
        self._namespace = bench.namespace
        self._url = url.rstrip("/")
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise pytest.UsageError(f"http_memory: {url!r} is not an address; it must be like http://127.0.0.1:8080")
        make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = make(parts.hostname, parts.port, timeout=timeout)
        self._path = parts.path
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        self._batch = batch
        self._used: dict[str, float] = {"calls": 0.0}

    def write(self, entries: Sequence[Entry]) -> None:
        for start in range(0, len(entries), self._batch):
            part = [entry._asdict() for entry in entries[start : start + self._batch]]
            self._connection.close()  # a new connection: a write must not be sent twice because an old one had ended
            self._count(self._post("/write", {"namespace": self._namespace, "entries": part}))

    def search(self, query: str, k: int) -> list[str | Recalled]:
        answer = self._post("/search", {"namespace": self._namespace, "query": query, "k": k})
        self._count(answer)
        return results_of(answer, f"POST {self._url}/search")

    def close(self) -> None:
        try:
            self._post("/close", {"namespace": self._namespace}, optional=True)
        finally:
            self._connection.close()

    def usage(self) -> dict[str, float]:
        return dict(self._used)

    def _count(self, answer: object) -> None:
        self._used["calls"] += 1
        given = answer.get("usage") if isinstance(answer, Mapping) else None
        for name, number in given.items() if isinstance(given, Mapping) else ():
            self._used[name] = self._used.get(name, 0.0) + float(number)

    def _post(self, path: str, body: Mapping[str, Any], *, optional: bool = False) -> Any:
        """The answer, as JSON; None where it is empty, or where there is no such endpoint and there need not be.

        Raises:
            HttpError: there is no answer, or one that is no success or no JSON.
        """
        call = f"POST {self._url}{path}"
        status, reason, raw = self._sent(call, self._path + path, json.dumps(body).encode())
        if optional and status in ABSENT:
            return None
        shown = _excerpt(raw)
        if not 200 <= status < 300:
            cure = CURES.get(status, "its own log may say why")
            raise HttpError(f"{call}: {status} {reason}: {shown or 'an empty answer'}; {cure}")
        if not raw.strip():
            return None
        try:
            return json.loads(raw)
        except ValueError:
            raise HttpError(f"{call}: the answer is no JSON: {shown}") from None

    def _sent(self, call: str, path: str, body: bytes) -> tuple[int, str, bytes]:
        reused = self._connection.sock is not None
        try:
            self._connection.request("POST", path, body, self._headers)
            response = self._connection.getresponse()
            return response.status, response.reason, response.read()
        except (http.client.RemoteDisconnected, ConnectionError) as error:
            self._connection.close()
            if reused:  # a server may end a connection that was idle
                return self._sent(call, path, body)
            raise self._silent(call, error) from error
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise self._silent(call, error) from error

    def _silent(self, call: str, error: Exception) -> HttpError:
        if isinstance(error, TimeoutError):
            cure = f"no answer in {self._connection.timeout:g} seconds: http_memory(..., timeout=300)"
        else:
            cure = f"is the server up? ({type(error).__name__}: {error})"
        return HttpError(f"{call}: {cure}")


def results_of(answer: object, call: str = "/search") -> list[str | Recalled]:
    """What a search's answer means: ids, or texts of the memory's own with the ids of their sources.

    Raises:
        HttpError: it is not of the documented form.
    """
    results = answer.get("results") if isinstance(answer, Mapping) else None
    if not isinstance(results, list):
        shown = _excerpt(json.dumps(answer).encode())
        raise HttpError(
            f"{call}: the answer has no list of results: {shown}; it must be {{'results': [{{'id': ...}}]}}"
        )
    found: list[str | Recalled] = []
    for result in results:
        if isinstance(result, Mapping) and "text" in result:
            found.append(Recalled(result["text"], result.get("sources") or ()))
        elif isinstance(result, Mapping) and "id" in result:
            found.append(result["id"])
        else:
            shown = _excerpt(json.dumps(result).encode())
            raise HttpError(f"{call}: the result {shown} has neither an id nor a text")
    return found


def _excerpt(raw: bytes) -> str:
    text = " ".join(raw[: 4 * EXCERPT].decode("utf-8", "replace").split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}..."


def http_memory(
    url: str, *, headers: Mapping[str, str] | None = None, timeout: float = 60.0, batch: int = 1000
) -> MemoryFactory:
    """For a fixture made by `@method`: memories that the server at an address keeps; see `HttpMemory`."""
    return lambda bench: HttpMemory(bench, url, headers or {}, timeout, batch)


@method(label="HTTP", name="http", shared=True, embeds=False)
def served() -> MemoryFactory:
    """The server whose address the environment names."""
    url = os.environ.get("ENGRAM_HTTP_URL", "")
    if not url:
        raise pytest.UsageError(
            "--engram-method=http: no address; set ENGRAM_HTTP_URL=http://127.0.0.1:8080, or call http_memory in a "
            "conftest (docs/adapters.md)"
        )
    return http_memory(url)
