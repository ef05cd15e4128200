"""What the tests of tests/fuzz share: budgets, bounds, and rubbish made of what is right.

Two profiles: `fuzz`, of a fixed budget and always the same examples, and `fuzz-long`, of many and new ones each time,
which prints what reproduces a failure. `ENGRAM_FUZZ` names the profile; `make fuzz` does.
"""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

_PLAIN: Any = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    "phases": [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # explaining takes longer than all the rest
}
settings.register_profile("fuzz", max_examples=80, derandomize=True, **_PLAIN)
settings.register_profile("fuzz-long", max_examples=500, print_blob=True, **_PLAIN)


def budget(share: float = 1.0) -> Callable[[Any], Any]:
    """The profile's examples, or a share of them where one takes long."""
    profile = settings.get_profile(os.environ.get("ENGRAM_FUZZ", "fuzz"))
    return settings(profile, max_examples=max(1, round(profile.max_examples * share)))


SECONDS = 20  # of the processor, for one example
MEGABYTES = 300  # that one test may add to what the process has ever held


@contextmanager
def bounded() -> Iterator[None]:
    """Fail where what is within never ends, or takes more memory than any small file may."""

    def stop(*_: object) -> None:
        raise AssertionError(f"not done after {SECONDS} seconds of the processor")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, kept)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEGABYTES, f"{grown:.0f} MB for one example"


# With what readers stumble over: control characters, marks of direction, half a pair, and what looks like a number.
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "",
            " ",
            "\0",
            "\x1b[31m",
            "\u2028",
            "\u202e",
            "\ud83d",
            "\ufeff",
            "\u200b",
            "a\nb",
            "..",
            "-x",
            "=1+1",
            "{port}",
        ]
    ),
    st.sampled_from(
        ["nan", "1e999", "0x1F", "no", "9:30", "2023-05-20", "null", "~", "answer@0", "answer@-1", "@", "all"]
    ),
)
NUMBERS = st.one_of(
    st.integers(-3, 300),
    st.sampled_from([10**9, 2**63, -(2**63) - 1, 10**400, -1]),
    st.floats(allow_nan=True, allow_infinity=True),
)
_LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
RUBBISH = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def places(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a JSON value, the whole left out."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*where, key)
        yield from places(part, (*where, key))


@st.composite
def changed(draw: Any, whole: Any, most: int = 3) -> Any:
    """A JSON value in which a few parts are another's, gone, twice there, or rubbish."""
    value = deepcopy(whole)
    for _ in range(draw(st.integers(1, most))):
        ways = list(places(value))
        if not ways:
            break
        *above, last = draw(st.sampled_from(ways))
        parent = value
        for key in above:
            parent = parent[key]
        kind = draw(st.sampled_from(["rubbish", "rubbish", "other", "gone", "twice", "renamed"]))
        if kind == "rubbish":
            parent[last] = draw(RUBBISH)
        elif kind == "other":
            other = whole
            for key in draw(st.sampled_from(list(places(whole)))):
                other = other[key]
            parent[last] = deepcopy(other)
        elif kind == "gone":
            del parent[last]
        elif kind == "twice" and isinstance(parent, list):
            parent.insert(last, deepcopy(parent[last]))
        elif kind == "renamed" and isinstance(parent, dict):
            parent[draw(TEXTS)] = parent.pop(last)
    return value


@st.composite
def damaged(draw: Any, content: bytes) -> bytes:
    """A file of which bytes are others, cut off, put in, or repeated."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        to = draw(st.integers(at, min(len(content), at + 40)))
        put = draw(st.one_of(st.just(b""), st.binary(max_size=8), st.just(content[at:to] * 2), st.just(b"[" * 3000)))
        content = content[:at] + put + content[to:]
        if draw(st.integers(0, 4)) == 0:
            content = content[:at]
    return content


def as_json(value: Any) -> bytes:
    """A JSON text, as Python's own writer has it: with NaN, and half a pair as an escape."""
    return json.dumps(value).encode()


def one_line(told: object, begins: str = "", has: str = "", lacks: str = "\n", cure: tuple[str, ...] = ()) -> None:
    """Whether an error is told in one line: with where the fault is, what is wrong, and what helps.

    Args:
        told: the error, or what it says.
        begins: how it does.
        has: what it must name.
        lacks: what it must not.
        cure: words of which one is there, where a cure is told.
    """
    text = str(told)
    assert text
    assert "\n" not in text
    assert lacks not in text
    assert text.startswith(begins), text
    assert has in text, text
    assert not cure or any(word in text.removeprefix(begins) for word in cure), text
