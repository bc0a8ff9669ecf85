"""Operators that count records in list state and log the calls of their task, for jobs with checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flowsim.cluster.job_execution import JobExecutionResult
from flowsim.cluster.run_actions import RunAction
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.facts.kinds import CheckpointAction, CheckpointReason, Level
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.recording.memory import MemoryRecorder
from flowsim.state.snapshots.operator_state_backend import PartitionableListState
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from tests.support.jobs.small_jobs import SmallJob


@dataclass
class CallLog:
    """What the operators of a job logged, as "operator: call"; a failure happens once."""

    calls: list[str] = field(default_factory=list)
    fails_at: dict[str, str] = field(default_factory=dict)
    """By operator, the call that raises ValueError the first time."""

    def add(self, operator: str, call: str) -> None:
        self.calls.append(f"{operator}: {call}")
        if self.fails_at.get(operator) == call:
            del self.fails_at[operator]
            raise ValueError(f"scripted at {call}")

    def of(self, operator: str) -> list[str]:
        """The calls of one operator."""
        return [call.removeprefix(f"{operator}: ") for call in self.calls if call.startswith(f"{operator}: ")]

    def make(self) -> Callable[[], StreamOperator]:
        return lambda: LoggedOperator(self)


class LoggedOperator(StreamOperator):
    """Passes records on, and counts them in list state; call "record N" is the Nth record since the start of the job."""

    __slots__ = ("log", "count", "state")

    state: PartitionableListState

    def __init__(self, log: CallLog) -> None:
        self.log = log
        self.count = 0

    def _call(self, call: str) -> None:
        self.log.add(self.ctx.operator_name, call)

    def initialize_state(self, context: StateInitializationContext) -> None:
        self.state = context.operator_state.get_list_state("count")
        self.count = sum(element for element in self.state.get() if isinstance(element, int))
        self._call(f"restore {context.restored_checkpoint_id} {self.count}" if context.is_restored else "initialize")

    def open(self) -> None:
        self._call("open")

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self.count += 1
        if self.log.fails_at.get(self.ctx.operator_name) == f"record {self.count}":
            self._call(f"record {self.count}")
        self.output.collect(value, timestamp)

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        self._call(f"prepare {checkpoint_id}")

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        self.state.update([self.count])
        self._call(f"snapshot {context.checkpoint_id} {self.count}")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._call(f"complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._call(f"aborted {checkpoint_id}")

    def end_input(self) -> None:
        self._call("end input")

    def finish(self) -> None:
        self._call("finish")

    def close(self) -> None:
        self._call("close")


def checkpointed_job(checkpointing: CheckpointSettings, *, attempts: int = 3, **settings: object) -> SmallJob:
    """A job whose records cost 1 ms, and that restarts after 10 ms."""
    job = SmallJob(cost_ns=1_000_000, **settings)
    job.graph.settings.checkpointing = checkpointing
    job.graph.settings.restart_strategy = FixedDelayRestart(attempts, 10)
    return job


def numbers(job: SmallJob, count: int, **settings: object) -> int:
    """A source of the records (0,), (1,) and so on."""
    return job.source(
        lambda: SourceOperator(GeneratorSource(count, {"n": SequenceOf(0, 1, None)}).create_reader()), **settings
    )


def run_and_judge(job: SmallJob, **options: object) -> JobExecutionResult:
    """Runs the job; asserts that no law is violated."""
    return run_and_record(job, **options)[0]


def run_and_record(job: SmallJob, *actions: RunAction, **options: object) -> tuple[JobExecutionResult, MemoryRecorder]:
    """Runs the job with the actions, and returns its recording too; asserts that no law is violated."""
    recorder = MemoryRecorder(Level.FULL)
    result = job.run(recorder=recorder, **({"actions": actions} if actions else {}), **options)
    judged = check_all(recorder, "complete" if result.error is None else "failed")
    assert [(each.law, each.evidence[:2]) for each in judged if each.verdict is Verdict.VIOLATED] == []
    return result, recorder


def aborted_checkpoints(recorder: MemoryRecorder) -> list[tuple[int, str]]:
    """The aborted checkpoints with their reasons, in order."""
    rows = sorted(recorder.rows("checkpoints"))
    return [(row[2], CheckpointReason(row[6]).name) for row in rows if row[3] == CheckpointAction.ABORTED]
