"""A model behind any OpenAI-compatible endpoint, through the `openai` package: for answers and for verdicts alike.

Every completion is stored by the sha256 of the endpoint's address (host, port and path), of what the server says of the
model there (`GET /models`: owner, root and metadata), of model, messages and settings: a second run asks nothing, and a
killed run goes on where it stopped. So another server is asked anew, also under the same name, and a local one that
comes back on another port counts as another one. Where the server can't be reached, what it said last holds.

What is no answer is not stored: a completion that is empty because it was cut, filtered or refused, or that was cut
inside its thought. One that is empty and came to its end is an answer.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_engram.basics.privacy import public
from pytest_engram.reading import thought
from pytest_engram.reading.client import OUTAGE_SECONDS, RETRIES, TIMEOUT, Client, Refused
from pytest_engram.reading.completions import CompletionStore, StoreError, remember, remembered
from pytest_engram.reading.connection import Connection, EndpointError, count
from pytest_engram.reading.outages import Outage
from pytest_engram.reading.purse import Purse

__all__ = [
    "NOT_SETTINGS",
    "RETRIES",
    "TIMEOUT",
    "Completion",
    "Endpoint",
    "EndpointError",
    "Purse",
    "Unavailable",
    "available",
    "settled",
]

ENDED = ("stop", "end_turn", "eos", "eos_token", "stop_sequence", "complete")  # words for "said all there is to say"
REFUSED = ("content_filter", "refusal", "safety")
NOT_SETTINGS = ("model", "messages", "stream", "n")
# Words of an endpoint that takes no temperature of 0; a refusal that only quotes the question is none.
_NO_TEMPERATURE = re.compile(
    r"(?=.*temperature)"
    r"(?=.*(not (be )?(support|allow|permit)|unsupported|only .{0,20}default|deprecat|unrecogni|unexpected))",
    re.IGNORECASE | re.DOTALL,
)
_SAID = ("owned_by", "root", "meta")  # of a server's words on a model, those that change with the model alone


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model said, its thought taken off. Tokens and cost (US dollars) of the asking; None: not known."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    cached: bool = False
    finish: str | None = None


class Unavailable(Exception):
    """A completion that can't be had now. The message is the reason, in one line, without any secret.

    Attributes:
        spent: what the asking took all the same, where the model said something that is no answer.
    """

    def __init__(self, reason: str, spent: Completion | None = None) -> None:
        super().__init__(reason)
        self.spent = spent


def available(name: str) -> None:
    """Whether an endpoint can be asked, by package and environment; nobody is asked.

    Args:
        name: as the user gave it, such as "openai:MODEL".

    Raises:
        EndpointError: it can't.
    """
    if find_spec("openai") is None:
        raise EndpointError(f"{name} needs the openai package: pip install 'pytest-engram[openai]'")
    Connection.of_environment()


def settled(settings: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """`settings` with those that a user gave in their place; None takes one out.

    Of `max_tokens` and `max_completion_tokens`, which say the same, the user's one stays.
    """
    found = {**settings, **given}
    if given.get("max_completion_tokens") is not None and given.get("max_tokens") is None:
        found["max_tokens"] = None
    return {name: value for name, value in found.items() if value is not None}


class Endpoint:
    """A model that is asked by several threads; nobody is asked before there must be an answer.

    Args:
        model: its name there.
        settings: what is sent beside model and messages, such as {"temperature": 0, "max_tokens": 10}.
        cache_dir: completions are stored in it.
        role: "reader" or "judge": whose price, and whose options a message names.
        purse: of the run.
        retries: tries after the first.
        timeout: seconds for one try.

    Raises:
        EndpointError: the environment makes no sense.
    """

    def __init__(
        self,
        model: str,
        settings: Mapping[str, Any],
        cache_dir: Path,
        *,
        role: str = "reader",
        purse: Purse | None = None,
        retries: int = RETRIES,
        timeout: float = TIMEOUT,
    ) -> None:
        self._model = model
        self._settings = dict(settings)
        self._role = role
        self._purse = purse or Purse()
        self._connection = Connection.of_environment(role)
        self._client = Client(model, self._connection, retries, timeout)
        self._folder = cache_dir / "completions"
        self._store = CompletionStore(self._folder)
        self._outage = Outage()
        self._lock = threading.RLock()
        self._first = threading.Lock()
        self._known = False  # whether the endpoint was asked yet
        self._identity: dict[str, Any] | None = None
        self._fingerprints: set[str] = set()
        self._refuses: set[str] = set()  # settings that the endpoint does not take
        self._sent: dict[str, dict[str, Any]] = {}  # by the settings asked for, as JSON, those that were sent

    @property
    def host(self) -> str:
        """As it is told: without port and path; "loopback" for this machine."""
        return self._connection.host

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        nth: int = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The model's completion, from the store where it was asked the same before.

        Args:
            messages: as the API has them.
            nth: above 0: the same asked once more, stored apart.
            settings: for this question, in place of the endpoint's own.

        Raises:
            Unavailable: there is none.
        """
        wanted = dict(self._settings if settings is None else settings)
        key = {
            "address": self._connection.address,
            "server": self._server(),
            "model": self._model,
            "messages": [dict(message) for message in messages],
            "settings": wanted,
        }
        try:
            found, cached = self._store.get_or_ask(
                key | ({"nth": nth} if nth else {}), lambda: self._ask(messages, wanted)
            )
        except StoreError as error:
            raise Unavailable(str(error)) from None
        self._note(found, wanted)
        return _completion(found, cached=cached)

    def sent(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What was sent where `settings` were asked for."""
        return self._sent.get(_json(settings), dict(settings))

    def describe(self) -> dict[str, Any]:
        """For the manifest, as JSON: model, endpoint, settings as sent, notes, what the server says of itself."""
        with self._lock:
            said = dict(self._identity or {})
            if self._fingerprints:
                said["system_fingerprint"] = sorted(self._fingerprints)
            return {
                "model": self._model,
                "endpoint": self.host,
                "settings": self.sent(self._settings),
                "notes": self.notes(),
                "server": {name: _public(value) for name, value in said.items()},
            }

    def notes(self) -> list[str]:
        """What was sent otherwise than it was asked for, a line each."""
        found: dict[str, None] = {}
        with self._lock:
            pairs = [(json.loads(wanted), sent) for wanted, sent in self._sent.items()]
        for wanted, sent in pairs:
            if "max_tokens" in wanted and "max_tokens" not in sent:
                found[f"{self._model} refuses max_tokens: sent as max_completion_tokens"] = None
            if "temperature" in wanted and "temperature" not in sent:
                told = f"{self._model} refuses temperature {wanted['temperature']}: not sent, so its own holds"
                found[told] = None
        return list(found)

    def _note(self, record: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        with self._lock:
            self._sent[_json(wanted)] = dict(record.get("sent") or wanted)
            if record.get("fingerprint"):
                self._fingerprints.add(str(record["fingerprint"]))

    # Asking

    def _ask(self, messages: Sequence[Mapping[str, str]], wanted: dict[str, Any]) -> dict[str, Any]:
        # The first goes alone: a wrong key, a setting that is refused or an unknown price is found out once.
        if not self._known:
            with self._first:
                if not self._known:
                    try:
                        return self._ask_now(messages, wanted)
                    finally:
                        self._known = True
        return self._ask_now(messages, wanted)

    def _ask_now(self, messages: Sequence[Mapping[str, str]], wanted: dict[str, Any]) -> dict[str, Any]:
        if reason := self._purse.closed() or self._outage.reason(OUTAGE_SECONDS):
            raise Unavailable(reason)
        record: dict[str, Any] = {}
        try:
            reply, sent = self._adjusting(messages, wanted)
            self._outage.over()
            record = self._record(reply, sent)
            record["text"] = self._connection.key.redact(self._text(reply.choices[0].message, record["finish"]))
        except Refused as refused:
            reason = f"{self._model} at {self.host}: {refused}"
            if refused.seconds is not None:
                self._outage.declare(reason, refused.seconds)
            raise Unavailable(reason, _completion(record) if record else None) from None
        except Exception as error:  # a reply of no form that anybody knows
            told = f"{type(error).__name__}: {self._client.quote(str(error))}"
            raise Unavailable(f"{self._model} at {self.host}: {told}") from None
        return record

    def _adjusting(self, messages: Sequence[Mapping[str, str]], wanted: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """A reply, and what was sent for it: without what the endpoint says that it refuses."""
        while True:
            sent = self._adjusted(wanted)
            try:
                return self._client.chat(messages, sent), sent
            except Refused as refused:
                self._learn(refused.said, sent)
                if self._adjusted(wanted) == sent:
                    raise

    def _adjusted(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            renamed = {"max_tokens": "max_completion_tokens"} if "max_tokens" in self._refuses else {}
            return {
                renamed.get(name, name): value
                for name, value in wanted.items()
                if not (name == "temperature" and value == 0 and name in self._refuses)
            }

    def _learn(self, said: str, sent: Mapping[str, Any]) -> None:
        with self._lock:
            if "max_tokens" in sent and "max_completion_tokens" in said:
                self._refuses.add("max_tokens")
            elif sent.get("temperature") == 0 and _NO_TEMPERATURE.search(said):
                self._refuses.add("temperature")

    def _server(self) -> dict[str, Any]:
        """What the server says of the model, as far as that tells one from another; asked once."""
        with self._lock:
            if self._identity is None:
                path = self._folder / "servers" / f"{_sha256([self._connection.address, self._model])}.json"
                said = _of_model(self._client.models(), self._model)
                if said is None:
                    said = remembered(path)
                else:
                    # A key that it repeats must reach neither the store nor the manifest.
                    said = json.loads(self._connection.key.redact(json.dumps(said)))
                    if said != remembered(path):
                        remember(path, said)
                self._identity = said
            return self._identity

    # What came back

    def _record(self, reply: Any, sent: dict[str, Any]) -> dict[str, Any]:
        """What is stored of a reply, its text aside; its cost is counted.

        Raises:
            Refused: it is none.
        """
        given = getattr(reply, "choices", None)
        choices: list[Any] = given if isinstance(given, list) else []
        if isinstance(error := getattr(reply, "error", None), dict):  # some gateways send it with status 200
            raise Refused(f"refused ({error.get('code')}: {self._client.quote(str(error.get('message')))})")
        message = getattr(choices[0], "message", None) if choices else None
        content = getattr(message, "content", 0)
        if message is None or not isinstance(content, str | list | None):  # a web page, say
            raise Refused("answered with no chat completion; is OPENAI_BASE_URL right (most end in /v1)?")
        cost = self._connection.cost(reply.usage)
        self._purse.take(cost)
        finish = getattr(choices[0], "finish_reason", None)
        return {
            "model": self._model,
            "text": "",
            "tokens_in": count(reply.usage, "prompt_tokens"),
            "tokens_out": count(reply.usage, "completion_tokens"),
            "cost": cost,
            "finish": finish if isinstance(finish, str) else None,
            "sent": sent,
            "fingerprint": getattr(reply, "system_fingerprint", None),
        }

    def _text(self, message: Any, finish: str | None) -> str:
        """The answer in a message.

        Raises:
            Refused: there is none.
        """
        word = str(finish).lower()
        why = f"finish_reason {finish or 'missing'}"
        if isinstance(refusal := getattr(message, "refusal", None), str) and refusal.strip():
            raise Refused(f"refused to answer ({why}: {self._client.quote(refusal)})")
        if word in REFUSED:
            raise Refused(f"{'filtered' if str(message.content or '').strip() else 'empty'} ({why})")
        more = f"; --engram-{self._role}-set max_tokens=N gives it more" if word == "length" else ""
        content = thought.plain(message.content)
        try:
            text = None if content is None else thought.answer(content, ended=word in ENDED)
        except thought.Cut:
            raise Refused(f"cut inside its thought ({why}){more}") from None
        if text is None or (not text.strip() and word not in ENDED):
            raise Refused(f"empty ({why}){more}")
        return text


def _of_model(listed: Any, model: str) -> dict[str, Any] | None:
    """What a list of models says of one that changes with it alone; None where there is no such list."""
    try:
        found: Any = next((one for one in listed["data"] if one.get("id") == model), {})
        return {name: found[name] for name in _SAID if found.get(name) is not None}
    except (TypeError, KeyError, AttributeError):
        return None


def _completion(record: Mapping[str, Any], *, cached: bool = False) -> Completion:
    numbers = {name: record.get(name) for name in ("tokens_in", "tokens_out", "cost", "finish")}
    return Completion(str(record["text"]), cached=cached, **numbers)


def _public(value: Any) -> Any:
    """Of what a server says of itself, without where its files lie."""
    if isinstance(value, dict):
        return {name: _public(inner) for name, inner in value.items()}
    return public(value) if isinstance(value, str) else value


def _json(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True)


def _sha256(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
