"""The facts of a recording by table and task, up to a moment of the run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np

from flowsim.facts.checkpoint_tables import CHECKPOINT_STEPS, CHECKPOINTS, RESTARTS
from flowsim.facts.kinds import CheckpointStep, Level, WaitKind
from flowsim.facts.schema import ACTIONS, TABLES, TASK_ATTEMPT, Table
from flowsim.history.checkpoints import CheckpointHistory
from flowsim.history.job_events import in_range
from flowsim.history.rows import Ints, Row, Rows
from flowsim.history.run_span import end_of, start_of
from flowsim.laws.graph_check import checked_job_graph
from flowsim.laws.job_graph import Channel, JobGraph, Operator
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.recording.parquet_part import as_numpy
from flowsim.recording.reader import Recording
from flowsim.recording.recorded_file import damaged

T = TypeVar("T")
Attempts = dict[int, tuple[int, int]]
"""The first row and the end of each attempt of a task in a table."""


class RecordedFacts:
    """The facts of a run up to ``until_ns`` on its clock; None: all. Tables are read on first use.

    The facts of a task are those of one attempt: the attempt at the moment of the facts, without a moment the last one.
    """

    def __init__(self, recording: Recording, until_ns: int | None = None) -> None:
        self.recording = recording
        self.graph: JobGraph = checked_job_graph(recording)
        self.start_ns = start_of(recording)
        self.until_ns = until_ns
        self._attempts = self.graph.history.attempts_at(until_ns)
        self._tables: dict[str, tuple[Rows, dict[int, Attempts]]] = {}
        self._rows_of: dict[tuple[str, int, int, int | None], Rows] = {}
        self._shared: dict[Hashable, Any] = {}

    def _copy(self, until_ns: int | None, attempts: Mapping[int, int]) -> Self:
        """Facts up to another time, with other attempts, from the same recording."""
        facts = copy(self)
        facts.until_ns, facts._attempts = until_ns, attempts
        facts.__dict__.pop("end_ns", None)
        return facts

    def until(self, time_ns: int) -> Self:
        """The facts up to and including a time."""
        return self._copy(time_ns, self.graph.history.attempts_at(time_ns))

    @property
    def whole(self) -> Self:
        """The facts after the moment, too: of each task those of the same attempt."""
        return self._copy(None, self._attempts)

    @property
    def of_run(self) -> Self:
        """The facts of the whole run: of each task those of its last attempt."""
        return self._copy(None, self.graph.history.last_attempts)

    def in_attempt(self, task: int, attempt: int) -> Self:
        """The facts of one attempt of a task, up to the same moment as these."""
        return self._copy(self.until_ns, {**self._attempts, task: attempt})

    def shared(self, about: Hashable, task: int, make: Callable[[], T]) -> T:
        """What ``make`` returned when it was first called for ``about`` with these facts of the attempt of a task."""
        key = about, task, self.attempt_of(task), self.until_ns
        if key not in self._shared:
            self._shared[key] = make()
        found: T = self._shared[key]
        return found

    def attempt_of(self, task: int) -> int:
        """The attempt of a task whose facts these are, from 0."""
        return self._attempts.get(task, 0)

    def attempts_of(self, rows: Rows, table: str) -> Ints:
        """The attempt of its task that recorded each row of ``table``."""
        found: Ints = np.zeros(len(rows), dtype=np.int64)
        seqs, tasks, (stored, of_task) = rows["seq"], rows["task"], self._read(table)
        for task in np.unique(tasks).tolist() if self.graph.history.restarts else ():
            attempts = sorted(of_task[task])
            first = stored["seq"][[of_task[task][attempt][0] for attempt in attempts]]
            of = tasks == task
            found[of] = np.array(attempts)[first.searchsorted(seqs[of], side="right") - 1]
        return found

    def in_attempt_of(self, row: Row, table: str) -> Self:
        """The facts of the attempts that the tasks had at a fact of ``table``, up to the same moment as these."""
        history, task = self.graph.history, row["task"]
        if not history.restarts:
            return self
        own = Rows({name: np.array([row[name]], dtype=np.int64) for name in ("task", "seq")})
        of_row = int(self.attempts_of(own, table)[0])
        attempts = history.attempts_at(row["time_ns"])
        if attempts.get(task, 0) != of_row:
            # The task restarted at the time of the fact, after it, or before it: a busy task's clock is ahead of the job's.
            restarts = (one.time_ns for one in history.restarts if (one.task_id, one.attempt) == (task, of_row + 1))
            attempts = {**history.attempts_at(min(restarts, default=row["time_ns"]) - 1), task: of_row}
        return self._copy(self.until_ns, attempts)

    def has(self, *tables: str) -> bool:
        """Whether the level of the recording includes these tables."""
        return all(TABLES[table].level <= self.recording.level for table in tables)

    @property
    def is_full(self) -> bool:
        return self.recording.level >= Level.FULL

    def rows(self, table: str, task: int) -> Rows:
        """The rows of the attempt of one task up to the moment."""
        return self._rows(table, task, self.attempt_of(task))

    def later_rows(self, table: str, task: int) -> Rows:
        """The rows of the attempt of one task after the moment."""
        rows = self.whole.rows(table, task)
        return rows.cut(len(self.rows(table, task)), len(rows))

    def rows_with(self, table: str, task: int, **values: int) -> Rows:
        """The rows of the attempt of one task with these values, which are selected once."""
        return self.shared((table, *values.items()), task, lambda: self.rows(table, task).equal(**values))

    def rows_of_attempts(self, table: str, task: int) -> list[Rows]:
        """The rows of each attempt of one task, of the last one up to the moment."""
        last = self.attempt_of(task)
        return [*(self.whole._rows(table, task, attempt) for attempt in range(last)), self._rows(table, task, last)]

    def rows_of_state(self, table: str, task: int) -> Rows:
        """The rows of one task up to the moment that its state contains.

        Those of its attempt, and before them those of earlier attempts up to the snapshots from which it was restored.
        """
        before, rows = self.restored_rows(table, task, self.attempt_of(task)), self.rows(table, task)
        return Rows({name: np.concatenate([before[name], rows[name]]) for name in TABLES[table].names})

    def restored_rows(self, table: str, task: int, attempt: int) -> Rows:
        """The rows of earlier attempts of one task that the state contains with which an attempt started."""
        parts = [self._rows(table, task, attempt).cut(0, 0)]
        while attempt and (checkpoint := self.graph.history.restored(task, attempt)) != NO_CHECKPOINT:
            attempt, snapshot = self._snapshot(task, attempt, checkpoint)
            if snapshot is not None:
                parts.append(self.whole._rows(table, task, attempt).before(snapshot["seq"]))
        return Rows({name: np.concatenate([part[name] for part in reversed(parts)]) for name in TABLES[table].names})

    def _snapshot(self, task: int, before: int, checkpoint: int) -> tuple[int, Row | None]:
        """The last attempt before another one that took a checkpoint, and the fact of its snapshot; attempt 0 if none did."""
        for attempt in reversed(range(before)):
            steps = self.whole._rows("checkpoint_steps", task, attempt)
            snapshot = steps.equal(step=CheckpointStep.SYNC_START, checkpoint=checkpoint).first()
            if snapshot is not None:
                return attempt, snapshot
        return 0, None

    def _rows(self, table: str, task: int, attempt: int) -> Rows:
        key = table, task, attempt, self.until_ns
        found = self._rows_of.get(key)
        if found is None:
            found = self._rows_of[key] = self._cut(table, task, attempt)
        return found

    def _cut(self, table: str, task: int, attempt: int) -> Rows:
        rows, of_task = self._read(table)
        begin, end = of_task[task].get(attempt, (0, 0)) if task in of_task else (0, 0)
        if self.until_ns is not None and begin < end:
            # On the real clock a task's time may decrease: the facts up to the last one at or before the moment.
            before = np.flatnonzero(rows["time_ns"][begin:end] <= self.until_ns)
            end = begin + (int(before[-1]) + 1 if len(before) else 0)
        return rows.cut(begin, end)

    def all_rows(self, table: str) -> Rows:
        """The rows of all tasks and attempts up to the moment, by time and task."""
        rows = self._read(table)[0]
        if self.until_ns is not None:
            rows = rows.where(rows["time_ns"] <= self.until_ns)
        order = np.lexsort((rows["seq"], rows["task"], rows["time_ns"]))
        return rows.in_order(order)

    def by_task(self, table: str) -> Rows:
        """The rows of all tasks and attempts, task by task."""
        return self._read(table)[0]

    def _read(self, table: str) -> tuple[Rows, dict[int, Attempts]]:
        if table not in self._tables:
            stored = self.recording.table(table)
            columns = {name: as_numpy(stored[name]).astype(np.int64, copy=False) for name in TABLES[table].names}
            attempts = as_numpy(stored[TASK_ATTEMPT.name]).astype(np.int64)
            self._check(TABLES[table], columns)
            # Usually the facts of a task are stored in their order already.
            order = np.argsort(columns["task"], kind="stable")
            task, seq = columns["task"][order], columns["seq"][order]
            if ((np.diff(seq) < 0) & (np.diff(task) == 0)).any():
                order = np.lexsort((columns["seq"], columns["task"]))
            columns, attempts = {name: column[order] for name, column in columns.items()}, attempts[order]
            found: dict[int, Attempts] = {}
            changes = np.flatnonzero((np.diff(columns["task"]) != 0) | (np.diff(attempts) != 0)) + 1
            for begin, end in pairwise([0, *changes.tolist(), len(attempts)]) if len(attempts) else ():
                found.setdefault(int(columns["task"][begin]), {})[int(attempts[begin])] = begin, end
            self._tables[table] = Rows(columns), found
        return self._tables[table]

    def _check(self, table: Table, columns: dict[str, Ints]) -> None:
        """Raises BadInput if a recording that was changed has numbers without a meaning."""
        ids = {"task": self.graph.tasks, "channel": self.graph.channels, "pool": self.graph.pools}
        for column in table.columns:
            known = list(map(int, column.values)) if column.values is not None else list(ids.get(column.name, ()))
            if table is ACTIONS and column.name == "kind":
                known = list(map(int, WaitKind))
            if not known and column.name not in ids:
                continue
            if table is CHECKPOINT_STEPS:
                known.append(-1)  # Not of a channel.
            unknown = columns[column.name][~np.isin(columns[column.name], known)]
            if len(unknown):
                what = f"column {column.name} has the value {int(unknown[0])}, which has no meaning"
                raise damaged(self.recording.directory / table.name, what)

    def checkpoints(self, until_ns: int | None = None) -> CheckpointHistory:
        """All checkpoints, restores and failures of the run, or those up to a time, as they were at that time."""
        key = CheckpointHistory, until_ns
        if key not in self._shared:
            history, graph = CheckpointHistory(kept=sys.maxsize), self.graph.history
            for table, events in ((CHECKPOINTS, graph.checkpoints), (RESTARTS, graph.restarts)):
                for event in events:
                    if until_ns is None or event.time_ns <= until_ns:
                        in_range(self.recording, table.name, event, history.add)
            self._shared[key] = history
        found: CheckpointHistory = self._shared[key]
        return found

    @cached_property
    def end_ns(self) -> int:
        """The time of the last fact, at most the moment."""
        last = end_of(self.recording)
        return last if self.until_ns is None else min(last, self.until_ns)

    def operators_of(self, task: int) -> list[Operator]:
        return self.graph.operators_of(self.graph.tasks[task].vertex)

    def operator(self, task: int, operator: int) -> Operator | None:
        of_task = self.shared("operators", task, lambda: {one.operator: one for one in self.operators_of(task)})
        return of_task.get(operator)

    def received_by(self, task: int) -> list[Channel]:
        return sorted(self.graph.received_by(task), key=lambda channel: (channel.input, channel.input_channel))
