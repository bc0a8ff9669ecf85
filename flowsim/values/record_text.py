"""Encoded records as text for output and for SQL: their timestamps, and their values as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from flowsim.values.encoding import decode_value
from flowsim.values.keys import jsonable
from flowsim.values.row import Row

Encoded = bytes | bytearray
Texts = tuple[list[int | None], bytes]
"""The timestamps of some records, and their values as JSON in UTF-8, a line each."""

_BATCH: Final = 256
"""Number of records per batch: so few that the garbage collector does not run meanwhile."""
_ARRAY: Final = b"\xdc"
"""The msgpack code of an array whose length follows in 16 bits."""

_Scalar = None | bool | int | float | str
_decode_flat: Final = msgspec.msgpack.Decoder(list[tuple[int | None, _Scalar | list[_Scalar]]]).decode
_encode_lines: Final = msgspec.json.Encoder().encode_lines


def record_texts(encoded: Sequence[Encoded]) -> Texts:
    """Returns the texts of records that ``values.encoding`` encoded.

    The JSON is the same as for keys (``keys.key_json``), but a Row with field names, or a dict with only text keys, is
    an object.

    >>> from flowsim.values.encoding import encode_record
    >>> record_texts([encode_record(7, ("a", float("nan"), [True]))])
    ([7], b'["a","NaN",[true]]\\n')
    """
    timestamps: list[int | None] = []
    lines: list[bytes] = []
    for start in range(0, len(encoded), _BATCH):
        batch = encoded[start : start + _BATCH]
        found, text = _flat_texts(batch) or _texts(batch)
        timestamps += found
        lines.append(text)
    return timestamps, b"".join(lines)


def _flat_texts(encoded: Sequence[Encoded]) -> Texts | None:
    """Returns the texts of a batch of scalars and flat tuples (fast path); None if the batch has other values."""
    try:
        records = _decode_flat(b"".join((_ARRAY, len(encoded).to_bytes(2, "big"), *encoded)))
    except msgspec.ValidationError:
        return None
    values = [value for _, value in records]
    lines = _encode_lines(values)
    if b"null" in lines:
        texts = lines.splitlines(keepends=True)
        for place, text in enumerate(texts):
            if b"null" in text and text.count(b"null") != _nones(values[place]):  # perhaps a float that JSON lacks
                texts[place] = _texts(encoded[place : place + 1])[1]
        lines = b"".join(texts)
    return [timestamp for timestamp, _ in records], lines


def _nones(value: _Scalar | list[_Scalar]) -> int:
    return value.count(None) if isinstance(value, list) else int(value is None)


def _texts(encoded: Sequence[Encoded]) -> Texts:
    records: list[Any] = [decode_value(one) for one in encoded]
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
