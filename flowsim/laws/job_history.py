"""What the job's side recorded: the events of checkpoints, failures and restarts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from flowsim.facts.kinds import CheckpointAction, RestartAction

NO_CHECKPOINT: Final = -1


class CheckpointEvent(NamedTuple):
    """A row of table ``checkpoints``."""

    step: int
    time_ns: int
    checkpoint: int
    action: int
    type: int
    alignment: int
    reason: int
    task_id: int
    tasks: int
    acknowledged: int
    state_bytes: int


class RestartEvent(NamedTuple):
    """A row of table ``restarts``."""

    step: int
    time_ns: int
    action: int
    failure: int
    task_id: int
    attempt: int
    checkpoint: int
    delay_ms: int


class StoredChannelEvent(NamedTuple):
    """A row of table ``stored_channels``."""

    step: int
    time_ns: int
    checkpoint: int
    action: int
    edge: int
    source: int
    target: int
    channel: int
    task_id: int
    input_buffers: int
    input_bytes: int
    output_buffers: int
    output_bytes: int
    elements: int
    element_sum: int
    weighted_sum: int
    rest_bytes: int


@dataclass(frozen=True)
class JobHistory:
    """The events of the job's side, in the order of ``step``."""

    checkpoints: tuple[CheckpointEvent, ...] = ()
    restarts: tuple[RestartEvent, ...] = ()
    stored_channels: tuple[StoredChannelEvent, ...] = ()

    @property
    def is_restarted(self) -> bool:
        """Whether a task has several attempts."""
        return any(event.action == RestartAction.RESTART for event in self.restarts)

    @cached_property
    def last_attempts(self) -> Mapping[int, int]:
        """The last attempt of each restarted task."""
        found: dict[int, int] = {}
        for event in self.restarts:
            if event.action == RestartAction.RESTART:
                found[event.task_id] = max(event.attempt, found.get(event.task_id, 0))
        return found

    def attempts_at(self, time_ns: int | None) -> Mapping[int, int]:
        """The attempt of each restarted task at a time; None: the last one."""
        if time_ns is None:
            return self.last_attempts
        until = [event for event in self.restarts if event.time_ns <= time_ns]
        return replace(self, restarts=tuple(until)).last_attempts

    @cached_property
    def failures_of_restarts(self) -> Mapping[int, tuple[int, ...]]:
        """The numbers of the failures that restarted each task, by its attempts from 1."""
        found: dict[int, list[tuple[int, int]]] = {}
        for event in self.restarts:
            if event.action == RestartAction.RESTART:
                found.setdefault(event.task_id, []).append((event.attempt, event.failure))
        return {task: tuple(failure for _, failure in sorted(attempts)) for task, attempts in found.items()}

    @cached_property
    def _restored(self) -> Mapping[tuple[int, int], int]:
        return {
            (event.task_id, event.attempt): event.checkpoint
            for event in self.restarts
            if event.action == RestartAction.RESTART
        }

    @cached_property
    def first_restored(self) -> int:
        """The checkpoint or savepoint from which the job started, -1: none."""
        events: list[CheckpointEvent | RestartEvent] = [*self.restarts]
        events += [event for event in self.checkpoints if event.action == CheckpointAction.RESTORED]
        first = min(events, key=lambda event: event.step, default=None)
        return first.checkpoint if isinstance(first, CheckpointEvent) else NO_CHECKPOINT

    def restored(self, task: int, attempt: int) -> int:
        """Returns the checkpoint from which an attempt started, -1: none."""
        return self._restored.get((task, attempt), NO_CHECKPOINT) if attempt else self.first_restored

    @cached_property
    def completed(self) -> Mapping[int, CheckpointEvent]:
        """The events of completed checkpoints, by id."""
        return {event.checkpoint: event for event in self.checkpoints if event.action == CheckpointAction.COMPLETED}
