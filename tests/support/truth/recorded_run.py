"""The rows of a recording by task and attempt, for code that checks sentences about a run from the rules alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from flowsim.facts.kinds import (
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    LifeEvent,
    RestartAction,
    SegmentAction,
)
from flowsim.facts.schema import TABLES
from flowsim.recording.reader import Recording
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.trace.names import Names

Row = Any
"""A row with its columns as attributes."""
WITHOUT_POSITION = (ElementKind.EVENT, ElementKind.UNALIGNED_BARRIER)
ENDS = (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)


class RecordedRun:
    """A recording. ``now`` is a time of its clock in ns; a task's rows are those of its attempt at that time."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.names = Names(recording)
        self._tables: dict[str, dict[tuple[int, int], list[Row]]] = {}
        self.tasks = {int(row[0]): row for row in recording.static_rows("tasks")}
        self.task_ids = {self.names.short_task(task): task for task in self.tasks}
        columns = TABLES["channels"].names
        self.channels = {
            int(row[0]): SimpleNamespace(**dict(zip(columns, row, strict=True)))
            for row in recording.static_rows("channels")
        }
        columns = TABLES["pools"].names
        self.pools = {
            int(row[0]): SimpleNamespace(**dict(zip(columns, row, strict=True)))
            for row in recording.static_rows("pools")
        }
        columns = TABLES["edges"].names
        self.edges = {
            int(row[0]): SimpleNamespace(**dict(zip(columns, row, strict=True)))
            for row in recording.static_rows("edges")
        }
        columns = TABLES["operators"].names
        self.operators = [
            SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in recording.static_rows("operators")
        ]

    # Rows.

    @cached_property
    def restarts(self) -> list[Row]:
        columns = TABLES["restarts"].names
        return [SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in self.recording.rows("restarts")]

    @cached_property
    def checkpoints(self) -> list[Row]:
        columns = TABLES["checkpoints"].names
        return [SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in self.recording.rows("checkpoints")]

    def attempt(self, task: int, now: int) -> int:
        """The attempt of a task at a time: that of its last restart until then."""
        started = [
            row.attempt
            for row in self.restarts
            if row.action == RestartAction.RESTART and row.task_id == task and row.time_ns <= now
        ]
        return max(started, default=0)

    def all(self, table: str, task: int, now: int) -> list[Row]:
        """All rows of the attempt that the task has at a time, in their order."""
        return self._of(table).get((task, self.attempt(task, now)), [])

    def until(self, table: str, task: int, now: int, **values: int) -> list[Row]:
        return _where((row for row in self.all(table, task, now) if row.time_ns <= now), values)

    def after(self, table: str, task: int, now: int, **values: int) -> list[Row]:
        return _where((row for row in self.all(table, task, now) if row.time_ns > now), values)

    def _of(self, table: str) -> dict[tuple[int, int], list[Row]]:
        if table not in self._tables:
            stored = self.recording.table(table)
            found: dict[tuple[int, int], list[Row]] = defaultdict(list)
            for row in sorted((SimpleNamespace(**row) for row in stored.to_pylist()), key=lambda row: row.seq):
                found[row.task, row.task_attempt].append(row)
            self._tables[table] = found
        return self._tables[table]

    def attempts(self, table: str, task: int) -> list[list[Row]]:
        """The rows of each attempt of a task."""
        return [rows for (of, _), rows in sorted(self._of(table).items()) if of == task]

    def task(self, name: str) -> int:
        return self.task_ids[name]

    def operator(self, name: str, task: int) -> Row:
        """The operator of a task's chain with a name."""
        vertex = int(self.tasks[task][1])
        (found,) = [one for one in self.operators if one.vertex == vertex and one.name == name]
        return found

    def sent_by(self, task: int) -> list[Row]:
        return [channel for channel in self.channels.values() if channel.source_task == task]

    def received_by(self, task: int) -> list[Row]:
        return [channel for channel in self.channels.values() if channel.target_task == task]

    @cached_property
    def last_ns(self) -> int:
        """The time of the last fact of a task."""
        tables = ("actions", "lifecycle", "received", "sent")
        rows = (row for table in tables for task in self.tasks for of in self.attempts(table, task) for row in of[-1:])
        return max((row.time_ns for row in rows), default=START_NS)

    def of_reader(self, table: str, channel: Row, now: int, **values: int) -> list[Row]:
        """The sender's rows about a channel, of what the attempt of the receiver at a time reads.

        Each attempt of a receiver connects anew to a partition of a blocking exchange, which the sender wrote once.
        """
        rows = self.until(table, channel.source_task, now, channel=channel.channel, **values)
        attempt = self.attempt(channel.target_task, now)
        if not attempt or self.edges[channel.edge].exchange != "BLOCKING":
            return rows
        started = [
            row.time_ns
            for row in self.restarts
            if row.action == RestartAction.RESTART and (row.task_id, row.attempt) == (channel.target_task, attempt)
        ]
        return [row for row in rows if row.time_ns >= started[0]]

    # What the rules say about them.

    def frames(self, task: int, now: int) -> list[Row]:
        """The actions and waits in which a task is, the outermost first."""
        stack: list[Row] = []
        for row in self.until("actions", task, now):
            if row.phase in (ActionPhase.BEGIN, ActionPhase.WAIT):
                stack.append(row)
            else:
                stack.pop()
        return stack

    def next_action(self, task: int, now: int) -> int | None:
        """The time of the next fact of table ``actions``, or of the end of the attempt; None: neither is recorded."""
        later = self.after("actions", task, now)
        return later[0].time_ns if later else self.end(task, now)

    def end(self, task: int, now: int) -> int | None:
        """When the attempt ended."""
        ends = [row.time_ns for row in self.all("lifecycle", task, now) if row.operator == -1 and row.event in ENDS]
        return ends[0] if ends else None

    def life(self, task: int, now: int) -> list[int]:
        """The events of the task itself until a time."""
        return [row.event for row in self.until("lifecycle", task, now, operator=-1)]

    def unread(self, channel: Row, now: int) -> int:
        """How many elements and events of a channel were sent and not read."""
        sent = self.until("sent", channel.source_task, now, channel=channel.channel)
        read = self.until("received", channel.target_task, now, channel=channel.channel)
        counts = [sum(row.kind not in WITHOUT_POSITION and row.position >= 0 for row in rows) for rows in (sent, read)]
        return counts[0] - counts[1]

    def has_ended(self, channel: Row, now: int) -> bool:
        return bool(
            self.until("received", channel.target_task, now, channel=channel.channel, kind=ElementKind.END_OF_PARTITION)
        )

    def credits(self, channel: Row, now: int) -> int:
        """The credits of a sender: those it got, without those that its data used (rule 6.11)."""
        got = sum(
            row.credits
            for row in self.of_reader("credits", channel, now)
            if row.kind in (CreditKind.INITIAL_GOT, CreditKind.GOT)
        )
        return int(got) - len(self.of_reader("buffers", channel, now, side=BufferSide.SENT, kind=BufferKind.DATA))

    def held(self, channel: Row, now: int) -> int:
        """The data buffers that have arrived and are not recycled; a local channel copies none (rule 6.17)."""
        if channel.local:
            return 0
        theirs = self.until("buffers", channel.target_task, now, channel=channel.channel)
        return sum(row.side == BufferSide.RECEIVED and row.kind == BufferKind.DATA for row in theirs) - sum(
            row.side == BufferSide.RECYCLED for row in theirs
        )

    def on_the_wire(self, channel: Row, now: int) -> int:
        if channel.local:
            return 0
        sent = self.of_reader("buffers", channel, now, side=BufferSide.SENT)
        arrived = self.until("buffers", channel.target_task, now, channel=channel.channel, side=BufferSide.RECEIVED)
        return len(sent) - len(arrived)

    def segments(self, pool: Row, now: int) -> tuple[Counter[int], Row | None]:
        """The segments in use by subpartition, and the last fact of a pool."""
        rows = self.until("segments", pool.task, now, pool=pool.pool)
        used: Counter[int] = Counter()
        for row in rows:
            used[row.subpartition] += (row.action == SegmentAction.HANDED_OUT) - (row.action == SegmentAction.RECYCLED)
        return used, rows[-1] if rows else None

    def is_available(self, pool: Row, now: int) -> bool:
        """Rule 5.35: a segment is ready, and no subpartition has reached its limit."""
        used, last = self.segments(pool, now)
        return last is not None and last.free > 0 and max(used.values(), default=0) < pool.per_channel

    def output_is_full(self, task: int, now: int) -> bool:
        return any(
            pool.task == task and pool.kind == 0 and not self.is_available(pool, now) for pool in self.pools.values()
        )

    def queue(self, task: int, operator: int, now: int) -> list[list[Row]]:
        """The steps of each element in the queue of an async operator, in order of arrival."""
        return [steps for steps in self.elements(task, operator, now) if not any(row.action == 6 for row in steps)]

    def elements(self, task: int, operator: int, now: int) -> list[list[Row]]:
        """The steps of each element of an async operator that was put into its queue."""
        found: dict[int, list[Row]] = defaultdict(list)
        for row in self.until("async_elements", task, now, operator=operator):
            found[row.entry].append(row)
        return [steps for _, steps in sorted(found.items()) if any(row.action == 0 for row in steps)]


def _where(rows: Iterable[Row], values: dict[str, int]) -> list[Row]:
    return [row for row in rows if all(getattr(row, name) == value for name, value in values.items())]


def moments(run: RecordedRun, count: int) -> Iterator[int]:
    """Times of a run at which questions are asked: of facts, between them, and at equal distances."""
    times = sorted(
        {row.time_ns for task in run.tasks for rows in run.attempts("actions", task) for row in rows} or {START_NS}
    )
    for number in range(count):
        place = number * (len(times) - 1) // max(1, count - 1)
        yield times[place]
        if place + 1 < len(times):
            yield (times[place] + times[place + 1]) // 2
        yield times[0] + (times[-1] - times[0]) * (2 * number + 1) // (2 * count)
