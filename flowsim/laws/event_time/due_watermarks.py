"""Part of law task-watermark: what a periodic call must generate, and when it must have come (rules 8.1, 8.2, 8.6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from flowsim.facts.kinds import LifeEvent
from flowsim.laws.elements import sent_records
from flowsim.laws.event_time.idle_clock import Event, Moment, TaskActivity, calls_of
from flowsim.laws.event_time.merged_splits import NEVER, WHOLE, Generated, MergedSplits, Owed
from flowsim.laws.event_time.paths import WATERMARK, strategy_of
from flowsim.laws.free_moments import QUIESCED, STOPPED
from flowsim.laws.job_graph import Operator
from flowsim.laws.machine import reads
from flowsim.laws.slices import Ints, Slice
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

Missing = tuple[str, int, dict[str, object]]
"""What is missing, the row that shows it, and values for evidence."""


class _Record(NamedTuple):
    """The record with the highest timestamp so far, in an action that ends at ``end``."""

    end: Event
    timestamp: int


class DueWatermarks:
    """The watermarks of one strategy that are due at periodic calls, slice by slice.

    Only where the recording shows when the calls ran (``TaskActivity.is_known``).
    """

    def __init__(
        self, operator: Operator, delay: int | None, channels: Collection[int] | None, splits: MergedSplits
    ) -> None:
        """``delay``: from the highest timestamp to the watermark; None: the strategy does not follow rule 8.1.

        ``channels``: those that carry every record of the strategy, once and in order; None: there are none.
        """
        interval_ms = (strategy_of(operator) or {}).get("auto_watermark_interval_ms")
        self._interval_ms = interval_ms if isinstance(interval_ms, int) else 0
        self._operator = operator.operator
        self._is_source = operator.kind == "source"
        self._delay = delay
        self._channels = None if channels is None or delay is None else sorted(channels)
        self._splits = splits
        self._opened_ns: int | None = None
        self._stopped = NEVER
        """The row from which no periodic call runs."""
        self._records: deque[_Record] = deque()
        self._highest = NO_TIMESTAMP
        """The highest timestamp of a record."""
        self._needed = NO_TIMESTAMP
        """The highest timestamp of ``_records`` so far."""
        self._shown: list[tuple[int, int]] = []
        """Rows that show a higher timestamp than all before them, and the timestamp."""
        self._has_splits = False
        self._ends: dict[int, Event] = {}
        """By the row with which a split ended, the end of its action."""

    @property
    def is_judged(self) -> bool:
        """Whether the interval of the calls is recorded."""
        return self._interval_ms > 0

    @reads(sent_records, lifecycle=("operator", "event", "time_ns"), sent=("channel", "timestamp"))
    def feed(self, facts: Slice, rows: Sequence[Generated], activity: TaskActivity) -> Iterator[Missing]:
        """Examines one epoch, after its rows were added to ``splits``."""
        for seq, operator, event, time_ns in facts.of("lifecycle").tuples(("seq", "operator", "event", "time_ns")):
            if event == LifeEvent.OPEN and operator == self._operator:
                self._opened_ns = time_ns
            elif (event in STOPPED or event in QUIESCED) and operator in (self._operator, -1):
                self._stopped = min(self._stopped, seq)
        self._add_rows(rows)
        calls = calls_of(self._interval_ms, self._opened_ns, self._is_source)
        if calls is None or not activity.is_known:
            self._splits.owed.clear()
            return
        self._add_records(facts, activity.ends)
        for moment in activity.moments:
            yield from self._late_records(moment, calls.interval_ns)
            yield from self._late_merges(moment, calls.interval_ns, activity.ends)
        for owed in self._splits.owed:
            self._end_of(owed, activity.ends)

    def _add_rows(self, rows: Sequence[Generated]) -> None:
        for row in rows:
            is_end = row.split == WHOLE and row.kind == WATERMARK and row.timestamp == MAX_WATERMARK
            is_shown = row.split != WHOLE or not self._has_splits or row.seq >= self._splits.unknown_from
            self._has_splits |= row.split != WHOLE
            timestamp = MAX_WATERMARK if is_end else row.max_timestamp if is_shown else NO_TIMESTAMP
            if timestamp > (self._shown[-1][1] if self._shown else NO_TIMESTAMP):
                self._shown.append((row.seq, timestamp))
        lowest = self._records[0].timestamp if self._records else self._needed + 1
        while len(self._shown) > 1 and self._shown[0][1] < lowest:
            del self._shown[0]

    def _add_records(self, facts: Slice, ends: Sequence[Event]) -> None:
        rows = facts.of("sent")
        timestamps: Ints = np.empty(0, dtype=np.int64)
        seqs = timestamps
        if self._channels is not None and len(rows):
            mask = facts.once(sent_records) & np.isin(rows.column("channel"), self._channels)
            timestamps, seqs = rows.column("timestamp")[mask], rows.column("seq")[mask]
        highest = np.maximum.accumulate(np.concatenate(([self._highest], timestamps)))
        places = np.searchsorted(seqs, [end.seq for end in ends])
        for end, timestamp in zip(ends, highest[places].tolist(), strict=True):
            if timestamp > self._needed and timestamp - (self._delay or 0) > NO_TIMESTAMP:
                self._records.append(_Record(end, timestamp))
                self._needed = timestamp
        self._highest = int(highest[-1])

    def _late_records(self, moment: Moment, interval_ns: int) -> Iterator[Missing]:
        records = self._records
        while records and records[0].end.seq < moment.seq and records[0].end.time_ns + interval_ns <= moment.due_ns:
            timestamp = records.popleft().timestamp
            shown = next((seq for seq, highest in self._shown if highest >= timestamp), NEVER)
            if moment.seq < min(shown, self._stopped):
                about: dict[str, object] = {"max_timestamp": timestamp, "time_ns": moment.now_ns}
                yield "no watermark is generated for the highest timestamp", moment.seq, about

    def _late_merges(self, moment: Moment, interval_ns: int, ends: Sequence[Event]) -> Iterator[Missing]:
        for owed in list(self._splits.owed):
            end = self._end_of(owed, ends)
            if end is None or end.seq >= moment.seq or end.time_ns + interval_ns > moment.due_ns:
                continue
            self._splits.owed.remove(owed)
            if moment.seq < min(owed.until, self._stopped):
                about: dict[str, object] = {"split": owed.row.split, "time_ns": moment.now_ns}
                yield "no merged watermark after the end of a split", moment.seq, about

    def _end_of(self, owed: Owed, ends: Sequence[Event]) -> Event | None:
        seq = owed.row.seq
        if seq not in self._ends:
            found = next((end for end in ends if end.seq > seq), None)
            if found is None:
                return None
            self._ends[seq] = found
        return self._ends[seq]
