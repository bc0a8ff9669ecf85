"""The canonical bytes of JSON and their hash; files that name each other by hash use both."""

from __future__ import annotations

import hashlib
import json


def canonical_json(value: object) -> bytes:
    """Returns JSON with sorted keys, no spaces and only ASCII: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def sha256(content: bytes) -> str:
    """Returns the SHA-256 as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
