"""Which elements of an async operator are not answered yet, told where a run stands still."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.operators.async_wait.stream_element_queue import StreamRecordQueueEntry
from flowsim.units import NO_TIMESTAMP

_SHOWN: Final = 5


def awaited_elements(pending: Sequence[StreamRecordQueueEntry], queued: int, capacity: int) -> str:
    """How many of the ``queued`` elements have no answer, and the first of them; empty when none is awaited."""
    if not pending:
        return ""
    shown = ", ".join(_element(entry) for entry in pending[:_SHOWN])
    more = f" and {len(pending) - _SHOWN} more" if len(pending) > _SHOWN else ""
    answers = "the answer to 1 element" if len(pending) == 1 else f"the answers to {len(pending)} elements"
    return f"{answers} ({queued} of {capacity} places taken): {shown}{more}"


def _element(entry: StreamRecordQueueEntry) -> str:
    record = repr(entry.value)
    if len(record) > 100:
        record = record[:100] + "..."
    when = "" if entry.timestamp in (None, NO_TIMESTAMP) else f" @ {entry.timestamp}"
    late = ", whose timeout passed" if entry.timed_out else ""
    return f"number {entry.number}, record {record}{when}{late}"
