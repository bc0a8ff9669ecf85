"""Which requested checkpoint starts, waits or is dropped. Flink: CheckpointRequestDecider (rules 12.38-12.41)."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Final, Protocol

from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.network.completion import Completion
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason

DEFAULT_MAX_QUEUED_REQUESTS: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointTriggerRequest:
    """A request for a checkpoint or savepoint. Flink: CheckpointCoordinator.CheckpointTriggerRequest."""

    timestamp_ms: int
    properties: CheckpointProperties
    target_location: str | None
    """Where the user wants the savepoint; None: the default."""
    is_periodic: bool
    on_completion: Completion[CompletedCheckpoint] = field(default_factory=Completion)

    @property
    def priority(self) -> tuple[bool, bool, bool, int]:
        """The place in the queue; the smallest is first (rule 12.38)."""
        properties = self.properties
        return not properties.is_savepoint, not properties.is_forced, self.is_periodic, self.timestamp_ms

    def fail(self, reason: CheckpointFailureReason) -> None:
        self.on_completion.complete_exceptionally(CheckpointException(reason))


class CheckpointRequestContext(Protocol):
    """What the decision depends on.

    A Protocol, because the coordinator, which implements it, owns the decider.
    """

    @property
    def pending_checkpoint_count(self) -> int:
        """The number of checkpoints that are neither complete nor aborted."""
        ...

    @property
    def cleaning_checkpoint_count(self) -> int:
        """The number of checkpoints whose files are being deleted."""
        ...

    def reschedule_trigger(self, now_ms: int, delay_ms: int) -> None:
        """Moves the next periodic trigger to the end of the minimum pause."""
        ...


class CheckpointRequestDecider:
    """The queue of requests. Flink: CheckpointRequestDecider.

    Invariant: at most ``max_queued_requests`` requests wait, in the order of their priority, equal ones in the order
    of their arrival.
    """

    __slots__ = (
        "_context",
        "_main_thread",
        "_max_concurrent_checkpoints",
        "_max_queued_requests",
        "_min_pause_ms",
        "_queue",
    )

    def __init__(
        self,
        context: CheckpointRequestContext,
        main_thread: MainThreadExecutor,
        max_concurrent_checkpoints: int,
        min_pause_ms: int,
        max_queued_requests: int = DEFAULT_MAX_QUEUED_REQUESTS,
    ) -> None:
        self._context = context
        self._main_thread = main_thread
        self._max_concurrent_checkpoints = max_concurrent_checkpoints
        self._min_pause_ms = min_pause_ms
        self._max_queued_requests = max_queued_requests
        self._queue: list[CheckpointTriggerRequest] = []

    @property
    def queued_request_count(self) -> int:
        return len(self._queue)

    def choose_request_to_execute(
        self, request: CheckpointTriggerRequest, is_triggering: bool, last_completion_ms: int
    ) -> CheckpointTriggerRequest | None:
        """Queues a request; returns the request that starts now, if any."""
        if len(self._queue) >= self._max_queued_requests and not self._queue[-1].is_periodic:
            request.fail(CheckpointFailureReason.TOO_MANY_CHECKPOINT_REQUESTS)
            return None
        insort(self._queue, request, key=lambda queued: queued.priority)
        if len(self._queue) > self._max_queued_requests:
            self._queue.pop().fail(CheckpointFailureReason.TOO_MANY_CHECKPOINT_REQUESTS)
        return self.choose_queued_request_to_execute(is_triggering, last_completion_ms)

    def choose_queued_request_to_execute(
        self, is_triggering: bool, last_completion_ms: int
    ) -> CheckpointTriggerRequest | None:
        """Returns the queued request that starts now, if any; may drop one for the minimum pause (rule 12.39)."""
        limit = self._max_concurrent_checkpoints
        # Files that are being deleted count, so that a slow storage slows the checkpoints instead of filling up (rule 12.39).
        if is_triggering or not self._queue or self._context.cleaning_checkpoint_count > limit:
            return None
        first = self._queue[0]
        if self._context.pending_checkpoint_count >= limit and not first.properties.is_forced:
            return None
        del self._queue[0]
        if first.is_periodic and not first.properties.is_forced:
            now_ms = self._main_thread.now_ms
            delay_ms = last_completion_ms - now_ms + self._min_pause_ms
            # Dropped, not delayed: the requests of the interval would pile up behind it (rule 12.39).
            if delay_ms > 0:
                first.fail(CheckpointFailureReason.MINIMUM_TIME_BETWEEN_CHECKPOINTS)
                self._context.reschedule_trigger(now_ms, delay_ms)
                return None
        return first

    def abort_all(self, reason: CheckpointFailureReason) -> None:
        """Fails all queued requests, the first one first."""
        while self._queue:
            self._queue.pop(0).fail(reason)
