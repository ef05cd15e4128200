from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import pages
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.report import embedded

JSON = st.recursive(
    st.none() | st.integers() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)
)


def page(data: Any, id_: str = "data") -> str:
    return f'<p>1</p><script type="application/gzip" id="{id_}">{embedded.packed(data)}</script><script>2</script>'


@given(JSON)
def test_any_json_survives_a_script_element(data: Any) -> None:
    packed = embedded.packed(data)
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", packed)  # nothing ends the element, opens a comment or breaks a line
    assert pages.told(packed) == json.loads(json.dumps(data))


def test_neither_time_nor_name_nor_system_stands_in_it() -> None:
    # RFC 1952: magic, method 8, no flags, no time, extra flags 2 (best compression), system 255 (unknown).
    assert base64.b64decode(embedded.packed({"a": 1}))[:10] == bytes.fromhex("1f8b 08 00 00000000 02 ff")


def test_a_number_that_json_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded.packed([float("nan")])


def test_two_pages_are_the_same_if_their_data_say_the_same() -> None:
    html = page({"text": "</script> ü \ud83d"}) + page([1, 2, 3] * 400, "excerpts")
    other = pages.packed_otherwise(html)
    assert other != html
    assert embedded.opened(other.encode()) == embedded.opened(html.encode())
    assert embedded.opened(page([1]).encode()) == page([1]).replace(embedded.packed([1]), "[1]").encode()
    assert embedded.opened(page([1]).encode()) != embedded.opened(page([2]).encode())


@pytest.mark.parametrize(
    "damaged",
    [
        "W10=",  # no gzip
        "W10",  # no base64
        "",
        base64.b64encode(gzip.compress(b"[1]")[:-6]).decode(),
        base64.b64encode(gzip.compress(b"[1]")[:-8] + bytes(8)).decode(),
    ],
    ids=["no gzip", "no base64", "empty", "cut", "checksum"],
)
def test_what_can_not_be_unpacked_is_left_as_it_is(damaged: str) -> None:
    html = page([1]).replace(embedded.packed([1]), damaged).encode()
    assert embedded.opened(html) == html


def test_what_only_looks_packed_is_left_as_it_is() -> None:
    html = b"<script>1</script><p>application/gzip</p>"
    assert embedded.opened(html) == html
