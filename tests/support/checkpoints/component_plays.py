"""Components of checkpoints and recovery under scripts of commands.

Each is created with the description of a case, plays one command at a time, and answers in the form of the golden data.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from flowsim.checkpoints.checkpoint_failure_manager import CheckpointFailureManager, TolerableCheckpointFailuresExceeded
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties, CheckpointRetentionPolicy, JobStatus
from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder, OperatorEventLost
from flowsim.checkpoints.coordination.split_assignment_tracker import SplitAssignmentTracker
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.failover.restart_backoff_time_strategy import (
    ExponentialDelayRestartBackoffTimeStrategy,
    FailureRateRestartBackoffTimeStrategy,
    FixedDelayRestartBackoffTimeStrategy,
    RestartBackoffTimeStrategy,
)
from flowsim.checkpoints.storage.checkpoints_cleaner import CheckpointsCleaner
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint_store import CompletedCheckpointStore
from flowsim.errors import FlowsimError, InvariantViolation
from flowsim.network.completion import Completion
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.operator_event import AcknowledgeCheckpointEvent, OperatorEvent
from tests.support.checkpoints.virtual_time import DirectExecutor, VirtualTimeExecutor

Command = list[Any]
CAUSES = {TolerableCheckpointFailuresExceeded: "FlinkRuntimeException", CheckpointException: "CheckpointException"}
TASK = ExecutionAttemptId(0, 0, 0)


class ComponentPlay(Protocol):
    def play(self, command: Command) -> Any: ...


def properties_of(policy: str) -> dict[str, CheckpointProperties]:
    return {
        "checkpoint": CheckpointProperties.for_checkpoint(CheckpointRetentionPolicy[policy]),
        "savepoint": CheckpointProperties.for_savepoint(forced=True),
        "sync_savepoint": CheckpointProperties.for_sync_savepoint(forced=True, terminate=False),
    }


class FailureManagerPlay:
    """CheckpointFailureManager (rules 12.52, 12.53)."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.seen: list[list[str]] = []
        self.manager = CheckpointFailureManager(case["tolerable"], self)
        self.properties = properties_of("NEVER_RETAIN_AFTER_TERMINATION")

    def fail_job(self, cause: FlowsimError) -> None:
        self.seen.append(["fail_job", CAUSES[type(cause)]])

    def fail_job_due_to_task_failure(self, cause: FlowsimError, failing_task: ExecutionAttemptId) -> None:
        assert failing_task == TASK
        self.seen.append(["fail_job_due_to_task", CAUSES[type(cause)]])

    def play(self, command: Command) -> list[list[str]]:
        self.seen.clear()
        match command:
            case ["success", checkpoint_id]:
                self.manager.handle_checkpoint_success(checkpoint_id)
            case ["failure", checkpoint_id, kind, reason, by]:
                exception = CheckpointException(CheckpointFailureReason[reason])
                task = TASK if by == "task" else None
                self.manager.handle_checkpoint_exception(checkpoint_id, self.properties[kind], exception, task)
            case _:
                raise AssertionError(f"unknown command {command}")
        return list(self.seen)


class Location:
    def __init__(self, checkpoint_id: int, disposed: list[int]) -> None:
        self.checkpoint_id = checkpoint_id
        self.disposed = disposed

    @property
    def external_pointer(self) -> str:
        return f"chk-{self.checkpoint_id}"

    def dispose_storage_location(self) -> None:
        self.disposed.append(self.checkpoint_id)


class StorePlay:
    """CompletedCheckpointStore and CheckpointsCleaner (rules 12.60, 12.63)."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.store = CompletedCheckpointStore(case["retain"], CheckpointsCleaner(DirectExecutor()))
        self.discarded: list[int] = []
        self.properties = properties_of(case["policy"])

    def play(self, command: Command) -> dict[str, Any]:
        self.discarded.clear()
        match command:
            case ["add", checkpoint_id, kind]:
                location = Location(checkpoint_id, self.discarded)
                checkpoint = CompletedCheckpoint(checkpoint_id, 0, 1, self.properties[kind], location)
                subsumed = self.store.add_checkpoint_and_subsume_oldest_one(checkpoint, lambda: None)
                return {
                    "subsumed": subsumed and subsumed.checkpoint_id,
                    "discarded": list(self.discarded),
                    "retained": [retained.checkpoint_id for retained in self.store.all_checkpoints],
                    "latest": self.store.latest_checkpoint_id,
                }
            case ["shutdown", status]:
                self.store.shutdown(JobStatus[status])
                assert self.store.latest_checkpoint is None
                return {"discarded": sorted(self.discarded)}
        raise AssertionError(f"unknown command {command}")


class SplitTrackerPlay:
    """SplitAssignmentTracker (rules 12.112, 12.113)."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.tracker: SplitAssignmentTracker[str] = SplitAssignmentTracker()

    def play(self, command: Command) -> dict[str, Any]:
        answer = self.execute(command)
        return {
            "ret": answer,
            "by_checkpoint": {
                str(checkpoint_id): {str(subtask): splits for subtask, splits in assignment.items()}
                for checkpoint_id, assignment in self.tracker.assignments_by_checkpoint_id.items()
            },
            "current": {str(subtask): splits for subtask, splits in self.tracker.uncheckpointed_assignments.items()},
        }

    def execute(self, command: Command) -> list[str] | None:
        match command:
            case ["assign", assignment]:
                self.tracker.record_split_assignment({int(subtask): splits for subtask, splits in assignment.items()})
            case ["checkpoint", checkpoint_id]:
                self.tracker.on_checkpoint(checkpoint_id)
            case ["complete", checkpoint_id]:
                self.tracker.on_checkpoint_complete(checkpoint_id)
            case ["reset", subtask, checkpoint_id]:
                return self.tracker.get_and_remove_uncheckpointed_assignment(subtask, checkpoint_id)
            case _:
                raise AssertionError(f"unknown command {command}")
        return None


@dataclass(frozen=True)
class Numbered(OperatorEvent):
    number: int


class ConfirmingTask:
    """Confirms every event at once."""

    name = "task"
    is_still_running = True

    def __init__(self) -> None:
        self.received: list[int] = []

    def send_event(self, event: OperatorEvent) -> Completion[None]:
        assert isinstance(event, Numbered)
        self.received.append(event.number)
        confirmed: Completion[None] = Completion()
        confirmed.complete(None)
        return confirmed

    def trigger_task_failover(self, cause: OperatorEventLost) -> None:
        raise AssertionError("no event is lost")


class NoCoordinator:
    """A coordinator that does nothing; a script plays its snapshots."""

    def execution_attempt_ready(self, subtask: int, attempt: int, holder: OperatorCoordinatorHolder) -> None: ...

    def execution_attempt_failed(self, subtask: int, attempt: int, reason: BaseException | None) -> None: ...

    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None: ...

    def handle_event_from_operator(self, subtask: int, attempt: int, event: OperatorEvent) -> None: ...

    def checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None: ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None: ...

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None: ...

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None: ...


class GatewayPlay:
    """The gateway of an OperatorCoordinatorHolder with one subtask (rule 12.109)."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.task = ConfirmingTask()
        self.holder = OperatorCoordinatorHolder("source", NoCoordinator(), DirectExecutor())
        self.holder.on_attempt_deployed(0, self.task)

    def play(self, command: Command) -> dict[str, Any]:
        self.task.received.clear()
        answer: bool | None = None
        refusal: str | None = None
        try:
            answer = self.execute(command)
        except InvariantViolation:
            refusal = "IllegalStateException"
        return {"sent": list(self.task.received), "ret": answer, "err": refusal}

    def execute(self, command: Command) -> bool | None:
        match command:
            case ["send", number]:
                self.holder.send_event(0, Numbered(number))
            case ["mark", checkpoint_id]:
                self.holder.mark_for_checkpoint(checkpoint_id)
            case ["close", checkpoint_id]:
                return self.holder.try_close_gateways(checkpoint_id)
            case ["open", checkpoint_id]:
                self.holder.handle_event_from_operator(0, 0, AcknowledgeCheckpointEvent(checkpoint_id))
            case ["open_last"]:
                self.holder.abort_current_triggering()
            case ["open_all"]:
                self.holder.reset_to_checkpoint(-1, None)
            case _:
                raise AssertionError(f"unknown command {command}")
        return None


class RestartStrategyPlay:
    """The restart strategies, with jitter 0 (rules 12.125-12.128)."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.executor = VirtualTimeExecutor(case["start"])
        self.strategy = strategy_of(case, self.executor)

    def play(self, command: Command) -> dict[str, Any]:
        strategy = self.strategy
        match command:
            case ["delay"]:
                try:
                    return {"delay": strategy.backoff_time_ms()}
                except InvariantViolation:
                    return {"err": ["IllegalStateException", "Please call notifyFailure first."]}
            case ["query", now]:
                self.executor.now_ms = now
                return {"can_restart": strategy.can_restart()}
            case ["failure", now]:
                self.executor.now_ms = now
                is_new = strategy.notify_failure()
                restart = strategy.can_restart()
                return {"new_attempt": is_new, "can_restart": restart, "delay": strategy.backoff_time_ms()}
        raise AssertionError(f"unknown command {command}")


def strategy_of(case: dict[str, Any], executor: VirtualTimeExecutor) -> RestartBackoffTimeStrategy:
    p = case["params"]
    match case["kind"]:
        case "fixed_delay":
            return FixedDelayRestartBackoffTimeStrategy(p["attempts"], p["delay"])
        case "failure_rate":
            return FailureRateRestartBackoffTimeStrategy(executor, p["max_failures"], p["interval"], p["delay"])
        case "exponential_delay":
            return ExponentialDelayRestartBackoffTimeStrategy(
                executor,
                Random(0),
                initial_backoff_ms=p["initial"],
                max_backoff_ms=p["max"],
                backoff_multiplier=p["multiplier"],
                reset_backoff_threshold_ms=p["threshold"],
                jitter_factor=0.0,
                attempts_before_reset=p["attempts"],
            )
    raise AssertionError(case["kind"])
