"""What a checkpoint waited for: the steps, task by task, between its trigger and its last acknowledgement (section 12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain

import numpy as np

from flowsim.facts.kinds import AlignmentType, CheckpointStep, LifeEvent
from flowsim.history.barriers import barrier_of, so_far
from flowsim.history.checkpoints import RecordedCheckpoint
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row, Rows
from flowsim.laws.job_graph import Channel

_ENDS = (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)
_HANDLED = (CheckpointStep.TRIGGER, CheckpointStep.ALIGNMENT_START, CheckpointStep.ALIGNMENT_END)
"""The steps that can make a task take its snapshot."""


class Part(Enum):
    """A part of the duration of a checkpoint. Parts follow each other without gaps."""

    TRIGGER = auto()
    """From the trigger to the snapshot of a task that the coordinator triggers: a mail that waits in the mailbox (rule 12.45)."""
    BARRIER = auto()
    """The barrier is in a channel: written, and not read."""
    TIMEOUT = auto()
    """An aligned barrier waits for others until its timeout makes it unaligned (rule 12.20)."""
    PREPARE = auto()
    """Between the decision for a snapshot and the snapshot, or the barrier: operators write what must precede it."""
    IGNORED = auto()
    """The task had taken the snapshot of a newer checkpoint before its last barrier, so it takes none (rule 12.5)."""
    SYNC = auto()
    ASYNC = auto()
    ACKNOWLEDGE = auto()
    """Between the acknowledgement and its arrival."""
    COMPLETE = auto()
    """Between the last acknowledgement and the completion."""


@dataclass(frozen=True, slots=True)
class PathPart:
    """One part of the duration, in a task, or in a channel to it."""

    part: Part
    task: int
    begin_ns: int
    end_ns: int
    row: Row | None = None
    """The fact that ends it."""
    channel: Channel | None = None
    """Of BARRIER: the channel."""
    is_over: bool = True
    """False: it had not ended when the checkpoint did, or at the moment of the facts."""

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns


class CheckpointSteps:
    """The facts of one checkpoint in the attempts of the tasks that took part, up to the moment of the facts."""

    def __init__(self, facts: RecordedFacts, checkpoint: RecordedCheckpoint) -> None:
        self._facts = facts
        self._whole = facts.until(checkpoint.triggered_ns).whole
        self.checkpoint = checkpoint

    def of(self, task: int) -> Mapping[CheckpointStep, Row]:
        """The first fact of each step of a task."""
        rows = so_far(self._facts, self._whole.rows("checkpoint_steps", task))
        found: dict[CheckpointStep, Row] = {}
        for row in rows.equal(checkpoint=self.checkpoint.checkpoint):
            found.setdefault(CheckpointStep(row["step"]), row)
        return found

    def sent(self, channel: Channel) -> Row | None:
        """The barrier as it was written to a channel."""
        return barrier_of(self._facts, self.sent_rows(channel), channel, self.checkpoint)

    def received(self, channel: Channel) -> Row | None:
        """The barrier as it was read from a channel."""
        return barrier_of(self._facts, self.received_rows(channel), channel, self.checkpoint)

    def sent_rows(self, channel: Channel) -> Rows:
        return self._whole.rows("sent", channel.source_task)

    def received_rows(self, channel: Channel) -> Rows:
        return self._whole.rows("received", channel.target_task)

    @property
    def in_plan(self) -> list[int]:
        """The tasks that had started and not ended when the checkpoint was triggered: they must acknowledge it (rule 12.35)."""
        at, triggered_ns = self._facts.until(self.checkpoint.triggered_ns), self.checkpoint.triggered_ns
        found: list[int] = []
        ended: list[int] = []
        for task in self._facts.graph.tasks:
            life = at.rows("lifecycle", task).equal(operator=-1)
            before = life.where(~np.isin(life["event"], _ENDS) | (life["time_ns"] < triggered_ns)).last()
            if before is None or before["event"] in _ENDS:
                continue
            last = life.row(-1)
            (ended if last["event"] == LifeEvent.FINISHED else found).append(task)
        # A task that ends at the time of the trigger ends before or after it: the number of tasks that take part decides.
        ended.sort(key=lambda task: task != self.checkpoint.declined_by)
        needed = self.checkpoint.tasks - self.checkpoint.acknowledged + len(self.checkpoint.acknowledged_at)
        return sorted([*found, *ended[: max(0, needed - len(found))]])

    @property
    def missing(self) -> list[int]:
        """The tasks whose acknowledgement is missing, each behind those that send to it."""
        left = [task for task in self.in_plan if task not in self.checkpoint.acknowledged_at]
        ordered: list[int] = []
        while left:
            firsts = [
                task for task in left if not any(one.source_task in left for one in self._facts.received_by(task))
            ]
            ordered += firsts or left
            left = [task for task in left if task not in ordered]
        return ordered

    def path(self, task: int | None = None) -> list[PathPart]:
        """What the completion waited for, or the acknowledgement of one task, from the trigger on; empty if it did not come."""
        at, ended_ns = self.checkpoint.acknowledged_at, self.checkpoint.ended_ns
        last = next(reversed(at), None) if task is None and self.checkpoint.status == "completed" else task
        row = None if last is None else self.of(last).get(CheckpointStep.ACKNOWLEDGE)
        if last is None or row is None or last not in at:
            return []
        parts = [*self._until(last, row), PathPart(Part.ACKNOWLEDGE, last, row["time_ns"], at[last], row)]
        if task is None and ended_ns is not None:
            parts.append(PathPart(Part.COMPLETE, last, at[last], ended_ns))
        return [part for part in parts if part.length_ns > 0]

    def pending(self, task: int, until_ns: int) -> list[PathPart]:
        """What the acknowledgement of a task waited for up to a time."""
        steps = self.of(task)
        last = self._open(task, steps, until_ns)
        before = [] if last is None else self._before(last)
        return [part for part in (*before, *([] if last is None else [last])) if part.length_ns > 0 or not part.is_over]

    def _open(self, task: int, steps: Mapping[CheckpointStep, Row], until_ns: int) -> PathPart | None:
        """The part in which a task was at a time."""

        def part(kind: Part, begin: Row | None, channel: Channel | None = None) -> PathPart:
            begin_ns = self.checkpoint.triggered_ns if begin is None else begin["time_ns"]
            return PathPart(kind, task, begin_ns, max(begin_ns, until_ns), begin, channel, is_over=False)

        if CheckpointStep.ACKNOWLEDGE in steps:
            return part(Part.ACKNOWLEDGE, steps[CheckpointStep.ACKNOWLEDGE])
        unread = [(one, self.sent(one)) for one in self._facts.received_by(task) if self.received(one) is None]
        written = [(one, sent) for one, sent in unread if sent is not None]
        waits_for_barriers = CheckpointStep.ALIGNMENT_END not in steps and CheckpointStep.TRIGGER not in steps
        if self._facts.received_by(task) and waits_for_barriers and written:
            channel, sent = min(written, key=lambda each: each[1]["time_ns"])
            return part(Part.BARRIER, sent, channel)
        for kind, step in (
            (Part.ASYNC, CheckpointStep.SYNC_END), (Part.SYNC, CheckpointStep.SYNC_START),
        ):  # fmt: skip
            if step in steps:
                return part(kind, steps[step])
        if CheckpointStep.ALIGNMENT_END in steps:
            decided = steps[CheckpointStep.ALIGNMENT_END]
            return part(Part.IGNORED if self._is_outdated(decided) else Part.PREPARE, decided)
        return (
            None if self._facts.received_by(task) and CheckpointStep.TRIGGER not in steps else part(Part.TRIGGER, None)
        )

    def _is_outdated(self, decided: Row) -> bool:
        taken = self._whole.rows("checkpoint_steps", decided["task"]).before(decided["seq"])
        newer = taken.where(taken["checkpoint"] > self.checkpoint.checkpoint)
        return len(newer.equal(step=CheckpointStep.SYNC_START)) > 0

    def _before(self, part: PathPart) -> list[PathPart]:
        """What precedes an open part."""
        if part.channel is not None and part.row is not None:
            return self._until(part.channel.source_task, part.row)
        return [] if part.row is None else self._until(part.task, part.row)

    def _until(self, task: int, end: Row) -> list[PathPart]:
        """What precedes a fact of a task: its acknowledgement, or a barrier that it wrote."""
        parts: list[list[PathPart]] = []
        seen: set[int] = set()
        while task not in seen:
            seen.add(task)
            of_task, handled = self._in_task(task, end)
            parts.append(of_task)
            if handled is None or handled["step"] == CheckpointStep.TRIGGER:
                break
            channel = self._facts.graph.channels.get(handled["channel"])
            sent = None if channel is None else self.sent(channel)
            if channel is None or sent is None:
                parts.append([PathPart(Part.TRIGGER, task, self.checkpoint.triggered_ns, handled["time_ns"], handled)])
                break
            parts.append([PathPart(Part.BARRIER, task, sent["time_ns"], handled["time_ns"], handled, channel)])
            task, end = channel.source_task, sent
        return list(chain.from_iterable(reversed(parts)))

    def _in_task(self, task: int, end: Row) -> tuple[list[PathPart], Row | None]:
        """The parts in a task before one of its facts, and the step with which they began."""
        steps = self.of(task)
        start, stop = steps.get(CheckpointStep.SYNC_START), steps.get(CheckpointStep.SYNC_END)
        last = steps.get(CheckpointStep.ALIGNMENT_END)
        if stop is not None and last is not None and stop["seq"] < last["seq"] < end["seq"]:
            # Unaligned: the acknowledgement needs the in-flight data up to the last barrier (rule 12.18).
            return [PathPart(Part.ASYNC, task, last["time_ns"], end["time_ns"], end)], last
        decided = end if start is None or end["seq"] < start["seq"] else start
        handled = self._handled(steps, decided)
        kind, begin_ns = self._wait_before(steps, handled, decided)
        parts = [PathPart(kind, task, begin_ns, decided["time_ns"], decided)]
        if decided is not end and start is not None and stop is not None:
            parts.append(PathPart(Part.SYNC, task, start["time_ns"], stop["time_ns"], stop))
            parts.append(PathPart(Part.ASYNC, task, stop["time_ns"], end["time_ns"], end))
        return parts, handled

    def _handled(self, steps: Mapping[CheckpointStep, Row], before: Row) -> Row | None:
        """The step that made a task take its snapshot."""
        known = [steps[step] for step in _HANDLED if step in steps and steps[step]["seq"] < before["seq"]]
        return max(known, key=lambda row: row["seq"], default=None)

    def _wait_before(self, steps: Mapping[CheckpointStep, Row], handled: Row | None, decided: Row) -> tuple[Part, int]:
        """What a task waited for before it wrote a barrier or took its snapshot, and since when."""
        if handled is None:
            return Part.PREPARE, decided["time_ns"]
        if handled["step"] == CheckpointStep.TRIGGER:
            return Part.TRIGGER, self.checkpoint.triggered_ns
        is_aligned = self.checkpoint.alignment is AlignmentType.ALIGNED
        is_early = handled["step"] == CheckpointStep.ALIGNMENT_START and is_aligned
        return Part.TIMEOUT if is_early else Part.PREPARE, handled["time_ns"]
