"""`openai:MODEL`: a model behind any OpenAI-compatible endpoint, asked through the `openai` package.

The endpoint is `OPENAI_BASE_URL`, else OpenAI's own; the key is `OPENAI_API_KEY`, which an endpoint of one's own need
not have. Every completion is stored by the sha256 of endpoint, model, messages and settings: a second run asks
nothing, and a killed run goes on where it stopped. The endpoint counts by its host alone, without the port, so that a
local server may come back on another one: serve another model there under another name.

- `ENGRAM_READER_CONCURRENCY` (4): how many questions all workers of a machine together ask at a time.
- `ENGRAM_READER_PRICE`: US dollars for a million tokens in and out, such as `0.15,0.60`, where the endpoint itself
  does not tell a cost.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_engram.memory import Entry
from pytest_engram.reading.base import Answer, ReaderError, ReaderSpec, ReaderUnavailable
from pytest_engram.reading.completions import CompletionStore, Outage, StoreError, slot
from pytest_engram.reading.prompts import Prompt, find, parse_answer

USAGE = "openai:MODEL"
OPENAI = "https://api.openai.com/v1"
LOOPBACK = "loopback"
# FactConsolidation's own limit: `generation_max_length` of its configurations in MemoryAgentBench.
MAX_TOKENS = 10
TIMEOUT = 120.0  # seconds for one try; a small machine of one's own may need them
# Tries after the first: on 408, 409, 429, 5xx, time-outs and broken connections, after what Retry-After says, else
# after 0.5 s, 1 s, 2 s ... These are the package's own rules.
RETRIES = 4
OUTAGE_SECONDS = 30.0
_QUOTED = 200  # characters of an endpoint's own words in a reason, ...
_READ = 10_000  # ... out of so many
_SHORTEST = 8  # characters of a key that, found in a text, are taken for a part of it


def resolve(argument: str, data: Path | None) -> ReaderSpec:
    """The reader for the model `argument`; nobody is asked whether it exists.

    Raises:
        ReaderError: the package is missing, or a variable of the environment makes no sense.
    """
    if find_spec("openai") is None:
        raise ReaderError(f"openai:{argument} needs the openai package: pip install 'pytest-engram[openai]'")
    connection = Connection.of_environment()
    prompt = find(data)
    return ReaderSpec(
        name=f"openai:{argument}",
        kind="openai",
        label=f"{argument} (openai)",
        model=argument,
        endpoint=connection.endpoint,
        prompt=prompt.describe(),
        settings={"temperature": 0, "max_tokens": MAX_TOKENS},
        templates={"system": prompt.system, "query": prompt.query, "source": prompt.source},
        run=uuid.uuid4().hex,
    )


def make(spec: ReaderSpec, cache_dir: Path) -> OpenAIReader:
    """A reader that asks nobody before it must."""
    return OpenAIReader(spec, cache_dir)


@dataclass(frozen=True)
class Connection:
    """What the environment says about the endpoint. The key is in no repr."""

    base_url: str
    key: Secret
    concurrency: int
    price: tuple[float, float] | None

    @classmethod
    def of_environment(cls) -> Connection:
        """Read and check it.

        Raises:
            ReaderError: a variable makes no sense; the message does not repeat what might be secret.
        """
        given = os.environ.get("OPENAI_BASE_URL", "").strip()
        try:
            url = urlsplit(given or OPENAI)
            sound = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
        except ValueError:
            sound = False
        if not sound:
            raise ReaderError("OPENAI_BASE_URL is no http or https address; write it like http://127.0.0.1:8000/v1")
        if url.username or url.password or url.query:
            raise ReaderError("OPENAI_BASE_URL holds a password or a query: put the key into OPENAI_API_KEY instead")
        key = Secret(os.environ.get("OPENAI_API_KEY", "").strip())
        return cls(given or OPENAI, key, _concurrency(), _price())

    @property
    def needs_key(self) -> bool:
        """Whether the endpoint is OpenAI's own; any other one may do without."""
        return self.base_url == OPENAI

    @property
    def endpoint(self) -> str:
        """Its host, without port and path."""
        host = urlsplit(self.base_url).hostname or ""
        return LOOPBACK if host in ("localhost", "::1") or host.startswith("127.") else host

    def cost(self, usage: Any, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars: what the endpoint says, else by `ENGRAM_READER_PRICE`, else nothing on the own machine."""
        told = getattr(usage, "cost", None)
        if isinstance(told, (int, float)):
            return float(told)
        if self.price is not None:
            return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6
        return 0.0 if self.endpoint == LOOPBACK else None


class Secret:
    """A key that no traceback shows, and that is taken out of texts."""

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "***"

    def __bool__(self) -> bool:
        return bool(self._value)

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def redact(self, text: str) -> str:
        """`text` with the whole key replaced by `***`; a word such as "none", given for a key, is no secret."""
        return text.replace(self._value, "***") if len(self._value) >= _SHORTEST else text

    def scrub(self, text: str) -> str:
        """`text` with the key, and every part of it from 8 characters on, replaced by `***`."""
        shortest = min(_SHORTEST, len(self._value))
        if not shortest:
            return text
        parts, at = [], 0
        while at < len(text):
            end = at + shortest
            if text[at:end] in self._value and end <= len(text):
                while end < len(text) and text[at : end + 1] in self._value:
                    end += 1
                parts.append("***")
            else:
                end = at + 1
                parts.append(text[at])
            at = end
        return "".join(parts)


class OpenAIReader:
    """Asks `spec.model` with the prompt of `spec`.

    Args:
        spec: what `resolve` returned.
        cache_dir: completions are stored in it.
        retries: tries after the first.
        timeout: seconds for one try.
    """

    def __init__(self, spec: ReaderSpec, cache_dir: Path, *, retries: int = RETRIES, timeout: float = TIMEOUT) -> None:
        self._spec = spec
        self._prompt = Prompt(**spec.templates)
        self._connection = Connection.of_environment()
        self._retries, self._timeout = retries, timeout
        folder = cache_dir / "completions"
        self._slots = folder / "slots"
        self._store = CompletionStore(folder)
        self._outage = Outage(folder / "outages" / f"{spec.run}.json", OUTAGE_SECONDS)

    def answer(self, question: str, entries: Sequence[Entry]) -> Answer:
        """The model's answer, from the store where it was asked the same before.

        Raises:
            ReaderUnavailable: the endpoint gives none.
        """
        messages = self._prompt.messages(question, [entry.text for entry in entries])
        request = {"model": self._spec.model, "messages": messages, **self._spec.settings}
        try:
            found, cached = self._store.get_or_ask(
                {"endpoint": self._spec.endpoint, **request}, lambda: self._ask_in_turn(request)
            )
        except StoreError as error:
            raise ReaderUnavailable(str(error)) from None
        numbers = {name: found.get(name) for name in ("tokens_in", "tokens_out", "cost")}
        return Answer(parse_answer(found["text"]), cached=cached, **numbers)

    def _ask_in_turn(self, request: dict[str, Any]) -> dict[str, Any]:
        name = hashlib.sha256(str(self._spec.endpoint).encode()).hexdigest()[:16]
        with slot(self._slots, name, self._connection.concurrency):
            if reason := self._outage.reason():  # only now: it may have begun while this one waited
                raise ReaderUnavailable(reason)
            return self._ask(request)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if self._connection.needs_key and not self._connection.key:
                raise _Refused("OPENAI_API_KEY is not set", lasting=True)
            record = self._record(self._client.chat.completions.create(**request))
        except Exception as error:  # whatever package, network and endpoint can do: its words may hold the key
            refused = error if isinstance(error, _Refused) else self._refusal(error)
        else:
            self._outage.over()
            return record
        reason = f"{self._spec.model} at {self._spec.endpoint}: {refused}"
        if refused.lasting is not None:
            self._outage.declare(reason, lasting=refused.lasting)
        raise ReaderUnavailable(reason) from None

    @cached_property
    def _client(self) -> Any:
        import openai

        return openai.OpenAI(
            base_url=self._connection.base_url,
            api_key=self._connection.key.reveal() or "none",  # the package insists on one
            max_retries=self._retries,
            timeout=openai.Timeout(self._timeout, connect=min(5.0, self._timeout)),
        )

    def _record(self, completion: Any) -> dict[str, Any]:
        choices = getattr(completion, "choices", None)
        message = choices[0].message if choices else None
        if message is None or not isinstance(message.content, str | None):  # a web page, say
            raise _Refused(
                "answered with no chat completion; is OPENAI_BASE_URL right (most end in /v1)?", lasting=None
            )
        tokens_in = getattr(completion.usage, "prompt_tokens", None)
        tokens_out = getattr(completion.usage, "completion_tokens", None)
        return {
            "model": self._spec.model,
            "text": self._connection.key.redact(message.content or ""),
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "cost": self._connection.cost(completion.usage, tokens_in or 0, tokens_out or 0),
        }

    def _refusal(self, error: Exception) -> _Refused:
        import openai

        if isinstance(error, openai.APITimeoutError):
            return _Refused(f"no answer within {self._timeout:g} s, {self._retries + 1} times", lasting=False)
        if isinstance(error, openai.APIConnectionError):
            why = self._quote(str(error.__cause__ or error))
            return _Refused(f"can't be reached ({why}); is it running, and is OPENAI_BASE_URL right?", lasting=False)
        if not isinstance(error, openai.APIStatusError):
            return _Refused(f"{type(error).__name__}: {self._quote(str(error))}", lasting=None)
        status = error.status_code
        if status in (401, 403):  # not quoted: some endpoints answer with the key, half of it masked
            return _Refused(f"refuses the key in OPENAI_API_KEY ({status})", lasting=True)
        said = f"{status}: {self._quote(_message(error))}"
        if status == 404:
            return _Refused(f"no such model, or OPENAI_BASE_URL is wrong ({said})", lasting=True)
        if status == 429 or status >= 500:
            return _Refused(f"gave up after {self._retries + 1} tries ({said})", lasting=False)
        return _Refused(f"refuses the request ({said})", lasting=None)

    def _quote(self, text: str) -> str:
        """The endpoint's own words in one short line, without the key."""
        line = " ".join(self._connection.key.scrub(text[:_READ]).split())
        return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"


class _Refused(Exception):
    """`lasting`: whether it holds for the whole run, or passes; None: for this question alone."""

    def __init__(self, problem: str, *, lasting: bool | None) -> None:
        super().__init__(problem)
        self.lasting = lasting


def _message(error: Any) -> str:
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    found = inner.get("message") if isinstance(inner, dict) else inner
    return str(found or error.message)


def _concurrency() -> int:
    given = os.environ.get("ENGRAM_READER_CONCURRENCY", "4")
    if not given.strip().isdecimal() or int(given) < 1:
        raise ReaderError(f"ENGRAM_READER_CONCURRENCY is {given!r}; it must be a whole number, 1 or more")
    return int(given)


def _price() -> tuple[float, float] | None:
    given = os.environ.get("ENGRAM_READER_PRICE")
    if not given:
        return None
    try:
        prices = [float(part) for part in given.split(",")]
        if len(prices) != 2 or not all(0 <= price < float("inf") for price in prices):
            raise ValueError
    except ValueError:
        raise ReaderError(
            f"ENGRAM_READER_PRICE is {given!r}; write dollars for a million tokens in and out, such as 0.15,0.60"
        ) from None
    return prices[0], prices[1]
