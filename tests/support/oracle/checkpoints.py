"""Laws about checkpoints by their definitions: answers, notifications, barriers, cuts, progress and timers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from flowsim.facts.kinds import (
    AlignmentType,
    CheckpointAction,
    CheckpointStep,
    ElementKind,
    LifeEvent,
    SnapshotKind,
    TimeDomain,
    TimerAction,
)
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.units import MAX_WATERMARK
from tests.support.oracle.facts import Facts, Findings, Row
from tests.support.oracle.in_flight_data import in_flight_cut, in_flight_restored
from tests.support.oracle.timers import replay_timers

Counts = tuple[int, int]
"""Rows examined, and violations."""
_STEPS: Final = (
    CheckpointStep.BARRIER_SENT,
    CheckpointStep.SYNC_START,
    CheckpointStep.SYNC_END,
    CheckpointStep.ASYNC_END,
    CheckpointStep.ACKNOWLEDGE,
)
_BARRIERS: Final = (
    ElementKind.CHECKPOINT_BARRIER,
    ElementKind.UNALIGNED_BARRIER,
    ElementKind.CANCEL_CHECKPOINT_MARKER,
)


def _steps(facts: Facts) -> list[tuple[int, int, int, int, CheckpointStep]]:
    """Task, number, time, checkpoint and step, in order."""
    return sorted(
        (task, seq, time_ns, checkpoint, CheckpointStep(step))
        for seq, task, time_ns, checkpoint, step, *_ in facts.rows("checkpoint_steps")
    )


def checkpoint_answers(facts: Facts, graph: JobGraph, whole: bool) -> Counts:
    """Of each task and checkpoint, every step must be the next one, and nothing follows DECLINE."""
    of: dict[tuple[int, int], list[CheckpointStep]] = defaultdict(list)
    again: set[tuple[int, int, int]] = set()
    """Task, checkpoint and number of steps before a decline that follows the notification of an abort."""
    aborted: set[tuple[int, int]] = set()
    for task, _, _, checkpoint, step in _steps(facts):
        if step is CheckpointStep.NOTIFY_ABORTED:
            aborted.add((task, checkpoint))
        if step in _STEPS or step is CheckpointStep.DECLINE:
            if step is CheckpointStep.DECLINE and (task, checkpoint) in aborted:
                again.add((task, checkpoint, len(of[task, checkpoint])))
            of[task, checkpoint].append(step)
    violations = 0
    for place_of, steps in of.items():
        for number, step in enumerate(steps):
            before = steps[:number]
            place = max((_STEPS.index(each) for each in before if each in _STEPS), default=-1)
            if CheckpointStep.DECLINE in before:
                violations += (*place_of, number) not in again
            elif step is CheckpointStep.DECLINE:
                violations += place == len(_STEPS) - 1
            else:
                violations += _STEPS.index(step) != place + 1
    return sum(map(len, of.values())), violations


def checkpoint_notifications(facts: Facts, graph: JobGraph, whole: bool) -> Counts:
    """Of completed checkpoints, each once, and not of restored ones."""
    completed = {
        event.checkpoint: event.time_ns
        for event in graph.history.checkpoints
        if event.action == CheckpointAction.COMPLETED and event.type != SnapshotKind.SAVEPOINT
    }
    completed = {graph.history.first_restored: 0, **completed}
    examined = violations = 0
    newest: dict[int, int] = {}
    restored: dict[int, int] = {}
    for task, _, time_ns, checkpoint, step in _steps(facts):
        is_complete = completed.get(checkpoint, time_ns + 1) <= time_ns
        if step is CheckpointStep.RESTORE:
            restored[task] = checkpoint
        elif step is CheckpointStep.NOTIFY_ABORTED:
            examined, violations = examined + 1, violations + is_complete
        elif step is CheckpointStep.NOTIFY_COMPLETE:
            examined += 1
            violations += not is_complete or checkpoint <= max(newest.get(task, -1), restored.get(task, -1))
            newest[task] = max(checkpoint, newest.get(task, -1))
    return examined, violations


def checkpoint_barriers(facts: Facts, graph: JobGraph, whole: bool) -> Counts:
    """Increasing on each channel, and on all channels of a task."""
    rows = sorted((row[1], row[0], row[3], row[6], row[5]) for row in facts.rows("sent") if row[5] in _BARRIERS)
    rows = [row for row in rows if graph.sent_by(row[0])]
    highest: dict[int, int] = {}
    channels: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    violations = 0
    early = {(row[1], row[6]) for row in facts.rows("received") if row[5] == ElementKind.UNALIGNED_BARRIER}
    """Tasks that sent their barrier of a checkpoint with the first one that they received."""
    before: dict[int, tuple[int, bool]] = {}
    """By channel the checkpoint of its last row, and whether that repeats the one before it."""
    for task, _, channel, checkpoint, kind in rows:
        aborts = kind == ElementKind.CANCEL_CHECKPOINT_MARKER
        aborts &= before.get(channel) == (checkpoint, False) and (task, checkpoint) in early
        violations += checkpoint <= highest.get(channel, 0) and not aborts
        before[channel] = checkpoint, aborts
        highest[channel] = max(checkpoint, highest.get(channel, 0))
        channels[task][checkpoint].add(channel)
    for task, by_checkpoint in channels.items():
        all_channels = {channel.channel for channel in graph.sent_by(task)}
        violations += sum(
            bool(all_channels - sent) and (whole or checkpoint < max(by_checkpoint))
            for checkpoint, sent in by_checkpoint.items()
        )
    return len(rows), violations


def checkpoint_cut(facts: Facts, graph: JobGraph, whole: bool) -> Counts:
    """What was sent before the barrier was received before the snapshot, and nothing else."""
    sent: dict[int, list[Row]] = defaultdict(list)
    received: dict[int, list[Row]] = defaultdict(list)
    for rows, table in ((sent, "sent"), (received, "received")):
        for row in sorted(facts.rows(table)):
            rows[row[3]].append(row)
    snapshots: dict[int, dict[int, int]] = defaultdict(dict)
    for task, seq, _, checkpoint, step in _steps(facts):
        if step is CheckpointStep.SYNC_START:
            snapshots[task][checkpoint] = seq
    alignments = {
        event.checkpoint: event.alignment
        for event in graph.history.checkpoints
        if event.action == CheckpointAction.TRIGGERED
    }
    overtaking = {row[6] for row in facts.rows("sent") if row[5] == ElementKind.UNALIGNED_BARRIER}
    examined = violations = 0
    for channel in graph.channels.values():
        of_sender = [row for row in sent[channel.channel] if row[1] == channel.source_task]
        of_receiver = [row for row in received[channel.channel] if row[1] == channel.target_task]
        for checkpoint, at in snapshots[channel.target_task].items():
            examined += 1
            count = sum(row[0] < at and row[4] >= 0 and row[5] < _BARRIERS[0] for row in of_receiver)
            barriers = [n for n, row in enumerate(of_sender) if row[5] in _BARRIERS[:2] and row[6] == checkpoint]
            if barriers:
                before = [row for row in of_sender[: barriers[0]] if row[5] in (6, 7, 8)]
                expected = of_sender[barriers[0]][4] - len(before)
            else:
                expected = sum(row[5] < ElementKind.END_OF_PARTITION for row in of_sender)
            is_exact = alignments.get(checkpoint, AlignmentType.AT_LEAST_ONCE) != AlignmentType.AT_LEAST_ONCE
            is_aligned = any(of_sender[barrier][5] == _BARRIERS[0] for barrier in barriers)
            loses = count < expected and (is_aligned or checkpoint not in overtaking)
            violations += loses or (bool(barriers) and is_exact and count > expected)
    return examined, violations


def checkpoint_progress(facts: Facts, graph: JobGraph, whole: bool) -> Counts:
    """Each checkpoint that is triggered ends, once."""
    examined = violations = highest = 0
    pending: dict[int, tuple[set[int], bool]] = {}
    """The tasks that acknowledged it, and whether these are all."""
    for event in graph.history.checkpoints:
        of = pending.get(event.checkpoint)
        is_all = event.acknowledged == event.tasks
        match CheckpointAction(event.action):
            case CheckpointAction.TRIGGERED:
                violations += event.checkpoint <= highest
                highest = max(highest, event.checkpoint)
                pending[event.checkpoint] = set(), is_all
            case CheckpointAction.ACKNOWLEDGED:
                violations += of is None or event.task_id in of[0]
                if of is not None:
                    pending[event.checkpoint] = of[0] | {event.task_id}, is_all
            case CheckpointAction.DECLINED:
                violations += of is None
            case CheckpointAction.COMPLETED | CheckpointAction.ABORTED:
                violations += of is None or (event.action == CheckpointAction.COMPLETED and not of[1])
                pending.pop(event.checkpoint, None)
            case _:
                continue
        examined += 1
    return examined, violations + (len(pending) if whole else 0)


def restored_timers(facts: Facts, graph: JobGraph, whole: bool) -> Counts:
    """The timers of each task over all its attempts."""
    history = graph.history
    keyed = {edge.target_vertex for edge in graph.edges.values() if edge.partitioner == "HASH"}
    examined = violations = 0
    for task in graph.tasks:
        if not graph.last_attempt(task) and history.first_restored == NO_CHECKPOINT:
            continue
        steps = [(row[0], 0, row) for row in facts.rows("timers") if row[1] == task]
        steps += [(row[0], 1, row) for row in facts.rows("checkpoint_steps") if row[1] == task]
        steps += [(row[0], 2, row) for row in facts.rows("lifecycle") if row[1] == task]
        waiting: set[tuple[int, ...]] = set()
        snapshots: dict[int, set[tuple[int, ...]]] = {}
        attempt, is_known, is_finished = 0, history.restored(task, 0) == NO_CHECKPOINT, False
        started: dict[int, set[tuple[int, ...]]] = {}
        """The attempts that started with the timers of a snapshot, which is known."""
        for seq, table, row in sorted(steps):
            if facts.attempt(task, seq) != attempt:
                attempt, is_finished = facts.attempt(task, seq), False
                checkpoint = history.restored(task, attempt)
                is_known = checkpoint == NO_CHECKPOINT or checkpoint in snapshots
                waiting = set(snapshots.get(checkpoint, ()))
                if checkpoint in snapshots and graph.tasks[task].vertex in keyed:
                    started[attempt] = set(waiting)
            if table == 1:
                if row[4] == CheckpointStep.SYNC_START and is_known:
                    snapshots[row[3]] = set(waiting)
            elif table == 2:
                if row[4] == LifeEvent.FINISH:
                    is_finished = True
                    examined += graph.tasks[task].vertex in keyed
            else:
                timer, action = _timer_of(row)
                examined += 1
                if action == TimerAction.REGISTER:
                    violations += timer in waiting and attempt not in started
                    waiting.add(timer)
                else:
                    violations += timer not in waiting and is_known and attempt not in started
                    waiting.discard(timer)
        for of, timers in started.items():
            findings = Findings(0)
            waiting = replay_timers(findings, _OfAttempt(facts, task, of), graph, task, timers, whole and of == attempt)
            violations += findings.violations
        if whole and is_finished and attempt:
            violations += sum(timer[2] == TimeDomain.EVENT_TIME and timer[3] < MAX_WATERMARK for timer in waiting)
    return examined, violations


class _OfAttempt:
    """The facts of one attempt of one task."""

    def __init__(self, facts: Facts, task: int, attempt: int) -> None:
        self.level, self.static_rows, self._facts = facts.level, facts.static_rows, facts
        self._task, self._attempt = task, attempt

    def rows(self, table: str) -> list[Row]:
        rows = [row for row in self._facts.rows(table) if row[1] == self._task]
        return [row for row in rows if self.attempt(self._task, row[0]) == self._attempt]

    def attempt(self, task: int, seq: int) -> int:
        return self._facts.attempt(task, seq)


def _timer_of(row: Row) -> tuple[tuple[int, ...], int]:
    """The timer (operator, service, domain, time, key and window), and what happened to it."""
    _, _, operator, _, action, domain, timestamp, _, key, start, _, end, service = row
    return (operator, service, domain, timestamp, key, start, end), action


OF_CHECKPOINTS: Final[dict[str, Callable[[Facts, JobGraph, bool], Counts]]] = {
    "checkpoint-answers": checkpoint_answers,
    "checkpoint-notifications": checkpoint_notifications,
    "checkpoint-barriers": checkpoint_barriers,
    "checkpoint-cut": checkpoint_cut,
    "checkpoint-progress": checkpoint_progress,
    "restored-timers": restored_timers,
    "in-flight-cut": in_flight_cut,
    "in-flight-restored": in_flight_restored,
}
