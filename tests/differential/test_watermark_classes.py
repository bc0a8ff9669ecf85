"""The classes of event time beside the real ones (rules 8.1-8.16, 8.22, 8.23)."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from flowsim.cluster.watermark_alignment import SourceCoordinator, WatermarkAggregator
from flowsim.operators.sources.source_alignment import WatermarkSampler
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.watermark.combined_watermark_status import IndexedCombinedWatermarkStatus
from flowsim.watermark.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    WatermarkGenerator,
)
from flowsim.watermark.idleness import PausableRelativeClock, WatermarksWithIdleness
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve
from flowsim.watermark.watermark_output_multiplexer import WatermarkOutputMultiplexer
from flowsim.watermark.watermark_strategy import WatermarkAlignmentParams
from flowsim.watermark.watermark_to_data_output import WatermarkToDataOutput
from tests.support.flink.machine import Answers, Differential, DifferentialMachine

WATERMARKS = st.one_of(st.integers(-3, 40), st.sampled_from([NO_TIMESTAMP, NO_TIMESTAMP + 1, MAX_WATERMARK]))
SPLITS = st.sampled_from(["a", "b", "c", "d"])
_EVENT_TIME = "org.apache.flink.api.common.eventtime"


class Heard:
    """Our side of ``flowsim.differential.EventTimeLog``: records each call in the same words."""

    def __init__(self, name: str = "", lines: list[str] | None = None) -> None:
        self.name = name
        self.lines: list[str] = [] if lines is None else lines

    def named(self, name: str) -> Heard:
        return Heard(f"{name} ", self.lines)

    def note(self, said: str) -> None:
        self.lines.append(self.name + said)

    def take(self) -> str:
        said = ";".join(self.lines)
        self.lines.clear()
        return said

    def emit_watermark(self, timestamp: int) -> None:
        self.note(f"wm {timestamp}")

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self.note(f"st {status.name}")

    def mark_idle(self) -> None:
        self.note("idle")

    def mark_active(self) -> None:
        self.note("active")

    def update_idle(self, idle: bool) -> None:
        self.note(f"update idle {str(idle).lower()}")

    def update_current_effective_watermark(self, watermark: int) -> None:
        self.note(f"update {watermark}")

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        self.note(f"update {split_id} {watermark}")

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        self.note(f"update {split_id} idle {str(idle).lower()}")

    def split_finished(self, split_id: str) -> None:
        self.note(f"finished {split_id}")

    def on_watermark_update(self, watermark: int) -> None:
        self.note(f"reaches {watermark}")

    def on_idle_update(self, idle: bool) -> None:
        self.note(f"is idle {str(idle).lower()}")


class EventTimeMachine(DifferentialMachine):
    """Both sides are heard by a log; after every command both logs must say the same."""

    def __init__(self) -> None:
        super().__init__()
        self.java = self.flink.java.org.apache.flink
        self.theirs = self.flink.java.flowsim.differential.EventTimeLog()
        self.heard = Heard()

    def alike(self, real: Any, ours: Any) -> Any:
        """Both do it and answer the same, and the same was heard."""
        answer = self.both(real, ours)
        self.equal(self.theirs.take(), self.heard.take())
        return answer

    def mark(self, timestamp: int) -> Any:
        """A watermark as generators know it."""
        return self.flink.new(f"{_EVENT_TIME}.Watermark", ["long"], timestamp)


def valve_script(chance: Random) -> list[str]:
    """Channels whose watermarks go on together, some ahead and some behind, while some are idle for a time."""
    channels, now, spread = chance.randint(1, 6), 0, chance.choice([1, 3, 10])
    idles = chance.choice([0.1, 0.3, 0.5])
    script = [str(channels)]
    for _ in range(chance.randint(1, 60)):
        channel = chance.randrange(channels)
        now += chance.choice([0, 0, 1, 2])
        if chance.random() < idles:
            script.append(f"status {channel} {chance.choice(['IDLE', 'ACTIVE'])}")
        elif chance.random() < 0.05:
            script.append(f"watermark {channel} {chance.choice([NO_TIMESTAMP, NO_TIMESTAMP + 1, MAX_WATERMARK])}")
        else:
            script.append(f"watermark {channel} {now + chance.randint(-spread, spread)}")
    return script


def ours_of_valve(script: list[str]) -> list[str]:
    heard = Heard()
    valve = StatusWatermarkValve(int(script[0]), heard)
    answers = [""]
    for command in script[1:]:
        name, channel, what = command.split()
        if name == "watermark":
            valve.input_watermark(int(what), int(channel))
        else:
            valve.input_watermark_status(WatermarkStatus[what], int(channel))
        valve.validate()
        answers.append(heard.take())
    return answers


def test_valve_equals_flinks(differential: Differential) -> None:
    scripts = differential.flink.java.flowsim.differential.EventTimeScripts

    def play(script: list[str]) -> Answers:
        return ["", *theirs(scripts.valve, script, int(script[0]))], ours_of_valve(script)

    differential.run_scripts("StatusWatermarkValve", valve_script, play, examples=600)


def theirs(probe: Any, script: list[str], *settings: int) -> list[str]:
    """What Flink emitted at each command behind the first."""
    answers: str = probe(*settings, "\n".join(script[1:])) if len(script) > 1 else ""
    return answers.split("\n") if len(script) > 1 else []


class CombinedStatusMachine(EventTimeMachine):
    subject = "IndexedCombinedWatermarkStatus"

    @initialize(inputs=st.integers(1, 4))
    def begin(self, inputs: int) -> None:
        self.inputs = inputs
        self.real = self.java.api.common.eventtime.IndexedCombinedWatermarkStatus.forInputsCount(inputs)
        self.ours = IndexedCombinedWatermarkStatus(inputs)

    @rule(index=st.integers(0, 3), timestamp=WATERMARKS)
    def watermark(self, index: int, timestamp: int) -> None:
        index %= self.inputs
        self.alike(
            lambda: [self.real.updateWatermark(index, timestamp), *self.seen()],
            lambda: [self.ours.update_watermark(index, timestamp), self.ours.combined_watermark, self.ours.idle],
        )

    @rule(index=st.integers(0, 3), idle=st.booleans())
    def status(self, index: int, idle: bool) -> None:
        index %= self.inputs
        self.alike(
            lambda: [self.real.updateStatus(index, idle), *self.seen()],
            lambda: [self.ours.update_status(index, idle), self.ours.combined_watermark, self.ours.idle],
        )

    def seen(self) -> tuple[int, bool]:
        return self.real.getCombinedWatermark(), self.real.isIdle()


def test_combined_status_of_several_inputs_equals_flinks(differential: Differential) -> None:
    differential.run(CombinedStatusMachine, examples=20, steps=40)


class MultiplexerMachine(EventTimeMachine):
    """Outputs are kept, so that one that was unregistered may still speak."""

    subject = "WatermarkOutputMultiplexer"
    errors = {"IllegalStateException": ValueError, "IllegalArgumentException": ValueError}  # noqa: RUF012

    @initialize()
    def begin(self) -> None:
        self.real = self.java.api.common.eventtime.WatermarkOutputMultiplexer(self.theirs)
        self.ours = WatermarkOutputMultiplexer(self.heard)
        self.outputs: list[tuple[Any, Any]] = []

    @rule(split=SPLITS)
    def register(self, split: str) -> None:
        self.alike(
            lambda: self.real.registerNewOutput(split, self.theirs.named(split)),
            lambda: self.ours.register_new_output(split, self.heard.named(split)),
        )

    @rule(split=SPLITS)
    def unregister(self, split: str) -> None:
        self.alike(lambda: self.real.unregisterOutput(split), lambda: self.ours.unregister_output(split))

    @rule(split=SPLITS, immediate=st.booleans())
    def output(self, split: str, immediate: bool) -> None:
        made: list[Any] = []

        def real() -> None:
            made.append(self.real.getImmediateOutput(split) if immediate else self.real.getDeferredOutput(split))

        def ours() -> None:
            made.append(self.ours.immediate_output(split) if immediate else self.ours.deferred_output(split))

        self.alike(real, ours)
        if len(made) == 2:
            self.outputs.append((made[0], made[1]))

    @precondition(lambda self: self.outputs)
    @rule(which=st.integers(0, 99), timestamp=WATERMARKS)
    def watermark(self, which: int, timestamp: int) -> None:
        real, ours = self.outputs[which % len(self.outputs)]
        mark = self.mark(timestamp)
        self.alike(lambda: real.emitWatermark(mark), lambda: ours.emit_watermark(timestamp))

    @precondition(lambda self: self.outputs)
    @rule(which=st.integers(0, 99), idle=st.booleans())
    def status(self, which: int, idle: bool) -> None:
        real, ours = self.outputs[which % len(self.outputs)]
        if idle:
            self.alike(lambda: real.markIdle(), lambda: ours.mark_idle())
        else:
            self.alike(lambda: real.markActive(), lambda: ours.mark_active())

    @rule()
    def periodic(self) -> None:
        pending = self.ours.has_pending_effect()
        self.alike(lambda: self.real.onPeriodicEmit(), lambda: self.ours.on_periodic_emit())
        assert not self.ours.has_pending_effect(), pending


def test_multiplexer_of_splits_equals_flinks(differential: Differential) -> None:
    differential.run(MultiplexerMachine, examples=30, steps=40)


def generator_script(chance: Random) -> list[str]:
    """Events, periodic calls and time between them; much of it about as long as the stream takes to be idle."""
    bound = chance.choice([-1, 0, 1, 5, 10**12])
    idle = chance.choice([-1, 1, 10, 10, 50, 10**16])
    script = [f"{bound} {idle} {chance.choice([1, NS_PER_MS, 10**15])}"]
    now, events = 0, chance.choice([0.1, 0.3, 0.6])
    for _ in range(chance.randint(1, 60)):
        if chance.random() < events:
            now += chance.randint(-3, 5)
            script.append(f"event {chance.choice([NO_TIMESTAMP, MAX_WATERMARK]) if chance.random() < 0.03 else now}")
        elif chance.random() < 0.55:
            script.append("periodic")
        else:
            about = max(idle, 1) * NS_PER_MS if idle < 10**16 else NS_PER_MS
            script.append(f"time {chance.choice([0, 1, about - 1, about, about + 1, about // 2, NS_PER_MS, 10**17])}")
    return script


def ours_of_generator(script: list[str]) -> list[str]:
    heard = Heard()
    bound, idle_ms, now_ns = map(int, script[0].split())
    generator: WatermarkGenerator
    generator = AscendingTimestampsWatermarks() if bound < 0 else BoundedOutOfOrdernessWatermarks(bound)
    if idle_ms >= 0:
        generator = WatermarksWithIdleness(generator, idle_ms, lambda: now_ns)
    answers = [""]
    for command in script[1:]:
        match command.split():
            case ["event", timestamp]:
                generator.on_event("x", int(timestamp), heard)
            case ["time", step_ns]:
                now_ns += int(step_ns)
            case _:
                generator.on_periodic_emit(heard)
        answers.append(heard.take())
    return answers


def test_generators_equal_flinks(differential: Differential) -> None:
    scripts = differential.flink.java.flowsim.differential.EventTimeScripts

    def play(script: list[str]) -> Answers:
        return ["", *theirs(scripts.generator, script, *map(int, script[0].split()))], ours_of_generator(script)

    differential.run_scripts("watermark generators", generator_script, play, examples=600)


class PausableClockMachine(EventTimeMachine):
    subject = "PausableRelativeClock"
    errors = {"IllegalStateException": ValueError}  # noqa: RUF012

    @initialize()
    def begin(self) -> None:
        self.now_ns = 1
        self.clock = self.java.util.clock.ManualClock(1)
        self.real = self.java.streaming.api.operators.util.PausableRelativeClock(self.clock)
        self.ours = PausableRelativeClock(lambda: self.now_ns)

    @rule(what=st.sampled_from(["pause", "un_pause"]))
    def pauses(self, what: str) -> None:
        real, ours = (self.real.pause, self.ours.pause) if what == "pause" else (self.real.unPause, self.ours.un_pause)
        self.alike(real, ours)

    @rule(step_ns=st.integers(0, 5 * NS_PER_MS))
    def time_passes(self, step_ns: int) -> None:
        self.now_ns += step_ns
        self.clock.advanceTime(step_ns, self.flink.java.java.util.concurrent.TimeUnit.NANOSECONDS)
        self.alike(self.real.relativeTimeNanos, self.ours.relative_time_ns)


def test_pausable_clock_equals_flinks(differential: Differential) -> None:
    differential.run(PausableClockMachine, examples=20, steps=40)


class WatermarkToDataOutputMachine(EventTimeMachine):
    """The listener hears in the same order as the stream."""

    subject = "WatermarkToDataOutput"

    @initialize()
    def begin(self) -> None:
        source = self.java.streaming.api.operators.source
        self.real = source.WatermarkToDataOutput(self.theirs, self.theirs.named("listener"))
        self.ours = WatermarkToDataOutput(self.heard, self.heard.named("listener"))

    @rule(timestamp=WATERMARKS)
    def watermark(self, timestamp: int) -> None:
        mark = self.mark(timestamp)
        self.alike(lambda: self.real.emitWatermark(mark), lambda: self.ours.emit_watermark(timestamp))

    @rule(idle=st.booleans())
    def status(self, idle: bool) -> None:
        if idle:
            self.alike(lambda: self.real.markIdle(), lambda: self.ours.mark_idle())
        else:
            self.alike(lambda: self.real.markActive(), lambda: self.ours.mark_active())


def test_output_of_source_equals_flinks(differential: Differential) -> None:
    differential.run(WatermarkToDataOutputMachine, examples=20, steps=40)


class SamplerMachine(EventTimeMachine):
    subject = "WatermarkSampler"

    @initialize(capacity=st.integers(0, 5))
    def begin(self, capacity: int) -> None:
        self.real = self.java.streaming.api.operators.source.WatermarkSampler(capacity)
        self.ours = WatermarkSampler(capacity)
        self.seen()

    @rule(watermark=WATERMARKS)
    def latest(self, watermark: int) -> None:
        self.alike(lambda: self.real.addLatest(watermark), lambda: self.ours.add_latest(watermark))
        self.seen()

    @rule()
    def sample(self) -> None:
        self.alike(self.real.sample, self.ours.sample)
        self.seen()

    def seen(self) -> None:
        self.alike(
            lambda: [self.real.getLatest(), self.real.getOldestSample()],
            lambda: [self.ours.latest, self.ours.oldest_sample],
        )


def test_sampler_equals_flinks(differential: Differential) -> None:
    differential.run(SamplerMachine, examples=20, steps=30)


class AggregatorMachine(EventTimeMachine):
    """What a source coordinator combines reports with, by subtask and by source."""

    subject = "SourceCoordinator.WatermarkAggregator"

    @initialize()
    def begin(self) -> None:
        name = "org.apache.flink.runtime.source.coordinator.SourceCoordinator$WatermarkAggregator"
        self.real = self.flink.new(name, [])
        self.aggregate = self.flink.method(name, "aggregate", "java.lang.Object", f"{_EVENT_TIME}.Watermark")
        self.least = self.flink.method(name, "getAggregatedWatermark")
        self.ours: WatermarkAggregator[str] = WatermarkAggregator()

    @rule(key=SPLITS, watermark=WATERMARKS)
    def report(self, key: str, watermark: int) -> None:
        def real() -> int | None:
            changed = self.aggregate(self.real, key, self.mark(watermark))
            return changed.get().getTimestamp() if changed.isPresent() else None

        self.alike(real, lambda: self.ours.aggregate(key, watermark))
        self.alike(lambda: self.least(self.real).getTimestamp(), lambda: self.ours.aggregated_watermark)


def test_aggregation_of_reports_equals_flinks(differential: Differential) -> None:
    differential.run(AggregatorMachine, examples=20, steps=30)


def test_alignment_parameters_equal_flinks(differential: Differential) -> None:
    params = differential.flink.java.org.apache.flink.api.common.eventtime.WatermarkAlignmentParams
    for drift in (0, 1, 1000, MAX_WATERMARK - 1):
        with differential.comparing("WatermarkAlignmentParams", commands=3):
            real, ours = params(drift, "g", 1000), WatermarkAlignmentParams("g", drift)
            assert real.getMaxAllowedWatermarkDrift() == ours.max_allowed_watermark_drift_ms
            assert real.getUpdateInterval() == ours.update_interval_ms
            assert real.isEnabled()


class NoTimers:
    """The test requests announcements; the coordinators have no periodic timer."""

    now_ns = 1


class RecordingSubtask:
    """Keeps the limit that was announced last."""

    is_ready = True

    def __init__(self) -> None:
        self.reported: list[int] = []

    def knows(self, limit: int) -> bool:
        return self.reported[-1:] == [limit]

    def send(self, limit: int) -> None:
        self.reported.append(limit)


class SourceCoordinatorMachine(EventTimeMachine):
    """Several sources in two groups, some of one name: what each tells its subtasks."""

    subject = "SourceCoordinator (alignment)"

    @initialize(
        sources=st.lists(
            st.tuples(
                st.sampled_from(["one", "two", "three"]), st.sampled_from(["g", "g", "h"]),
                st.sampled_from([0, 7, 10**6, MAX_WATERMARK - 1]),
            ),
            min_size=1, max_size=4,
        )
    )  # fmt: skip
    def begin(self, sources: list[tuple[str, str, int]]) -> None:
        self.real = self.java.runtime.source.coordinator.AlignedGroup()
        groups: dict[str, WatermarkAggregator[str]] = {}
        self.ours: list[SourceCoordinator] = []
        self.subtasks: list[dict[int, RecordingSubtask]] = []
        for name, group, drift in sources:
            self.real.add(name, group, drift)
            subtasks = {index: RecordingSubtask() for index in range(4)}
            params, aggregator = WatermarkAlignmentParams(group, drift), groups.setdefault(group, WatermarkAggregator())
            scheduler: Any = NoTimers()
            self.ours.append(SourceCoordinator(name, params, subtasks, aggregator, scheduler))
            self.subtasks.append(subtasks)

    @rule(source=st.integers(0, 3), subtask=st.integers(0, 3), watermark=WATERMARKS)
    def report(self, source: int, subtask: int, watermark: int) -> None:
        source %= len(self.ours)
        self.alike(
            lambda: self.real.report(source, subtask, watermark),
            lambda: self.ours[source].handle_reported_watermark(subtask, watermark),
        )

    @rule(source=st.integers(0, 3))
    def announce(self, source: int) -> None:
        source %= len(self.ours)
        self.alike(lambda: self.real.announce(source), lambda: self.announced(source))

    def announced(self, source: int) -> str:
        subtasks = self.subtasks[source]
        for subtask in subtasks.values():
            subtask.reported.clear()
        self.ours[source].announce_combined_watermark()
        return f"{{{', '.join(f'{index}={one.reported[0]}' for index, one in subtasks.items() if one.reported)}}}"


def test_source_coordinators_equal_flinks(differential: Differential) -> None:
    differential.run(SourceCoordinatorMachine, examples=20, steps=40)
