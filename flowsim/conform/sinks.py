"""The sinks of a compared job: they write nothing, and note what is committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flowsim.conform.unsupported import Unsupported
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.committer_operators import CommitterOperator
from flowsim.connectors.sinks.sink_writer_operator import SinkWriterOperator
from flowsim.graph.stream_graph import StreamNode, TwoPhaseCommit
from flowsim.legacy.stream_sink import StreamSink
from flowsim.operators.sink import InitContext
from flowsim.operators.sink_operator import SinkOperator
from flowsim.values.record_text import value_text

Commits = dict[str, list[str]]
"""What each sink committed: the values of each committable as JSON, in order, by the name of the sink."""


class NotingSink:
    """Writes nothing; its committer notes the values of each commit."""

    kind = "noted"
    params: Mapping[str, object] = {}

    def __init__(self, name: str, commits: Commits) -> None:
        self._name = name
        self._commits = commits

    def create_writer(self, context: InitContext) -> _Writer:
        return _Writer()

    def create_committer(self, context: InitContext) -> _Committer:
        return _Committer(self._commits.setdefault(self._name, []))


class _Writer:
    def __init__(self) -> None:
        self._values: list[object] = []

    def write(self, value: object, timestamp: int | None) -> None:
        self._values.append(value)

    def flush(self, end_of_input: bool) -> None:
        """Does nothing: there is no output."""

    def prepare_commit(self) -> Sequence[object]:
        values, self._values = self._values, []
        return [values] if values else []

    def close(self) -> None:
        """Does nothing: there is no output."""


class _Committer:
    def __init__(self, commits: list[str]) -> None:
        self._commits = commits

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        self._commits.extend(value_text(request.committable) for request in requests)

    def close(self) -> None:
        """Does nothing: there is no output."""


def with_noting_sink(node: StreamNode, commits: Commits, *, has_checkpoints: bool) -> StreamNode:
    """Returns the node with a sink that writes nothing; it commits if the sink of the job does. Raises Unsupported.

    On Flink it is a map if it does not commit, which is chained to a source function.
    """
    if isinstance(node.operator_factory(), StreamSink):
        raise Unsupported(f"operator {node.name!r}: a sink function with transactions runs only here")
    commit = node.two_phase_commit
    noting = NotingSink(node.name, commits)
    return replace(
        node,
        yields=commit is not None and has_checkpoints,
        operator_factory=lambda: SinkOperator(noting, is_open_ended=True),
        two_phase_commit=None
        if commit is None
        else TwoPhaseCommit(
            lambda: SinkWriterOperator(noting),
            lambda: CommitterOperator(noting.create_committer, emits=False, max_retries=0),
            needs_checkpoints=commit.needs_checkpoints,
        ),
        check_run=None,
        check_restore=None,
    )
