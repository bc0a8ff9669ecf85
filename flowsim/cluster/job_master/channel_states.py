"""The in-flight data of a snapshot for the tasks of a job. Flink: StateAssignmentOperation (rules 12.97, 12.105)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowsim.cluster.job_master.executions import VertexExecutions
from flowsim.cluster.partitioners import partitioner_class
from flowsim.state.redistribution.operator_state import OperatorState
from flowsim.state.redistribution.task_state_assignment import (
    AssignedChannelState,
    Exchange,
    TaskStateAssignment,
    channel_state_of_vertex,
)


def assigned_channel_states(
    vertices: Sequence[VertexExecutions], states: Mapping[str, OperatorState]
) -> dict[int, list[AssignedChannelState]]:
    """Returns the in-flight data of each subtask, by vertex. Raises BadInput if it cannot be redistributed."""
    of_vertices = {
        vertex.id: channel_state_of_vertex(
            {each: states[each] for each in vertex.operator_ids if each in states},
            vertex.operator_ids,
            len(vertex.task_vertices),
        )
        for vertex in vertices
    }
    assignment = TaskStateAssignment(of_vertices, exchanges_of(vertices))
    return {vertex.id: assignment.assign(vertex.id) for vertex in vertices}


def exchanges_of(vertices: Sequence[VertexExecutions]) -> list[Exchange]:
    """Returns the edges of a job, with the indexes of their partitions and gates in the tasks."""
    edges = sorted((each.expansion.edge for vertex in vertices for each in vertex.inputs), key=lambda edge: edge.id)
    found = []
    for edge in edges:
        partition = sum(other.source is edge.source and other.id < edge.id for other in edges)
        gate = sum(
            other.target is edge.target and (other.input_index, other.id) < (edge.input_index, edge.id)
            for other in edges
        )
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
