"""Prepares a job that starts from a savepoint or checkpoint (rules 12.23, 12.101)."""

from __future__ import annotations

from pathlib import Path

from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.checkpoints.vertex_finished_state_checker import VertexFinishedStateChecker
from flowsim.cluster.job_master.executions import JobExecutions
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.state.redistribution.state_assignment_operation import (
    RestoredVertex,
    check_state_mapping_completeness,
    restored_max_parallelism,
)


def prepare_restore(
    execution: ExecutionGraph, savepoint: SavepointRestoreSettings, limits: Limits = DEFAULT_LIMITS
) -> None:
    """Gives vertices the max parallelism of the snapshot, before the job is described and deployed.

    Raises BadInput that names the snapshot if it cannot be read, or does not fit the graph.
    """
    snapshot = StoredSnapshot(Path(savepoint.path), limits)
    snapshot.verify()
    state = snapshot.metadata(str).state
    try:
        _fit(execution, state, savepoint)
    except BadInput as error:
        raise BadInput(f"{savepoint.path}: {error}") from None


def _fit(execution: ExecutionGraph, state: SnapshotState, savepoint: SavepointRestoreSettings) -> None:
    known = [operator.node.operator_id for vertex in execution.job.vertices for operator in vertex.operators]
    check_state_mapping_completeness(
        state.operator_states.values(), known, allow_non_restored_state=savepoint.allow_non_restored_state
    )
    for vertex in execution.job.vertices:
        for operator in vertex.operators:
            restored = state.operator_states.get(operator.node.operator_id)
            if restored is not None:
                is_derived = vertex.head.max_parallelism is None
                described = RestoredVertex(vertex.name, vertex.parallelism, vertex.max_parallelism, is_derived)
                vertex.max_parallelism = restored_max_parallelism(restored, described)
    VertexFinishedStateChecker(JobExecutions(execution).vertices, state).validate_operators_finished_state()
