"""Waits of tasks, and the fill of async queues, from the facts of small runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.facts.kinds import Level
from flowsim.recording.reader import Recording
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario, load_text
from flowsim.scenario.runner import run_compiled
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.studies.task_waits import ALIGNMENT, ANSWERS, OWN_DATA, TaskWaits, Wait, task_waits

SCENARIOS = Path(__file__).parents[3] / "scenarios"

# The queue is empty from 100 or 200 ms, by its capacity, until the source goes on at 800 ms; c and MAX are in it then.
ASYNC = """\
flowsim: 1
name: asks
settings: {cost: 0, buffer_timeout: 0}
sources:
  words:
    script:
      fields: {word: string}
      subtasks: [[{record: [a]}, {record: [b]}, {sleep: 800 ms}, {record: [c]}]]
operators:
  asked:
    input: words
    chaining: never
    async: {select: {word: word}, mode: ordered, latency: 100 ms, capacity: CAPACITY, timeout: never}
sinks: {out: {input: asked, collect: {}}}
"""


def waits_of(scenario: str | Path, out: Path, until_ns: int | None = None) -> TaskWaits:
    loaded = load_scenario(scenario) if isinstance(scenario, Path) else load_text(scenario, "asks.yaml", out)
    compiled = compile_scenario(loaded, out_dir=out / "run")
    result = run_compiled(compiled, out=out / "run", record=Level.ELEMENTS, until_ns=until_ns).result
    return task_waits(Recording.open(out / "run" / "recording"), result.tasks, START_NS + result.elapsed_ns)


@pytest.mark.parametrize(
    ("capacity", "peak", "mean", "full"),
    # Over 900 ms: two elements for 200 ms; with capacity 1 one element for 300 ms.
    [(5, 2, 0.4444, 0.0), (2, 2, 0.4444, 0.2222), (1, 1, 0.3333, 0.3333)],
)
def test_async_queue_has_peak_mean_and_full_share(
    capacity: int, peak: int, mean: float, full: float, tmp_path: Path
) -> None:
    (queue,) = waits_of(ASYNC.replace("CAPACITY", str(capacity)), tmp_path).queues
    assert (queue.operator, queue.task, queue.capacity) == ("asked", "asked (1/1)", capacity)
    assert (queue.peak, queue.mean, queue.full_share) == (peak, mean, full)


def test_idle_task_waits_for_answers_or_input(tmp_path: Path) -> None:
    waits = waits_of(ASYNC.replace("CAPACITY", "5"), tmp_path)
    source, asked, _ = waits.waits
    assert source == (Wait(OWN_DATA, 1.0),)
    # 100 ms for a and b, 700 ms until c. At the end of input the operator yields until c is answered, which is busy time.
    assert asked == (Wait("input from Source: words (1/1)", 0.7778), Wait(ANSWERS, 0.1111))


def test_queue_filled_when_run_stops_counts_to_the_end(tmp_path: Path) -> None:
    endless = ASYNC.replace("CAPACITY", "5").replace("latency: 100 ms", "latency: 1 h")
    waits = waits_of(endless, tmp_path, until_ns=500_000_000)
    (queue,) = waits.queues
    assert (queue.peak, queue.mean, queue.held_ns) == (2, 2.0, 500_000_000)
    assert waits.waits[1] == (Wait(ANSWERS, 1.0),)


def test_task_with_open_windows_waits_for_sender_without_watermark(tmp_path: Path) -> None:
    waits = waits_of(SCENARIOS / "11a_silent_partition.yaml", tmp_path)
    assert waits.waits[-1] == (Wait("a first watermark from Source: empty -> stamped_empty (1/1)", 1.0),)


def test_source_ahead_waits_for_alignment(tmp_path: Path) -> None:
    waits = waits_of(SCENARIOS / "22_watermark_alignment.yaml", tmp_path)
    assert [wait.reason for wait in waits.waits[1]] == [ALIGNMENT, OWN_DATA]
    assert waits.waits[1][0].share > 0.5


def test_back_pressured_task_waits_for_credits_of_receiver(tmp_path: Path) -> None:
    waits = waits_of(SCENARIOS / "03_slow_sink_backpressure.yaml", tmp_path, until_ns=100_000_000)
    (wait,) = waits.waits[0]
    assert wait.reason == "credits of Sink: slow (1/1)"
    assert wait.share > 0.8
