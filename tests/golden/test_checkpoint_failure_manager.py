"""CheckpointFailureManager equals the real one (rules 12.52, 12.53)."""

from __future__ import annotations

from flowsim.checkpoints.checkpoint_failure_manager import CheckpointFailureManager, TolerableCheckpointFailuresExceeded
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties, CheckpointRetentionPolicy
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.errors import FlowsimError
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from tests.support.flink.golden import cases

PROPERTIES = {
    "checkpoint": CheckpointProperties.for_checkpoint(CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION),
    "savepoint": CheckpointProperties.for_savepoint(forced=True),
    "sync_savepoint": CheckpointProperties.for_sync_savepoint(forced=True, terminate=False),
}
CAUSES = {TolerableCheckpointFailuresExceeded: "FlinkRuntimeException", CheckpointException: "CheckpointException"}
TASK = ExecutionAttemptId(0, 0, 0)


class Failures:
    def __init__(self) -> None:
        self.seen: list[list[str]] = []

    def fail_job(self, cause: FlowsimError) -> None:
        self.seen.append(["fail_job", CAUSES[type(cause)]])

    def fail_job_due_to_task_failure(self, cause: FlowsimError, failing_task: ExecutionAttemptId) -> None:
        assert failing_task == TASK
        self.seen.append(["fail_job_due_to_task", CAUSES[type(cause)]])


def test_every_command_equals_flinks() -> None:
    seen = 0
    for case in cases("component/checkpoint_failure_manager"):
        failures = Failures()
        manager = CheckpointFailureManager(case["tolerable"], failures)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            failures.seen.clear()
            match command:
                case ["success", checkpoint_id]:
                    manager.handle_checkpoint_success(checkpoint_id)
                case ["failure", checkpoint_id, kind, reason, by]:
                    manager.handle_checkpoint_exception(
                        checkpoint_id,
                        PROPERTIES[kind],
                        CheckpointException(CheckpointFailureReason[reason]),
                        TASK if by == "task" else None,
                    )
                case _:
                    raise AssertionError(f"unknown command {command}")
            assert failures.seen == expected, (case["id"], number, command)
        seen += 1
    assert seen == 400
