"""`@method`: what it refuses, in the author's own line."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_engram.memory import method


def fixture() -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "a,b"}, "name is 'a,b'; it must be of letters, digits"),
        ({"name": "a b"}, "name is 'a b'"),
        ({"name": "a[b]"}, r"name is 'a\[b\]'"),
        ({"name": "a::b"}, "name is 'a::b'"),
        ({"name": "a\n"}, r"name is 'a\\n'"),
        ({"name": ""}, "name is ''"),
        ({"name": 3}, "name is 3"),
        ({"name": "all"}, "name is 'all', which stands for every method"),
        ({"name": "request"}, "name is 'request', which is pytest's own"),
        ({"label": 3}, "label is 3; it must be a text"),
        ({"label": " "}, "label is ' '"),
        ({"role": "hero"}, "role is 'hero'; it must be one of experiment"),
        ({"scope": "module"}, "scope is 'module'; it must be session or function"),
        ({"controls": "dense"}, "controls is 'dense'; it must be a list of names"),
        ({"controls": [3]}, r"controls is \[3\]"),
        ({"trained_on": 3}, "trained_on is 3; it must be a list"),
    ],
)
def test_what_makes_no_method_is_refused_where_it_is_written(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=f"^@method: {told}"):
        method(**given)(fixture)


def test_parentheses_are_not_forgotten() -> None:
    with pytest.raises(TypeError, match=r"^@method: write @method\(\), with parentheses$"):
        method(fixture)


@pytest.mark.parametrize("name", ["mine", "mine-2", "mine.v2", "été"])
def test_plain_words_are_names(name: str) -> None:
    made: Any = method(name=name)(fixture)
    assert made.__engram_method__.name == name
