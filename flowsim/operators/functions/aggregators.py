"""Sum, minimum and maximum of a field, as reductions. Flink: SumAggregator, ComparableAggregator."""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import Enum
from typing import Final, assert_never

from flowsim.errors import BadInput
from flowsim.operators.functions.field_accessor import Field, FieldAccessor
from flowsim.values.types import TypeInformation, TypeKind

_BITS: Final = {TypeKind.BYTE: 8, TypeKind.SHORT: 16, TypeKind.INT: 32, TypeKind.LONG: 64}
_COMPARABLE: Final = (*_BITS, TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.STRING, TypeKind.CHAR, TypeKind.BOOLEAN)


class AggregationType(Enum):
    """The kind of reduction. Flink: AggregationFunction.AggregationType."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MINBY = "min_by"
    MAXBY = "max_by"


Reduce = Callable[[object, object], object]


def aggregator(kind: AggregationType, field: Field, declared: TypeInformation | None, *, first: bool = True) -> Reduce:
    """Returns the reduction. Of equal records, ``min_by`` and ``max_by`` keep the first or the last.

    Raises BadInput if the records have no such field, or if it cannot be added or compared.
    """
    accessor = FieldAccessor(field, declared, kind.value)
    match kind:
        case AggregationType.SUM:
            return SumAggregator(accessor).reduce
        case AggregationType.MIN:
            return ComparableAggregator(accessor, kind.value, least=True).reduce
        case AggregationType.MAX:
            return ComparableAggregator(accessor, kind.value, least=False).reduce
        case AggregationType.MINBY:
            return ComparableAggregator(accessor, kind.value, least=True).by(first=first)
        case AggregationType.MAXBY:
            return ComparableAggregator(accessor, kind.value, least=False).by(first=first)
    assert_never(kind)


class SumAggregator:
    """Returns the first record with the sum in its field, which overflows as its Java type does. Flink: SumAggregator.

    Without a declared type an int is a Long, a float a Double.
    """

    __slots__ = ("_accessor", "_kind")

    def __init__(self, accessor: FieldAccessor) -> None:
        declared = accessor.field_type
        kind = None if declared is None or declared.kind is TypeKind.PICKLED_BYTE_ARRAY else declared.kind
        if kind is not None and kind not in (*_BITS, TypeKind.FLOAT, TypeKind.DOUBLE):
            raise BadInput(f"sum: a field of type {kind.value} cannot be added: expected a number")
        self._accessor = accessor
        self._kind = kind

    def reduce(self, value1: object, value2: object) -> object:
        accessor = self._accessor
        return accessor.set(value1, self._add(accessor.get(value1), accessor.get(value2)))

    def _add(self, one: object, other: object) -> object:
        if type(one) is int and type(other) is int:
            return _wrapped(one + other, _BITS.get(self._kind or TypeKind.LONG, 64))
        if type(one) is float and type(other) is float:
            total = one + other
            return _single(total) if self._kind is TypeKind.FLOAT else total
        raise BadInput(
            f"sum: {one!r:.60} and {other!r:.60} cannot be added: expected two numbers of one type, "
            f"got {type(one).__name__} and {type(other).__name__}"
        )


class ComparableAggregator:
    """Computes the minimum or maximum by Java's ``compareTo``. Flink: ComparableAggregator, Comparator."""

    __slots__ = ("_accessor", "_least", "_what")

    def __init__(self, accessor: FieldAccessor, what: str, *, least: bool) -> None:
        declared = accessor.field_type
        if declared is not None and declared.kind not in (*_COMPARABLE, TypeKind.PICKLED_BYTE_ARRAY):
            raise BadInput(f"{what}: values of type {declared.name} have no order: expected numbers, texts or booleans")
        self._accessor = accessor
        self._what = what
        self._least = least

    def reduce(self, value1: object, value2: object) -> object:
        """Returns the first record with the minimum or maximum in its field."""
        accessor = self._accessor
        other = accessor.get(value2)
        # Flink tests whether the first is strictly better, and uses the other one for equal values.
        return value1 if self._compare(accessor.get(value1), other) > 0 else accessor.set(value1, other)

    def by(self, *, first: bool) -> Reduce:
        """Returns the record with the minimum or maximum; of equal records, the first or the last."""

        def reduce(value1: object, value2: object) -> object:
            better = self._compare(self._accessor.get(value1), self._accessor.get(value2))
            if better == 0:
                return value1 if first else value2
            return value1 if better > 0 else value2

        return reduce

    def _compare(self, one: object, other: object) -> int:
        """Returns a positive number if the first value is more extreme."""
        order = compare_to(one, other, self._what)
        return -order if self._least else order


def compare_to(one: object, other: object, what: str) -> int:
    """Compares two values as Java's ``compareTo``: negative, 0 or positive.

    Raises BadInput naming ``what`` for incomparable values.

    NaN is the largest number, -0.0 is less than 0.0, and text is compared by its UTF-16 units.
    """
    kind = type(one)
    if kind is not type(other) or kind not in (int, float, str, bool):
        raise BadInput(
            f"{what}: {one!r:.60} and {other!r:.60} cannot be compared: expected two numbers, texts or booleans of one "
            f"type, got {kind.__name__} and {type(other).__name__}"
        )
    if isinstance(one, str) and isinstance(other, str):
        one_text, other_text = _utf_16(one), _utf_16(other)
        return (one_text > other_text) - (one_text < other_text)
    one_rank, other_rank = _rank(one), _rank(other)
    return (one_rank > other_rank) - (one_rank < other_rank)


def _utf_16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _rank(value: object) -> tuple[float | int, int]:
    if isinstance(value, float):
        if value != value:
            return (float("inf"), 1)
        return (value, -1 if value == 0 and str(value) == "-0.0" else 0)
    assert isinstance(value, int)
    return (value, 0)


def _wrapped(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return (number + half) % (1 << bits) - half


def _single(number: float) -> float:
    """Returns the nearest single-precision number; infinite on overflow."""
    try:
        (rounded,) = struct.unpack(">f", struct.pack(">f", number))
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return float(rounded)
