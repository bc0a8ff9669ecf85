"""The statistics of checkpoints (rules 12.144, 12.145)."""

from __future__ import annotations

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint
from flowsim.checkpoints.checkpoint_statistics import (
    CheckpointStatistics,
    CheckpointStatsCounts,
    CheckpointStatsStatus,
)
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetrics
from flowsim.streamrecord.checkpoint_exception import CheckpointFailureReason
from tests.support.checkpoints.coordinated_job import START_MS, CoordinatedJob
from tests.support.checkpoints.scripted_coordinator import ScriptedCoordinator
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor

CONFIGURATION = CheckpointCoordinatorConfiguration(checkpoint_timeout_ms=500)


def test_completed_checkpoint_lasts_until_its_last_acknowledgement() -> None:
    job = CoordinatedJob([2, 1], CONFIGURATION)
    job.finish("0/0")
    job.trigger("checkpoint")
    job.advance(20)
    job.acknowledge("0/1", 1)
    job.advance(15)
    metrics = CheckpointMetrics(start_delay_ns=7)
    attempt = job.graph.execution("1/0").attempt_id
    job.coordinator.receive_acknowledge_message(AcknowledgeCheckpoint(attempt, 1, metrics=metrics))
    stats = job.statistics.history[1]
    assert (stats.status, stats.subtask_count, stats.end_to_end_duration_ms) == (CheckpointStatsStatus.COMPLETED, 3, 35)
    assert [(s.vertex_id, s.subtask, s.ack_timestamp_ms - START_MS) for s in stats.subtasks] == [
        (0, 0, 0),
        (0, 1, 20),
        (1, 0, 35),
    ]
    assert [stats.end_to_end_duration_of(subtask) for subtask in stats.subtasks] == [0, 20, 35]
    assert (stats.subtasks[0].metrics, stats.subtasks[2].metrics) == (None, metrics)
    assert job.statistics.counts == CheckpointStatsCounts(completed=1)


def test_failed_checkpoint_lasts_until_its_failure_and_late_acknowledgements_are_added() -> None:
    job = CoordinatedJob([1], CONFIGURATION, tolerable_failures=9)
    job.trigger("checkpoint")
    assert job.statistics.history[1].end_to_end_duration_ms is None
    job.advance(600)
    job.acknowledge("0/0", 1)
    stats = job.statistics.history[1]
    assert (stats.status, stats.failure) == (CheckpointStatsStatus.FAILED, CheckpointFailureReason.CHECKPOINT_EXPIRED)
    assert stats.end_to_end_duration_ms == 500
    assert len(stats.subtasks) == 1
    assert job.statistics.counts == CheckpointStatsCounts(failed=1)


def test_trigger_that_fails_counts_as_failed() -> None:
    job = CoordinatedJob([1], CONFIGURATION)
    job.graph.execution("0/0").state = "INITIALIZING"
    job.trigger("checkpoint")
    assert job.statistics.counts == CheckpointStatsCounts(failed=1)
    assert job.statistics.counts.total == 1
    assert not job.statistics.history


def test_checkpoint_that_is_aborted_during_its_trigger_counts_twice() -> None:
    """Flink counts the abort and the failed trigger."""
    job = CoordinatedJob([1], CONFIGURATION, operator_coordinators=[ScriptedCoordinator(0)])
    job.trigger("checkpoint")
    job.failover()
    assert job.statistics.counts == CheckpointStatsCounts(failed=2)


def test_history_keeps_the_newest_checkpoints() -> None:
    statistics = CheckpointStatistics(VirtualTimeExecutor(), history_size=2)
    job = CoordinatedJob([1], CheckpointCoordinatorConfiguration(max_concurrent_checkpoints=9))
    for _ in range(3):
        job.trigger("checkpoint")
    for checkpoint in job.coordinator.pending_checkpoints.values():
        statistics.report_pending_checkpoint(checkpoint)
    assert list(statistics.history) == [2, 3]
    assert statistics.counts.in_progress == 3
