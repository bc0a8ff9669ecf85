"""Assigns the in-flight data of a checkpoint to the subtasks of a restored job. Flink: TaskStateAssignment (rule 12.97)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from flowsim.errors import BadInput
from flowsim.state.redistribution.channel_state_handles import InputChannelStateHandle, ResultSubpartitionStateHandle
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import (
    NO_RESCALE,
    NO_STATE,
    InflightDataGateOrPartitionRescalingDescriptor,
    InflightDataRescalingDescriptor,
    MappingType,
)
from flowsim.state.redistribution.operator_state import NO_STATE as STATELESS
from flowsim.state.redistribution.operator_state import OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.rescale_mappings import RescaleMappings
from flowsim.state.redistribution.subtask_state_mapper import SubtaskStateMapper

Handle = TypeVar("Handle", InputChannelStateHandle, ResultSubpartitionStateHandle)


@dataclass(frozen=True, slots=True)
class Exchange:
    """An edge of the restored job."""

    source: int
    """The vertex that writes it."""
    partition: int
    """The index of the edge among the outputs of the source."""
    target: int
    """The vertex that reads it."""
    gate: int
    """The index of the edge among the inputs of the target."""
    upstream: SubtaskStateMapper
    """How the stored output of the source is redistributed."""
    downstream: SubtaskStateMapper
    """How the stored input of the target is redistributed."""


@dataclass(frozen=True, slots=True)
class VertexChannelState:
    """The in-flight data of one vertex in a checkpoint."""

    new_parallelism: int
    inputs: Sequence[Sequence[InputChannelStateHandle]]
    """By old subtask."""
    outputs: Sequence[Sequence[ResultSubpartitionStateHandle]]
    """By old subtask."""


@dataclass(frozen=True, slots=True)
class AssignedChannelState:
    """The in-flight data of one new subtask."""

    inputs: tuple[InputChannelStateHandle, ...]
    outputs: tuple[ResultSubpartitionStateHandle, ...]
    input_rescaling: InflightDataRescalingDescriptor
    output_rescaling: InflightDataRescalingDescriptor

    @property
    def is_needed(self) -> bool:
        """False: the subtask restores nothing, and its senders and receivers neither."""
        is_rescaled = self.input_rescaling.is_rescaled or self.output_rescaling.is_rescaled
        return bool(self.inputs or self.outputs) or is_rescaled

    def add_to(self, states: MutableMapping[str, OperatorSubtaskState], operator_ids: Sequence[str]) -> None:
        """Adds the data to the states of the subtask's operators, whose ids are given head first."""
        if not self.is_needed:
            return
        head, tail = operator_ids[0], operator_ids[-1]
        states[head] = replace(
            states.get(head, STATELESS), input_channels=self.inputs, input_rescaling=self.input_rescaling
        )
        states[tail] = replace(
            states.get(tail, STATELESS), result_subpartitions=self.outputs, output_rescaling=self.output_rescaling
        )


def channel_state_of_vertex(
    states: Mapping[str, OperatorState], operator_ids: Sequence[str], new_parallelism: int
) -> VertexChannelState:
    """Returns the in-flight data in the states of a vertex, whose operators are given head first.

    Raises BadInput if an operator inside the chain has any: the exchange that stored it does not exist (rule 12.105).
    """
    head, tail = operator_ids[0], operator_ids[-1]
    unexpected = [
        each
        for each, state in states.items()
        for of_subtask in state.subtask_states.values()
        if (of_subtask.input_channels and each != head) or (of_subtask.result_subpartitions and each != tail)
    ]
    if unexpected:
        raise BadInput(
            "Cannot recover from unaligned checkpoint when topology changes, such that data exchanges with persisted data "
            f"are now chained.\nThe following operators contain channel state: {', '.join(dict.fromkeys(unexpected))}"
        )
    return VertexChannelState(
        new_parallelism,
        _by_subtask(states.get(head), new_parallelism, lambda state, subtask: state.state(subtask).input_channels),
        _by_subtask(
            states.get(tail), new_parallelism, lambda state, subtask: state.state(subtask).result_subpartitions
        ),
    )


def _by_subtask(
    state: OperatorState | None, new_parallelism: int, handles: Callable[[OperatorState, int], tuple[Handle, ...]]
) -> list[tuple[Handle, ...]]:
    if state is None:
        return [()] * new_parallelism
    return [handles(state, subtask) for subtask in range(state.parallelism)]


@dataclass(slots=True)
class TaskStateAssignment:
    """The assignment of all vertices. Flink: TaskStateAssignment."""

    vertices: Mapping[int, VertexChannelState]
    exchanges: Sequence[Exchange]
    _data: dict[Exchange, bool] = field(default_factory=dict)
    _mappings: dict[tuple[SubtaskStateMapper, int, int], RescaleMappings] = field(default_factory=dict)

    def assign(self, vertex: int) -> list[AssignedChannelState]:
        """Returns the in-flight data of each new subtask.

        Raises BadInput if stored data of an exchange cannot be given to another number of subtasks.
        """
        incoming = self._incoming(vertex)
        outgoing = sorted((each for each in self.exchanges if each.source == vertex), key=lambda each: each.partition)
        subtasks = range(self.vertices[vertex].new_parallelism)
        return [
            AssignedChannelState(tuple(inputs), tuple(outputs), input_rescaling, output_rescaling)
            for inputs, outputs, input_rescaling, output_rescaling in zip(
                self._inputs(vertex, incoming),
                self._outputs(vertex, outgoing),
                self._descriptors(incoming, subtasks, self._gate),
                self._descriptors(outgoing, subtasks, self._partition),
                strict=True,
            )
        ]

    def has_channel_state(self, vertex: int) -> bool:
        """Returns True if a vertex, a sender of it or a receiver of it stored data.

        Flink: hasUpstreamOutputStates, hasDownstreamInputStates. The data need not be of an exchange with this vertex: a
        sender counts with all its outputs, a receiver with all its inputs (rule 12.100).
        """
        own = self.vertices[vertex]
        senders = (self.vertices[each.source].outputs for each in self.exchanges if each.target == vertex)
        receivers = (self.vertices[each.target].inputs for each in self.exchanges if each.source == vertex)
        return any(any(of_subtask) for state in (own.inputs, own.outputs, *senders, *receivers) for of_subtask in state)

    def _inputs(self, vertex: int, incoming: Sequence[Exchange]) -> Sequence[Sequence[InputChannelStateHandle]]:
        state = self.vertices[vertex]
        if self._keeps_inputs(vertex):
            return state.inputs
        inputs: list[list[InputChannelStateHandle]] = [[] for _ in range(state.new_parallelism)]
        for each in incoming:
            if self._has_data(each):
                mapping = self._input_mapping(each)
                for subtask, of_subtask in enumerate(inputs):
                    for old in mapping.mapped_indexes(subtask):
                        of_subtask += [handle for handle in state.inputs[old] if handle.info.gate == each.gate]
        return inputs

    def _outputs(self, vertex: int, outgoing: Sequence[Exchange]) -> Sequence[Sequence[ResultSubpartitionStateHandle]]:
        state = self.vertices[vertex]
        if self._keeps_outputs(vertex):
            return state.outputs
        outputs: list[list[ResultSubpartitionStateHandle]] = [[] for _ in range(state.new_parallelism)]
        for each in outgoing:
            if self._has_data(each):
                mapping = self._output_mapping(each)
                for subtask, of_subtask in enumerate(outputs):
                    for old in mapping.mapped_indexes(subtask):
                        of_subtask += [
                            handle for handle in state.outputs[old] if handle.info.partition == each.partition
                        ]
        return outputs

    def _incoming(self, vertex: int) -> Sequence[Exchange]:
        return sorted((each for each in self.exchanges if each.target == vertex), key=lambda each: each.gate)

    def _keeps_inputs(self, vertex: int) -> bool:
        """Returns True if each new subtask gets the stored input of the old one of its number."""
        old, incoming = len(self.vertices[vertex].inputs), self._incoming(vertex)
        if old != self.vertices[vertex].new_parallelism:
            return False
        # Flink compares the new parallelism of a sender with that of this vertex.
        has_other_sender = any(old != self.vertices[each.source].new_parallelism for each in incoming)
        return not (has_other_sender and any(each.downstream is SubtaskStateMapper.FULL for each in incoming))

    def _keeps_outputs(self, vertex: int) -> bool:
        """Returns True if each new subtask gets the stored output of the old one of its number."""
        state = self.vertices[vertex]
        return len(state.outputs) == state.new_parallelism

    def _descriptors(
        self,
        exchanges: Sequence[Exchange],
        subtasks: Iterable[int],
        part: Callable[[int, Exchange], InflightDataGateOrPartitionRescalingDescriptor],
    ) -> list[InflightDataRescalingDescriptor]:
        if all(map(self._is_unchanged, exchanges)):
            return [NO_RESCALE for _ in subtasks]
        return [_descriptor(tuple(part(subtask, each) for each in exchanges)) for subtask in subtasks]

    def _has_data(self, exchange: Exchange) -> bool:
        """Returns True if the sender or the receiver stored data of the exchange."""
        has_data = self._data.get(exchange)
        if has_data is None:
            has_data = self._data[exchange] = self._finds_data(exchange)
        return has_data

    def _finds_data(self, exchange: Exchange) -> bool:
        stored = self.vertices[exchange.source].outputs
        if any(handle.info.partition == exchange.partition for of_subtask in stored for handle in of_subtask):
            return True
        received = self.vertices[exchange.target].inputs
        return any(handle.info.gate == exchange.gate for of_subtask in received for handle in of_subtask)

    def _input_mapping(self, exchange: Exchange) -> RescaleMappings:
        state = self.vertices[exchange.target]
        return self._mapping(exchange.downstream, len(state.inputs), state.new_parallelism)

    def _output_mapping(self, exchange: Exchange) -> RescaleMappings:
        state = self.vertices[exchange.source]
        return self._mapping(exchange.upstream, len(state.outputs), state.new_parallelism)

    def _mapping(self, mapper: SubtaskStateMapper, old: int, new: int) -> RescaleMappings:
        key = (mapper, old, new)
        mappings = self._mappings.get(key)
        if mappings is None:
            mappings = self._mappings[key] = mapper.new_to_old_subtasks_mapping(old, new)
        return mappings

    def _gate(self, subtask: int, exchange: Exchange) -> InflightDataGateOrPartitionRescalingDescriptor:
        if not self._has_data(exchange):
            return NO_STATE
        subtasks, channels = self._input_mapping(exchange), self._output_mapping(exchange)
        return _of_exchange(subtask, subtasks, channels, is_ambiguous=exchange.downstream.is_ambiguous)

    def _partition(self, subtask: int, exchange: Exchange) -> InflightDataGateOrPartitionRescalingDescriptor:
        if not self._has_data(exchange):
            return NO_STATE
        subtasks, channels = self._output_mapping(exchange), self._input_mapping(exchange)
        return _of_exchange(subtask, subtasks, channels, is_ambiguous=exchange.upstream.is_ambiguous)

    def _is_unchanged(self, exchange: Exchange) -> bool:
        keeps_all = self._keeps_outputs(exchange.source) and self._keeps_inputs(exchange.target)
        return keeps_all or not self._has_data(exchange)


def _descriptor(parts: tuple[InflightDataGateOrPartitionRescalingDescriptor, ...]) -> InflightDataRescalingDescriptor:
    return NO_RESCALE if all(each.is_identity for each in parts) else InflightDataRescalingDescriptor(parts)


def _of_exchange(
    subtask: int, subtasks: RescaleMappings, channels: RescaleMappings, *, is_ambiguous: bool
) -> InflightDataGateOrPartitionRescalingDescriptor:
    old = subtasks.mapped_indexes(subtask)
    is_identity = (subtasks.is_identity and channels.is_identity) or not old
    ambiguous = frozenset(subtasks.ambiguous_targets) if is_ambiguous else frozenset()
    kind = MappingType.IDENTITY if is_identity else MappingType.RESCALING
    return InflightDataGateOrPartitionRescalingDescriptor(old, channels, ambiguous, kind)
