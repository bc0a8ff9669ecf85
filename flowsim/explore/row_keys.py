"""The key of each row of a sink: that of the nearest keyed operator before the sink, if both are in one task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from flowsim.connectors.memory import CollectSink, CommittingCollectWriter
from flowsim.connectors.sinks.sink_writer_checkpoints import CommittingSinkWriter
from flowsim.graph.job_graph import chained_edges
from flowsim.graph.stream_graph import StreamGraph, StreamNode
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.sink import InitContext, SinkWriter
from flowsim.operators.stream_operator import KeySelector, StreamOperator, Value


class RowKeys(Protocol):
    """Knows the keys of the rows of one sink."""

    def of_subtask(self, subtask: int) -> KeySelector:
        """Returns a function that gets each row while the subtask writes it, and returns its key."""


class SelectedKeys:
    """The keys of the rows of a sink behind ``key_by``."""

    def __init__(self, selector: KeySelector) -> None:
        self._selector = selector

    def of_subtask(self, subtask: int) -> KeySelector:
        return self._selector


class CurrentKeys:
    """The current keys of a keyed operator, in the task of the sink: the rows that it leads to have its current key."""

    def __init__(self) -> None:
        self._operators: dict[int, StreamOperator] = {}

    def __call__(self, subtask: int, operator: StreamOperator) -> None:
        """Called with the operator of each subtask, in each run and after each restart."""
        self._operators[subtask] = operator

    def of_subtask(self, subtask: int) -> KeySelector:
        operator = self._operators[subtask]
        # The deployment can have put another operator in its place.
        return lambda row: operator.current_key if isinstance(operator, KeyedOperator) else None


def row_keys(graph: StreamGraph, end: StreamNode) -> RowKeys | None:
    """Returns the keys of the rows that reach ``end``, the last operator of a path; None if they are not known.

    The nearest keyed operator is observed in the graph. A plain ``map`` behind ``key_by`` has no current key, and behind an
    asynchronous operator the current key belongs to another row.
    """
    chained, node = chained_edges(graph), graph.nodes[end.id]
    while node.key_selector is None:
        edge = chained.get(node.id)
        if edge is None or node.description.kind == "async_wait":
            return None
        node = graph.nodes[edge.source_id]
    if node.description.kind == "sink":
        return SelectedKeys(node.key_selector)
    if isinstance(node.on_operator, CurrentKeys):
        return node.on_operator
    if not isinstance(node.operator_factory(), KeyedOperator):
        return None
    keys = CurrentKeys()
    graph.nodes[node.id] = replace(node, on_operator=keys)
    return keys


class KeyedCollectSink(CollectSink):
    """Collects each row together with its key."""

    def __init__(self, keys: RowKeys) -> None:
        super().__init__()
        self._row_keys = keys

    def create_writer(self, context: InitContext) -> CommittingSinkWriter[tuple[int, int]]:
        return _KeyedWriter(super().create_writer(context), self._row_keys.of_subtask(context.subtask_index))

    def create_direct_writer(self, context: InitContext) -> SinkWriter:
        return _KeyedWriter(super().create_direct_writer(context), self._row_keys.of_subtask(context.subtask_index))

    def records(self, subtask_index: int | None = None) -> list[tuple[object, int | None]]:
        return [(row, timestamp) for (row, _), timestamp in self._keyed(subtask_index)]

    def keys(self, subtask_index: int) -> list[object]:
        """Returns the keys of ``records()``."""
        return [key for (_, key), _ in self._keyed(subtask_index)]

    def _keyed(self, subtask_index: int | None) -> Sequence[tuple[tuple[object, object], int | None]]:
        return super().records(subtask_index)  # type: ignore[return-value]


class _KeyedWriter:
    """Writes pairs of a row and its key."""

    def __init__(self, pairs: SinkWriter, key_of: KeySelector) -> None:
        self._pairs = pairs
        self._key_of = key_of

    def write(self, value: Value, timestamp: int | None) -> None:
        self._pairs.write((value, self._key_of(value)), timestamp)

    def flush(self, end_of_input: bool) -> None:
        self._pairs.flush(end_of_input)

    def prepare_commit(self) -> Sequence[tuple[int, int]]:
        return self._pairs.prepare_commit() if isinstance(self._pairs, CommittingCollectWriter) else ()

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        return self._pairs.snapshot_state(checkpoint_id) if isinstance(self._pairs, CommittingCollectWriter) else ()

    def close(self) -> None:
        self._pairs.close()
