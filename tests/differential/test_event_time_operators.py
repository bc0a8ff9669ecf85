"""The source operator, and the one that assigns timestamps, beside the real ones (rules 8.1-8.8, 8.22-8.24)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.events import StopMode
from flowsim.testing.harness import Emitted, OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.user_generator import AnyGenerator
from flowsim.watermark.watermark_strategy import WatermarkAlignmentParams, WatermarkStrategy
from tests.support.flink.machine import Differential, DifferentialMachine

SPLITS = ("a", "b", "c")
TIMESTAMPS = st.one_of(st.integers(-5, 120), st.sampled_from([NO_TIMESTAMP, NO_TIMESTAMP + 3, 10**6]))
WATERMARKS = st.one_of(st.integers(-5, 120), st.sampled_from([NO_TIMESTAMP, MAX_WATERMARK]))
KINDS = st.sampled_from(["bounded", "monotonous", "punctuated", "none"])


class Punctuated:
    """The same rules as the generator of ``flowsim.differential.Strategies``."""

    def on_event(self, event: object, timestamp: int, output: Any) -> None:
        if timestamp % 3 == 0:
            output.emit_watermark(timestamp)
        elif timestamp % 7 == 0:
            output.mark_idle()
        elif timestamp % 11 == 0:
            output.mark_active()

    def on_periodic_emit(self, output: Any) -> None:
        """Nothing."""


def punctuated() -> AnyGenerator:
    return Punctuated()


def strategy_of(kind: str, bound: int, idle_ms: int, drift_ms: int, interval_ms: int) -> WatermarkStrategy:
    made = {
        "bounded": lambda: WatermarkStrategy.for_bounded_out_of_orderness(bound),
        "monotonous": WatermarkStrategy.for_monotonous_timestamps,
        "punctuated": lambda: WatermarkStrategy.for_generator(punctuated),
        "none": WatermarkStrategy.no_watermarks,
    }[kind]()
    made = made.with_timestamp_assigner(lambda value, timestamp: timestamp)
    if idle_ms >= 0:
        made = made.with_idleness(idle_ms)
    if drift_ms >= 0:
        made = made.with_watermark_alignment(WatermarkAlignmentParams("group", drift_ms, interval_ms))
    return made


def heard(emitted: list[Emitted]) -> list[str]:
    lines = []
    for one in emitted:
        match one:
            case ("rec", value, timestamp):
                lines.append(f"rec {value} {timestamp}")
            case ("wm", timestamp):
                lines.append(f"wm {timestamp}")
            case ("st", status):
                lines.append(f"st {status.name}")
            case other:
                raise AssertionError(other)
    return lines


class PlayedReader:
    """Plays the items it is given, as the reader of the probe does."""

    hands_over = False
    wake_time_ns = None

    def __init__(self, log: list[str]) -> None:
        self.items: list[str] = []
        self.log = log

    def open(self, ctx: OperatorContext) -> None:
        self.clock = ctx.clock

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        while self.items:
            words = self.items.pop(0).split(" ")
            if words[0] == "end":
                return DataInputStatus.END_OF_DATA
            target = output if words[1] == "-" else output.create_output_for_split(words[1])
            match words[0]:
                case "record":
                    target.collect(words[2], int(words[2]))
                case "watermark":
                    target.emit_watermark(int(words[2]))
                case "idle":
                    target.mark_idle()
                case "active":
                    target.mark_active()
                case "release":
                    output.release_output_for_split(words[1])
            if self.items and self.clock.now_ns >= self.clock.batch_end_ns:
                return DataInputStatus.MORE_AVAILABLE
        return DataInputStatus.NOTHING_AVAILABLE

    def pause_or_resume_splits(self, splits_to_pause: Any, splits_to_resume: Any) -> None:
        self.log.append(f"pause [{', '.join(sorted(splits_to_pause))}] resume [{', '.join(sorted(splits_to_resume))}]")

    def close(self) -> None:
        """Nothing is held."""


class _Log(list[str]):
    """What is emitted, reported and paused, in one order."""


class SourceOperatorMachine(DifferentialMachine):
    """One source of each with several splits, under alignment or not; time, back pressure and announcements come as they like."""

    subject = "SourceOperator"

    @initialize(
        kind=KINDS, bound=st.sampled_from([0, 5, 20]), idle_ms=st.sampled_from([-1, -1, 30, 100]),
        drift_ms=st.sampled_from([-1, 0, 10, 10]), interval_ms=st.sampled_from([20, 30, 50]),
        period_ms=st.sampled_from([0, 10, 20, 25]), samples=st.sampled_from([0, 0, 1, 3]),
    )  # fmt: skip
    def begin(
        self, kind: str, bound: int, idle_ms: int, drift_ms: int, interval_ms: int, period_ms: int, samples: int
    ) -> None:  # fmt: skip
        described = (kind, bound, idle_ms, drift_ms, interval_ms)
        theirs = self.flink.java.flowsim.differential.Strategies.of(*described)
        probe = self.flink.java.org.apache.flink.streaming.api.operators.EventTimeSource
        self.real = probe(theirs, period_ms, samples)
        self.log = _Log()
        self.reader = PlayedReader(self.log)
        strategy = strategy_of(*described)
        self.ours = SourceOperator(self.reader, strategy, period_ms, 0, samples)
        self.harness = OneInputOperatorHarness(self.ours)
        self.aligned = drift_ms >= 0
        if self.ours.alignment is not None:
            self.ours.alignment.report = lambda watermark: self.note(f"report {watermark}")
        self.harness.__enter__()
        self.now_ms, self.ended, self.stopped = 1, False, False
        self.known: set[str] = set()
        self.pressure: set[str] = set()
        original = self.reader.pause_or_resume_splits

        def pause_or_resume(to_pause: Any, to_resume: Any) -> None:
            self.drain()
            original(to_pause, to_resume)

        self.reader.pause_or_resume_splits = pause_or_resume  # type: ignore[method-assign]
        # A task polls its source as soon as it is open, and only then has the real one outputs.
        self.act("poll", "")

    def drain(self) -> None:
        self.log.extend(heard(self.harness.take_output()))

    def note(self, line: str) -> None:
        self.drain()
        self.log.append(line)

    def act(self, command: str, argument: object) -> None:
        self.both(lambda: self.real.act(command, str(argument)), lambda: self.answer(command, str(argument)))

    def answer(self, command: str, argument: str) -> str:
        self.log.clear()
        match command:
            case "poll":
                self.reader.items.extend(argument.split(",") if argument else [])
                self.poll()
            case "advance":
                self.harness.set_processing_time(int(argument))
            case "announce":
                self.ours.announce_limit(int(argument))
            case "stop":
                self.ours.stop(StopMode[argument])
            case _:
                clock = self.ours.input_activity_clock
                assert clock is not None
                (clock.pause if argument == "start" else clock.un_pause)()
        self.drain()
        waits = self.ours.alignment is not None and self.ours.alignment.is_waiting
        return f"{';'.join(self.log)}|{str(waits).lower()}"

    def poll(self) -> None:
        status = DataInputStatus.MORE_AVAILABLE
        while status is DataInputStatus.MORE_AVAILABLE:
            self.harness.clock.batch_end_ns = MAX_WATERMARK
            status = self.ours.poll_next()
        self.note(status.name)

    @precondition(lambda self: not self.pressure)
    @rule(data=st.data())
    def poll_items(self, data: st.DataObject) -> None:
        items = [self.item(data) for _ in range(data.draw(st.integers(0, 4)))]
        if not self.ended and not self.stopped:
            self.act("poll", ",".join(items))

    def item(self, data: st.DataObject) -> str:
        split = data.draw(st.sampled_from(("-", *SPLITS, *SPLITS)))
        kind = data.draw(st.sampled_from(["record"] * 6 + ["watermark", "idle", "active", "release", "make"]))
        if kind == "release" and split not in self.known:
            kind = "make"
        if split != "-":
            (self.known.discard if kind == "release" else self.known.add)(split)
        timestamp = data.draw(TIMESTAMPS if kind == "record" else WATERMARKS)
        return f"{kind} {split} {timestamp}" if kind in ("record", "watermark") else f"{kind} {split}"

    @rule(step_ms=st.integers(0, 130))
    def time_passes(self, step_ms: int) -> None:
        self.now_ms += step_ms
        self.act("advance", self.now_ms)

    @precondition(lambda self: self.aligned)
    @rule(limit=WATERMARKS)
    def announce(self, limit: int) -> None:
        self.act("announce", limit)

    @rule(which=st.sampled_from(["soft", "hard"]))
    def back_pressure(self, which: str) -> None:
        starts = which not in self.pressure
        (self.pressure.add if starts else self.pressure.discard)(which)
        self.act(which, "start" if starts else "end")

    @precondition(lambda self: not self.ended and not self.stopped and not self.pressure)
    @rule(dice=st.integers(0, 7))
    def end(self, dice: int) -> None:
        """The data ends; the poll after it reports for the last time."""
        if dice == 0:
            self.act("poll", "end -")
            self.ended = not (self.ours.alignment is not None and self.ours.alignment.is_waiting)
            if self.ended:
                self.act("poll", "")

    @precondition(lambda self: not self.ended and not self.stopped and not self.pressure)
    @rule(mode=st.sampled_from(["DRAIN", "NO_DRAIN"]), dice=st.integers(0, 7))
    def stop(self, mode: str, dice: int) -> None:
        if dice == 0:
            self.act("poll", "")
            self.act("stop", mode)
            self.act("poll", "")
            self.act("poll", "")
            self.stopped = True

    def teardown(self) -> None:
        if hasattr(self, "harness"):
            self.harness.__exit__(None, None, None)


def test_source_operator_equals_flinks(differential: Differential) -> None:
    differential.run(SourceOperatorMachine, examples=60, steps=40)


class TimestampsAndWatermarksMachine(DifferentialMachine):
    """One operator of each, fed with records, watermarks and statuses while time passes or stands still."""

    subject = "TimestampsAndWatermarksOperator"

    @initialize(
        kind=KINDS, bound=st.sampled_from([0, 5, 20]), idle_ms=st.sampled_from([-1, 30, 100]),
        period_ms=st.sampled_from([0, 10, 20, 25]),
    )  # fmt: skip
    def begin(self, kind: str, bound: int, idle_ms: int, period_ms: int) -> None:
        theirs = self.flink.java.flowsim.differential.Strategies.of(kind, bound, idle_ms, -1, 0)
        probe = self.flink.java.org.apache.flink.streaming.runtime.operators.EventTimeOperator
        self.real = probe(theirs, period_ms)
        self.ours = TimestampsAndWatermarksOperator(strategy_of(kind, bound, idle_ms, -1, 0), period_ms)
        self.harness = OneInputOperatorHarness(self.ours)
        self.harness.__enter__()
        self.now_ms, self.pauses = 1, 0

    def act(self, command: str, argument: int) -> None:
        self.both(lambda: self.real.act(command, argument), lambda: self.answer(command, argument))

    def answer(self, command: str, argument: int) -> str:
        match command:
            case "record":
                self.harness.process_element(argument, argument)
            case "watermark":
                self.harness.process_watermark(argument)
            case "status":
                self.harness.process_watermark_status(WatermarkStatus.IDLE if argument < 0 else WatermarkStatus.ACTIVE)
            case "advance":
                self.harness.set_processing_time(argument)
            case "pause":
                self.ours.input_activity_clock.pause()
            case "un_pause":
                self.ours.input_activity_clock.un_pause()
            case _:
                self.ours.finish()
        return ";".join(heard(self.harness.take_output()))

    @rule(timestamp=TIMESTAMPS)
    def record(self, timestamp: int) -> None:
        self.act("record", timestamp)

    @rule(timestamp=WATERMARKS)
    def watermark(self, timestamp: int) -> None:
        self.act("watermark", timestamp)

    @rule(status=st.sampled_from([-1, 0]))
    def status(self, status: int) -> None:
        self.act("status", status)

    @rule(step_ms=st.integers(0, 130))
    def time_passes(self, step_ms: int) -> None:
        self.now_ms += step_ms
        self.act("advance", self.now_ms)

    @rule(ends=st.booleans())
    def back_pressure(self, ends: bool) -> None:
        if ends and self.pauses:
            self.pauses -= 1
            self.act("un_pause", 0)
        elif not ends:
            self.pauses += 1
            self.act("pause", 0)

    @rule()
    def finish(self) -> None:
        self.act("finish", 0)

    def teardown(self) -> None:
        if hasattr(self, "harness"):
            self.harness.__exit__(None, None, None)


def test_timestamps_and_watermarks_operator_equals_flinks(differential: Differential) -> None:
    differential.run(TimestampsAndWatermarksMachine, examples=60, steps=40)
