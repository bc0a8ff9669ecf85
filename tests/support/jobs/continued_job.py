"""A job with every kind of state that stops with a savepoint, and one that continues from it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import CancelJob, RunAction, TriggerSavepoint
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Types, WatermarkStrategy
from flowsim.datastream.functions import (
    CheckpointedFunction,
    KeyedBroadcastProcessFunction,
    MapFunction,
)
from flowsim.datastream.state import ListStateDescriptor, MapStateDescriptor
from flowsim.facts.recorder import Recorder
from flowsim.faults.catalogue import Fault
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart, SavepointRestoreSettings
from flowsim.simulation import FailTask
from flowsim.units import NS_PER_MS
from tests.support.jobs.counts_and_waits import CountsAndWaits
from tests.support.jobs.restarted_job import Transfer

RECORDS, KEYS, TAKEN_AT_MS = 120, 40, 60
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Remembers(MapFunction, CheckpointedFunction):
    """Keeps each number in a list, and the last one in a union list."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.numbers = store.get_list_state(ListStateDescriptor("numbers", Types.LONG()))
        self.last = store.get_union_list_state(ListStateDescriptor("last", Types.LONG()))

    def snapshot_state(self, context: Any) -> None:
        pass

    def map(self, value: Any) -> Any:
        self.numbers.add(value[0])
        self.last.update([value[0]])
        return value


def after_savepoint(value: Any, timestamp: int) -> int:
    """An event time that only comes after the savepoint."""
    return 10_000 + int(value[0])


class Ruled(KeyedBroadcastProcessFunction):
    """Stores rules in broadcast state."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(f"rule {value[0] % 5}", value[0])
        return ()


def run_job(
    recorder: Recorder | None,
    *actions: RunAction,
    parallelism: int = 2,
    savepoint: str | None = None,
    faults: Iterable[Fault] = (),
    without: Iterable[str] = (),
    failures: tuple[FailTask, ...] = (),
) -> JobExecutionResult:
    """A number per ms; ``without``: operators that the job does not have, so that their state is not restored."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.checkpointing = CheckpointSettings()
    env.settings.restart_strategy = FixedDelayRestart(3, 5)
    strategy = WatermarkStrategy.no_watermarks()
    made = []
    for name in ("numbers", "rules"):
        source = GeneratorSource(RECORDS, {"n": SequenceOf(0, 1, None)}, pace_ns=NS_PER_MS)
        made.append(env.from_source(source, strategy, name).uid(name))
    numbers, rules = made
    sent = numbers.rebalance().map(Remembers()).name("remembers").uid("remembers").set_parallelism(parallelism)
    if "counts" not in without:
        sent = (
            sent.key_by(lambda row: row[0] % KEYS, Types.LONG())
            .process(CountsAndWaits(after_savepoint, 1_000))
            .name("counts")
            .uid("counts")
        )
        sent.set_parallelism(parallelism)
    keyed = sent.key_by(lambda row: row[0] % KEYS, Types.LONG())
    ruled = keyed.connect(rules.broadcast(RULES)).process(Ruled()).name("ruled").uid("ruled")
    ruled.set_parallelism(parallelism)
    ruled.rebalance().sink_to(CollectSink()).name("out").uid("out").set_parallelism(parallelism)
    ruled.rebalance().add_sink(Transfer()).name("transfer").uid("transfer").set_parallelism(parallelism)
    restore = None if savepoint is None else SavepointRestoreSettings(savepoint, allow_non_restored_state=bool(without))
    options = RunOptions(recorder=recorder, actions=actions, savepoint=restore, failures=failures)
    return MiniCluster(env.stream_graph(), with_faults(options, faults)).run()


def take_savepoint(recorder: Recorder | None, directory: Path) -> str:
    """Runs the job until after its savepoint; returns the directory of the savepoint."""
    at_ns = TAKEN_AT_MS * NS_PER_MS
    result = run_job(recorder, TriggerSavepoint(at_ns, str(directory)), CancelJob(at_ns + 10 * NS_PER_MS))
    assert result.status is JobStatus.CANCELED, result.error
    [savepoint] = result.requested_snapshots
    assert savepoint.path is not None
    return savepoint.path
