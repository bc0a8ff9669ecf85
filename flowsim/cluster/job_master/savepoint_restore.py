"""Prepares a job that starts from a savepoint or checkpoint (rules 12.23, 12.26, 12.101). Flink: Checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.checkpoints.vertex_finished_state_checker import VertexFinishedStateChecker
from flowsim.cluster.job_master.executions import JobExecutions
from flowsim.errors import BadInput, did_you_mean
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import JobVertex
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.operators.sink import WRITER_STATE
from flowsim.state.redistribution.changed_operator_id import why_id_changed
from flowsim.state.redistribution.operator_id import IdentifiedOperator
from flowsim.state.redistribution.state_assignment_operation import RestoredVertex, restored_max_parallelism


def prepare_restore(
    execution: ExecutionGraph, savepoint: SavepointRestoreSettings, limits: Limits = DEFAULT_LIMITS
) -> None:
    """Gives vertices the max parallelism of the snapshot, before the job is described and deployed.

    Raises BadInput that names the snapshot if it cannot be read, or does not fit the graph.
    """
    snapshot = StoredSnapshot(Path(savepoint.path), limits)
    snapshot.verify()
    state = snapshot.metadata(str).state
    _check_operators(execution, snapshot.manifest.identified_operators, state, savepoint)
    try:
        for vertex in execution.job.vertices:
            for operator in vertex.operators:
                restored = state.operator_states.get(operator.operator_id)
                if restored is not None:
                    vertex.max_parallelism = restored_max_parallelism(restored, _described(vertex))
                check = operator.node.check_restore
                if check is not None and operator.operator_id not in state.fully_finished_operators:
                    check(operator.node.name, snapshot.list_state(operator.operator_id, WRITER_STATE))
        VertexFinishedStateChecker(JobExecutions(execution).vertices, state).validate_operators_finished_state()
    except BadInput as error:
        raise BadInput(f"{savepoint.path}: {error}") from None


def _check_operators(
    execution: ExecutionGraph,
    old: Sequence[IdentifiedOperator],
    state: SnapshotState,
    savepoint: SavepointRestoreSettings,
) -> None:
    """Checks that each state has an operator with a fitting max parallelism (rules 12.23, 12.26, 12.121).

    An operator that stored nothing may be missing. ``old``: the operators of the job that stored the states.
    """
    names = {each.operator_id: each for each in old}
    vertices = {operator.operator_id: vertex for vertex in execution.job.vertices for operator in vertex.operators}
    failed = f"Failed to rollback to checkpoint/savepoint {savepoint.path}."
    for operator_id, restored in state.operator_states.items():
        vertex, operator = vertices.get(operator_id), names[operator_id]
        if vertex is not None:
            described = _described(vertex)
            if restored.max_parallelism != vertex.max_parallelism and not described.is_max_parallelism_derived:
                raise BadInput(
                    f"{failed} Max parallelism mismatch between checkpoint/savepoint state and new program. Cannot map operator "
                    f"{operator.text} with max parallelism {restored.max_parallelism} to new program with max parallelism "
                    f"{vertex.max_parallelism}. This indicates that the program has been changed in a non-compatible way "
                    "after the checkpoint/savepoint."
                )
        elif not savepoint.allow_non_restored_state and (restored.has_state or operator_id in state.coordinator_states):
            raise BadInput(
                f"{failed} Cannot map checkpoint/savepoint state for operator {operator.text} to the new program, because the "
                f"operator is not available in the new program{_why(operator, old, execution.job.operators)}. If you want to "
                "allow to skip this, you can set the --allow-non-restored-state option on the CLI."
            )


def _why(operator: IdentifiedOperator, old: Sequence[IdentifiedOperator], new: Sequence[IdentifiedOperator]) -> str:
    changed = why_id_changed(operator, old, new)
    if changed:
        return f" (its id is another one there: {changed})"
    if operator.uid is not None:
        return did_you_mean(operator.uid, [each.uid for each in new if each.uid is not None])
    names = [each.name for each in new]
    return "" if operator.name in names else did_you_mean(operator.name, names)


def _described(vertex: JobVertex) -> RestoredVertex:
    return RestoredVertex(vertex.name, vertex.parallelism, vertex.max_parallelism, vertex.head.max_parallelism is None)
