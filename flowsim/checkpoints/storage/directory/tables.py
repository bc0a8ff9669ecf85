"""The tables of a checkpoint directory: their columns, and their rows as Arrow columns.

A value is stored twice: as the bytes of ``flowsim.values.encoding``, from which it is restored with its exact type, and
as JSON, which any reader of Parquet files can use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import msgpack
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flowsim.errors import ValueNotAllowed
from flowsim.values.encoding import decode_untrusted, encode_value, encode_values
from flowsim.values.record_text import record_texts

_RECORD_WITHOUT_TIMESTAMP: Final = b"\x92\xc0"
_LARGEST_ARRAY: Final = 2**31 - 1
ARROW: Final = {
    "i": pa.int32(),
    "q": pa.int64(),
    "?": pa.bool_(),
    "s": pa.string(),
    "v": pa.binary(),
    "j": pa.string(),
}


@dataclass(frozen=True, slots=True)
class StateColumn:
    """A column: name and meaning.

    ``code``: ``i`` int32, ``q`` int64, ``?`` boolean, ``s`` a name, ``v`` an encoded value, ``j`` a value as JSON.
    """

    name: str
    code: str
    meaning: str


@dataclass(frozen=True, slots=True)
class StateTable:
    """A table of a checkpoint directory."""

    name: str
    meaning: str
    columns: tuple[StateColumn, ...]

    @property
    def schema(self) -> pa.Schema:
        """The columns in the files; none is nullable."""
        return pa.schema([pa.field(c.name, ARROW[c.code], nullable=False) for c in self.columns])

    @property
    def written_schema(self) -> pa.Schema:
        """``schema`` with dictionaries of names, which the files do not have as a type."""
        kinds = {**ARROW, "s": pa.dictionary(pa.int32(), pa.string())}
        return pa.schema([pa.field(c.name, kinds[c.code], nullable=False) for c in self.columns])

    @property
    def column_names(self) -> list[str]:
        return [c.name for c in self.columns]

    def names(self, *codes: str) -> list[str]:
        """Returns the names of the columns with these codes."""
        return [c.name for c in self.columns if c.code in codes]


def _value(name: str, meaning: str) -> tuple[StateColumn, StateColumn]:
    return StateColumn(name, "v", meaning), StateColumn(f"{name}_json", "j", f"`{name}` as JSON")


_OPERATOR: Final = StateColumn("operator_id", "s", "the operator, as in `manifest.json`")
_SUBTASK: Final = StateColumn("subtask", "i", "the subtask that wrote the row")
_KEY_GROUP: Final = StateColumn("key_group", "i", "the key group of the key")
_KEY: Final = _value("key", "the key")
_NAMESPACE: Final = _value("namespace", "the window, as a tuple; null in JSON if there is no window")

KEYED_STATE: Final = StateTable(
    "keyed_state",
    "One row per cell of keyed state.",
    (
        _OPERATOR,
        _SUBTASK,
        _KEY_GROUP,
        StateColumn("state", "s", "the name of the state"),
        *_NAMESPACE,
        *_KEY,
        *_value(
            "value",
            "the value, the accumulator, the list of a list state, or the (key, value) pairs of a map state; with a time "
            "to live, each of these values is a pair of the value and its last access in ms",
        ),
    ),
)
TIMERS: Final = StateTable(
    "timers",
    "One row per registered timer.",
    (
        _OPERATOR,
        _SUBTASK,
        _KEY_GROUP,
        StateColumn("service", "s", "the name of the timer service"),
        StateColumn("is_event_time", "?", "true: event time, false: processing time"),
        StateColumn("timestamp", "q", "the time of the timer in ms"),
        *_KEY,
        *_NAMESPACE,
    ),
)
OPERATOR_STATE: Final = StateTable(
    "operator_state",
    "One row per element of operator state; a broadcast state is one element, the tuple of its (key, value) pairs.",
    (
        _OPERATOR,
        _SUBTASK,
        StateColumn("state", "s", "the name of the state; '' if the manifest names several or none"),
        *_value("value", "the element"),
    ),
)
CHANNEL_STATE: Final = StateTable(
    "channel_state",
    "One row per stored buffer of an unaligned checkpoint; the manifest names the channel of each.",
    (_OPERATOR, _SUBTASK, StateColumn("buffer", "v", "encoded elements; the first and the last one may be cut")),
)
COORDINATOR_STATE: Final = StateTable(
    "coordinator_state",
    "One row per operator whose coordinator has state, in the order of the operators in `manifest.json`.",
    (
        _OPERATOR,
        StateColumn("state", "v", "the state of the coordinator, e.g. the splits that a source has not assigned"),
        StateColumn("state_json", "j", "`state` as JSON; hexadecimal text if it is not an encoded value"),
    ),
)
STORED_STATE: Final = StateTable(
    "stored_state",
    "One row per state of a subtask, of keyed state and timers per key group, as in [table `stored_state` of a "
    "recording](recording.md): what the run that took the snapshot recorded. A run that restores it records the rows too.",
    (
        _OPERATOR,
        _SUBTASK,
        StateColumn("kind", "i", "the kind of the state, a number as in a recording"),
        StateColumn("state", "q", "the fingerprint of its name"),
        StateColumn("key_group", "i", "the key group, otherwise -1"),
        StateColumn("entries", "q", "number of cells, timers, elements or map entries"),
        StateColumn("fingerprint_sum", "q", "sum of their fingerprints; overflows like a Java long"),
    ),
)
STATE_TABLES: Final = {
    table.name: table for table in (KEYED_STATE, TIMERS, OPERATOR_STATE, CHANNEL_STATE, COORDINATOR_STATE, STORED_STATE)
}


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """Values as bytes and as JSON."""

    encoded: list[bytes]
    texts: list[bytes]

    @staticmethod
    def of(values: Sequence[object]) -> EncodedColumn:
        """Encodes the values. Raises ValueNotAllowed."""
        encoded = encode_values(values)
        return EncodedColumn(encoded, _texts(encoded))

    @staticmethod
    def of_few(values: Sequence[object]) -> EncodedColumn:
        """Encodes values that repeat, such as windows. Raises ValueNotAllowed."""
        encoded = encode_values(values)
        distinct = list(dict.fromkeys(encoded))
        text_of = dict(zip(distinct, _texts(distinct), strict=True))
        return EncodedColumn(encoded, [text_of[one] for one in encoded])

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.encoded)) + sum(map(len, self.texts))

    def arrays(self) -> tuple[pa.Array, pa.Array]:
        """Returns the two columns."""
        return of_bytes(self.encoded, pa.binary()), of_bytes(self.texts, pa.string())


def _texts(encoded: Sequence[bytes]) -> list[bytes]:
    records = [_RECORD_WITHOUT_TIMESTAMP + one for one in encoded]
    bounds = [0, *accumulate(map(len, records))]
    return record_texts(b"".join(records), bounds)[1].split(b"\n")[:-1]


# Not pa.array: it imports pandas if installed, which takes longer than writing a checkpoint.
def of_bytes(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Returns a column of bytes or texts. Raises ValueNotAllowed if they are too large."""
    ends: npt.NDArray[np.int64] = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=ends[1:])
    if ends[-1] > _LARGEST_ARRAY:
        raise ValueNotAllowed(
            f"state of {ends[-1]:,} bytes ({len(values):,} values) is too large: a checkpoint needs smaller values"
        )
    offsets = ends.astype(np.int32)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])


def of_numbers(values: Sequence[int], kind: pa.DataType) -> pa.Array:
    """Returns a column of integers."""
    numbers = np.array(values, kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def of_booleans(values: Sequence[bool]) -> pa.Array:
    """Returns a column of booleans."""
    bits = np.packbits(np.array(values, np.bool_), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def of_names(values: Sequence[str]) -> pa.Array:
    """Returns a column of names, which repeat."""
    numbers: dict[str, int] = {}
    indices = [numbers.setdefault(value, len(numbers)) for value in values]
    names = of_bytes([name.encode() for name in numbers], pa.string())
    return pa.DictionaryArray.from_arrays(of_numbers(indices, pa.int32()), names)


def readable_state(state: bytes) -> object:
    """Returns the value of the state of a coordinator; the bytes if they are not an encoded value."""
    try:
        value = decode_untrusted(state)
        return value if encode_value(value) == state else state
    except (ValueError, TypeError, ValueNotAllowed, RecursionError, msgpack.UnpackException):
        return state
