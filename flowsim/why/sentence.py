"""Sentences whose quantities stay apart from their words, so that alike sentences can share their words.

The quantities of one sentence are integers. A sentence for many alike facts has their quantities as columns; ``row``
selects the sentence of one of them. A report has the words once, and the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flowsim.quantities import count_text
from flowsim.trace.names import Names
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time, moment_text, span_text
from flowsim.units import NO_TIMESTAMP

Number = int | npt.NDArray[np.int64]
"""An integer, or a column of them."""


def _one(number: Number) -> int:
    """The integer of a sentence that is written as text."""
    if not isinstance(number, int):
        raise TypeError("a sentence with columns has no text: select one of its rows")
    return number


class EventTime(NamedTuple):
    """A timestamp or watermark."""

    ms: Number

    def __str__(self) -> str:
        return event_time(_one(self.ms))


class EventTimeSpan(NamedTuple):
    """A length of event time."""

    ms: Number

    def __str__(self) -> str:
        return span_text(_one(self.ms))


class Moment(NamedTuple):
    """A time since the start of the run."""

    ns: Number

    def __str__(self) -> str:
        return moment_text(_one(self.ns))


class RecordCount(NamedTuple):
    """A number of records with the noun."""

    records: Number

    def __str__(self) -> str:
        return count_text(_one(self.records), "record")


class Window(NamedTuple):
    """A window by its bounds in ms."""

    start: Number
    end: Number

    def __str__(self) -> str:
        return window_text(_one(self.start), _one(self.end))


@dataclass(frozen=True, slots=True)
class RecordValue:
    """The value of a record by its fingerprint."""

    fingerprint: Number
    names: Names

    def __str__(self) -> str:
        return self.names.value(_one(self.fingerprint))


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key by its hash in facts."""

    key: Number
    names: Names

    def __str__(self) -> str:
        return self.names.key(_one(self.key))


Quantity = EventTime | EventTimeSpan | Moment | RecordCount | Window | RecordValue | KeyValue


Part = str | Quantity
Words = tuple[str | type[Quantity], ...]
"""What alike sentences have in common: text, and the kinds of the quantities in it."""


def numbers_of(part: Quantity) -> tuple[Number, ...]:
    """The integers of a quantity, or the columns."""
    match part:
        case RecordValue():
            return (part.fingerprint,)
        case KeyValue():
            return (part.key,)
    return part


def _with_numbers(part: Quantity, numbers: Sequence[Number]) -> Quantity:
    """A quantity of the same kind."""
    match part:
        case RecordValue():
            return replace(part, fingerprint=numbers[0])
        case KeyValue():
            return replace(part, key=numbers[0])
    return type(part)(*numbers)


class Sentence(tuple[Part, ...]):
    """Words and quantities in their order; as text, one after another."""

    __slots__ = ()

    def __new__(cls, *parts: Part | Sentence) -> Sentence:
        """Sentences among the parts become part of this one."""
        found: list[Part] = []
        for part in parts:
            if type(part) is Sentence:
                found += part
            else:
                found.append(part)  # type: ignore[arg-type]
        return tuple.__new__(cls, found)

    def __str__(self) -> str:
        return "".join(map(str, self))

    @property
    def words(self) -> Words:
        return tuple(part if isinstance(part, str) else type(part) for part in self)

    @property
    def numbers(self) -> Iterator[Number]:
        """The integers of all quantities, or their columns, in the order of the words."""
        for part in self:
            if not isinstance(part, str):
                yield from numbers_of(part)

    def row(self, number: int) -> Sentence:
        """The sentence of one row of the columns."""
        return Sentence(*(part if isinstance(part, str) else _row(part, number) for part in self))

    @classmethod
    def of_rows(cls, rows: Sequence[Sentence]) -> Sentence:
        """The sentence whose rows these are; they have the same words."""
        parts: list[Part] = []
        for part, *others in zip(*rows, strict=True):
            if not isinstance(part, str):
                numbers = [numbers_of(one) for one in (part, *others) if not isinstance(one, str)]
                part = _with_numbers(part, list(np.array(numbers, dtype=np.int64).T))
            parts.append(part)
        return cls(*parts)


def _row(part: Quantity, row: int) -> Quantity:
    numbers = [number if isinstance(number, int) else number.item(row) for number in numbers_of(part)]
    return _with_numbers(part, numbers)


def watermark_text(timestamp: int) -> str:
    """The watermark of a task, a channel or a split; it may have none yet."""
    return "no watermark yet" if timestamp == NO_TIMESTAMP else f"watermark {event_time(timestamp)}"


def capital(text: str) -> str:
    """The text with a capital at its start."""
    return f"{text[:1].upper()}{text[1:]}"
