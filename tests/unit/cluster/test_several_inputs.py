"""Tasks with several inputs in whole jobs: turns, ends, gates united per input, stops (rules 4.8, 4.22, 7.11, 7.22-7.27)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_actions import StopJob
from flowsim.connectors.script import Entry, idle, record, sleep, watermark
from flowsim.errors import BadInput, JobFailed
from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, Level, LifeEvent
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.functions.co_process import CoMapOperator
from flowsim.operators.input_selection import InputSelection
from flowsim.operators.inputs.multiple_input import MultipleInputOperator
from flowsim.operators.inputs.reading_order import Reading, reading_order
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from tests.support.faults import Fault
from tests.support.jobs.small_jobs import SmallJob, by_key


class Tagging(MultipleInputOperator):
    """Emits what came and on which input, and the ends."""

    def process_element_of(self, input_id: int, value: Value, timestamp: int | None) -> None:
        self.output.collect((input_id, value), timestamp)

    def end_input_of(self, input_id: int) -> None:
        super().end_input_of(input_id)
        self.output.collect(("end", input_id), None)


def tagging(count: int = 2, reading: Reading = "any") -> Callable[[], StreamOperator]:
    return lambda: Tagging(count, reading_order(reading))


def violated(recorder: MemoryRecorder) -> list[object]:
    return [outcome for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED]


def letters(text: str) -> list[Entry]:
    return [record(letter) for letter in text]


def test_two_inputs_with_data_are_read_in_turn() -> None:
    """I7.f: both buffers are there before the reader starts, and it does not yield between records."""
    job = SmallJob(cost_ns=0)
    first, second = job.script(letters("abc")), job.script(letters("xyz"))
    arrivals = job.sink(job.inputs([first, second], tagging()))
    job.run()
    ends = [("end", 1), ("end", 2)]
    assert arrivals.values == [(1, "a"), (2, "x"), (1, "b"), (2, "y"), (1, "c"), (2, "z"), *ends]


def test_third_of_three_inputs_is_read_first() -> None:
    job = SmallJob(cost_ns=0)
    sources = [job.script(letters(text)) for text in ("ab", "mn", "xy")]
    arrivals = job.sink(job.inputs(sources, tagging(3)))
    job.run()
    assert arrivals.values[:6] == [(3, "x"), (1, "a"), (2, "m"), (3, "y"), (1, "b"), (2, "n")]


@pytest.mark.parametrize(
    ("reading", "order"),
    [("first", "abcxyz"), ("second", "xyzabc"), ("alternate", "axbycz")],
)
def test_input_selection_determines_reading_order(reading: Reading, order: str) -> None:
    job = SmallJob()
    first, second = job.script([sleep(20), *letters("abc")]), job.script(letters("xyz"))
    arrivals = job.sink(job.inputs([first, second], tagging(2, reading)))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    values = [value[1] for value in arrivals.values if value[0] != "end"]  # type: ignore[index]
    assert "".join(values) == order  # type: ignore[arg-type]
    assert violated(recorder) == []


def test_unselected_input_back_pressures_its_sender() -> None:
    job = SmallJob(segment_size_bytes=64, exclusive_buffers_per_channel=1, floating_buffers_per_gate=1)
    first = job.script([sleep(50), record("late")])
    second = job.values(lambda subtask: [f"{n:09}" for n in range(200)])
    arrivals = job.sink(job.inputs([first, second], tagging(2, "first")))
    result = job.run()
    assert arrivals.values[:2] == [(1, "late"), ("end", 1)]
    assert len(arrivals.values) == 203
    waiting = next(task for task in result.tasks if task.name.startswith("source") and task.records_out == 200)
    assert waiting.soft_backpressured_ns + waiting.hard_backpressured_ns > 49 * NS_PER_MS


def test_one_default_action_processes_one_element() -> None:
    job = SmallJob()
    first, second = job.script(letters("abc")), job.script(letters("xyz"))
    job.sink(job.inputs([first, second], tagging()))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    task = next(row[0] for row in recorder.static_rows("tasks") if row[3].startswith("inputs"))
    steps = [(row[0], "received") for row in recorder.rows("received") if row[1] == task]
    steps += [
        (row[0], "begin")
        for row in recorder.rows("actions")
        if row[1] == task and row[3] == ActionPhase.BEGIN and row[4] == ActionKind.DEFAULT_ACTION
    ]
    order = [what for _, what in sorted(steps)]
    assert order.count("received") == 12  # three letters, MAX_WATERMARK and two events on each input
    assert all(before == "begin" for before, what in pairwise(order) if what == "received")


def test_gates_of_one_input_are_united() -> None:
    job = SmallJob()
    a, b, c = (job.values(lambda subtask: ["v"], parallelism=width) for width in (2, 1, 3))
    arrivals = job.sink(job.inputs([[a, b], c], tagging(), by="REBALANCE", parallelism=2), by="GLOBAL")
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    tasks = {row[0]: row for row in recorder.static_rows("tasks")}
    into = [row for row in recorder.static_rows("channels") if tasks[row[4]][3].startswith("inputs")]
    for subtask in {row[4] for row in into}:
        assert tasks[subtask][-1] == 2
        assert sorted((row[5], row[6]) for row in into if row[4] == subtask) == [
            (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2),
        ]  # fmt: skip
    values = [value for value in arrivals.values if value[0] != "end"]  # type: ignore[index]
    assert sorted(values) == [(1, "v")] * 3 + [(2, "v")] * 3  # type: ignore[type-var]
    assert violated(recorder) == []


def test_operator_watermark_is_minimum_of_the_valves_of_its_inputs() -> None:
    job = SmallJob(buffer_timeout_ms=0)
    first = job.script([watermark(10), sleep(5), watermark(30)], [watermark(20), sleep(50)])
    second = job.script([sleep(2), watermark(15), sleep(9), watermark(40)])
    arrivals = job.sink(job.inputs([first, second], tagging(), by="GLOBAL"))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    emitted: dict[int, list[int]] = {0: [], 1: []}
    for row in recorder.rows("task_watermark"):
        if row[1] == next(t[0] for t in recorder.static_rows("tasks") if t[3].startswith("inputs")):
            emitted[row[3]].append(row[5])
    assert emitted == {0: [10, 20, MAX_WATERMARK], 1: [15, 40, MAX_WATERMARK]}
    assert [timestamp for _, timestamp in arrivals.watermarks] == [10, 15, 20, MAX_WATERMARK]
    assert violated(recorder) == []


def test_faulty_valve_of_one_input_breaks_the_valve_law() -> None:
    job = SmallJob()
    first = job.script([watermark(10), sleep(5), watermark(30)], [sleep(1), watermark(20), sleep(9)])
    second = job.script([sleep(2), watermark(15)])
    job.sink(job.inputs([first, second], tagging(), by="GLOBAL"))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder, faults=(Fault("valve_takes_maximum", "inputs"),))
    assert "valve" in [outcome.law for outcome in violated(recorder)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("fault", ["swap_elements", "duplicate_element", "corrupt_element"])
def test_channel_fault_of_one_input_breaks_channel_fifo(fault: str) -> None:
    job = SmallJob()
    first, second = job.script(letters("abc")), job.script(letters("xyz"))
    job.sink(job.inputs([first, second], tagging()))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder, faults=(Fault(fault, "inputs", channel=1, at=1),))
    assert "channel-fifo" in [outcome.law for outcome in violated(recorder)]  # type: ignore[attr-defined]


def test_stopped_task_processes_the_record_it_stops_at() -> None:
    job = SmallJob()
    first, second = job.script(letters("abc")), job.script(letters("xyz"))
    arrivals = job.sink(job.inputs([first, second], tagging()))
    job.run(faults=(Fault("stop_task", "inputs", at=3),))
    assert len(arrivals.values) == 3


def test_buffer_is_recycled_before_its_last_element_is_processed() -> None:
    """So that an input which is not selected any more holds no credit back."""
    job = SmallJob(segment_size_bytes=64, exclusive_buffers_per_channel=1, floating_buffers_per_gate=1)
    first = job.values(lambda subtask: ["x" * 60] * 8)
    second = job.script([sleep(30), record("late")])
    job.sink(job.inputs([first, second], tagging(2, "alternate")))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    by_input = {row[0]: row[5] for row in recorder.static_rows("channels")}
    second_came = next(
        row[2] for row in recorder.rows("received") if by_input[row[3]] == 1 and row[5] == ElementKind.RECORD
    )
    # One record was read, both buffers of its input are free again and filled anew while the task waits for the other.
    before = [row for row in recorder.rows("buffers") if row[2] < second_came and by_input[row[3]] == 0 and row[4] == 1]
    assert len(before) == 3


def test_task_becomes_idle_when_all_inputs_are_idle() -> None:
    job = SmallJob()
    first = job.script([watermark(10), idle(), sleep(20)])
    second = job.script([watermark(5), sleep(5), idle(), sleep(20)])
    job.sink(job.inputs([first, second], tagging()), chain=False)
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    sink = next(row[0] for row in recorder.static_rows("tasks") if row[3].startswith("sink"))
    heard = [(row[4], row[5]) for row in recorder.rows("task_watermark") if row[1] == sink]
    steering = [(ElementKind.WATERMARK, 5), (ElementKind.WATERMARK, 10), (ElementKind.STATUS, -1)]
    assert heard[:3] == steering
    assert violated(recorder) == []


def test_each_input_ends_once_and_operator_finishes_after_the_last() -> None:
    job = SmallJob()
    first, second = job.script([record("a")]), job.script([sleep(30), record("x")])
    arrivals = job.sink(job.inputs([first, second], tagging()))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    assert arrivals.values == [(1, "a"), ("end", 1), (2, "x"), ("end", 2)]
    task = next(row[0] for row in recorder.static_rows("tasks") if row[3].startswith("inputs"))
    steps = [LifeEvent(row[4]) for row in sorted(recorder.rows("lifecycle")) if row[1] == task and row[2] == 0]
    end, finish = LifeEvent.END_INPUT, LifeEvent.FINISH
    assert steps == [LifeEvent.OPEN, end, end, finish, LifeEvent.CLOSE]
    assert violated(recorder) == []


def test_stop_without_drain_sends_no_end_of_data_after_two_inputs() -> None:
    """Rule 4.22."""
    job = SmallJob()
    first, second = (job.script([record("a"), sleep(1000)]) for _ in range(2))
    arrivals = job.sink(job.inputs([first, second], tagging()), chain=False)
    recorder = MemoryRecorder(Level.FULL)
    result = job.run(recorder=recorder, actions=(StopJob(at_ns=50 * NS_PER_MS),))
    assert result.status is JobStatus.FINISHED
    assert arrivals.values == [(1, "a"), (2, "a")]
    task = next(row[0] for row in recorder.static_rows("tasks") if row[3].startswith("inputs"))
    sent = [ElementKind(row[5]) for row in recorder.rows("sent") if row[1] == task]
    assert sent == [ElementKind.RECORD, ElementKind.RECORD, ElementKind.END_OF_PARTITION]
    assert violated(recorder) == []


def test_stop_with_drain_ends_both_inputs() -> None:
    job = SmallJob()
    first, second = (job.script([record("a"), sleep(1000)]) for _ in range(2))
    arrivals = job.sink(job.inputs([first, second], tagging()), chain=False)
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder, actions=(StopJob(at_ns=50 * NS_PER_MS, drain=True),))
    assert arrivals.values == [(1, "a"), (2, "a"), ("end", 1), ("end", 2)]
    assert arrivals.watermarks == [(0, MAX_WATERMARK)]
    assert violated(recorder) == []


def test_selecting_only_finished_inputs_fails_the_job() -> None:
    class Stubborn(Tagging):
        def next_selection(self) -> InputSelection:
            return InputSelection.FIRST

    job = SmallJob()
    first, second = job.script([record("a")]), job.script([sleep(100), record("x")])
    job.sink(job.inputs([first, second], lambda: Stubborn(2)))
    result = job.run()
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, JobFailed)
    assert "all inputs that next_selection() selects are finished (rule 7.24)" in str(result.error)


def test_operator_with_wrong_number_of_inputs_is_refused() -> None:
    job = SmallJob()
    one = job.values(lambda subtask: ["a"])
    job.sink(job.inputs([one, one, one], lambda: CoMapOperator(str, str)))
    with pytest.raises(BadInput, match="operator 'inputs' has 2 inputs, the job feeds 3"):
        job.run()


def test_second_input_prevents_chaining_and_may_be_same_stream() -> None:
    job = SmallJob()
    one = job.values(lambda subtask: ["a", "b"])
    arrivals = job.sink(job.inputs([one, one], tagging()))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    assert [row[3] for row in recorder.static_rows("tasks")] == ["source (1/1)", "inputs -> sink (1/1)"]
    assert len(arrivals.values) == 6
    assert violated(recorder) == []


def test_alternating_selection_of_two_subtasks_can_deadlock() -> None:
    """As in Flink: each reader waits for the input whose sender waits for the other reader."""
    job = SmallJob(segment_size_bytes=64, exclusive_buffers_per_channel=1, floating_buffers_per_gate=1)
    first = job.values(lambda subtask: [(n % 2, "x" * 60) for n in range(200)])
    second = job.values(lambda subtask: [(n // 100, "x" * 60) for n in range(200)])
    by = by_key(lambda value: value[0] * 42, "LONG")  # type: ignore[index]  # keys 0 and 42: one subtask each
    job.sink(job.inputs([first, second], tagging(2, "alternate"), by=by, parallelism=2))
    result = job.run()
    assert result.status is JobStatus.DEADLOCKED
    assert "waits for a free output buffer" in result.report
    assert result.report.count("waits for input") >= 1


def test_same_streams_finish_when_all_inputs_are_selected() -> None:
    job = SmallJob(segment_size_bytes=64, exclusive_buffers_per_channel=1, floating_buffers_per_gate=1)
    first = job.values(lambda subtask: [(n % 2, "x" * 60) for n in range(200)])
    second = job.values(lambda subtask: [(n // 100, "x" * 60) for n in range(200)])
    by = by_key(lambda value: value[0] * 42, "LONG")  # type: ignore[index]  # keys 0 and 42: one subtask each
    arrivals = job.sink(job.inputs([first, second], tagging(), by=by, parallelism=2), parallelism=2)
    assert job.run().status is JobStatus.FINISHED
    assert len(arrivals.values) == 404
