"""Java hash codes and key groups, derived anew from what a key is (rules 1.18, 1.19, 1.23).

Runs in Python workers: needs nothing but numpy, pandas and the standard library.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_MASK = 0xFFFFFFFF


def signed(value: int) -> int:
    """The low 32 bits as a Java int."""
    value &= _MASK
    return value - 0x100000000 if value & 0x80000000 else value


def _of_text(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    h = 0
    for unit in struct.unpack(f"<{len(units) // 2}H", units):
        h = (31 * h + unit) & _MASK
    return signed(h)


def _of_long(value: int) -> int:
    bits = value & 0xFFFFFFFFFFFFFFFF
    return signed(bits ^ (bits >> 32))


def _of_double(value: float) -> int:
    # Double.hashCode knows one NaN only.
    bits = 0x7FF8000000000000 if value != value else int.from_bytes(struct.pack(">d", value), "big")
    return _of_long(bits)


def java_hash(key_type: str, value: object) -> int | None:
    """``hashCode()`` of a key of the named type; None for a type or value that the judge does not know."""
    match key_type, value:
        case "STRING", str():
            return _of_text(value)
        case "BOOLEAN", bool():
            return 1231 if value else 1237
        case ("INT" | "SHORT" | "BYTE"), int():
            return signed(value)
        case "LONG", int():
            return _of_long(value)
        case "DOUBLE", int() | float():
            return _of_double(float(value))
    return None


def hash_keys(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Adds ``derived_hash`` to rows of the table ``keys``."""
    for frame in frames:
        derived = [_hash_of(t, text) for t, text in zip(frame["key_type"], frame["key_json"], strict=True)]
        frame["derived_hash"] = derived
        frame["derived_hash"] = frame["derived_hash"].astype("Int64")
        yield frame


def _hash_of(key_type: str, text: str) -> int | None:
    try:
        return java_hash(key_type, json.loads(text))
    except ValueError:
        return None


def murmur(hashes: np.ndarray) -> np.ndarray:
    """Flink's MathUtils.murmurHash of many Java ints, as int64 >= 0 (rule 1.19)."""
    import numpy as np

    with np.errstate(over="ignore"):
        k = hashes.astype(np.int64).astype(np.uint32) * np.uint32(0xCC9E2D51)
        k = ((k << np.uint32(15)) | (k >> np.uint32(17))) * np.uint32(0x1B873593)
        h = ((k << np.uint32(13)) | (k >> np.uint32(19))) * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(4)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    java = h.astype(np.int32).astype(np.int64)
    return np.where(java == -(2**31), 0, np.abs(java))


def route(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Adds ``owner``, the subtask that owns the key group of ``key_hash``, to rows with parallelism and max_parallelism."""
    for frame in frames:
        group = murmur(frame["key_hash"].to_numpy()) % frame["max_parallelism"].to_numpy()
        frame["owner"] = group * frame["parallelism"].to_numpy() // frame["max_parallelism"].to_numpy()
        yield frame
