"""How checkpoints are counted (rule 12.145)."""

from __future__ import annotations

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsCounts
from tests.support.checkpoints.coordinated_job import CoordinatedJob
from tests.support.checkpoints.scripted_coordinator import ScriptedCoordinator

CONFIGURATION = CheckpointCoordinatorConfiguration(checkpoint_timeout_ms=500)


def test_checkpoint_is_in_progress_until_its_last_acknowledgement() -> None:
    job = CoordinatedJob([2, 1], CONFIGURATION)
    job.finish("0/0")
    job.trigger("checkpoint")
    job.acknowledge("0/1", 1)
    assert job.statistics.counts == CheckpointStatsCounts(in_progress=1)
    job.acknowledge("1/0", 1)
    assert job.statistics.counts == CheckpointStatsCounts(completed=1)


def test_late_acknowledgement_of_a_failed_checkpoint_counts_nothing() -> None:
    job = CoordinatedJob([1], CONFIGURATION, tolerable_failures=9)
    job.trigger("checkpoint")
    job.advance(600)
    job.acknowledge("0/0", 1)
    assert job.statistics.counts == CheckpointStatsCounts(failed=1)


def test_trigger_that_fails_counts_as_failed() -> None:
    job = CoordinatedJob([1], CONFIGURATION)
    job.graph.execution("0/0").state = "INITIALIZING"
    job.trigger("checkpoint")
    assert job.statistics.counts == CheckpointStatsCounts(failed=1)
    assert job.statistics.counts.total == 1


def test_checkpoint_that_is_aborted_during_its_trigger_counts_twice() -> None:
    """Flink counts the abort and the failed trigger."""
    job = CoordinatedJob([1], CONFIGURATION, operator_coordinators=[ScriptedCoordinator(0)])
    job.trigger("checkpoint")
    job.failover()
    assert job.statistics.counts == CheckpointStatsCounts(failed=2)
