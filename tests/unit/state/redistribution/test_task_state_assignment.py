"""Which new subtasks get stored in-flight data, and how they tell the old channels apart (rules 12.97 to 12.102, 12.105)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import NO_RESCALE, NO_STATE
from flowsim.state.redistribution.operator_state import OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.subtask_state_mapper import SubtaskStateMapper
from flowsim.state.redistribution.task_state_assignment import (
    AssignedChannelState,
    Exchange,
    TaskStateAssignment,
    VertexChannelState,
    channel_state_of_vertex,
)

SOURCE, SINK = 0, 1


def exchange(downstream: SubtaskStateMapper, upstream: SubtaskStateMapper = SubtaskStateMapper.ARBITRARY) -> Exchange:
    return Exchange(SOURCE, 0, SINK, 0, upstream, downstream)


def received(subtask: int, channel: int) -> InputChannelStateHandle:
    return InputChannelStateHandle(f"in{subtask}", subtask, InputChannelInfo(0, channel), (channel,), 10)


def written(subtask: int, subpartition: int) -> ResultSubpartitionStateHandle:
    return ResultSubpartitionStateHandle(
        f"out{subtask}", subtask, ResultSubpartitionInfo(0, subpartition), (subpartition,), 10
    )


def assigned(
    old: tuple[int, int], new: tuple[int, int], edge: Exchange, *, has_data: bool = True
) -> tuple[list[AssignedChannelState], list[AssignedChannelState]]:
    """Of the source and of the sink; each channel has data."""
    senders, receivers = range(old[0]), range(old[1])
    outputs = [[written(sender, each) for each in receivers] if has_data else [] for sender in senders]
    inputs = [[received(receiver, each) for each in senders] if has_data else [] for receiver in receivers]
    vertices = {
        SOURCE: VertexChannelState(new[0], [()] * old[0], outputs),
        SINK: VertexChannelState(new[1], inputs, [()] * old[1]),
    }
    assignment = TaskStateAssignment(vertices, [edge])
    return assignment.assign(SOURCE), assignment.assign(SINK)


def test_each_subtask_gets_its_own_data_if_the_parallelism_stays() -> None:
    source, sink = assigned((2, 3), (2, 3), exchange(SubtaskStateMapper.RANGE))
    assert [each.outputs for each in source] == [tuple(written(each, to) for to in range(3)) for each in range(2)]
    assert [each.inputs for each in sink] == [tuple(received(each, of) for of in range(2)) for each in range(3)]
    assert {each.input_rescaling for each in sink} | {each.output_rescaling for each in source} == {NO_RESCALE}


def test_subtasks_that_share_key_groups_of_an_old_one_get_its_data_and_filter_it() -> None:
    """Rules 12.98 and 12.102."""
    source, sink = assigned((1, 2), (1, 3), exchange(SubtaskStateMapper.RANGE))
    assert [[handle.subtask for handle in each.inputs] for each in sink] == [[0], [0, 1], [1]]
    parts = [each.input_rescaling.gate_or_partition_descriptors[0] for each in sink]
    assert [each.old_subtask_indexes for each in parts] == [(0,), (0, 1), (1,)]
    assert [each.ambiguous_subtask_indexes for each in parts] == [{0, 1}] * 3
    assert all(each.rescale_mappings.is_identity for each in parts), "the sender has the same parallelism"
    partition = source[0].output_rescaling.gate_or_partition_descriptors[0]
    assert partition.old_subtask_indexes == (0,)
    assert partition.rescale_mappings.mappings == ((0,), (0, 1), (1,)), "old subpartitions of each new one"
    assert not partition.ambiguous_subtask_indexes


def test_senders_that_go_away_give_their_output_to_others() -> None:
    source, sink = assigned((3, 1), (2, 1), exchange(SubtaskStateMapper.ROUND_ROBIN))
    assert [[handle.subtask for handle in each.outputs] for each in source] == [[0, 2], [1]]
    assert sink[0].inputs == (received(0, 0), received(0, 1), received(0, 2))
    gate = sink[0].input_rescaling.gate_or_partition_descriptors[0]
    assert gate.rescale_mappings.mappings == ((0, 2), (1,)), "old channels of each new one"


def test_subtask_without_an_old_one_gets_nothing() -> None:
    _, sink = assigned((1, 1), (1, 2), exchange(SubtaskStateMapper.ROUND_ROBIN))
    assert [each.is_needed for each in sink] == [True, False]
    assert sink[0].input_rescaling is NO_RESCALE, "it is the old subtask 0 with the old channel 0"


def test_exchange_without_data_needs_no_descriptor() -> None:
    source, sink = assigned((2, 2), (3, 1), exchange(SubtaskStateMapper.RANGE), has_data=False)
    assert not any(each.is_needed for each in (*source, *sink))


def test_gate_without_data_beside_one_with_data_has_no_state() -> None:
    edges = [exchange(SubtaskStateMapper.RANGE), Exchange(2, 0, SINK, 1, *[SubtaskStateMapper.UNSUPPORTED] * 2)]
    vertices = {
        SOURCE: VertexChannelState(1, [()], [()]),
        2: VertexChannelState(2, [()], [()]),
        SINK: VertexChannelState(2, [[received(0, 0)]], [()]),
    }
    for each in TaskStateAssignment(vertices, edges).assign(SINK):
        assert each.input_rescaling.gate_or_partition_descriptors[1] is NO_STATE


def chain_of_three(stored: str, vertex: int) -> TaskStateAssignment:
    """0 -> 1 -> 2, and 0 -> 3; ``vertex`` stored data at one side."""
    edges = [(0, 0, 1, 0), (1, 0, 2, 0), (0, 1, 3, 0)]
    mapper = SubtaskStateMapper.ARBITRARY
    exchanges = [Exchange(source, partition, target, gate, mapper, mapper) for source, partition, target, gate in edges]
    inputs = [[received(0, 0)]] if stored == "input" else [()]
    outputs = [[written(0, 0)]] if stored == "output" else [()]
    nothing = VertexChannelState(1, [()], [()])
    vertices = {each: VertexChannelState(1, inputs, outputs) if each == vertex else nothing for each in range(4)}
    return TaskStateAssignment(vertices, exchanges)


@pytest.mark.parametrize(
    ("stored", "vertex", "restored"),
    [
        ("nothing", 0, []),
        ("output", 0, [0, 1, 3]),
        ("input", 1, [0, 1]),
        ("output", 1, [1, 2]),
        ("input", 2, [1, 2]),
        ("input", 3, [0, 3]),
    ],
)
def test_data_in_flight_concerns_its_vertex_all_receivers_of_outputs_and_all_senders_of_inputs(
    stored: str, vertex: int, restored: list[int]
) -> None:
    """Rule 12.100: vertex 3 reads another output of vertex 0 than the one that stored data."""
    assignment = chain_of_three(stored, vertex)
    assert [each for each in range(4) if assignment.has_channel_state(each)] == restored


def test_data_of_a_pointwise_exchange_is_refused_after_rescaling() -> None:
    """Rule 12.98."""
    mapper = SubtaskStateMapper.UNSUPPORTED
    assigned((2, 2), (2, 2), exchange(mapper, mapper))
    with pytest.raises(BadInput, match="Cannot rescale the given pointwise partitioner"):
        assigned((2, 2), (2, 3), exchange(mapper, mapper))


@pytest.mark.parametrize(
    ("operator_id", "state"),
    [
        ("tail", OperatorSubtaskState(input_channels=(received(0, 0),))),
        ("head", OperatorSubtaskState(result_subpartitions=(written(0, 0),))),
    ],
    ids=["input", "output"],
)
def test_data_of_an_exchange_that_is_chained_now_is_refused(operator_id: str, state: OperatorSubtaskState) -> None:
    """Rule 12.105."""
    states = {operator_id: OperatorState(operator_id, 1, 128, {0: state})}
    with pytest.raises(BadInput, match=f"now chained.\nThe following operators contain channel state: {operator_id}"):
        channel_state_of_vertex(states, ["head", "tail"], 1)
