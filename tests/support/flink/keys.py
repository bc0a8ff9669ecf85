"""Random keys with their declared types, and the JSON of which the Java side makes the same keys."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import strategies as st

from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, Types

Key = tuple[Any, TypeInformation, list[Any]]
"""The value here, its declared type, and its JSON."""

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def _whole(declared: TypeInformation, bits: int) -> st.SearchStrategy[Key]:
    half = 1 << (bits - 1)
    numbers = st.one_of(st.integers(-half, half - 1), st.integers(-40, 40))
    return numbers.map(lambda number: (number, declared, [declared.name, number]))


def _float_key(number: float) -> Key:
    single: float = struct.unpack(">f", struct.pack(">f", number))[0]
    return single, Types.FLOAT(), ["FLOAT", struct.unpack(">i", struct.pack(">f", single))[0]]


def _double_key(number: float) -> Key:
    return number, Types.DOUBLE(), ["DOUBLE", struct.unpack(">q", struct.pack(">d", number))[0]]


simple: st.SearchStrategy[Key] = st.one_of(
    TEXT.map(lambda text: (text, Types.STRING(), ["STRING", text])),
    _whole(Types.BYTE(), 8),
    _whole(Types.SHORT(), 16),
    _whole(Types.INT(), 32),
    _whole(Types.LONG(), 64),
    st.booleans().map(lambda flag: (flag, Types.BOOLEAN(), ["BOOLEAN", flag])),
    st.characters(max_codepoint=0xD7FF).map(lambda char: (char, Types.CHAR(), ["CHAR", char])),
    st.floats(width=32).map(_float_key),
    st.floats().map(_double_key),
)


def _tuple_key(items: list[Key]) -> Key:
    declared = Types.TUPLE([declared for _, declared, _ in items])
    return tuple(value for value, _, _ in items), declared, ["TUPLE", *(json for _, _, json in items)]


def _row_key(items: list[Key]) -> Key:
    declared = Types.ROW([declared for _, declared, _ in items])
    return Row(*(value for value, _, _ in items)), declared, ["ROW", *(json for _, _, json in items)]


def _list_key(numbers: list[int]) -> Key:
    return numbers, Types.LIST(Types.LONG()), ["LIST", *(["LONG", number] for number in numbers)]


def _map_key(entries: dict[str, int]) -> Key:
    flat = [part for key, number in entries.items() for part in (["STRING", key], ["INT", number])]
    return entries, Types.MAP(Types.STRING(), Types.INT()), ["MAP", *flat]


def _composed(inner: st.SearchStrategy[Key]) -> st.SearchStrategy[Key]:
    some = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(some.map(_tuple_key), some.map(_row_key))


keys: st.SearchStrategy[Key] = st.recursive(simple, _composed, max_leaves=6)
"""Keys of every class that a stream can be keyed by."""

hashed: st.SearchStrategy[Key] = st.recursive(
    st.one_of(
        simple,
        st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4).map(_list_key),
        st.dictionaries(TEXT, st.integers(-(2**31), 2**31 - 1), max_size=4).map(_map_key),
    ),
    _composed,
    max_leaves=6,
)
"""Everything that has a hash there and here; lists and maps have one, but are no keys here."""
