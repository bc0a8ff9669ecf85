"""The in-flight data of a snapshot for the tasks of a job. Flink: StateAssignmentOperation (rules 12.97, 12.105)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from flowsim.cluster.job_master.executions import VertexExecutions
from flowsim.cluster.partitioners import partitioner_class
from flowsim.errors import BadInput
from flowsim.graph.job_graph import JobEdge
from flowsim.state.redistribution.operator_state import OperatorState
from flowsim.state.redistribution.task_state_assignment import (
    Exchange,
    TaskStateAssignment,
    VertexChannelState,
    channel_state_of_vertex,
)


def channel_state_assignment(
    vertices: Sequence[VertexExecutions], states: Mapping[str, OperatorState]
) -> TaskStateAssignment:
    """Returns the assignment of the in-flight data. Raises BadInput if it is of a channel that the job does not have."""
    exchanges = exchanges_of(vertices)
    return TaskStateAssignment(stored_channel_states(vertices, states, exchanges), exchanges)


def stored_channel_states(
    vertices: Sequence[VertexExecutions], states: Mapping[str, OperatorState], exchanges: Sequence[Exchange]
) -> dict[int, VertexChannelState]:
    """Returns the in-flight data of each vertex. Raises BadInput if it is of a channel that the job does not have."""
    of_vertices = {
        vertex.id: channel_state_of_vertex(
            {each: states[each] for each in vertex.operator_ids if each in states},
            vertex.operator_ids,
            len(vertex.task_vertices),
        )
        for vertex in vertices
    }
    for vertex in vertices:
        _check_exchanges(vertex.name, vertex.id, of_vertices, exchanges)
    return of_vertices


def _check_exchanges(
    name: str, vertex: int, states: Mapping[int, VertexChannelState], exchanges: Sequence[Exchange]
) -> None:
    """Raises BadInput if an exchange that holds stored data does not exist in the job."""
    senders = {each.gate: len(states[each.source].outputs) for each in exchanges if each.target == vertex}
    receivers = {each.partition: len(states[each.target].inputs) for each in exchanges if each.source == vertex}
    inputs = [("input", handle.info, senders) for of_subtask in states[vertex].inputs for handle in of_subtask]
    outputs = [("output", handle.info, receivers) for of_subtask in states[vertex].outputs for handle in of_subtask]
    for what, (index, channel), known in (*inputs, *outputs):
        if channel >= known.get(index, 0):
            raise BadInput(
                f"task '{name}': the checkpoint has in-flight data of its {what} {index}, channel {channel}, which the "
                "job does not have: restore it with the graph of the job that wrote it, or take a savepoint of that job"
            )


def exchanges_of(vertices: Sequence[VertexExecutions]) -> list[Exchange]:
    """Returns the edges of a job, with the indexes of their partitions and gates in the tasks."""
    edges = sorted((each.expansion.edge for vertex in vertices for each in vertex.inputs), key=lambda edge: edge.id)
    found = []
    for edge in edges:
        partition, gate = partition_and_gate(edge, edges)
        mappers = partitioner_class(edge.partitioner)
        found.append(
            Exchange(
                edge.source.id,
                partition,
                edge.target.id,
                gate,
                mappers.upstream_subtask_state_mapper,
                mappers.downstream_subtask_state_mapper,
            )
        )
    return found


def partition_and_gate(edge: JobEdge, edges: Collection[JobEdge]) -> tuple[int, int]:
    """Returns the indexes of an edge's partition in its source and of its gate in its target."""
    order = (edge.input_index, edge.id)
    partition = sum(other.source is edge.source and other.id < edge.id for other in edges)
    gate = sum(other.target is edge.target and (other.input_index, other.id) < order for other in edges)
    return partition, gate
