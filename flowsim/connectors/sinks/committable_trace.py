"""Records the steps of committables (table ``committables``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from flowsim.connectors.sinks.committables.commit_request import CommitRequest, CommitRequestState
from flowsim.connectors.sinks.committables.committable_collector import CommittableCollector, StoredCommittables
from flowsim.connectors.sinks.committables.committable_message import (
    CommittableMessage,
    CommittableWithLineage,
)
from flowsim.connectors.sinks.sink_writer_checkpoints import CommittableOutput
from flowsim.facts.checkpoint_trace import CheckpointTrace
from flowsim.facts.kinds import CommittableAction
from flowsim.operators.stream_operator import Value
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped

Write = Callable[[Value, int | None], object]

_OUTCOMES: Final = {
    CommitRequestState.COMMITTED: CommittableAction.COMMITTED,
    CommitRequestState.FAILED: CommittableAction.FAILED,
}


def waiting_committables(states: Iterable[StoredCommittables[object]]) -> Iterator[int]:
    """Yields the numbers of the committables that a committer's state still has to commit."""
    for each in states:
        for request in each.requests:
            if not request.state.is_final:
                yield _fingerprint_of(each.subtask, request.committable)


def _fingerprint_of(subtask: int, committable: object) -> int:
    """Returns the number that identifies a committable of a writer."""
    return fingerprint(None, (subtask, committable))


class PreparedCommittables:
    """Counts the records that are written, and records the committables that a writer prepares.

    All records since the last barrier belong to the first committable; usually a writer prepares one.
    """

    __slots__ = ("_trace", "_operator", "_output", "_write", "_rows", "_sum")

    def __init__(self, trace: CheckpointTrace, operator: int, output: CommittableOutput[object], write: Write) -> None:
        self._trace = trace
        self._operator = operator
        self._output = output
        self._write = write
        self._rows = 0
        self._sum = 0

    def write(self, value: Value, timestamp: int | None) -> None:
        self._rows += 1
        self._sum += fingerprint(None, value)
        self._write(value, timestamp)

    def emit(self, message: CommittableMessage[object]) -> None:
        if isinstance(message, CommittableWithLineage):
            rows, total, self._rows, self._sum = self._rows, self._sum, 0, 0
            number = _fingerprint_of(message.subtask, message.committable)
            action = CommittableAction.PREPARED
            self._trace.committable(self._operator, message.checkpoint_id, action, number, rows, _long(total))
        self._output.emit(message)


class CommitTrace:
    """Records what became of the committables of a committer. Their rows are those of the fact PREPARED."""

    __slots__ = ("_trace", "_operator", "_collector")

    def __init__(self, trace: CheckpointTrace, operator: int, collector: CommittableCollector[object]) -> None:
        self._trace = trace
        self._operator = operator
        self._collector = collector

    def restored(self) -> None:
        """Records the committables of a restored state."""
        for checkpoint_id, subtask, request in self._pending():
            self._record(checkpoint_id, CommittableAction.RESTORED, subtask, request.committable)

    @contextmanager
    def commits(self) -> Iterator[None]:
        """Records the outcome of each request that the body commits, also if the body fails."""
        before = [(*place, place[2].committable, place[2].number_of_retries) for place in self._pending()]
        try:
            yield
        finally:
            for checkpoint_id, subtask, request, committable, retries in before:
                for _ in range(request.number_of_retries - retries):
                    self._record(checkpoint_id, CommittableAction.RETRIED, subtask, committable)
                if request.state in _OUTCOMES:
                    self._record(checkpoint_id, _OUTCOMES[request.state], subtask, committable)

    def _pending(self) -> Iterator[tuple[int, int, CommitRequest[object]]]:
        for manager in self._collector.checkpoint_committables:
            for writer in manager.subtask_committable_managers:
                for request in writer.pending_requests:
                    yield manager.checkpoint_id, writer.subtask, request

    def _record(self, checkpoint_id: int, action: CommittableAction, subtask: int, committable: object) -> None:
        number = _fingerprint_of(subtask, committable)
        self._trace.committable(self._operator, checkpoint_id, action, number, 0, 0)


def _long(total: int) -> int:
    """Returns the sum as a Java long."""
    return wrapped(total % 2**64)
