"""A sentence of a trace, and text that many sentences share."""

from __future__ import annotations

from typing import Final, NamedTuple

from flowsim.facts.kinds import (
    ElementKind,
)
from flowsim.trace.time import event_time, utc_text
from flowsim.units import NO_TIMESTAMP


class Sentence(NamedTuple):
    """One fact as text. ``rules``: numbers of the rules that explain it."""

    text: str
    rules: tuple[str, ...] = ()


STATUS: Final = {0: "ACTIVE", -1: "IDLE"}


def element_text(kind: int, timestamp: int, value: str = "") -> str:
    """Returns the text after the kind of an element: its value and time, its status or its mode."""
    match ElementKind(kind):
        case ElementKind.RECORD:
            return joined(value, time_text(timestamp))
        case ElementKind.STATUS:
            return STATUS.get(timestamp, str(timestamp))
        case ElementKind.END_OF_DATA:
            return "with drain" if timestamp else "without drain"
        case ElementKind.CHECKPOINT_BARRIER | ElementKind.UNALIGNED_BARRIER | ElementKind.CANCEL_CHECKPOINT_MARKER:
            return f"of checkpoint {timestamp}"
        case ElementKind.END_OF_PARTITION | ElementKind.EVENT:
            return ""
        case _:
            return event_time(timestamp)


def record_text(noun: str, timestamp: int, value: str) -> str:
    """Returns ``record ["a",1] (timestamp 7 ms)``, or ``a record (timestamp 7 ms)`` without a known value."""
    return joined(f"{noun} {value}" if value else f"a {noun}", time_text(timestamp))


def time_text(timestamp: int) -> str:
    return "" if timestamp == NO_TIMESTAMP else f"(timestamp {event_time(timestamp)})"


def joined(*words: str) -> str:
    return " ".join(word for word in words if word)


def window_text(start: int, end: int) -> str:
    """Returns the bounds in ms: ``window [0, 10)``, with UTC times beside them if they are dates."""
    if start == NO_TIMESTAMP:
        return "the global window"
    first, last = utc_text(start), utc_text(end)
    if not first or not last:
        return f"window [{start:,}, {end:,})"
    same_day = first.split(" ")[0] == last.split(" ")[0]
    return f"window [{start}, {end}) = [{first}, {last.split(' ')[1] if same_day else last})"
