"""Describes the in-flight data of a checkpoint, channel by channel, for table stored_channels (rules 12.83, 12.104)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flowsim.cluster.job_master.channel_states import partition_and_gate
from flowsim.cluster.job_master.executions import InputOfVertex, VertexExecutions
from flowsim.cluster.partitioners import partitioner_class
from flowsim.facts.element_numbers import element_number
from flowsim.facts.kinds import ElementKind
from flowsim.graph.job_graph import JobEdge
from flowsim.network.writers.partitioner import KeyGroupStreamPartitioner
from flowsim.state.redistribution.channel_state_handles import InputChannelStateHandle, ResultSubpartitionStateHandle
from flowsim.state.redistribution.operator_state import OperatorState
from flowsim.state.snapshots.stored_streams import CheckpointStreams
from flowsim.streamrecord.codec import LATENCY_MARKER_LENGTH, RECORD_LENGTH, WATERMARK_LENGTH, Element, ElementDecoder
from flowsim.tasks.checkpointing.channel_state_reader import buffers_of
from flowsim.units import NO_TIMESTAMP
from flowsim.values.encoding import encode_record, fingerprint_frame
from flowsim.values.java_long import wrapped

Row = tuple[int, ...]
"""The columns of table stored_channels after ``action``."""


@dataclass(slots=True)
class StoredChannel:
    """The stored buffers of one channel."""

    inputs: list[bytes] = field(default_factory=list)
    outputs: list[bytes] = field(default_factory=list)

    @property
    def content(self) -> bytes:
        """The bytes of its elements."""
        return b"".join((*self.inputs, *self.outputs))


@dataclass(slots=True)
class Sums:
    """The elements of a channel, or of a part of it."""

    elements: int = 0
    total: int = 0
    weighted: int = 0

    def add(self, number: int) -> None:
        self.total = wrapped(self.total + number)
        self.weighted = wrapped(self.weighted + number * self.elements)
        self.elements += 1


def channels_of(
    vertices: Sequence[VertexExecutions], states: Mapping[str, OperatorState], streams: CheckpointStreams
) -> Iterator[tuple[InputOfVertex, VertexExecutions, dict[tuple[int, int], StoredChannel]]]:
    """Yields each edge, its target, and its channels with data by old source subtask and old target subtask.

    A buffer that was stored without bytes has no data (rule 12.84). Raises BadInput if a stream is missing or damaged.
    """
    inputs = sorted((each for vertex in vertices for each in vertex.inputs), key=lambda each: each.edge.id)
    edges = [each.edge for each in inputs]
    for each in inputs:
        edge = each.edge
        sender = states.get(each.source.operator_ids[-1])
        target = next(vertex for vertex in vertices if vertex.id == edge.target.id)
        receiver = states.get(target.operator_ids[0])
        partition, gate = partition_and_gate(edge, edges)
        found: dict[tuple[int, int], StoredChannel] = {}
        for subtask, of_receiver in sorted(receiver.subtask_states.items()) if receiver is not None else ():
            for handle in of_receiver.input_channels:
                buffers = _with_bytes(handle, streams) if handle.info.gate == gate else []
                if buffers:
                    found.setdefault((handle.info.channel, subtask), StoredChannel()).inputs += buffers
        for subtask, of_sender in sorted(sender.subtask_states.items()) if sender is not None else ():
            for output in of_sender.result_subpartitions:
                buffers = _with_bytes(output, streams) if output.info.partition == partition else []
                if buffers:
                    found.setdefault((subtask, output.info.subpartition), StoredChannel()).outputs += buffers
        yield each, target, found


def _with_bytes(
    handle: InputChannelStateHandle | ResultSubpartitionStateHandle, streams: CheckpointStreams
) -> list[bytes]:
    return [buffer for buffer in buffers_of(handle, streams) if buffer]


class StoredChannels:
    """Describes the in-flight data of the checkpoints of a job."""

    __slots__ = ("_vertices", "_streams")

    def __init__(self, vertices: Sequence[VertexExecutions], streams: CheckpointStreams) -> None:
        self._vertices = vertices
        self._streams = streams

    def rows(self, states: Mapping[str, OperatorState]) -> Iterator[Row]:
        """Yields the rows of all channels that have data. Raises BadInput if a stream is missing or damaged."""
        for each, target, found in channels_of(self._vertices, states, self._streams):
            yield from self._of_edge(each, target, found, states)

    def _of_edge(
        self,
        each: InputOfVertex,
        target: VertexExecutions,
        found: Mapping[tuple[int, int], StoredChannel],
        states: Mapping[str, OperatorState],
    ) -> Iterator[Row]:
        edge = each.edge
        sender = states.get(each.source.operator_ids[-1])
        receiver = states.get(target.operator_ids[0])
        sources = each.source.task_vertices
        is_rescaled = (sender is not None and sender.parallelism != len(sources)) or (
            receiver is not None and receiver.parallelism != len(target.task_vertices)
        )
        for (source, subtask), stored in sorted(found.items()):
            if is_rescaled:
                yield from self._of_owners(edge, target, receiver, source, subtask, stored)
            else:
                channel = each.expansion.first_channel_of(source) + subtask
                yield self._unchanged(edge, target.task_vertices[subtask].id, channel, source, subtask, stored)

    def _unchanged(
        self, edge: JobEdge, task: int, channel: int, source: int, target: int, stored: StoredChannel
    ) -> Row:
        sums, decoder = Sums(), ElementDecoder()
        decoder.feed(stored.content)
        for element in decoder:
            sums.add(_number(element))
        buffers = (
            len(stored.inputs), sum(map(len, stored.inputs)), len(stored.outputs), sum(map(len, stored.outputs)),
        )  # fmt: skip
        rest = len(decoder.take_tail())
        return edge.id, source, target, channel, task, *buffers, sums.elements, sums.total, sums.weighted, rest

    def _of_owners(
        self,
        edge: JobEdge,
        target: VertexExecutions,
        receiver: OperatorState | None,
        source: int,
        subtask: int,
        stored: StoredChannel,
    ) -> Iterator[Row]:
        """Yields a row for each task that gets records of the channel after rescaling (rule 12.104)."""
        new, old = len(target.task_vertices), len(target.task_vertices) if receiver is None else receiver.parallelism
        mappings = partitioner_class(edge.partitioner).downstream_subtask_state_mapper.new_to_old_subtasks_mapping(
            old, new
        )
        owners = mappings.invert().mapped_indexes(subtask)
        spec = edge.partitioner
        by_key = None
        if spec.name == KeyGroupStreamPartitioner.name and spec.key_selector is not None:
            by_key = KeyGroupStreamPartitioner(new, spec.key_selector, spec.key_type, edge.target.max_parallelism)
        found: dict[int, Sums] = {}
        decoder = ElementDecoder()
        decoder.feed(stored.content)
        for element in decoder:
            if len(element) == RECORD_LENGTH:
                owner = owners[0] if by_key is None else by_key.select_channel(element[1])
                found.setdefault(owner, Sums()).add(_number(element))
        rest = len(decoder.take_tail())
        for owner, sums in sorted(found.items()):
            task = target.task_vertices[owner].id
            yield edge.id, source, subtask, -1, task, 0, 0, 0, 0, sums.elements, sums.total, 0, rest


def _number(element: Element) -> int:
    size = len(element)
    if size == RECORD_LENGTH:
        timestamp: int | None = element[0]  # type: ignore[assignment]  # a record: (timestamp or None, value)
        at = NO_TIMESTAMP if timestamp is None else timestamp
        return element_number(ElementKind.RECORD, at, fingerprint_frame(encode_record(timestamp, element[1])))
    if size == WATERMARK_LENGTH:
        return element_number(ElementKind.WATERMARK, _integer(element[0]), 0)
    kind = ElementKind.LATENCY_MARKER if size == LATENCY_MARKER_LENGTH else ElementKind.STATUS
    return element_number(kind, _integer(element[1]), 0)


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value
