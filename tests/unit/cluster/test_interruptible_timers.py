"""Interruptible timers in running jobs (rule 9.18), and what Flink 2.3.0 loses by them at the end of the input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.errors import JobFailed
from flowsim.facts.kinds import ElementKind, Level
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.sink import InitContext
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import MAX_WATERMARK
from tests.support.facts.tiny_job import FactSet

MS = 1_000_000


class Storm(KeyedProcessFunction):
    """Ten event-time timers, and processing-time timers so many ms after the first record."""

    def __init__(self, after_ms: tuple[int, ...], gives_way: bool) -> None:
        self._after_ms = after_ms
        self._gives_way = gives_way

    def use_interruptible_timers(self) -> bool:
        return self._gives_way

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        timers = ctx.timer_service()
        timers.register_event_time_timer(value[1])
        if value[1] == 1:
            for after_ms in self._after_ms:
                timers.register_processing_time_timer(timers.current_processing_time() + after_ms)
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        domain = ctx.time_domain()
        assert domain is not None
        yield timestamp if domain.name == "EVENT_TIME" else "mail"


def recorded_run(*after_ms: int, gives_way: bool = True, of_job: bool = True) -> tuple[list[object], MemoryRecorder]:
    """What arrives downstream, and the facts. A timer's result takes 1 ms in the rest of the chain."""
    env = StreamExecutionEnvironment.get_execution_environment().set_max_parallelism(8)
    env.configure(interruptible_timers=of_job)
    numbers = env.add_source(ScriptedSource([record(("a", number), number) for number in range(1, 11)]))
    storm = numbers.key_by(lambda pair: pair[0], Types.STRING()).process(Storm(after_ms, gives_way)).name("storm")
    heard = CollectSink()
    storm.map(lambda value: value).name("slow").rebalance().map(lambda value: value).sink_to(heard)
    graph = env.stream_graph("storm")
    (slow,) = [node for node in graph.nodes.values() if node.name == "slow"]
    slow.cost_ns = MS
    recorder = MemoryRecorder(Level.FULL)
    MiniCluster(graph, RunOptions(recorder=recorder)).run()
    return heard.values(), recorder


def violated(facts: MemoryRecorder | FactSet) -> set[str]:
    return {outcome.law for outcome in check_all(facts, "complete") if outcome.verdict is Verdict.VIOLATED}


def run(*after_ms: int, gives_way: bool = True, of_job: bool = True) -> tuple[list[object], set[str]]:
    """What arrives downstream, and the laws that are broken."""
    heard, recorder = recorded_run(*after_ms, gives_way=gives_way, of_job=of_job)
    return heard, violated(recorder)


ALL = list(range(1, 11))


@pytest.mark.parametrize(("gives_way", "of_job"), [(False, True), (True, False)])
def test_mail_waits_for_all_timers_when_timers_are_not_interruptible(gives_way: bool, of_job: bool) -> None:
    assert run(4, gives_way=gives_way, of_job=of_job) == ([*ALL, "mail"], set())


def test_mail_runs_between_interruptible_timers() -> None:
    assert run(4) == ([1, 2, 3, 4, 5, "mail", 6, 7, 8, 9, 10], set())


def test_timers_without_mail_fire_uninterrupted() -> None:
    assert run(500) == (ALL, set())


def test_consecutive_mails_lose_interruptible_timers_at_end_of_input() -> None:
    """The mail that goes on was put again, after the one that interrupted it: the loop reads on first, and finishes the
    operators while it waits. In 2.3.0 what the timers emit then comes after EndOfData, and is lost downstream (rule 4.11)."""
    heard, broken = run(3, 6)
    assert heard == [1, 2, 3, 4, "mail", 5, 6, "mail"]
    assert broken == set()  # Flink 2.3.0 does this (FLINK-39481), so the laws allow it.


class Written:
    """A sink without committer."""

    kind = "written"
    params: Mapping[str, object] = {}

    def __init__(self) -> None:
        self.values: list[object] = []

    def create_writer(self, context: InitContext) -> Written:
        return self

    def write(self, value: object, timestamp: int | None) -> None:
        self.values.append(value)

    def flush(self, end_of_input: bool) -> None: ...

    def close(self) -> None: ...


def run_with_sink_in_chain(sink: Any, restarts: int = 0) -> tuple[JobExecutionResult, MemoryRecorder]:
    env = StreamExecutionEnvironment.get_execution_environment().set_max_parallelism(8)
    env.configure(interruptible_timers=True, restart_strategy=FixedDelayRestart(restarts, 0) if restarts else None)
    numbers = env.add_source(ScriptedSource([record(("a", number), number) for number in range(1, 11)]))
    storm = numbers.key_by(lambda pair: pair[0], Types.STRING()).process(Storm((3, 6), True)).name("storm")
    storm.map(lambda value: value).name("slow").cost(Duration.of_millis(1)).sink_to(sink).name("out")
    recorder = MemoryRecorder(Level.FULL)
    return MiniCluster(env.stream_graph("storm"), RunOptions(recorder=recorder)).run(), recorder


@pytest.mark.parametrize("restarts", [0, 1])
def test_sink_in_the_chain_of_consecutively_interrupted_timers_fails_the_job(restarts: int) -> None:
    """Real Flink 2.3.0: "IllegalStateException: Received element after endOfInput", in every attempt."""
    sink = Written()
    result, facts = run_with_sink_in_chain(sink, restarts)
    assert (result.status, result.restarts) == (JobStatus.FAILED, restarts)
    assert isinstance(result.error, JobFailed)
    message = str(result.error)
    assert "operator out, record 7" in message
    assert "ElementAfterEndOfInput: Received element after endOfInput: 7; an operator before it in the chain" in message
    assert sink.values == [1, 2, 3, 4, "mail", 5, 6, "mail"] * (1 + restarts)
    assert {each.law for each in check_all(facts, "failed") if each.verdict is Verdict.VIOLATED} == set()


def test_collect_sink_in_the_chain_takes_records_after_the_end_of_its_input() -> None:
    """Flink: CollectSinkOperator, which has no end of input."""
    sink = CollectSink()
    result, facts = run_with_sink_in_chain(sink)
    assert result.status is JobStatus.FINISHED
    assert sink.values() == [1, 2, 3, 4, "mail", 5, 6, "mail", 7, 8, 9, 10]
    assert violated(facts) == set()


def lost_rows() -> tuple[FactSet, list[dict[str, int | str]]]:
    """The facts of a run that loses rows, and its rows of ``sent`` after an END_OF_DATA, in order."""
    facts = FactSet(recorded_run(3, 6)[1])
    sent = facts.tables["sent"]
    ends = {row["channel"]: int(row["position"]) for row in sent if row["kind"] == ElementKind.END_OF_DATA}
    late = [
        row for row in sent
        if row["kind"] < ElementKind.END_OF_DATA and int(row["position"]) > ends[row["channel"]]
    ]  # fmt: skip
    return facts, late


def test_laws_allow_rows_after_end_of_data_and_their_last_watermark() -> None:
    facts, late = lost_rows()
    assert [row["kind"] for row in late] == [ElementKind.RECORD] * 4 + [ElementKind.WATERMARK]
    assert late[-1]["timestamp"] == MAX_WATERMARK
    assert violated(facts) == set()


def test_task_does_not_count_records_that_it_drops() -> None:
    """Real Flink 2.3.0: a sink that wrote and committed 955 of 2,000 rows has numRecordsIn 955."""
    heard, recorder = recorded_run(3, 6)
    facts = FactSet(recorder)
    assert len(heard) == 8
    assert [row["records_in"] for row in facts.tables["task_times"]] == [0, 10, 8]


@pytest.mark.parametrize(
    "changed",
    ["head without interruptible timers", "a row after the last watermark", "no last watermark", "one row more"],
)
def test_laws_notice_other_faults_at_the_end(changed: str) -> None:
    facts, late = lost_rows()
    *rows, last = late
    if changed == "head without interruptible timers":
        for operator in facts.tables["operators"]:
            operator["params"] = str(operator["params"]).replace("interruptible_timers", "x")
        expected = {"channel-end", "conservation", "end"}
    elif changed == "a row after the last watermark":
        last["position"], rows[-1]["position"] = rows[-1]["position"], last["position"]
        expected = {"channel-end"}
    elif changed == "no last watermark":
        last["timestamp"] = 11
        expected = {"end"}
    else:
        (sink,) = [row for row in facts.tables["operator_counts"] if row["records_in"] == 8 and not row["operator"]]
        sink["records_in"] = 9
        expected = {"conservation"}
    assert expected <= violated(facts)
