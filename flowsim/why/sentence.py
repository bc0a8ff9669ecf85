"""Sentences whose quantities stay apart from their words, so that alike sentences can share their words.

A report has the words of thousands of alike sentences once, and their quantities as columns of integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from flowsim.quantities import count_text
from flowsim.trace.names import Names
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time, moment_text, span_text


class EventTime(NamedTuple):
    """A timestamp or watermark."""

    ms: int

    def __str__(self) -> str:
        return event_time(self.ms)


class EventTimeSpan(NamedTuple):
    """A length of event time."""

    ms: int

    def __str__(self) -> str:
        return span_text(self.ms)


class Moment(NamedTuple):
    """A time since the start of the run."""

    ns: int

    def __str__(self) -> str:
        return moment_text(self.ns)


class RecordCount(NamedTuple):
    """A number of records with the noun."""

    records: int

    def __str__(self) -> str:
        return count_text(self.records, "record")


class Window(NamedTuple):
    """A window by its bounds in ms."""

    start: int
    end: int

    def __str__(self) -> str:
        return window_text(self.start, self.end)


@dataclass(frozen=True, slots=True)
class RecordValue:
    """The value of a record by its fingerprint."""

    fingerprint: int
    names: Names

    def __str__(self) -> str:
        return self.names.value(self.fingerprint)


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key by its hash in facts."""

    key: int
    names: Names

    def __str__(self) -> str:
        return self.names.key(self.key)


Quantity = EventTime | EventTimeSpan | Moment | RecordCount | Window | RecordValue | KeyValue


Part = str | Quantity


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
