"""What stands in a page that people do not read in its source: the data that its script unpacks."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

_PACKED = re.compile(r'<script type="application/gzip" id="(\w+)">([A-Za-z0-9+/]*={0,2})</script>')


def told(packed: str) -> Any:
    """The data of one script element: JSON, compressed with gzip, in base64."""
    return json.loads(gzip.decompress(base64.b64decode(packed, validate=True)))


def whole(html: str) -> str:
    """A page with its data as plain JSON, for tests that look for a text wherever it may stand."""
    return _PACKED.sub(lambda found: json.dumps(told(found[2]), ensure_ascii=False), html)


def packed_otherwise(html: str) -> str:
    """The same page as another zlib might have compressed its data."""

    def again(found: re.Match[str]) -> str:
        content = gzip.compress(gzip.decompress(base64.b64decode(found[2])), 1)
        return found[0].replace(found[2], base64.b64encode(content).decode())

    return _PACKED.sub(again, html)
