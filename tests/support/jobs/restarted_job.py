"""A keyed job with timers and a committing sink that takes checkpoints, fails once and is restored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.datastream.functions import TwoPhaseCommitSinkFunction
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.facts.kinds import Level
from flowsim.facts.recorder import Recorder
from flowsim.faults.catalogue import Fault
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.graph.stream_graph import StreamGraph
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.writer import RecordingWriter
from flowsim.simulation import FailTask
from flowsim.units import NS_PER_MS

RECORDS = 60
KEYS = 5


def record_restarted(directory: Path, faults: Iterable[Fault] = (), rows_per_epoch: int = 500) -> Path:
    """Records the job in ``directory/recording``, in several epochs; returns the directory."""
    run = RunDescription()
    writer = RecordingWriter(directory / "recording", Level.FULL, run, rows_per_epoch=rows_per_epoch)
    run_restarted(writer, faults=faults)
    writer.finish(RunStatus.COMPLETE)
    return directory


class ScriptedFailure:
    """Fails once, at a record of any subtask; all copies of a function share it."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __deepcopy__(self, memo: object) -> ScriptedFailure:
        return self

    def on_record(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise RuntimeError("scripted failure")


class Counts(KeyedProcessFunction):
    """Counts per key; a timer per record reports its time."""

    def __init__(self, failure: ScriptedFailure) -> None:
        self._failure = failure

    def open(self, runtime_context):  # type: ignore[no-untyped-def]
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx) -> Iterator[tuple[str, int]]:  # type: ignore[no-untyped-def]
        self._failure.on_record()
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(value[1] + 40)
        yield value[0], count

    def on_timer(self, timestamp, ctx) -> Iterator[tuple[str, int]]:  # type: ignore[no-untyped-def]
        yield ctx.get_current_key(), -timestamp


def run_restarted(
    recorder: Recorder | None, fail_at: int = 30, *, exactly_once: bool = True, faults: Iterable[Fault] = ()
) -> tuple[JobExecutionResult, CollectSink]:
    """Runs the job; ``fail_at``: number of the record that fails, 0: none."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)).with_timestamp_assigner(
        lambda value, timestamp: value[1]
    )
    numbers = env.from_collection([(f"k{i % KEYS}", i) for i in range(RECORDS)])
    stamped = numbers.assign_timestamps_and_watermarks(strategy).set_parallelism(2)
    keyed = stamped.key_by(lambda value: value[0], key_type=Types.STRING())
    sink = CollectSink()
    keyed.process(Counts(ScriptedFailure(fail_at))).name("counts").sink_to(sink)
    return _run(env, recorder, exactly_once, faults), sink


class Alarms(KeyedProcessFunction):
    """Passes each record on some time later, by a timer of processing time."""

    def __init__(self, failure: ScriptedFailure) -> None:
        self._failure = failure

    def process_element(self, value, ctx) -> Iterator[tuple[str, int]]:  # type: ignore[no-untyped-def]
        self._failure.on_record()
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 20 + value[1] % 7)
        return iter(())

    def on_timer(self, timestamp, ctx) -> Iterator[tuple[str, int]]:  # type: ignore[no-untyped-def]
        yield ctx.get_current_key(), timestamp


def run_with_alarms(
    recorder: Recorder | None, fail_at: int = 30, faults: Iterable[Fault] = ()
) -> tuple[JobExecutionResult, CollectSink]:
    """Runs a job with a timer of processing time for each record; ``fail_at``: number of the record that fails."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    entries = [entry for i in range(RECORDS) for entry in (record((f"k{i % KEYS}", i), i), sleep(2))]
    keyed = env.add_source(ScriptedSource([*entries, sleep(100)])).key_by(lambda value: value[0], Types.STRING())
    sink = CollectSink()
    keyed.process(Alarms(ScriptedFailure(fail_at))).name("alarms").sink_to(sink)
    return _run(env, recorder, True, faults), sink


def _run(
    env: StreamExecutionEnvironment,
    recorder: Recorder | None,
    exactly_once: bool,
    faults: Iterable[Fault],
    failures: tuple[FailTask, ...] = (),
) -> JobExecutionResult:
    graph = _with_checkpoints(env, exactly_once)
    return MiniCluster(graph, with_faults(RunOptions(recorder=recorder, failures=failures), faults)).run()


def _with_checkpoints(env: StreamExecutionEnvironment, exactly_once: bool = True) -> StreamGraph:
    graph = env.stream_graph()
    graph.settings = replace(
        graph.settings,
        checkpointing=CheckpointSettings(interval_ms=12, exactly_once=exactly_once, async_latency_ns=2 * NS_PER_MS),
        restart_strategy=FixedDelayRestart(3, 5),
        cost_ns=NS_PER_MS,
        buffer_timeout_ms=1,
    )
    return graph


def skewed_job() -> StreamGraph:
    """A job without a failure: "all" receives one source at once, and the other through three maps."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    fast, slow = (env.from_collection(list(range(first, first + 40))) for first in (0, 100))
    slow = slow.rebalance()
    for _ in range(3):
        slow = slow.map(lambda value: value)
    fast.union(slow).map(lambda value: value).name("all").sink_to(CollectSink())
    return _with_checkpoints(env)


def run_skewed(recorder: Recorder | None, faults: Iterable[Fault]) -> JobExecutionResult:
    return MiniCluster(skewed_job(), with_faults(RunOptions(recorder=recorder), faults)).run()


def run_in_one_chain(recorder: Recorder | None, faults: Iterable[Fault] = ()) -> JobExecutionResult:
    """Runs a job of one task, which fails once: a source, and two sinks that commit, one of them behind a map."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection(list(range(20))).name("numbers")
    numbers.sink_to(CollectSink()).name("direct")
    numbers.map(lambda value: value).sink_to(CollectSink()).name("mapped")
    return _run(env, recorder, True, faults, (FailTask("numbers", at_record=15),))


class Transfer(TwoPhaseCommitSinkFunction[str]):
    """A transaction has a number, which attempts repeat; ``name``: all transactions are this value."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._begun = 0

    def begin_transaction(self) -> str:
        self._begun += 1
        return self._name or f"transaction {self._begun}"

    def invoke(self, transaction: str, value: object, timestamp: int | None) -> None:
        pass

    def pre_commit(self, transaction: str) -> None:
        pass

    def commit(self, transaction: str) -> None:
        pass

    def abort(self, transaction: str) -> None:
        pass


def run_with_transactions(
    recorder: Recorder | None, faults: Iterable[Fault] = (), name: str | None = None
) -> JobExecutionResult:
    """Runs a job with a sink function, which fails before it commits its second checkpoint."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_collection(list(range(RECORDS)))
    numbers.map(lambda value: value).rebalance().add_sink(Transfer(name)).name("transfer")
    return _run(env, recorder, True, faults, (FailTask("transfer", in_notification=2),))
