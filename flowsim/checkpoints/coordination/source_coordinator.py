"""The coordinator of a source: its enumerator, its readers, and the splits between them (rules 12.108-12.115).

Flink: SourceCoordinator, SourceCoordinatorContext.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.checkpoints.coordination.split_assignment_tracker import SplitAssignmentTracker
from flowsim.errors import InvariantViolation
from flowsim.network.completion import Completion
from flowsim.operators.sources.source_events import (
    AddSplitEvent,
    NoMoreSplitsEvent,
    ReaderRegistrationEvent,
    RequestSplitEvent,
)
from flowsim.operators.sources.split_enumerator import EnumeratorFactory, SplitEnumerator
from flowsim.sim.scheduler import Timer
from flowsim.streamrecord.operator_event import OperatorEvent

Split = TypeVar("Split")


class BacklogListener(Protocol):
    """Hears of the backlog of sources; the checkpoint coordinator."""

    def set_is_processing_backlog(self, operator_id: str, is_processing_backlog: bool) -> None: ...


class CoordinatorServices(BacklogListener, Protocol):
    """What the job manager does for a coordinator."""

    @property
    def now_ns(self) -> int: ...

    def call_later(self, delay_ns: int, action: Callable[[], None]) -> Timer:
        """Runs the action in a turn of its own after the delay; an error of it fails the job."""
        ...


class SourceCoordinator(Generic[Split]):
    """Flink: SourceCoordinator, SourceCoordinatorContext, RecreateOnResetOperatorCoordinator.

    Invariant: splits are assigned only to registered readers, so that each split is with the enumerator, on its way or
    with one reader.
    """

    def __init__(
        self, operator_id: str, source: EnumeratorFactory[Split], parallelism: int, services: CoordinatorServices
    ) -> None:
        self.current_parallelism = parallelism
        self._operator_id = operator_id
        self._source = source
        self._services = services
        self._started_ns: int | None = None
        self._enumerator: SplitEnumerator[Split] | None = None
        self._holder: OperatorCoordinatorHolder | None = None
        """The way of events to the subtasks; None before the first one runs."""
        self._readers: dict[int, tuple[Split, ...]] = {}
        self._without_more_splits: set[int] = set()
        self._tracker: SplitAssignmentTracker[Split] = SplitAssignmentTracker()

    @property
    def enumerator(self) -> SplitEnumerator[Split]:
        if self._enumerator is None:
            raise InvariantViolation(f"the coordinator of {self._operator_id} is used before its start")
        return self._enumerator

    def start(self) -> None:
        """Creates the enumerator, unless it was restored, and starts it."""
        if self._started_ns is None:
            self._started_ns = self._services.now_ns
        if self._enumerator is None:
            self._enumerator = self._source.create_enumerator(self)
        self._enumerator.start()

    def close(self) -> None:
        """Ends the enumerator."""
        if self._enumerator is not None:
            self._enumerator.close()

    @property
    def registered_readers(self) -> Mapping[int, Sequence[Split]]:
        return self._readers

    def assign_splits(self, assignment: Mapping[int, Sequence[Split]]) -> None:
        for subtask in assignment:
            if subtask not in self._readers:
                raise InvariantViolation(
                    f"Cannot assign splits to subtask {subtask} of {self._operator_id} because the subtask is not registered"
                )
        self._tracker.record_split_assignment(assignment)
        for subtask, splits in assignment.items():
            self._send(subtask, AddSplitEvent(tuple(splits)))

    def signal_no_more_splits(self, subtask: int) -> None:
        self._without_more_splits.add(subtask)
        if subtask in self._readers:
            self._send(subtask, NoMoreSplitsEvent())

    def _send(self, subtask: int, event: OperatorEvent) -> None:
        if self._holder is None:
            raise InvariantViolation(f"a reader of {self._operator_id} is registered before it runs")
        self._holder.send_event(subtask, event)

    def set_is_processing_backlog(self, is_processing_backlog: bool) -> None:
        self._services.set_is_processing_backlog(self._operator_id, is_processing_backlog)

    @property
    def elapsed_ns(self) -> int:
        return 0 if self._started_ns is None else self._services.now_ns - self._started_ns

    def call_later(self, delay_ns: int, action: Callable[[], None]) -> Timer:
        return self._services.call_later(delay_ns, action)

    def handle_event_from_operator(self, subtask: int, attempt: int, event: OperatorEvent) -> None:
        match event:
            case RequestSplitEvent():
                # Rule 12.115: a request may cross the signal.
                if subtask not in self._without_more_splits:
                    self.enumerator.handle_split_request(subtask)
            case ReaderRegistrationEvent(splits=splits):
                is_new = subtask not in self._readers
                self._readers[subtask] = splits
                if is_new:
                    self.enumerator.add_reader(subtask)
            case _:
                self.enumerator.handle_source_event(subtask, event)

    def execution_attempt_ready(self, subtask: int, attempt: int, holder: OperatorCoordinatorHolder) -> None:
        self._holder = holder

    def execution_attempt_failed(self, subtask: int, attempt: int, reason: BaseException | None) -> None:
        self._readers.pop(subtask, None)

    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        self._readers.pop(subtask, None)
        self._without_more_splits.discard(subtask)
        splits = self._tracker.get_and_remove_uncheckpointed_assignment(subtask, checkpoint_id)
        self.enumerator.add_splits_back(splits, subtask)

    def checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        self._tracker.on_checkpoint(checkpoint_id)
        result.complete(self.enumerator.snapshot_state(checkpoint_id))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._tracker.on_checkpoint_complete(checkpoint_id)
        self.enumerator.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.enumerator.notify_checkpoint_aborted(checkpoint_id)

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None:
        """Starts anew from the state; a coordinator that had started starts its new enumerator too (rule 12.114)."""
        was_started = self._enumerator is not None
        self.close()
        self._readers.clear()
        self._without_more_splits.clear()
        self._tracker = SplitAssignmentTracker()
        self._enumerator = None if state is None else self._source.restore_enumerator(self, state)
        if was_started:
            self.start()
