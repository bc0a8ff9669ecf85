"""Timestamps that user functions give are checked where they enter."""

from __future__ import annotations

from flowsim.errors import BadInput
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP


def checked_timestamp(timestamp: object, what: str) -> int:
    """``timestamp`` when it is whole milliseconds of 64 bits; raises BadInput naming ``what`` otherwise.

    >>> checked_timestamp(5, "timer")
    5
    """
    if type(timestamp) is int and NO_TIMESTAMP <= timestamp <= MAX_WATERMARK:
        return timestamp
    raise BadInput(
        f"{what}: expected whole milliseconds of 64 bits, got {timestamp!r:.60} ({type(timestamp).__name__})"
    )
