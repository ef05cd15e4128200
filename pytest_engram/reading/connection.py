"""What the environment says about an endpoint: where it is, its key, what an answer costs, how many it gives at once.

- `OPENAI_BASE_URL` (OpenAI's own), `OPENAI_API_KEY` (which an endpoint of one's own need not have).
- `ENGRAM_READER_CONCURRENCY` (4): how many questions are asked at a time.
- `ENGRAM_READER_PRICE`: US dollars for a million tokens in and out, such as `0.15,0.60`, where the endpoint itself does
  not tell a cost; `ENGRAM_JUDGE_PRICE` in its place for a judge.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

OPENAI = "https://api.openai.com/v1"
LOOPBACK = "loopback"
_PORTS = {"http": 80, "https": 443}
_SHORTEST = 8  # characters of a key that, found in a text, are taken for a part of it


class EndpointError(Exception):
    """An endpoint that can't be used, by the user's settings. The message is one line, with the cure."""


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


@dataclass(frozen=True)
class Connection:
    """What the environment says about the endpoint. The key is in no repr."""

    base_url: str
    key: Secret
    price: tuple[float, float] | None

    @classmethod
    def of_environment(cls, role: str = "reader") -> Connection:
        """Read and check it.

        Args:
            role: "reader" or "judge": whose price.

        Raises:
            EndpointError: a variable makes no sense; the message does not repeat what might be secret.
        """
        given = os.environ.get("OPENAI_BASE_URL", "").strip()
        try:
            url = urlsplit(given or OPENAI)
            sound = url.scheme in _PORTS and bool(url.hostname) and (url.port is None or url.port > 0)
        except ValueError:
            sound = False
        if not sound:
            raise EndpointError("OPENAI_BASE_URL is no http or https address; write it like http://127.0.0.1:8000/v1")
        if url.username or url.password or url.query:
            raise EndpointError("OPENAI_BASE_URL holds a password or a query: put the key into OPENAI_API_KEY instead")
        key = Secret(os.environ.get("OPENAI_API_KEY", "").strip())
        return cls(given or OPENAI, key, _price(role))

    @property
    def needs_key(self) -> bool:
        """Whether the endpoint is OpenAI's own; any other one may do without."""
        return self.base_url == OPENAI

    @property
    def host(self) -> str:
        """As it is told: without port and path."""
        host = urlsplit(self.base_url).hostname or ""
        return LOOPBACK if host in ("localhost", "::1") or host.startswith("127.") else host

    @property
    def address(self) -> str:
        """As completions are stored by it: host, port and path, in one way of writing them. It is told to nobody."""
        url = urlsplit(self.base_url)
        return f"{self.host}:{url.port or _PORTS[url.scheme]}{url.path.rstrip('/')}"

    def cost(self, usage: Any) -> float | None:
        """US dollars: what the endpoint says, else by the price, else nothing on the own machine; None: not known."""
        told = getattr(usage, "cost", None)
        if isinstance(told, (int, float)) and not isinstance(told, bool) and isfinite(told) and told >= 0:
            return float(told)
        if self.price is not None:
            tokens_in, tokens_out = (count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
            if tokens_in is None or tokens_out is None:
                return None
            return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6
        return 0.0 if self.host == LOOPBACK else None


def count(usage: Any, name: str) -> int | None:
    """One of the numbers of tokens in a reply; None where it does not tell."""
    found = getattr(usage, name, None)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def concurrency() -> int:
    """How many questions are asked at a time.

    Raises:
        EndpointError: `ENGRAM_READER_CONCURRENCY` makes no sense.
    """
    given = os.environ.get("ENGRAM_READER_CONCURRENCY", "4")
    if not given.strip().isdecimal() or int(given) < 1:
        raise EndpointError(f"ENGRAM_READER_CONCURRENCY is {given!r}; it must be a whole number, 1 or more")
    return int(given)


def _price(role: str) -> tuple[float, float] | None:
    names = ["ENGRAM_READER_PRICE"] if role == "reader" else [f"ENGRAM_{role.upper()}_PRICE", "ENGRAM_READER_PRICE"]
    name = next((name for name in names if os.environ.get(name)), None)
    if name is None:
        return None
    given = os.environ[name]
    try:
        prices = [float(part) for part in given.split(",")]
        if len(prices) != 2 or not all(0 <= price < float("inf") for price in prices):
            raise ValueError
    except ValueError:
        raise EndpointError(
            f"{name} is {given!r}; write dollars for a million tokens in and out, such as 0.15,0.60"
        ) from None
    return prices[0], prices[1]
