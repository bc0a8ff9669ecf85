"""Timers, calls and restored state of a recorded run, computed plainly from its rows and the rules of sections 9 and 12."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flowsim.facts.kinds import CheckpointStep, ElementKind, RestartAction, TimerAction
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.truth.recorded_run import RecordedRun

Row = Any
_SUBJECT = re.compile(
    r"(?P<domain>event|processing)-time timer (?P<time>none|MAX \(end of event time\)|-?[\d,]+ ms)"
    r"(?: of (?P<window>window \[-?[\d,]+, -?[\d,]+\)|the global window))?(?: of key (?P<key>\S+))?"
    r"(?: at (?P<task>[^,:]+? \(\d+/\d+\)))?",
    re.IGNORECASE,
)


def time_of(text: str) -> int:
    """A time of event time or a watermark, as sentences write it."""
    if text.startswith("MAX"):
        return MAX_WATERMARK
    return NO_TIMESTAMP if text == "none" else int(text.replace(" ms", "").replace(",", ""))


def window_of(text: str | None) -> tuple[int, int]:
    """A window as sentences write it; (0, 0) for none."""
    if text is None:
        return 0, 0
    if "global" in text:
        return NO_TIMESTAMP, MAX_WATERMARK
    return bounds_of(text)


def bounds_of(text: str) -> tuple[int, int]:
    found = re.search(r"\[(-?[\d,]+), (-?[\d,]+)\)", text)
    assert found is not None, text
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


@dataclass(frozen=True)
class Subject:
    """The timer that a sentence names."""

    run: RecordedRun
    task: int
    is_event_time: bool
    timestamp: int
    window: tuple[int, int]
    key: str

    def is_of(self, row: Row) -> bool:
        return (
            bool(row.domain == 0) is self.is_event_time
            and row.timestamp == self.timestamp
            and (row.window_start, row.window_end) == self.window
            and self.run.names.key(row.key) == self.key
        )


def subject_of(run: RecordedRun, text: str, task: int | None = None) -> Subject:
    """The first timer in a sentence."""
    found = _SUBJECT.search(text)
    assert found is not None, text
    at = run.task(found["task"]) if found["task"] else task
    assert at is not None
    return Subject(
        run,
        at,
        found["domain"].lower() == "event",
        time_of(found["time"]),
        window_of(found["window"]),
        found["key"] or "",
    )


class TimerModel:
    """The rows of one task up to a time, and the state of its attempts."""

    def __init__(self, run: RecordedRun, task: int, now: int) -> None:
        self.run, self.task, self.now = run, task, now
        self.last_attempt = run.attempt(task, now)

    def of_attempt(self, table: str, attempt: int) -> list[Row]:
        rows = self.run._of(table).get((self.task, attempt), [])
        # An earlier attempt is over, also if the clock of its task was ahead of the job's.
        return [row for row in rows if row.time_ns <= self.now or attempt < self.last_attempt]

    def of_all_attempts(self, table: str) -> list[Row]:
        return [row for attempt in range(self.last_attempt + 1) for row in self.of_attempt(table, attempt)]

    def checkpoint(self, attempt: int) -> int:
        """The checkpoint from which an attempt started, -1: none."""
        found = [
            row.checkpoint
            for row in self.run.restarts
            if row.action == RestartAction.RESTART and (row.task_id, row.attempt) == (self.task, attempt)
        ]
        return found[0] if found else -1

    def restored(self, table: str, attempt: int) -> list[Row]:
        """The rows before the snapshot from which an attempt started (rule 12.123)."""
        checkpoint = self.checkpoint(attempt) if attempt else -1
        if checkpoint < 0:
            return []
        for before in reversed(range(attempt)):
            taken = [
                step.seq
                for step in self.of_attempt("checkpoint_steps", before)
                if step.checkpoint == checkpoint and step.step == CheckpointStep.SYNC_START
            ]
            if taken:
                own = [row for row in self.of_attempt(table, before) if row.seq < taken[0]]
                return [*self.restored(table, before), *own]
        return []

    def state(self, table: str, attempt: int | None = None) -> list[Row]:
        """All rows that the state of an attempt results from; of the last one by default."""
        attempt = self.last_attempt if attempt is None else attempt
        return [*self.restored(table, attempt), *self.of_attempt(table, attempt)]

    def waits(self, subject: Subject, attempt: int | None = None) -> bool:
        """Rule 9.1: registered, and neither deleted nor fired since."""
        rows = [row for row in self.state("timers", attempt) if subject.is_of(row)]
        return bool(rows) and rows[-1].action == TimerAction.REGISTER

    def attempt_of(self, row: Row) -> int:
        return int(row.task_attempt)

    def calls(self, row: Row) -> Row:
        """The fact with which the call began that recorded a row: a record read, or a timer fired."""
        attempt = row.task_attempt
        reads = [one for one in self.of_attempt("received", attempt) if one.seq < row.seq and one.kind in (0, 1, 4)]
        fires = [
            one for one in self.of_attempt("timers", attempt) if one.seq < row.seq and one.action == TimerAction.FIRE
        ]
        return max([*reads[-1:], *fires[-1:]], key=lambda one: one.seq)

    def marks(self, attempt: int) -> list[tuple[Row, int]]:
        """The watermarks of the operator: the minimum over its inputs (rule 8.16); with one input, that of the input."""
        inputs, found, highest = int(self.run.tasks[self.task][7]), {}, NO_TIMESTAMP
        marks = []
        for row in self.of_attempt("task_watermark", attempt):
            if row.kind == ElementKind.WATERMARK:
                found[row.input] = row.timestamp
                if len(found) == inputs and min(found.values()) > highest:
                    highest = min(found.values())
                    marks.append((row, highest))
        return marks
