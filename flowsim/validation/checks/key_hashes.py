"""Java hash codes and key groups, derived anew from what a key is (rules 1.18, 1.19, 1.23).

Runs in Python workers: needs nothing but numpy, pandas and the standard library.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_MASK: Final = 0xFFFFFFFF


def signed(value: int) -> int:
    """The low 32 bits as a Java int."""
    value &= _MASK
    return value - 0x100000000 if value & 0x80000000 else value


_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"\s*:|\w+\s*:|\w+|[<>,])', re.ASCII)
"""Of a type name such as ``ROW<name:STRING,"odd name":TUPLE<INT,LONG>>``; a field name keeps its colon."""

Type = tuple[str, list["Type"]]
"""Kind of a type and the types of its fields."""


def parse_type(name: str) -> Type:
    """The kind and fields of a type name; raises ValueError."""
    tokens = [t for t in _TOKEN.findall(name) if not t.endswith(":")]
    root: Type = ("", [])
    stack = [root]
    for token in tokens:
        if token == "<":
            stack.append(stack[-1][1][-1])
        elif token == ">":
            stack.pop()
        elif token != ",":
            stack[-1][1].append((token, []))
    if len(root[1]) != 1 or len(stack) != 1:
        raise ValueError(f"not a type name: {name!r}")
    return root[1][0]


def _of_units(units: Iterable[int], start: int = 0) -> int:
    h = start
    for unit in units:
        h = (31 * h + unit) & _MASK
    return h


def _of_long(value: int) -> int:
    bits = value & 0xFFFFFFFFFFFFFFFF
    return bits ^ (bits >> 32)


def _of_floating(value: float, code: str, nan: int) -> int:
    # Java's hashCode knows one NaN only.
    return nan if value != value else int.from_bytes(struct.pack(code, value), "big")


def _java_hash(declared: Type, value: object) -> int:
    kind, fields = declared
    if value is None:
        return 0
    match kind, value:
        case (("STRING" | "CHAR"), str()):
            units = value.encode("utf-16-le", "surrogatepass")
            return _of_units(struct.unpack(f"<{len(units) // 2}H", units))
        case "BOOLEAN", bool():
            return 1231 if value else 1237
        case (("INT" | "SHORT" | "BYTE"), int()):
            return value
        case "LONG", int():
            return _of_long(value)
        case "DOUBLE", int() | float() | str():
            return _of_long(_of_floating(float(value), ">d", 0x7FF8000000000000))
        case "FLOAT", int() | float() | str():
            return _of_floating(float(value), ">f", 0x7FC00000)
        case "PRIMITIVE_ARRAY", str():
            content = bytes.fromhex(value)
            return _of_units(struct.unpack(f"{len(content)}b", content), start=1)
        case "TUPLE", list() if len(value) == len(fields):
            return _of_units(map(_java_hash, fields, value))
        case "ROW", list() if len(value) == len(fields):
            # Flink hashes every field of a row as a list of one, so 31 comes before it, unless it is null.
            hashes = (0 if v is None else 31 + _java_hash(f, v) for f, v in zip(fields, value, strict=True))
            return _of_units(hashes, start=1)
    raise ValueError(f"no key of type {kind}")


def java_hash(key_type: str, key_json: str) -> int | None:
    """``hashCode()`` of a key as table ``keys`` tells it, a Java int; None when it is no key of that type."""
    try:
        return signed(_java_hash(parse_type(key_type), json.loads(key_json)))
    except (ValueError, IndexError, OverflowError, struct.error):
        return None


def hash_keys(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Adds ``derived_hash`` to rows of the table ``keys``."""
    for frame in frames:
        frame["derived_hash"] = [java_hash(*key) for key in zip(frame["key_type"], frame["key_json"], strict=True)]
        frame["derived_hash"] = frame["derived_hash"].astype("Int64")
        yield frame


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
