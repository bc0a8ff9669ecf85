"""What simulated calls of a scenario answer, and which answers are asked for again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from flowsim.connectors.lookup_table import LookupTable
from flowsim.scenario.language.functions import ExpressionFailure

Missing = Literal["nulls", "drop", "fail"]


class OneResult:
    """The record that an expression makes of a record."""

    def __init__(self, record: Callable[[Any], object]) -> None:
        self._record = record

    def __call__(self, value: Any) -> Sequence[object]:
        return (self._record(value),)


class LookUpRow:
    """The record with the row of its key behind it."""

    def __init__(self, key: Callable[[Any], object], table: LookupTable, missing: Missing) -> None:
        self._key = key
        self._table = table
        self._missing = missing

    def __call__(self, value: Any) -> Sequence[object]:
        key = self._key(value)
        if isinstance(key, tuple | list | dict):
            raise ExpressionFailure(f"a key is a number, a text or a truth value, got {key!r:.100}")
        found = self._table.get(key)
        if found is not None:
            return (value + found,)
        if self._missing == "fail":
            raise ExpressionFailure(f"no row of the table has the key {key!r:.100}")
        return () if self._missing == "drop" else (value + (None,) * len(self._table.names),)


class AskedAgain:
    """Whether results are to be tried again: there are none, or one of them meets a condition."""

    def __init__(self, when: Callable[[Any], object] | None, *, when_empty: bool) -> None:
        self._when = when
        self._when_empty = when_empty

    def __call__(self, results: Sequence[object]) -> bool:
        if not results:
            return self._when_empty
        when = self._when
        return when is not None and any(when(result) for result in results)


def no_results(value: object) -> Sequence[object]:
    """The answer for a record that is left out."""
    return ()
