"""Splits between an enumerator and its readers, with failures and checkpoints (rules 12.108-12.115)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder, OperatorEventLost
from flowsim.checkpoints.coordination.source_coordinator import SourceCoordinator
from flowsim.errors import InvariantViolation
from flowsim.network.completion import Completion
from flowsim.operators.sources.source_events import (
    AddSplitEvent,
    NoMoreSplitsEvent,
    ReaderRegistrationEvent,
    RequestSplitEvent,
)
from flowsim.operators.sources.split_enumerator import SplitEnumeratorContext
from flowsim.sim.scheduler import Timer
from flowsim.streamrecord.operator_event import OperatorEvent
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor


class SplitQueue:
    """Gives each reader that asks the next split; its state is the list of those that are left."""

    def __init__(self, context: SplitEnumeratorContext[str], splits: Sequence[str], calls: list[str]) -> None:
        self.context = context
        self.splits = list(splits)
        self.calls = calls

    def start(self) -> None:
        self.calls.append("start")

    def handle_split_request(self, subtask: int) -> None:
        if self.splits:
            self.context.assign_splits({subtask: [self.splits.pop(0)]})
        else:
            self.context.signal_no_more_splits(subtask)

    def add_splits_back(self, splits: Sequence[str], subtask: int) -> None:
        self.calls.append(f"back {subtask} {','.join(splits)}")
        self.splits = [*splits, *self.splits]

    def add_reader(self, subtask: int) -> None:
        self.calls.append(f"reader {subtask} {','.join(self.context.registered_readers[subtask])}")

    def handle_source_event(self, subtask: int, event: OperatorEvent) -> None:
        self.calls.append(f"event {subtask} {type(event).__name__}")

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        return ",".join(self.splits).encode()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.calls.append(f"complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.calls.append(f"aborted {checkpoint_id}")

    def close(self) -> None:
        self.calls.append("close")


class Reader:
    """A task that confirms all events."""

    is_still_running = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.received: list[str] = []

    def send_event(self, event: OperatorEvent) -> Completion[None]:
        match event:
            case AddSplitEvent(splits=splits):
                self.received += splits
            case NoMoreSplitsEvent():
                self.received.append("end")
        confirmed: Completion[None] = Completion()
        confirmed.complete(None)
        return confirmed

    def trigger_task_failover(self, cause: OperatorEventLost) -> None:
        raise AssertionError("no event is lost")


class Source:
    """A source of two readers and the splits a to d."""

    now_ns = 0

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.backlog: list[tuple[str, bool]] = []
        self.executor = VirtualTimeExecutor()
        self.coordinator: SourceCoordinator[str] = SourceCoordinator("source", self, 2, self)
        self.holder = OperatorCoordinatorHolder("source", self.coordinator, self.executor)
        self.readers: dict[int, Reader] = {}
        self.coordinator.start()
        for subtask in range(2):
            self.deploy(subtask, 0)

    def create_enumerator(self, context: SplitEnumeratorContext[str]) -> SplitQueue:
        return SplitQueue(context, "abcd", self.calls)

    def restore_enumerator(self, context: SplitEnumeratorContext[str], state: bytes) -> SplitQueue:
        self.calls.append(f"restore {state.decode()}")
        return SplitQueue(context, state.decode().split(","), self.calls)

    def set_is_processing_backlog(self, operator_id: str, is_processing_backlog: bool) -> None:
        self.backlog.append((operator_id, is_processing_backlog))

    def call_later(self, delay_ns: int, action: Callable[[], None]) -> Timer:
        raise AssertionError("this enumerator has no timers")

    def deploy(self, subtask: int, attempt: int) -> None:
        self.readers[subtask] = Reader(f"source ({subtask + 1}/2)")
        self.holder.on_attempt_deployed(subtask, self.readers[subtask])
        self.run(subtask, attempt)

    def restart(self, subtask: int, checkpoint_id: int) -> None:
        self.holder.on_attempt_failed(subtask, 0, None)
        self.readers[subtask] = Reader(f"source ({subtask + 1}/2)")
        self.holder.subtask_reset(subtask, self.readers[subtask], checkpoint_id)
        self.run(subtask, 1)

    def run(self, subtask: int, attempt: int) -> None:
        self.holder.on_attempt_running(subtask, attempt)
        self.send(subtask, ReaderRegistrationEvent())

    def send(self, subtask: int, event: OperatorEvent) -> None:
        self.holder.handle_event_from_operator(subtask, 0, event)

    def request(self, subtask: int) -> None:
        self.send(subtask, RequestSplitEvent())

    def checkpoint(self, checkpoint_id: int) -> bytes | None:
        result: Completion[bytes | None] = Completion()
        self.holder.checkpoint_coordinator(checkpoint_id, result)
        self.executor.run_until(0)
        return result.result

    def complete(self, checkpoint_id: int) -> None:
        self.holder.notify_checkpoint_complete(checkpoint_id)
        self.executor.run_until(0)


def test_restarted_reader_gives_back_the_splits_after_its_checkpoint() -> None:
    source = Source()
    source.request(0)
    assert source.checkpoint(1) == b"b,c,d"
    source.complete(1)
    source.request(0)
    source.request(1)
    assert (source.readers[0].received, source.readers[1].received) == (["a", "b"], ["c"])
    source.calls.clear()
    source.restart(0, 1)
    assert source.calls == ["back 0 b", "reader 0 "]
    source.request(1)
    assert source.readers[1].received == ["c", "b"]


def test_split_assigned_after_the_snapshot_arrives_after_the_checkpoint() -> None:
    source = Source()
    source.checkpoint(1)
    source.request(0)
    assert source.readers[0].received == []
    source.complete(1)
    assert source.readers[0].received == ["a"]


def test_reader_that_got_no_more_splits_is_ignored_until_it_restarts() -> None:
    """Rule 12.115."""
    source = Source()
    for _ in range(6):
        source.request(0)
    assert source.readers[0].received == ["a", "b", "c", "d", "end"]
    source.restart(0, -1)
    source.request(0)
    assert source.readers[0].received == ["a"]


def test_global_failure_restores_the_enumerator_and_gives_nothing_back() -> None:
    """Rule 12.114."""
    source = Source()
    source.request(0)
    state = source.checkpoint(1)
    source.complete(1)
    source.request(1)
    source.calls.clear()
    source.holder.reset_to_checkpoint(1, state)
    assert source.calls == ["close", "restore b,c,d", "start"]
    source.deploy(1, 1)
    source.request(1)
    assert source.readers[1].received == ["b"]


def test_global_failure_before_a_checkpoint_creates_the_enumerator_anew() -> None:
    source = Source()
    source.request(0)
    source.calls.clear()
    source.holder.reset_to_checkpoint(-1, None)
    assert source.calls == ["close", "start"]
    source.deploy(0, 1)
    source.request(0)
    assert source.readers[0].received == ["a"]


def test_job_that_starts_from_a_snapshot_restores_the_enumerator_before_its_start() -> None:
    source = Source.__new__(Source)
    source.calls = []
    coordinator: SourceCoordinator[str] = SourceCoordinator("source", source, 2, source)
    coordinator.reset_to_checkpoint(7, b"x,y")
    assert source.calls == ["restore x,y"]
    coordinator.start()
    assert source.calls == ["restore x,y", "start"]


def test_splits_for_a_reader_that_is_not_registered_are_refused() -> None:
    source = Source()
    source.holder.on_attempt_failed(1, 0, None)
    with pytest.raises(InvariantViolation, match="subtask 1 of source because the subtask is not registered"):
        source.coordinator.assign_splits({1: ["x"]})


def test_second_registration_and_other_events_of_a_reader() -> None:
    source = Source()
    source.calls.clear()
    source.send(0, ReaderRegistrationEvent(("a",)))
    assert source.calls == []
    source.send(0, OperatorEvent())
    source.holder.notify_checkpoint_aborted(-(2**63))
    source.executor.run_until(0)
    assert source.calls == ["event 0 OperatorEvent", f"aborted {-(2**63)}"]


def test_backlog_is_reported_with_the_operator() -> None:
    source = Source()
    source.coordinator.set_is_processing_backlog(True)
    assert source.backlog == [("source", True)]


def test_coordinator_is_not_used_before_its_start() -> None:
    source = Source.__new__(Source)
    with pytest.raises(InvariantViolation, match="used before its start"):
        SourceCoordinator("source", source, 1, source).handle_event_from_operator(0, 0, RequestSplitEvent())
