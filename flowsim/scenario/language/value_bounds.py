"""Bounds of the values that expressions compute: integers of 64 bits, sizes in bytes, levels of nesting."""

from __future__ import annotations

from typing import Final

from flowsim.errors import FlowsimError
from flowsim.limits import DEFAULT_LIMITS, Limits, to_raise
from flowsim.quantities import count_text
from flowsim.values.closed_set import MAX_DEPTH
from flowsim.values.row import Row

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
ITEM_BYTES: Final = 8
"""The size in bytes that a number, and each item of a sequence, counts."""
CHARACTER_BYTES: Final = 4
"""The size in bytes that a character counts in a text with non-ASCII characters; in an ASCII text it is 1 byte."""

_SMALL: Final = frozenset((type(None), bool, float))


class ExpressionFailure(FlowsimError):
    """An expression could not be evaluated for one record; the job fails and names the record."""


def beyond_int64(number: object) -> object:
    """Raises ExpressionFailure for an integer outside int64."""
    bits = number.bit_length() + 1 if isinstance(number, int) else 0
    raise ExpressionFailure(f"integer result needs {bits} bits, an int64 has 64")


def small_text(limits: Limits) -> int:
    """Returns the number of characters of which a text is never too large, whatever the characters."""
    return limits.value_bytes // CHARACTER_BYTES


def text_bytes(text: str) -> int:
    """Returns an upper bound of the bytes of a text, in memory and encoded, without reading the text."""
    return len(text) if text.isascii() else CHARACTER_BYTES * len(text)


def size_of(value: object, most: int) -> int:
    """Returns the bytes of a value; stops counting above ``most``. An item that occurs twice counts twice.

    Raises ExpressionFailure for an integer outside int64, and for values nested too deep.
    """
    size = 0
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        deeper: list[object] = []
        for item in level:
            if type(item) is int:
                if not INT64_MIN <= item <= INT64_MAX:
                    beyond_int64(item)
            elif type(item) is str:
                size += text_bytes(item)
            elif isinstance(item, tuple | list | dict | Row):
                items = _items(item)
                size += ITEM_BYTES * len(items)
                if size > most:
                    return size
                deeper.extend(items)
            elif isinstance(item, bytes):
                size += len(item)
        if size > most or not deeper:
            return size
        level = deeper
    raise ExpressionFailure(f"result is nested more than {MAX_DEPTH} deep")


def _items(value: tuple[object, ...] | list[object] | dict[object, object] | Row) -> tuple[object, ...] | list[object]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value.field_values if isinstance(value, Row) else value


class ValueBounds:
    """Checks the limits of values, in methods that generated code calls; they raise ExpressionFailure."""

    __slots__ = ("limits", "value_bytes", "small_text")

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.value_bytes = limits.value_bytes
        self.small_text = small_text(limits)

    def text(self, text: str) -> str:
        """Returns the text, unless it is too large."""
        if text_bytes(text) > self.value_bytes:
            self.too_large()
        return text

    def value(self, result: object) -> object:
        """Returns a result of unknown type, unless it is too large."""
        if type(result) is int:
            return result if INT64_MIN <= result <= INT64_MAX else beyond_int64(result)
        if type(result) is tuple and self._is_small(result):
            return result
        if size_of(result, self.value_bytes) > self.value_bytes:
            self.too_large()
        return result

    def _is_small(self, result: tuple[object, ...]) -> bool:
        """True if a flat tuple is certainly not too large; a fast path for short tuples."""
        characters = 2 * len(result)
        for item in result:
            if type(item) is str:
                characters += len(item)
            elif type(item) is int:
                if not INT64_MIN <= item <= INT64_MAX:
                    return False
            elif type(item) not in _SMALL:
                return False
        return characters <= self.small_text

    def record(self, values: tuple[object, ...] | list[object], before: int = 0) -> int:
        """Returns ``before`` plus the bytes of some values of a record."""
        size = before + size_of(values, self.limits.record_bytes)
        if size > self.limits.record_bytes:
            most = self.limits.record_bytes
            raise ExpressionFailure(f"the record is larger than {most} bytes {to_raise('record_bytes')}")
        return size

    def few_rows(self, fields: int) -> int:
        """Returns how many records with this number of fields a flat_map may emit without a check."""
        return min(self.limits.flat_map_rows, self.limits.flat_map_bytes // (fields * self.value_bytes))

    def rows(self, kept: tuple[object, ...], items: tuple[object, ...] | list[object]) -> None:
        """Checks the records that a flat_map emits for one record: each has the fields ``kept`` and one item."""
        rows, most = self.limits.flat_map_rows, self.limits.flat_map_bytes
        if len(items) > rows:
            raise ExpressionFailure(
                f"flat_map gives {count_text(len(items), 'record')} for one, expected at most {rows} {to_raise('flat_map_rows')}"
            )
        if self.record(kept) * len(items) + size_of(items, most) > most:
            raise ExpressionFailure(
                f"flat_map gives {count_text(len(items), 'record')} for one, together larger than {most} bytes "
                f"{to_raise('flat_map_bytes')}"
            )

    def too_large(self) -> None:
        """Raises ExpressionFailure for a value above the limit."""
        raise ExpressionFailure(f"result is larger than {self.value_bytes} bytes {to_raise('value_bytes')}")


DEFAULT_BOUNDS: Final = ValueBounds()
