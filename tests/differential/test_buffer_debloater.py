"""Rules 6.22-6.24 and 6.1 beside the real classes."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from flowsim.graph.network_memory import create_gate_buffers_spec
from flowsim.network.gates.buffer_debloater import BufferDebloater, BufferSizeEMA, ThroughputCalculator
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.task_clock import TaskClock
from flowsim.units import NS_PER_MS
from tests.support.flink.machine import Differential, DifferentialMachine

BOUNDS = [(32768, 32768, 256), (1024, 32768, 256), (1024, 512, 256), (256, 4096, 256), (300, 300, 300), (64, 1000, 1)]
"""(starting, maximum, minimum) size."""


class BufferSizeEMAMachine(DifferentialMachine):
    """Averages of totals from nothing to far more than fits."""

    subject = "BufferSizeEMA"

    @initialize(bounds=st.sampled_from(BOUNDS), samples=st.sampled_from([1, 2, 3, 20, 1000]))
    def begin(self, bounds: tuple[int, int, int], samples: int) -> None:
        self.real = self.flink.java.org.apache.flink.runtime.throughput.BufferSizeEMA(*bounds, samples)
        self.ours = BufferSizeEMA(*bounds, samples)

    @rule(
        totals=st.lists(st.one_of(st.integers(0, 5_000), st.integers(0, 2**40)), min_size=1, max_size=20),
        buffers=st.one_of(st.integers(1, 20), st.integers(1, 2000)),
    )
    def calculate(self, totals: list[int], buffers: int) -> None:
        for total in totals:
            self.both(
                lambda total=total: self.real.calculateBufferSize(total, buffers),
                lambda total=total: self.ours.calculate_buffer_size(total, buffers),
            )


class BufferDebloaterMachine(DifferentialMachine):
    """Announcements for random throughputs, steady or jumping."""

    subject = "BufferDebloater"

    @initialize(
        bounds=st.sampled_from(BOUNDS),
        target_ms=st.sampled_from([1, 100, 1000, 7777]),
        threshold=st.sampled_from([0, 1, 25, 50, 100]),
        samples=st.sampled_from([1, 3, 20]),
    )
    def begin(self, bounds: tuple[int, int, int], target_ms: int, threshold: int, samples: int) -> None:
        package = self.flink.java.org.apache.flink.runtime.throughput
        self.real = package.BufferDebloater("task", 0, target_ms, *bounds, threshold, samples)
        self.ours = BufferDebloater(target_ms, *bounds, threshold, samples)

    @rule(
        throughput=st.one_of(st.integers(0, 100_000), st.integers(0, 2**36)),
        buffers=st.integers(0, 60),
        times=st.integers(1, 5),
    )
    def recalculate(self, throughput: int, buffers: int, times: int) -> None:
        for _ in range(times):
            self.both(
                lambda: self._announced(self.real.recalculateBufferSize(throughput, buffers)),
                lambda: self.ours.recalculate_buffer_size(throughput, buffers),
            )
            self.both(self.real.getLastBufferSize, lambda: self.ours.last_bytes)
            self.both(
                lambda: self.real.getLastEstimatedTimeToConsumeBuffers().toMillis(), lambda: self.ours.estimated_ms
            )

    @staticmethod
    def _announced(answer: object) -> int | None:
        return answer.getAsInt() if answer.isPresent() else None  # type: ignore[attr-defined]


class ThroughputCalculatorMachine(DifferentialMachine):
    """One measurement of each on a clock that both read."""

    subject = "ThroughputCalculator"

    @initialize(start_ms=st.integers(1, 10**6))
    def begin(self, start_ms: int) -> None:
        java = self.flink.java
        self.milliseconds = java.java.util.concurrent.TimeUnit.MILLISECONDS
        self.real_clock = java.org.apache.flink.util.clock.ManualClock(start_ms * 1_000_000)
        self.real = java.org.apache.flink.runtime.throughput.ThroughputCalculator(self.real_clock)
        self.clock = TaskClock(start_ms * NS_PER_MS)
        self.ours = ThroughputCalculator(self.clock)

    @rule(step_ms=st.one_of(st.integers(0, 3), st.integers(0, 1000)))
    def time_passes(self, step_ms: int) -> None:
        self.real_clock.advanceTime(step_ms, self.milliseconds)
        self.clock.now_ns += step_ms * NS_PER_MS

    @rule(size=st.integers(0, 32768), times=st.integers(1, 4))
    def data(self, size: int, times: int) -> None:
        for _ in range(times):
            self.real.incomingDataSize(size)
            self.ours.incoming_data_size(size)

    @rule(
        steps=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 32768), st.booleans()), min_size=1, max_size=15),
    )
    def run_for_a_while(self, steps: list[tuple[int, int, bool]]) -> None:
        """Time passes, data arrive, the measurement may pause, and the throughput is calculated."""
        for step_ms, size, pauses in steps:
            self.time_passes(step_ms)
            self.data(size, 1)
            if pauses:
                self.pause()
            self.calculate()

    @rule()
    def pause(self) -> None:
        self.both(self.real.pauseMeasurement, self.ours.pause_measurement)

    @rule()
    def resume(self) -> None:
        self.both(self.real.resumeMeasurement, self.ours.resume_measurement)

    @rule()
    def calculate(self) -> None:
        self.both(self.real.calculateThroughput, self.ours.calculate_throughput)


class GateBuffersSpecMachine(DifferentialMachine):
    """Gates of all sizes."""

    subject = "InputGateSpecUtils"

    @rule(
        channels=st.one_of(st.integers(1, 20), st.integers(400, 1200)),
        exclusive=st.integers(0, 6),
        floating=st.integers(1, 20),
        kind=st.sampled_from(list(ResultPartitionType)),
        times=st.integers(1, 10),
    )
    def create(self, channels: int, exclusive: int, floating: int, kind: ResultPartitionType, times: int) -> None:
        package = self.flink.java.org.apache.flink.runtime.io.network.partition
        real_kind = getattr(package.ResultPartitionType, kind.name)
        for more in range(times):
            arguments = (exclusive, floating, real_kind, channels + more, False)
            spec = package.consumer.InputGateSpecUtils.createGateBuffersSpec(
                self.flink.java.java.util.Optional.empty(), *arguments
            )
            theirs = (
                spec.getEffectiveExclusiveBuffersPerChannel(),
                spec.getRequiredFloatingBuffers(),
                spec.getTotalFloatingBuffers(),
            )
            ours = create_gate_buffers_spec(channels + more, exclusive, floating, kind)
            self.same(theirs, lambda ours=ours: (ours.exclusive, ours.floating_required, ours.floating_maximum))


def test_average_of_buffer_sizes_equals_flinks(differential: Differential) -> None:
    differential.run(BufferSizeEMAMachine, examples=30)


def test_debloater_equals_flinks(differential: Differential) -> None:
    differential.run(BufferDebloaterMachine, examples=40)


def test_throughput_equals_flinks(differential: Differential) -> None:
    differential.run(ThroughputCalculatorMachine, examples=40)


def test_buffers_of_gate_equal_flinks(differential: Differential) -> None:
    differential.run(GateBuffersSpecMachine, examples=15)
