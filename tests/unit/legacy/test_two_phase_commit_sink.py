"""Sink functions with a transaction per checkpoint (rule 12.137)."""

from __future__ import annotations

import pytest

from flowsim.connectors.script import ScriptedSource
from flowsim.connectors.script_entries import record, sleep
from flowsim.datastream.common import WatermarkStrategy
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.datastream.functions import TwoPhaseCommitSinkFunction
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.legacy.stream_sink import StreamSink
from flowsim.legacy.two_phase_commit_sink import CommitOfTransactionFailed
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.testing.harness import OneInputOperatorHarness
from tests.support.operators.sink_job import State, StateStore


class Log:
    """What the functions of all attempts did; a copy of a function keeps it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.staged: dict[str, list[object]] = {}
        self.committed: list[object] = []
        self.broken: set[str] = set()

    def __deepcopy__(self, memo: object) -> Log:
        return self


class Transfer(TwoPhaseCommitSinkFunction[str]):
    def __init__(self, log: Log) -> None:
        self.log = log

    def open(self, runtime_context: RuntimeContext) -> None:
        self.log.calls.append("open")

    def begin_transaction(self) -> str:
        name = f"t{len(self.log.staged)}"
        self.log.staged[name] = []
        self.log.calls.append(f"begin {name}")
        return name

    def invoke(self, transaction: str, value: object, timestamp: int | None) -> None:
        self.log.staged[transaction].append(value)

    def pre_commit(self, transaction: str) -> None:
        self.log.calls.append(f"pre-commit {transaction}")

    def commit(self, transaction: str) -> None:
        self.log.calls.append(f"commit {transaction}")
        if transaction in self.log.broken:
            raise OSError(f"{transaction} is broken")
        self.log.committed += self.log.staged[transaction]
        self.log.staged[transaction] = []

    def abort(self, transaction: str) -> None:
        self.log.calls.append(f"abort {transaction}")

    def recover_and_abort(self, transaction: str) -> None:
        self.log.calls.append(f"recover and abort {transaction}")

    def finish_processing(self, transaction: str | None) -> None:
        self.log.calls.append(f"finish {transaction}")

    def close(self) -> None:
        self.log.calls.append("close")


class Attempt:
    """One attempt of one subtask."""

    def __init__(self, log: Log, restored: tuple[int, State] | None = None) -> None:
        self.operator = StreamSink(Transfer(log))
        self.harness = OneInputOperatorHarness(self.operator)
        self.store = StateStore({} if restored is None else restored[1])
        checkpoint = None if restored is None else restored[0]
        self.operator.initialize_state(StateInitializationContext(self.store, None, checkpoint))
        self.operator.open()

    def write(self, *values: object) -> None:
        self.harness.process_elements([(value, None) for value in values])

    def snapshot(self, checkpoint_id: int) -> State:
        self.operator.snapshot_state(StateSnapshotContext(checkpoint_id, 0))
        return self.store.snapshot()


def test_each_checkpoint_has_a_transaction_that_its_notification_commits() -> None:
    log = Log()
    attempt = Attempt(log)
    attempt.write("a")
    attempt.snapshot(1)
    attempt.write("b")
    attempt.snapshot(2)
    assert log.committed == []
    attempt.operator.notify_checkpoint_aborted(1)
    attempt.operator.notify_checkpoint_complete(2)
    attempt.operator.close()
    assert log.committed == ["a", "b"]
    assert log.calls == [
        "open", "begin t0", "pre-commit t0", "begin t1", "pre-commit t1", "begin t2", "commit t0", "commit t1", "abort t2",
        "close",
    ]  # fmt: skip


def test_restore_commits_pending_transactions_and_aborts_the_current_one() -> None:
    log = Log()
    old = Attempt(log)
    old.write("a")
    state = old.snapshot(1)
    old.write("b")
    del log.calls[:]
    Attempt(log, (1, state))
    assert log.committed == ["a"]
    assert log.calls == ["open", "commit t0", "recover and abort t1", "begin t2"]


def test_restore_with_the_states_of_several_old_subtasks_handles_each() -> None:
    log = Log()
    states: list[object] = []
    for value in "ab":
        old = Attempt(log)
        old.write(value)
        states += old.snapshot(1)["state"]
    Attempt(log, (1, {"state": tuple(states)}))
    assert log.committed == ["a", "b"]
    assert log.calls[-5:] == ["commit t0", "recover and abort t1", "commit t2", "recover and abort t3", "begin t4"]


def test_all_transactions_are_tried_before_the_first_error_is_raised() -> None:
    log = Log()
    attempt = Attempt(log)
    for checkpoint_id in (1, 2, 3):
        attempt.write(checkpoint_id)
        attempt.snapshot(checkpoint_id)
    log.broken = {"t0", "t1"}
    with pytest.raises(CommitOfTransactionFailed, match="first encountered failure: t0 is broken"):
        attempt.operator.notify_checkpoint_complete(3)
    assert log.committed == [3]
    attempt.operator.notify_checkpoint_complete(3)
    assert log.calls[-3:] == ["commit t0", "commit t1", "commit t2"]


def test_no_transaction_begins_after_the_end_of_input() -> None:
    log = Log()
    attempt = Attempt(log)
    attempt.write("a")
    attempt.operator.finish()
    assert attempt.snapshot(1) == {"state": ((None, ["t0"]),)}
    attempt.operator.notify_checkpoint_complete(1)
    attempt.operator.close()
    assert log.committed == ["a"]
    assert log.calls[2:] == ["finish t0", "pre-commit t0", "commit t0", "close"]


def test_state_of_another_operator_is_refused() -> None:
    log = Log()
    with pytest.raises(BadInput, match="expected the state of a TwoPhaseCommitSinkFunction, got 7"):
        Attempt(log, (1, {"state": (7,)}))
    assert log.calls == ["open", "close"]


def job(log: Log, *, failing_call: int | None = None) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
    calls = 0

    def fail(value: object) -> object:
        nonlocal calls
        calls += 1
        if calls == failing_call:
            raise OSError("the machine has failed")
        return value

    source = ScriptedSource([entry for number in range(20) for entry in (record(number), sleep(5))])
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(fail)
    stream.rebalance().add_sink(Transfer(log)).set_parallelism(1)
    return env


@pytest.mark.parametrize("failing_call", [None, 3, 11])
def test_job_with_checkpoints_commits_every_record_once(failing_call: int | None) -> None:
    log = Log()
    env = job(log, failing_call=failing_call)
    env.settings.checkpointing = CheckpointSettings(interval_ms=20)
    env.settings.restart_strategy = FixedDelayRestart(attempts=1, delay_ms=1)
    env.execute()
    assert log.committed == list(range(20))


def test_job_without_checkpoints_commits_nothing() -> None:
    log = Log()
    job(log).execute()
    assert log.committed == []
    assert log.calls == ["open", "begin t0", "finish t0", "abort t0", "close"]
