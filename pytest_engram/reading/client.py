"""One model asked over HTTP: tries again where that may help, and says in one line, without secrets, why it gave up."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from pytest_engram.reading.connection import Connection

# Tries after the first: on 408, 409, 429, 5xx, time-outs and broken connections, after what Retry-After says, else
# after 0.5 s, 1 s, 2 s ... up to 8 s.
RETRIES = 4
TIMEOUT = 120.0  # seconds for one try; a small machine of one's own may need them
LONGEST_WAIT = 60.0  # seconds; an endpoint that asks for more is not waited for
OUTAGE_SECONDS = 30.0  # how long a passing outage is believed
LASTING = float("inf")  # seconds: trying again in this run is pointless
_QUOTED = 200  # characters of an endpoint's own words in a reason, ...
_READ = 10_000  # ... out of so many


class Refused(Exception):
    """Why there is no answer, in one line.

    Attributes:
        seconds: how long that holds for every question; None: it is of this question alone.
        said: what the endpoint says is wrong with the request, where it is that. It may hold the key.
    """

    def __init__(self, problem: str, seconds: float | None = None, said: str = "") -> None:
        super().__init__(problem)
        self.seconds = seconds
        self.said = said


class Client:
    """A model behind an endpoint, asked by several threads.

    Args:
        model: its name there.
        connection: where it is.
        retries: tries after the first.
        timeout: seconds for one try.
    """

    def __init__(self, model: str, connection: Connection, retries: int, timeout: float) -> None:
        self._model = model
        self._connection = connection
        self._retries, self._timeout = retries, timeout
        self._lock = threading.Lock()
        self._made: Any = None

    def chat(self, messages: Sequence[Mapping[str, str]], sent: Mapping[str, Any]) -> Any:
        """A chat completion, as the package has it.

        Raises:
            Refused: there is none.
        """
        self._check_key()
        tries = 0
        while True:
            tries += 1
            try:
                # All settings alike, those that the package does not know too.
                return self._package().chat.completions.create(
                    model=self._model, messages=list(messages), extra_body=dict(sent)
                )
            except Exception as error:  # whatever package, network and endpoint can do: its words may hold the key
                asks = _asks_to_wait(error)
                if tries > self._retries or not _passing(error) or (asks or 0.0) > LONGEST_WAIT:
                    raise self._refusal(error, tries, asks) from None
                time.sleep(asks or min(0.5 * 2 ** (tries - 1), 8.0))

    def models(self) -> Any:
        """What the endpoint lists as its models, as JSON; None where it can't be asked, or has no such list."""
        try:
            self._check_key()
            return self._package().get("/models", cast_to=object, options={"timeout": min(5.0, self._timeout)})
        except Exception:  # whether it can be asked at all is told by the asking
            return None

    def quote(self, text: str) -> str:
        """The endpoint's own words in one short line, without the key."""
        line = " ".join(self._connection.key.scrub(text[:_READ]).split())
        return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"

    def _check_key(self) -> None:
        if self._connection.needs_key and not self._connection.key:
            raise Refused("OPENAI_API_KEY is not set", LASTING)

    def _package(self) -> Any:
        import openai

        with self._lock:
            if self._made is None:
                self._made = openai.OpenAI(
                    base_url=self._connection.base_url,
                    api_key=self._connection.key.reveal() or "none",  # the package insists on one
                    max_retries=0,  # it waits longer than we do, and does not tell how often it tried
                    timeout=openai.Timeout(self._timeout, connect=min(5.0, self._timeout)),
                )
            return self._made

    def _refusal(self, error: Exception, tries: int, asks: float | None) -> Refused:
        import openai

        times = f"{tries} tries" if tries > 1 else "1 try"
        if isinstance(error, openai.APITimeoutError):
            within = f"no answer within {self._timeout:g} s"
            return Refused(f"{within}, {tries} times" if tries > 1 else within, OUTAGE_SECONDS)
        if isinstance(error, openai.APIConnectionError):
            why = self.quote(str(error.__cause__ or error))
            return Refused(f"can't be reached ({why}); is it running, and is OPENAI_BASE_URL right?", OUTAGE_SECONDS)
        if not isinstance(error, openai.APIStatusError):
            return Refused(f"{type(error).__name__}: {self.quote(str(error))}")
        status = error.status_code
        if status in (401, 403):  # not quoted: some endpoints answer with the key, half of it masked
            return Refused(f"refuses the key in OPENAI_API_KEY ({status})", LASTING)
        message = _message(error)
        said = f"{status}: {self.quote(message)}"
        if status == 404:
            return Refused(f"no such model, or OPENAI_BASE_URL is wrong ({said})", LASTING)
        if _passing(error) and asks is not None and asks > LONGEST_WAIT:
            told = f"asks to wait {asks:.0f} s; gave up after {times} ({said})"
            return Refused(told, max(asks, OUTAGE_SECONDS))
        if _passing(error):
            return Refused(f"gave up after {times} ({said})", OUTAGE_SECONDS)
        return Refused(f"refuses the request ({said})", said=message)


def _passing(error: Exception) -> bool:
    """Whether trying again may help."""
    import openai

    if not isinstance(error, openai.APIStatusError):
        return isinstance(error, openai.APIConnectionError)
    told = error.response.headers.get("x-should-retry")
    if told in ("true", "false"):
        return bool(told == "true")
    return error.status_code in (408, 409, 429) or error.status_code >= 500


def _asks_to_wait(error: Exception) -> float | None:
    """Seconds, by `Retry-After` in any of its forms."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / divisor
        except (KeyError, ValueError):
            continue
        return seconds if 0 < seconds < float("inf") else None
    try:
        seconds = parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds > 0 else None


def _message(error: Any) -> str:
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    found = inner.get("message") if isinstance(inner, dict) else inner
    return str(found or error.message)
