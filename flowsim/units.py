"""Typed ids and units; the unit is the last word of a name (``timeout_ms``, ``capacity_buffers``)."""

from __future__ import annotations

import re
from typing import Final, NewType

TimestampMs = NewType("TimestampMs", int)
"""Milliseconds of event or processing time since the epoch (may be negative for event time)."""

TaskId = NewType("TaskId", int)
"""Index of a subtask in the execution graph, in topological order."""

ChannelId = NewType("ChannelId", int)
"""Index of a physical channel (one subpartition read by one input channel) in the execution graph."""

NO_TIMESTAMP: Final = -(2**63)
"""No timestamp, or no watermark yet: Flink's ``Long.MIN_VALUE`` (rule 0.4)."""

MAX_WATERMARK: Final = 2**63 - 1
"""The end of event time: Flink's ``Watermark.MAX_WATERMARK`` (rule 0.4)."""

ORDINARY_TIMESTAMP: Final = 2**61
"""Timestamps of at most this size are compared first: compiled code compares larger ones through objects."""

NS_PER_MS: Final = 1_000_000
NS_PER_SECOND: Final = 1_000_000_000


def as_long(number: int) -> int:
    """Wraps a sum to 64 bits as a Java long does.

    >>> as_long(MAX_WATERMARK + 1) == NO_TIMESTAMP
    True
    """
    return (number + 2**63) % 2**64 - 2**63


_UNITS_NS: Final[dict[str, int]] = {
    "ns": 1,
    "us": 1_000,
    "ms": NS_PER_MS,
    "s": 1_000 * NS_PER_MS,
    "sec": 1_000 * NS_PER_MS,
    "min": 60_000 * NS_PER_MS,
    "h": 3_600_000 * NS_PER_MS,
    "d": 86_400_000 * NS_PER_MS,
}
_DURATION: Final = re.compile(r"(-?[0-9]{1,18})\s*([a-z]+)")


def duration_ns(text: str) -> int:
    """Returns the nanoseconds of a duration such as ``"100 ms"``, ``"30 min"`` or ``"1h"``. Raises ValueError.

    >>> duration_ns("30 min")
    1800000000000
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or match.group(2) not in _UNITS_NS:
        raise ValueError(f"expected a duration such as '100 ms' (units: {', '.join(_UNITS_NS)}), got {text[:40]!r}")
    return int(match.group(1)) * _UNITS_NS[match.group(2)]


def duration_ms(text: str) -> int:
    """Returns the milliseconds of a duration. Raises ValueError if it is not a whole number of milliseconds."""
    ns = duration_ns(text)
    if ns % NS_PER_MS:
        raise ValueError(f"expected whole milliseconds, got {text[:40]!r}")
    return ns // NS_PER_MS
