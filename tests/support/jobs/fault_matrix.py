"""One job, each fault in turn, and exactly the laws that must then be violated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, end, record, sleep, watermark
from flowsim.datastream import (
    AsyncDataStream,
    AsyncRetryStrategy,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessJoinFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    async_retry_predicates,
)
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from flowsim.datastream.window import EventTimeSessionWindows, TimeWindow, TumblingEventTimeWindows
from flowsim.facts.recorder import Recorder
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.stream_graph import StreamGraph
from flowsim.operators.async_wait.latency import RecordLatency
from flowsim.operators.async_wait.simulated_calls import SimulatedAsyncFunction, SomeCalls
from tests.support.faults import Fault
from tests.support.jobs.idle_channels import idle_channels
from tests.support.jobs.restarted_job import skewed_job

FLUSHED_MS = 250
"""Longer than the buffer timeout: after such a pause everything sent before has arrived."""


@dataclass(frozen=True)
class FaultCase:
    """A fault, and every law that it breaks; ``why`` gives the reason for laws other than the fault's own."""

    name: str
    fault: Fault | None
    laws: frozenset[str] = field(default_factory=frozenset)
    status: JobStatus = JobStatus.FINISHED
    why: str = ""
    job: Callable[[], StreamGraph] | None = None
    """None: ``fault_job``, which examines all laws but those of checkpoints."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How often the fault takes effect (in each channel, in each subtask, ...), where later facts follow from that: each
    effect is one violation of the law."""


def _case(
    name: str,
    operator: str,
    *laws: str,
    at: int = 0,
    status: JobStatus = JobStatus.FINISHED,
    why: str = "",
    **counts: int,
) -> FaultCase:
    """``counts``: by law, with underscores."""
    fault = Fault(name, operator=operator, at=at)
    of_laws = {law.replace("_", "-"): count for law, count in counts.items()}
    return FaultCase(f"{name} in {operator}", fault, frozenset(laws), status, why, counts=of_laws)


CASES = (
    FaultCase("none", None),
    _case("drop_element", "window", "channel-fifo", at=1, channel_fifo=4),
    _case("drop_element", "sink", "channel-fifo", at=1, channel_fifo=4),
    _case("duplicate_element", "window", "channel-fifo", at=1, channel_fifo=4),
    _case("swap_elements", "window", "channel-fifo", at=1),
    _case("corrupt_element", "window", "channel-fifo", at=1, channel_fifo=4),
    _case("valve_takes_maximum", "window", "valve"),
    FaultCase(
        "idle_valve_not_flushed in a job with idle channels", Fault("idle_valve_not_flushed"), frozenset({"valve"}),
        job=idle_channels,
    ),
    _case("window_loses_row", "window", "window-fire", window_fire=2),
    _case("window_fires_early", "window", "window-fire"),
    _case(
        "late_row_kept", "window", "late-rows", "lateness", "window-fire",
        why="the window that keeps the row fires once more, and fewer rows are dropped than were late",
    ),
    _case(
        "late_row_lost_early", "window", "late-rows", "lateness", "window-fire", "cleanup",
        why="its window fires without the row and has no timer, and more rows are dropped than were late",
    ),
    _case("session_loses_rows", "sessions", "window-fire", window_fire=2),
    _case("window_fires_twice", "window", "window-fire"),
    _case("purge_forgotten", "counts", "window-fire", window_fire=2),
    _case("cleanup_not_registered", "window", "cleanup"),
    _case("cleanup_left_at_merge", "sessions", "cleanup"),
    _case("join_forgets_bound", "pairs", "joins"),
    _case("join_repeats_pair", "pairs", "joins"),
    _case("window_join_forgets_pair", "window pairs", "window-joins", window_joins=1),
    _case("window_join_repeats_pair", "window pairs", "window-joins", window_joins=1),
    _case("timer_fires_twice", "reminders", "timers"),
    _case("timer_fires_early", "reminders", "timers"),
    _case("timer_lost", "reminders", "timers"),
    _case("timer_under_wrong_key", "reminders", "timers"),
    _case("processing_time_timer_lost", "alarms", "timers"),
    _case("timer_lost", "alarms", "timers"),
    _case("state_removal_ignored", "tallies", "state"),
    _case("state_value_not_read", "tallies", "state"),
    _case("state_never_expires", "tallies", "state"),
    _case("watermark_too_high", "Source: ticks", "task-watermark"),
    _case("periodic_emit_skipped", "Source: ticks", "task-watermark"),
    _case("periodic_emit_skipped", "Source: splits", "task-watermark"),
    _case("idle_splits_not_flushed", "Source: splits", "task-watermark"),
    _case("idle_split_holds_back", "Source: splits", "task-watermark"),
    _case("idleness_never_declared", "Source: ticks", "idle"),
    _case("idleness_never_declared", "Source: splits", "idle"),
    _case("idle_but_speaking", "Source: ticks", "idle"),
    _case("idle_under_back_pressure", "Source: bursts", "idle"),
    _case("idle_clock_stuck", "Source: bursts", "idle"),
    _case(
        "never_active_again", "Source: ticks", "idle", "task-watermark",
        why="an output that is idle drops the watermarks that its strategy makes",
    ),
    _case("late_row_vanishes", "window", "lateness", "late-rows", why="what is not dropped is missing among the drops"),
    _case("misroute_keys", "map", "key-routing", "timers", why="the windows of a key have their timers where it went"),
    _case("rebalance_skips_channel", "window", "distribution", at=2),
    _case("forward_over_several_channels", "Source: ticks", "distribution"),
    _case("watermark_goes_back", "map", "watermark-monotone", at=2),
    _case(
        "watermark_after_end_of_data", "map", "channel-end", "watermark-monotone",
        why="after MAX_WATERMARK no watermark is higher",
    ),
    _case("lose_record_in_chain", "map", "conservation", at=3),
    _case("send_without_credit", "map", "credits", credits=8),
    _case("lose_credit", "map", "credits", credits=1),
    _case("leak_segment", "map", "segments", segments=4),
    _case("backlog_counts_events", "map", "backlog"),
    _case("backlog_before_flush", "map", "backlog"),
    _case("empty_buffer_sent", "map", "backlog"),
    _case("notification_late", "map", "progress", progress=8),
    _case("notifications_lost", "map", "progress", status=JobStatus.DEADLOCKED),
    _case(
        "received_buffer_leaks", "map", "in-flight", "progress",
        why="what is never recycled counts as input that was not read", in_flight=8, progress=4,
    ),
    _case("credit_from_nowhere", "map", "in-flight", in_flight=8),
    _case("mail_overtakes", "window", "mails"),
    _case("mail_joins_batch", "window", "fairness"),
    _case("batch_interrupted", "window", "fairness"),
    _case("yield_runs_any_mail", "window", "mails"),
    _case("finish_before_end_input", "window", "life-cycle"),
    _case("close_twice", "window", "life-cycle", life_cycle=2),
    _case("drain_without_max_watermark", "map", "end"),
    _case("async_watermark_overtakes", "asked", "async-order"),
    _case("async_out_of_order", "answered", "async-order"),
    _case(
        "async_segment_dropped", "asked", "async-order", "async-once", "async-capacity", "async-timers",
        why="what was dropped is never emitted, counts no longer, and still waits for its timeout when the input ends",
        async_capacity=4, async_once=4,
    ),
    _case(
        "async_outcome_forgotten", "asked", "async-order", "progress", status=JobStatus.DEADLOCKED,
        why="its element is never done, so the end of the input waits for ever: a deadlock",
    ),
    _case(
        "async_element_not_put", "asked", "async-order", "conservation",
        why="it was counted as one that the operator took",
    ),
    _case(
        "async_head_lost", "asked", "async-once", "async-order", "async-capacity",
        why="what comes after it has passed it, and it counts no longer", async_capacity=1, async_once=1, async_order=1,
    ),
    _case("async_emits_twice", "asked", "async-once", "conservation", why="more is handed on than is emitted"),
    _case("async_emits_twice", "answered", "async-once", "conservation", why="more is handed on than is emitted"),
    _case("async_results_swapped", "asked", "async-once"),
    _case(
        "async_emits_unfinished", "answered", "async-once", "async-timers",
        why="the timer of a record ends with its results",
    ),
    _case("async_times_out_the_done", "answered", "async-once"),
    _case("async_over_capacity", "answered", "async-capacity"),
    _case("async_calls_again", "asked", "async-retries"),
    _case("async_record_reused", "asked", "async-payload"),
    _case("async_timer_kept", "answered", "async-timers"),
    _case("async_emits_after_end", "asked", "async-end"),
    _case("async_watermark_withheld", "answered", "task-watermark"),
    _case("reenter_action", "window", "actions"),
    FaultCase(
        "resume_not_woken in a job with checkpoints", Fault("resume_not_woken"), frozenset({"progress"}), JobStatus.FAILED,
        job=skewed_job,
    ),
    _case(
        "input_never_empty", "window", "progress", status=JobStatus.FAILED,
    ),
    _case("stop_task", "window", "progress", status=JobStatus.STOPPED, why="it rests although its input waits",
          progress=2),
)  # fmt: skip


class CountOfWindow(ProcessWindowFunction[tuple[str, int], tuple[str, int, int], str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[tuple[str, int]]
    ) -> Iterable[tuple[str, int, int]]:
        yield key, context.window().start, len(list(elements))


class Reminders(KeyedProcessFunction):
    """A result passes by some time after it; every other one sets no reminder but takes one back."""

    def process_element(
        self, value: tuple[str, int, int], ctx: KeyedProcessFunction.Context
    ) -> Iterable[tuple[str, int]]:
        _, start, count = value
        timers = ctx.timer_service()
        if start % 30 == 0:
            timers.delete_event_time_timer(start + 24)
        else:
            timers.register_event_time_timer(start + 4 + 10 * count)
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[tuple[str, int]]:
        yield ctx.get_current_key(), timestamp


def scripts() -> list[list[Entry]]:
    """Two subtasks: rounds of records of four keys out of order, a watermark, a pause, then a row that is late."""
    made: list[list[Entry]] = [[], []]
    for number in range(8):
        for subtask, script in enumerate(made):
            start = number * 20
            for offset in (3, 17, 8, 12, 1):
                script.append(record(("abcd"[(offset + subtask) % 4], number), start + offset))
            script.append(watermark(start + 14 - 2 * subtask))
            script.append(record(("abcd"[number % 4], number), start + 19))
            script.append(watermark(start + 18 + subtask))
            script.append(sleep(FLUSHED_MS))
            script.append(record(("abcd"[number % 4], -number), start - 5))
    return made


def ticks() -> list[Entry]:
    """Records for a strategy: some rounds, a time in which it becomes idle, and one more round."""
    rounds = [(number, 50 * number) for number in range(4)]
    before = [entry for number, at in rounds for entry in (record(("t", number), at), sleep(FLUSHED_MS))]
    return [*before, sleep(4 * FLUSHED_MS), record(("t", 4), 500), sleep(FLUSHED_MS)]


def splits() -> list[Entry]:
    """Two splits that become idle, first both and later one of them; the slower one ends before the other."""
    both = [record(("a", 1), 100, split="p"), record(("b", 2), 50, split="q"), sleep(8 * FLUSHED_MS)]
    ahead = [record(("a", 3), 200, split="p"), sleep(FLUSHED_MS), record(("a", 4), 300, split="p"), sleep(FLUSHED_MS)]
    last = [record(("b", 5), 350, split="q"), record(("a", 6), 400, split="p"), sleep(FLUSHED_MS), end(split="q")]
    return [*both, *ahead, *last, sleep(FLUSHED_MS)]


def bursts() -> list[Entry]:
    """More big records than the buffers can hold, for a slow reader, and then none for a long time."""
    return [*(record(("b" * 30_000, number), 10 * number) for number in range(40)), sleep(60_000)]


def questions() -> list[Entry]:
    """Questions with how long the first and the second call over each take, in ms: some overtake others, one needs a second
    attempt and one is never answered in time; the last one of all is slow, and the others wait for it."""
    first = [record(("a", 30, 2), 1), record(("b", 5, 40), 2), record(("again", 8, 1), 3), watermark(2), sleep(1)]
    second = [record(("c", 20, 25), 4), record(("d", 3, 1), 5), record(("e", 9, 1), 6), watermark(5)]
    third = [record(("f", 2, 60), 7), record(("late", 900, 1), 8), watermark(7), record(("g", 4, 4), 9)]
    last = [record(("h", 40, 50), 10), record(("i", 5, 5), 11), watermark(10)]
    return [*first, *second, sleep(FLUSHED_MS), *third, sleep(4 * FLUSHED_MS), *last]


def asked_and_answered(env: StreamExecutionEnvironment) -> DataStream:
    """Two async operators in one chain: ``asked`` is unordered and tries again, ``answered`` is ordered; both soon full."""
    first = SimulatedAsyncFunction(
        lambda question: [question] if question[0] == "d" else [question, (question[0] + "'", *question[1:])],
        RecordLatency(lambda question: question[1]),
        failure=SomeCalls(when=lambda question: question[0] == "again", first_attempts=1),
        on_timeout=lambda question: [],
    )  # fmt: skip
    second = SimulatedAsyncFunction(lambda question: [question[0]], RecordLatency(lambda question: question[2]))
    again = AsyncRetryStrategy.fixed_delay(2, 5, exception_predicate=async_retry_predicates.has_exception_predicate)
    asked = AsyncDataStream.unordered_wait_with_retry(
        env.add_source(ScriptedSource(questions())).rebalance(), first, Time.milliseconds(500), again, 3
    )
    return AsyncDataStream.ordered_wait(asked.name("asked"), second, Time.seconds(2), 3).name("answered")


class Alarms(KeyedProcessFunction):
    """A result passes by some time after it on the clock."""

    def process_element(
        self, value: tuple[str, int, int], ctx: KeyedProcessFunction.Context
    ) -> Iterable[tuple[str, int]]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 3 * value[2])
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[tuple[str, int]]:
        yield ctx.get_current_key(), timestamp


class Tallies(KeyedProcessFunction):
    """Counts results in a state, keeps two of them in a map, and the counts of a short time in a list."""

    def open(self, runtime_context: RuntimeContext) -> None:
        recent = ListStateDescriptor("recent", Types.LONG())
        recent.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(2 * FLUSHED_MS)).build())
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.kept = runtime_context.get_map_state(MapStateDescriptor("kept", Types.LONG(), Types.LONG()))
        self.recent = runtime_context.get_list_state(recent)

    def process_element(
        self, value: tuple[str, int, int], ctx: KeyedProcessFunction.Context
    ) -> Iterable[tuple[str, int, int, int]]:
        _, start, rows = value
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.kept.put(count, start)
        self.kept.remove(count - 2)
        self.recent.add(rows)
        yield value[0], count, len(self.kept.keys()), sum(self.recent.get())


class Pairs(ProcessJoinFunction):
    def process_element(
        self, left: tuple[str, int], right: tuple[str, int], ctx: ProcessJoinFunction.Context
    ) -> Iterable[tuple[int, int]]:
        yield left[1], right[1]


def joined(env: StreamExecutionEnvironment) -> tuple[DataStream, DataStream]:
    """Two scripts of records every 5 ms of event time: joined where a right one is up to 5 ms away from a left one, and in
    windows of 10 ms."""
    sides = []
    for name, step in (("left", 1), ("right", -1)):
        rounds = [[record(("k", 10 * number + at), 10 * number + at) for at in (0, 5)[::step]] for number in range(4)]
        entries = [(*records, watermark(10 * number), sleep(FLUSHED_MS)) for number, records in enumerate(rounds)]
        source = env.add_source(ScriptedSource([entry for each in entries for entry in each]), name)
        sides.append(source.key_by(lambda pair: pair[0], Types.STRING()))
    five = Duration.of_millis(5)
    in_intervals = sides[0].interval_join(sides[1]).between(Duration.of_millis(-5), five).process(Pairs())
    both = sides[0].join(sides[1]).where(lambda pair: pair[0], Types.STRING()).equal_to(lambda pair: pair[0])
    in_windows = both.window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
    pairs = in_windows.apply(lambda left, right: (left[1], right[1]))
    return in_intervals.name("pairs"), pairs.name("window pairs")


def fault_job() -> StreamGraph:
    """source -> map, keyed by the first field, 2 x 2 channels, tumbling windows of 10 ms, whose results set timers, are
    counted in twos and in states, and sessions; a sink behind each. Beside it a source with a strategy that becomes idle,
    one with two splits, one whose records two async operators ask about, and two that are joined in intervals and in
    windows."""
    env = StreamExecutionEnvironment.get_execution_environment().set_max_parallelism(8)
    mapped = env.add_source(ScriptedSource(*scripts())).map(lambda pair: (pair[0], pair[1] + 1))
    keyed = mapped.set_parallelism(2).name("map").key_by(lambda pair: pair[0], Types.STRING())
    late = OutputTag("late")
    windows = keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(10))).allowed_lateness(3)
    counted = windows.side_output_late_data(late).process(CountOfWindow()).set_parallelism(2).name("window")
    counted.rebalance().sink_to(CollectSink()).set_parallelism(2).name("sink")
    results = counted.key_by(lambda result: result[0], Types.STRING())
    reminders = results.process(Reminders()).set_parallelism(2).name("reminders")
    reminders.sink_to(CollectSink()).name("reminder sink")
    results.process(Alarms()).set_parallelism(2).name("alarms").sink_to(CollectSink()).name("alarm sink")
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Duration.of_millis(6))).allowed_lateness(2)
    sessions = sessions.process(CountOfWindow())
    sessions.set_parallelism(2).name("sessions").sink_to(CollectSink()).name("session sink")
    counts = results.count_window(2).reduce(lambda first, second: (first[0], first[1], first[2] + second[2]))
    counts.set_parallelism(2).name("counts").sink_to(CollectSink()).name("count sink")
    tallies = results.process(Tallies()).set_parallelism(2).name("tallies")
    tallies.sink_to(CollectSink()).name("tally sink")
    counted.get_side_output(late).sink_to(CollectSink()).name("late sink")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
    strategy = strategy.with_idleness(Duration.of_millis(FLUSHED_MS))
    ticking = env.from_source(ScriptedSource(ticks()), strategy, "ticks").rebalance()
    ticking.sink_to(CollectSink()).set_parallelism(2).name("tick sink")
    split = env.from_source(ScriptedSource(splits()), strategy, "splits").rebalance()
    split.sink_to(CollectSink()).set_parallelism(2).name("split sink")
    bursting = env.from_source(ScriptedSource(bursts()), strategy, "bursts").rebalance()
    bursting.map(lambda pair: pair[1]).name("slow").cost(1_000_000_000).sink_to(CollectSink()).name("slow sink")
    asked_and_answered(env).rebalance().sink_to(CollectSink()).name("answer sink")
    in_intervals, in_windows = joined(env)
    in_intervals.sink_to(CollectSink()).name("pair sink")
    in_windows.sink_to(CollectSink()).name("window pair sink")
    return env.stream_graph("faults")


def run_case(case: FaultCase, recorder: Recorder) -> JobExecutionResult:
    """Runs the job with the fault of one case switched on."""
    faults = () if case.fault is None else (case.fault,)
    return MiniCluster((case.job or fault_job)(), with_faults(RunOptions(recorder=recorder), faults)).run()
