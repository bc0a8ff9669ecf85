"""The state of a window operator for one key and window: its contents and the state of its trigger."""

from __future__ import annotations

from typing import Final, NamedTuple

from flowsim.laws.windows.plan import Evictor
from flowsim.units import NO_TIMESTAMP
from flowsim.values.java_long import wrapped

PaneId = tuple[int, int, int]
"""Key, start and end of the window."""

Account = tuple[int, int, int, int, int, int]
"""Number of records, sum of fingerprint >> 31, exclusive or of the fingerprints; number of records of the right side, sum
of the fingerprints of the left and of the right side (all records of a window of one stream are left)."""


_NO_RECORDS: Final[list[tuple[int, int, int]]] = []
"""Shared by all panes; never changed."""


class TriggerState(NamedTuple):
    """The state of a trigger of one pane."""

    counted: int
    next_fire_ms: int | None
    timeout: int | None
    parts: dict[int, TriggerState] | None


NO_TRIGGER_STATE: Final = TriggerState(0, None, None, None)


class Pane:
    """One key and window (rules 10.30, 10.31); single records are stored only if an evictor chooses among them."""

    __slots__ = (
        "cleanup", "count", "id", "last", "left_sum", "next_fire_ms", "parts", "records", "right_rows", "right_sum", "rows",
        "since", "steady", "timeout", "total", "xor",
    )  # fmt: skip

    def __init__(self, pane: PaneId, last: int, cleanup: int) -> None:
        self.id = pane
        self.last = last
        self.cleanup = cleanup
        self.steady = False
        """It has contents, and another record only adds to them: trigger and timers do not change."""
        self.rows = self.total = self.xor = self.right_rows = self.left_sum = self.right_sum = 0
        self.records = _NO_RECORDS
        """Timestamp, fingerprint and side."""
        self.since = (0, 0)
        """Number of intakes up to and including its first record, and the time of that record in ns."""
        self.count = 0
        self.next_fire_ms: int | None = None
        """The next fire time of a continuous trigger."""
        self.timeout: int | None = None
        self.parts: dict[int, TriggerState] | None = None
        """The states of the parts of a trigger ``any_of``."""

    def clear_contents(self) -> None:
        """Resets it to the initial state."""
        self.since = (0, 0)
        self.empty()

    def empty(self) -> None:
        """The contents are purged."""
        self.steady = False
        self.rows = self.total = self.xor = self.right_rows = self.left_sum = self.right_sum = 0
        self.records = _NO_RECORDS

    def count_record(self, fingerprint: int, side: int) -> None:
        self.rows += 1
        self.total += fingerprint >> 31
        self.xor ^= fingerprint
        if side:
            self.right_rows += 1
            self.right_sum += fingerprint
        else:
            self.left_sum += fingerprint

    def keep_record(self, timestamp: int, fingerprint: int, side: int) -> None:
        """Stores a record for the evictor."""
        if self.records is _NO_RECORDS:
            self.records = []
        self.records.append((timestamp, fingerprint, side))

    def absorb(self, other: Pane) -> None:
        """Adds the contents of another pane."""
        if self.rows == 0:
            self.since = other.since
        self.rows += other.rows
        self.total += other.total
        self.xor ^= other.xor
        self.right_rows += other.right_rows
        self.left_sum += other.left_sum
        self.right_sum += other.right_sum
        if other.records:
            self.records = self.records + other.records

    def account(self) -> Account:
        return self.rows, self.total, self.xor, self.right_rows, self.left_sum, self.right_sum

    def fire(self, evictor: Evictor | None) -> Account:
        """The contents for the window function; removes evicted records."""
        if evictor is not None and not evictor.after:
            self._evict(evictor)
        given = self.account()
        if evictor is not None and evictor.after:
            self._evict(evictor)
        return given

    def _evict(self, evictor: Evictor) -> None:
        kept = self.records
        if evictor.kind == "count":
            kept = kept[max(0, len(kept) - evictor.length) :]
        elif kept and kept[0][0] != NO_TIMESTAMP:
            oldest = wrapped(max(record[0] for record in kept) - evictor.length)
            kept = [record for record in kept if record[0] > oldest]
        self.empty()
        self.records = kept
        for _, fingerprint, side in kept:
            self.count_record(fingerprint, side)

    def forget_trigger(self) -> None:
        """Removes the trigger's state."""
        self._set_trigger_state(NO_TRIGGER_STATE)

    def enter_part(self, index: int) -> TriggerState:
        """Replaces the trigger's state by that of its part; returns it for ``leave_part``."""
        outer = self._trigger_state()
        parts = self.parts or {}
        self._set_trigger_state(parts.get(index, NO_TRIGGER_STATE))
        return outer

    def leave_part(self, index: int, outer: TriggerState) -> None:
        """Stores the state of the part, and sets that of the trigger again."""
        inner = self._trigger_state()
        self._set_trigger_state(outer._replace(parts={**(outer.parts or {}), index: inner}))

    def _trigger_state(self) -> TriggerState:
        return TriggerState(self.count, self.next_fire_ms, self.timeout, self.parts)

    def _set_trigger_state(self, state: TriggerState) -> None:
        self.count, self.next_fire_ms, self.timeout, self.parts = state
