"""Encoded records as text for output and for SQL: their timestamps, and their values as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from flowsim.values.encoding import decode_shown, encode_record
from flowsim.values.keys import jsonable
from flowsim.values.row import Row

Texts = tuple[list[int | None], bytes]
"""The timestamps of some records, and their values as JSON in UTF-8, a line each."""

_BATCH: Final = 256
"""Number of records per batch: so few that the garbage collector does not run meanwhile."""
_ARRAY: Final = b"\xdc"
"""The msgpack code of an array whose length follows in 16 bits."""

_Scalar = None | bool | int | float | str
_decode_flat: Final = msgspec.msgpack.Decoder(list[tuple[int | None, _Scalar | list[_Scalar]]]).decode
_encode_lines: Final = msgspec.json.Encoder().encode_lines


def record_texts(records: bytes, bounds: Sequence[int]) -> Texts:
    """Returns the texts of records that ``values.encoding`` encoded; n is ``records[bounds[n] : bounds[n + 1]]``.

    The JSON is the same as for keys (``keys.key_json``), but a Row with field names, or a dict with only text keys, is
    an object. So is an object of another class, with its class first.

    >>> from flowsim.values.encoding import encode_record
    >>> record = encode_record(7, ("a", float("nan"), [True]))
    >>> record_texts(record, (0, len(record)))
    ([7], b'["a","NaN",[true]]\\n')
    """
    timestamps: list[int | None] = []
    lines: list[bytes] = []
    for start in range(0, len(bounds) - 1, _BATCH):
        batch = bounds[start : start + _BATCH + 1]
        found, text = _flat_texts(records, batch) or _texts(records, batch)
        timestamps += found
        lines.append(text)
    return timestamps, b"".join(lines)


def value_text(value: object) -> str:
    """Returns the value of a record as a recording has it: JSON without spaces. Raises ValueNotAllowed.

    >>> value_text(("a", 1))
    '["a",1]'
    """
    record = encode_record(None, value)
    return record_texts(record, (0, len(record)))[1].decode().rstrip("\n")


def _flat_texts(records: bytes, bounds: Sequence[int]) -> Texts | None:
    """Returns the texts of a batch of scalars and flat tuples (fast path); None if the batch has other values."""
    count = len(bounds) - 1
    try:
        decoded = _decode_flat(b"".join((_ARRAY, count.to_bytes(2, "big"), records[bounds[0] : bounds[-1]])))
    except msgspec.ValidationError:
        return None
    values = [value for _, value in decoded]
    lines = _encode_lines(values)
    if b"null" in lines:
        texts = lines.splitlines(keepends=True)
        for place, text in enumerate(texts):
            if b"null" in text and text.count(b"null") != _nones(values[place]):  # perhaps a float that JSON lacks
                texts[place] = _texts(records, bounds[place : place + 2])[1]
        lines = b"".join(texts)
    return [timestamp for timestamp, _ in decoded], lines


def _nones(value: _Scalar | list[_Scalar]) -> int:
    return value.count(None) if isinstance(value, list) else int(value is None)


def _texts(encoded: bytes, bounds: Sequence[int]) -> Texts:
    records: list[Any] = [decode_shown(encoded[start:end]) for start, end in pairwise(bounds)]
    texts = [
        json.dumps(_named(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        for _, value in records
    ]
    return [timestamp for timestamp, _ in records], "".join(texts).encode()


def _named(value: object) -> object:
    match value:
        case Row() if value.field_names is not None:
            return dict(zip(value.field_names, map(_named, value.field_values), strict=True))
        case Row():
            return [_named(item) for item in value.field_values]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: _named(item) for key, item in value.items()}
        case dict():
            return [[_named(key), _named(item)] for key, item in value.items()]
        case tuple() | list():
            return [_named(item) for item in value]
        case _:
            return jsonable(value)
