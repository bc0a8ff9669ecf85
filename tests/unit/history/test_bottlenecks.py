"""The bottlenecks of a run one after another, compared with what tasks do at single moments."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import flowsim
from flowsim.history.bottlenecks import Stretch, bottlenecks
from flowsim.history.task_states import Doing, state_of
from flowsim.history.time_shares import times_of_tasks
from flowsim.units import NS_PER_MS
from flowsim.why.run_facts import RunFacts

SCENARIOS = Path(__file__).parents[3] / "scenarios"
MOMENTS_OF_A_PART = 40


def recorded(name: str, folder: Path) -> tuple[RunFacts, list[Stretch]]:
    flowsim.run_scenario(SCENARIOS / f"{name}.yaml", out=folder, record="full")
    facts = RunFacts(flowsim.open_recording(folder))
    return facts, bottlenecks(facts, times_of_tasks(facts), facts.start_ns, facts.end_ns)


def holds_up(facts: RunFacts, task: int, now_ns: int) -> bool:
    """Whether a task is busy at a moment, and a task before it back-pressured."""
    then = facts.until(now_ns)
    senders = {channel.source_task for channel in facts.graph.received_by(task)}
    waits = any(state_of(then, sender).doing in (Doing.SOFT, Doing.HARD) for sender in senders)
    return waits and state_of(then, task).doing is Doing.BUSY


def test_stretches_are_those_of_single_moments(tmp_path: Path) -> None:
    facts, found = recorded("48_moving_bottleneck", tmp_path)
    length_ns = (facts.end_ns - facts.start_ns) // 10

    winners = []
    for part in range(10):
        times = [
            facts.start_ns + part * length_ns + n * length_ns // MOMENTS_OF_A_PART for n in range(MOMENTS_OF_A_PART)
        ]
        counts = Counter({task: sum(holds_up(facts, task, now) for now in times) for task in facts.graph.tasks})
        ((task, count),) = counts.most_common(1)
        winners.append(task if count >= MOMENTS_OF_A_PART / 2 else None)

    parts = [(one.task, one.begin_ns, one.end_ns) for one in found]
    assert [facts.task(task) for task, _, _ in parts] == ["parsed (1/1)", "Sink: out (1/1)"]
    middles = [facts.start_ns + part * length_ns + length_ns // 2 for part in range(10)]
    assert [next((task for task, begin, end in parts if begin <= now < end), None) for now in middles] == winners
    assert all(holds_up(facts, one.task, sum(one.longest) // 2) for one in found)


@pytest.mark.parametrize(
    "name", ["03_slow_sink_backpressure", "06_one_slow_channel", "44a_rebalance_to_a_slow_subtask"]
)
def test_steady_bottleneck_is_one_stretch(name: str, tmp_path: Path) -> None:
    facts, found = recorded(name, tmp_path)
    assert len(found) == 1
    assert found[0].begin_ns == facts.start_ns
    assert found[0].end_ns - found[0].begin_ns > NS_PER_MS


def test_job_without_back_pressure_has_none(tmp_path: Path) -> None:
    assert recorded("02_wordcount_inline", tmp_path)[1] == []
