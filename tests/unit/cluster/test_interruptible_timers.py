"""Interruptible timers in running jobs (rule 9.18), and what Flink 2.3.0 loses by them at the end of the input."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Types
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder

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


def run(*after_ms: int, gives_way: bool = True, of_job: bool = True) -> tuple[list[object], set[str]]:
    """What arrives downstream, and the laws that are broken. A timer's result takes 1 ms in the rest of the chain."""
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
    broken = {outcome.law for outcome in check_all(recorder, "complete") if outcome.verdict is Verdict.VIOLATED}
    return heard.values(), broken


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
    assert broken == {"channel-end", "conservation", "end"}
