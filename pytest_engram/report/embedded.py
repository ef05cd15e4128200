"""Data inside a page: JSON, compressed with gzip, in base64, as the page's own script reads it.

The same data gives the same characters: neither a time nor a file nor a system is named in them. Another zlib may
compress otherwise, so two pages are compared by what their data say: see `opened`.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import zlib
from typing import Any

from pytest_engram.runs.packed import compressing

TYPE = "application/gzip"  # of a script element: one that a browser does not run

_ELEMENT = re.compile(rf'(<script type="{TYPE}" id="\w+">)([^<]*)(?=</script>)'.encode())


def packed(data: Any) -> str:
    """What can stand in a script element: letters, digits, `+`, `/` and `=`, whatever the data hold.

    Raises:
        ValueError: the data hold a number that JSON has not.
    """
    content = json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
    out = io.BytesIO()
    with compressing(out) as stream:
        stream.write(content)
    return base64.b64encode(out.getvalue()).decode()


def opened(page: bytes) -> bytes:
    """A page with its data as plain JSON; what can't be unpacked is left as it is."""
    return _ELEMENT.sub(lambda found: found[1] + _unpacked(found[2]), page)


def _unpacked(text: bytes) -> bytes:
    try:
        return gzip.decompress(base64.b64decode(text, validate=True))
    except (ValueError, OSError, EOFError, zlib.error):
        return text
