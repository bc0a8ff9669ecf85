"""CheckpointCoordinator equals the real one in virtual time (rules 12.38-12.57)."""

from __future__ import annotations

from typing import Any

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from tests.support.checkpoints.coordinated_job import START_MS, CoordinatedJob
from tests.support.flink.golden import cases


def job_of(case: dict[str, Any]) -> CoordinatedJob:
    p = case["params"]
    configuration = CheckpointCoordinatorConfiguration(
        checkpoint_interval_ms=p["interval"],
        checkpoint_timeout_ms=p["timeout"],
        min_pause_ms=p["min_pause"],
        max_concurrent_checkpoints=p["max_concurrent"],
        is_unaligned_enabled=p["unaligned"],
        aligned_checkpoint_timeout_ms=p["aligned_timeout"],
    )
    return CoordinatedJob(
        case["parallelism"], configuration, tolerable_failures=p["tolerable"], max_retained=p["retained"]
    )


def play(job: CoordinatedJob, command: list[Any]) -> None:
    match command:
        case ["start"]:
            job.start()
        case ["stop_scheduler"]:
            job.stop_scheduler()
        case ["trigger", kind]:
            job.trigger(kind)
        case ["ack", vertex, subtask, checkpoint_id]:
            job.acknowledge(f"{vertex}/{subtask}", checkpoint_id)
        case ["decline", vertex, subtask, checkpoint_id, reason]:
            job.decline(f"{vertex}/{subtask}", checkpoint_id, reason)
        case ["finish", vertex, subtask]:
            job.finish(f"{vertex}/{subtask}")
        case ["failover"]:
            job.failover()
        case ["advance_ms", duration_ms]:
            job.advance(duration_ms)
        case _:
            raise AssertionError(f"unknown command {command}")


def observed(job: CoordinatedJob) -> dict[str, Any]:
    events = list(job.events)
    job.events.clear()
    for checkpoint in job.coordinator.pending_checkpoints.values():
        checkpoint.validate()
    return {
        "events": events,
        "now": job.executor.now_ms - START_MS,
        "pending": sorted(job.coordinator.pending_checkpoints),
        "retained": [checkpoint.checkpoint_id for checkpoint in job.store.all_checkpoints],
        "queued": job.coordinator.queued_request_count,
        "err": None,
    }


def test_every_command_equals_flinks() -> None:
    seen = 0
    for case in cases("component/checkpoint_coordinator"):
        job = job_of(case)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            play(job, command)
            assert observed(job) == expected, (case["id"], number, command)
        seen += 1
    assert seen == 400
