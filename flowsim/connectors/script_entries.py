"""The entries of a scripted source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from flowsim.errors import BadInput

FREE: Final = -1
"""The ``step`` of an entry that follows the previous entry at once."""


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """Emit a record."""

    value: object
    timestamp: int | None
    step: int = FREE
    split: str | None = None
    """The split of the record; None: the main output of the subtask."""


@dataclass(frozen=True, slots=True)
class WatermarkEntry:
    """Emit a watermark."""

    timestamp: int
    step: int = FREE
    split: str | None = None


@dataclass(frozen=True, slots=True)
class IdleEntry:
    """Declare the subtask, or one split, idle until its next record or watermark."""

    step: int = FREE
    split: str | None = None


@dataclass(frozen=True, slots=True)
class SleepEntry:
    """Pause for a virtual time."""

    millis: int
    step: int = FREE


@dataclass(frozen=True, slots=True)
class EndEntry:
    """End the input and ignore the later entries; or end one split, which then no longer limits the watermark."""

    step: int = FREE
    split: str | None = None


Entry = RecordEntry | WatermarkEntry | IdleEntry | SleepEntry | EndEntry
"""All classes of script entries."""


def record(value: object, timestamp: int | None = None, *, step: int = FREE, split: str | None = None) -> RecordEntry:
    """Returns a record. The default timestamp (ms) is that of the previous record of the same subtask."""
    return RecordEntry(value, timestamp, step, split)


def watermark(timestamp: int, *, step: int = FREE, split: str | None = None) -> WatermarkEntry:
    """Returns a watermark in ms."""
    return WatermarkEntry(timestamp, step, split)


def idle(*, step: int = FREE, split: str | None = None) -> IdleEntry:
    """Returns an entry that makes the subtask or split idle until the next record or watermark."""
    return IdleEntry(step, split)


def sleep(millis: int, *, step: int = FREE) -> SleepEntry:
    """Returns a pause in ms of virtual time; raises BadInput below 0."""
    if millis < 0:
        raise BadInput(f"sleep: expected 0 ms or more, got {millis}")
    return SleepEntry(millis, step)


def end(*, step: int = FREE, split: str | None = None) -> EndEntry:
    """Returns the end of the input, or of one split."""
    return EndEntry(step, split)


def split_of(entry: Entry) -> str | None:
    """Returns the split of an entry; None: the whole subtask."""
    return None if isinstance(entry, SleepEntry) else entry.split


def splits_of(script: Sequence[Entry]) -> dict[str, None]:
    """Returns the splits of the script, in the order in which the script first names them."""
    return {split: None for entry in script if (split := split_of(entry)) is not None}


def spelled(entry: Entry) -> str:
    """Returns the entry as Python code.

    >>> spelled(record("a", 5)), spelled(end(step=3)), spelled(idle(split="p0"))
    ("record('a', 5)", 'end(step=3)', "idle(split='p0')")
    """
    match entry:
        case RecordEntry(value, timestamp):
            name, arguments = "record", [repr(value), repr(timestamp)]
        case WatermarkEntry(timestamp):
            name, arguments = "watermark", [repr(timestamp)]
        case IdleEntry():
            name, arguments = "idle", []
        case SleepEntry(millis):
            name, arguments = "sleep", [repr(millis)]
        case EndEntry():
            name, arguments = "end", []
        case _:
            assert_never(entry)
    if entry.step != FREE:
        arguments.append(f"step={entry.step}")
    if split_of(entry) is not None:
        arguments.append(f"split={split_of(entry)!r}")
    return f"{name}({', '.join(arguments)})"
