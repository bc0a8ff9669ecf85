"""Sinks whose records are also collected, so that a test can read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.sinks.committables.commit_request import CommitRequest, CommitRequestState, Committer
from flowsim.connectors.sinks.committer_operators import CommitterOperator, CreateCommitter, GlobalCommitterOperator
from flowsim.connectors.sinks.sink import DirectWriters
from flowsim.connectors.sinks.sink_writer_checkpoints import CommittingSinkWriter
from flowsim.connectors.sinks.sink_writer_operator import SinkWriterOperator
from flowsim.errors import InvariantViolation
from flowsim.graph.stream_graph import StreamNode, TwoPhaseCommit
from flowsim.operators.sink import InitContext, SinkWriter, StatefulSinkWriter, SupportsWriterState, WriterFactory
from flowsim.operators.sink_operator import SinkOperator
from flowsim.operators.stream_operator import StreamOperator, Value

_OWN: Final = 0
_WATCHING: Final = 1


def also_into(end: CollectSink, sink: StreamNode) -> StreamNode:
    """Returns the node of a sink whose records also go to ``end``; those of a sink with committer when it commits."""
    commit = sink.two_phase_commit
    return replace(
        sink,
        operator_factory=_writing(sink.operator_factory, end),
        two_phase_commit=None if commit is None else _committing(commit, end),
    )


def _writing(make: Callable[[], StreamOperator], end: CollectSink) -> Callable[[], StreamOperator]:
    def observed() -> StreamOperator:
        operator = make()
        if isinstance(operator, SinkOperator):
            return SinkOperator(ObservedSink(operator.sink, DirectWriters(end)), operator.is_open_ended)
        return operator

    return observed


class ObservedSink:
    """Writes every record to the sink's own writers, and also to those of a second sink."""

    def __init__(self, own: WriterFactory, watching: WriterFactory) -> None:
        self._own = own
        self._watching = watching

    def create_writer(self, context: InitContext) -> TeeWriter:
        return TeeWriter(self._own.create_writer(context), self._watching.create_writer(context))


class TeeWriter:
    """Writes every record to two writers."""

    def __init__(self, own: SinkWriter, watching: SinkWriter) -> None:
        self._own = own
        self._watching = watching

    def write(self, value: Value, timestamp: int | None) -> None:
        self._own.write(value, timestamp)
        self._watching.write(value, timestamp)

    def flush(self, end_of_input: bool) -> None:
        self._own.flush(end_of_input)
        self._watching.flush(end_of_input)

    def close(self) -> None:
        self._own.close()
        self._watching.close()


def _committing(commit: TwoPhaseCommit, end: CollectSink) -> TwoPhaseCommit:
    def writer() -> StreamOperator:
        operator = commit.writer_factory()
        if not isinstance(operator, SinkWriterOperator):
            raise InvariantViolation(f"expected the operator of a sink's writers, got {type(operator).__name__}")
        return SinkWriterOperator(ObservedCommittingSink(operator.sink, end))

    last = commit.global_committer_factory
    return replace(
        commit,
        writer_factory=writer,
        committer_factory=_with_committer(commit.committer_factory, end),
        global_committer_factory=None if last is None else _with_committer(last, end),
    )


def _with_committer(make: Callable[[], StreamOperator], end: CollectSink) -> Callable[[], StreamOperator]:
    def committer() -> StreamOperator:
        operator = make()
        if not isinstance(operator, CommitterOperator):
            raise InvariantViolation(f"expected the operator of a sink's committers, got {type(operator).__name__}")
        own: CreateCommitter = operator.create_committer
        # A global committer commits what the committers before it have committed at the end as well.
        is_last = isinstance(operator, GlobalCommitterOperator)
        operator.create_committer = lambda context: ObservedCommitter(
            own(context), None if is_last else end.create_committer(context)
        )
        return operator

    return committer


class ObservedCommittingSink:
    """As ``ObservedSink``, for writers that prepare commits: each committable has the number of its sink."""

    def __init__(self, own: WriterFactory, watching: CollectSink) -> None:
        self._own = own
        self._watching = watching

    def create_writer(self, context: InitContext) -> CommittingTeeWriter:
        return CommittingTeeWriter(self._own.create_writer(context), self._watching.create_writer(context))

    def restore_writer(self, context: InitContext, recovered_state: Sequence[Value]) -> CommittingTeeWriter:
        own = self._own
        if isinstance(own, SupportsWriterState):
            writer: SinkWriter = own.restore_writer(context, recovered_state)
        else:
            writer = own.create_writer(context)
        return CommittingTeeWriter(writer, self._watching.create_writer(context))


class CommittingTeeWriter(TeeWriter):
    """Writes every record to two writers that prepare commits."""

    def prepare_commit(self) -> Sequence[Value]:
        committables: list[Value] = []
        for number, writer in ((_OWN, self._own), (_WATCHING, self._watching)):
            if isinstance(writer, CommittingSinkWriter):
                committables += [(number, each) for each in writer.prepare_commit()]
        return committables

    def snapshot_state(self, checkpoint_id: int) -> Sequence[Value]:
        if isinstance(self._watching, StatefulSinkWriter):
            self._watching.snapshot_state(checkpoint_id)
        return self._own.snapshot_state(checkpoint_id) if isinstance(self._own, StatefulSinkWriter) else ()


class ObservedCommitter:
    """Commits the committables of two sinks. ``watching`` None: only those of the sink's own writers."""

    def __init__(self, own: Committer[object], watching: Committer[object] | None) -> None:
        self._own = own
        self._watching = watching

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        self._commit(self._own, _OWN, requests)
        if self._watching is not None:
            self._commit(self._watching, _WATCHING, requests)

    def _commit(self, committer: Committer[object], number: int, requests: Sequence[CommitRequest[object]]) -> None:
        pairs: list[tuple[CommitRequest[object], CommitRequest[object]]] = []
        for request in requests:
            match request.committable:
                case (int(sink), committable) if sink == number:
                    pairs.append((request, CommitRequest(committable, request.number_of_retries)))
        if not pairs:
            return
        committer.commit([inner for _, inner in pairs])
        for request, inner in pairs:
            if inner.state is CommitRequestState.RETRY:
                request.update_and_retry_later((number, inner.committable))
            else:
                request.state = inner.state

    def close(self) -> None:
        self._own.close()
        if self._watching is not None:
            self._watching.close()
