"""Messages that go into a report tell no secret and no place of this machine."""

from __future__ import annotations

import pytest

from pytest_engram.basics.privacy import public


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("No such file: '/home/ann/work/x.db'", "No such file: '…/x.db'"),
        ("in /srv/a/b/ and /tmp/c/d.txt:3", "in …/b/ and …/d.txt:3"),
        (r"C:\Users\ann\x.db is locked", "…/x.db is locked"),
        (r"\\server\share\x.db is locked", "…/x.db is locked"),
        ("file:///home/ann/x.db", "file:///home/ann/x.db"),
        ("see https://example.org/a/b/c", "see https://example.org/a/b/c"),
        ("cases/pilot/x.yaml, ../a/b and 3/4/5", "cases/pilot/x.yaml, ../a/b and 3/4/5"),
        ("either / or", "either / or"),
        ("wrong key sk-12345678!", "wrong key $OPENAI_API_KEY!"),
        ("none of it", "none of it"),
    ],
)
def test_folders_and_secrets_are_left_out(text: str, told: str) -> None:
    environment = {"OPENAI_API_KEY": "sk-12345678", "MY_TOKEN": "none", "LANG": "wrong key"}
    assert public(text, environment) == told
