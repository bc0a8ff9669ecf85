"""Events between a coordinator and its subtasks around a checkpoint (rules 12.108-12.110)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder, OperatorEventLost
from flowsim.errors import InvariantViolation
from flowsim.network.completion import Completion
from flowsim.streamrecord.operator_event import AcknowledgeCheckpointEvent, OperatorEvent
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor


@dataclass(frozen=True)
class AddSplit(OperatorEvent):
    split: str


class Task:
    """Confirms events when the test says so."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_still_running = True
        self.received: list[str] = []
        self.unconfirmed: list[Completion[None]] = []
        self.failover: OperatorEventLost | None = None

    def send_event(self, event: OperatorEvent) -> Completion[None]:
        assert isinstance(event, AddSplit)
        self.received.append(event.split)
        self.unconfirmed.append(Completion())
        return self.unconfirmed[-1]

    def trigger_task_failover(self, cause: OperatorEventLost) -> None:
        self.failover = cause


class Enumerator:
    """Takes a snapshot when the test says so."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.snapshots: dict[int, Completion[bytes | None]] = {}

    def execution_attempt_ready(self, subtask: int, attempt: int, holder: OperatorCoordinatorHolder) -> None: ...

    def execution_attempt_failed(self, subtask: int, attempt: int, reason: BaseException | None) -> None:
        self.calls.append(f"failed {subtask}#{attempt}")

    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        self.calls.append(f"reset {subtask} to {checkpoint_id}")

    def handle_event_from_operator(self, subtask: int, attempt: int, event: OperatorEvent) -> None:
        self.calls.append(f"event {subtask}#{attempt} {type(event).__name__}")

    def checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        self.snapshots[checkpoint_id] = result

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.calls.append(f"complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.calls.append(f"aborted {checkpoint_id}")

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None:
        self.calls.append(f"reset to {checkpoint_id} {state!r}")


class Source:
    """A coordinator with two running subtasks."""

    def __init__(self) -> None:
        self.executor = VirtualTimeExecutor()
        self.enumerator = Enumerator()
        self.holder = OperatorCoordinatorHolder("source", self.enumerator, self.executor)
        self.tasks = [Task("source (1/2)"), Task("source (2/2)")]
        for subtask, task in enumerate(self.tasks):
            self.holder.on_attempt_deployed(subtask, task)
            self.holder.on_attempt_running(subtask, 0)

    def drain(self) -> None:
        self.executor.run_until(0)

    def checkpoint(self, checkpoint_id: int) -> Completion[bytes | None]:
        result: Completion[bytes | None] = Completion()
        self.holder.checkpoint_coordinator(checkpoint_id, result)
        self.drain()
        return result

    def snapshot(self, checkpoint_id: int) -> None:
        self.enumerator.snapshots[checkpoint_id].complete(b"state")
        self.drain()

    def assign(self, subtask: int, split: str) -> None:
        self.holder.send_event(subtask, AddSplit(split))

    def acknowledge(self, subtask: int, checkpoint_id: int) -> None:
        self.holder.handle_event_from_operator(subtask, 0, AcknowledgeCheckpointEvent(checkpoint_id))


def test_split_after_the_snapshot_waits_for_the_snapshot_of_the_task() -> None:
    source = Source()
    result = source.checkpoint(1)
    source.assign(0, "before")
    source.tasks[0].unconfirmed[0].complete(None)
    source.snapshot(1)
    assert result.result == b"state"
    source.assign(0, "after")
    source.assign(1, "after")
    assert source.tasks[0].received == ["before"]
    source.acknowledge(0, 1)
    assert (source.tasks[0].received, source.tasks[1].received) == (["before", "after"], [])
    source.holder.notify_checkpoint_complete(1)
    source.drain()
    assert source.tasks[1].received == ["after"]
    assert source.enumerator.calls == ["complete 1"]


def test_snapshot_waits_until_tasks_have_confirmed_all_events() -> None:
    source = Source()
    source.assign(0, "a")
    source.assign(1, "b")
    result = source.checkpoint(1)
    source.snapshot(1)
    source.tasks[1].unconfirmed[0].complete(None)
    assert not result.is_done
    source.tasks[0].unconfirmed[0].complete(None)
    assert result.result == b"state"


def test_lost_event_fails_the_snapshot_and_the_task() -> None:
    source = Source()
    source.assign(0, "a")
    result = source.checkpoint(1)
    source.snapshot(1)
    source.tasks[0].unconfirmed[0].complete_exceptionally(TimeoutError())
    assert isinstance(result.error, OperatorEventLost)
    assert "source (1/2)" in str(source.tasks[0].failover)


def test_task_fails_before_the_snapshot_that_waits_for_its_lost_event() -> None:
    source = Source()
    source.assign(0, "a")
    result = source.checkpoint(1)
    source.snapshot(1)
    failovers: list[OperatorEventLost | None] = []
    result.when_complete(lambda state, error: failovers.append(source.tasks[0].failover))
    source.tasks[0].unconfirmed[0].complete_exceptionally(TimeoutError())
    assert failovers == [source.tasks[0].failover]
    assert failovers != [None]


def test_event_lost_by_an_ended_task_fails_nothing() -> None:
    source = Source()
    source.assign(0, "a")
    source.tasks[0].is_still_running = False
    source.tasks[0].unconfirmed[0].complete_exceptionally(TimeoutError())
    assert source.tasks[0].failover is None


def test_failed_snapshot_fails_the_checkpoint_and_opens_the_gateways() -> None:
    source = Source()
    result = source.checkpoint(1)
    source.enumerator.snapshots[1].complete_exceptionally(ValueError("scripted"))
    source.holder.abort_current_triggering()
    source.drain()
    assert isinstance(result.error, ValueError)
    source.assign(0, "a")
    assert source.tasks[0].received == ["a"]


def test_snapshot_of_an_aborted_checkpoint_closes_nothing() -> None:
    source = Source()
    result = source.checkpoint(1)
    source.holder.notify_checkpoint_aborted(1)
    source.drain()
    source.snapshot(1)
    assert "Cannot close gateway" in str(result.error)
    source.assign(0, "a")
    assert source.tasks[0].received == ["a"]
    assert source.enumerator.calls == ["aborted 1"]


def test_abort_of_a_checkpoint_that_the_coordinator_has_not_seen_changes_nothing() -> None:
    """The job failed between the trigger and the snapshots of the coordinators (rule 12.45)."""
    source = Source()
    source.holder.notify_checkpoint_aborted(1)
    source.drain()
    assert source.enumerator.calls == []
    source.checkpoint(2)
    source.snapshot(2)
    source.assign(0, "a")
    assert source.tasks[0].received == []


def test_restarted_subtask_has_an_open_gateway() -> None:
    """The checkpoint that began before the restart may end after it."""
    source = Source()
    source.checkpoint(1)
    source.snapshot(1)
    task = Task("source (1/2)")
    source.holder.on_attempt_failed(0, 0, None)
    source.holder.subtask_reset(0, task, -1)
    source.holder.on_attempt_running(0, 1)
    source.holder.notify_checkpoint_aborted(1)
    source.drain()
    source.assign(0, "a")
    assert task.received == ["a"]
    assert source.enumerator.calls == ["failed 0#0", "reset 0 to -1", "aborted 1"]


def test_reset_sends_the_events_of_all_checkpoints() -> None:
    source = Source()
    source.checkpoint(1)
    source.snapshot(1)
    source.assign(0, "a")
    source.holder.reset_to_checkpoint(3, b"old")
    assert source.tasks[0].received == ["a"]
    assert source.enumerator.calls == ["reset to 3 b'old'"]


def test_other_events_of_a_task_go_to_the_coordinator() -> None:
    source = Source()
    source.holder.handle_event_from_operator(1, 2, AddSplit("x"))
    assert source.enumerator.calls == ["event 1#2 AddSplit"]


def test_gateways_that_disagree_are_detected() -> None:
    source = Source()
    source.checkpoint(1)
    source.acknowledge(0, 1)
    with pytest.raises(InvariantViolation, match="some gateways of source close"):
        source.snapshot(1)
