"""The gauges and counters of one task at one time. Flink: TaskIOMetricGroup, NettyShuffleMetricFactory (section 13)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.time_buckets import TimeGauges
from flowsim.units import NS_PER_MS

_MILLIONTHS = 1_000_000


class MetricsSample(NamedTuple):
    """One row of table ``metrics``, without the common columns of facts."""

    busy_ms: int
    idle_ms: int
    soft_ms: int
    hard_ms: int
    records_in: int
    records_out: int
    buffers_out: int
    bytes_out: int
    input_queue: int
    output_queue: int
    input_pool_usage: int
    output_pool_usage: int
    input_watermark: int
    output_watermark: int
    mailbox_size: int
    buffer_size: int


@dataclass(frozen=True, slots=True)
class MeasuredGate:
    """A gate and its share of the network memory. Flink: CreditBasedInputBuffersUsageGauge.

    ``exclusive_buffers``: the number of exclusive buffers of all its remote channels, used or not.
    """

    gate: SingleInputGate
    exclusive_buffers: int

    @property
    def used_buffers(self) -> int:
        """Number of used floating and used exclusive buffers (rule 13.6)."""
        parked = exclusive = 0
        for channel in self.gate.created_channels:
            if isinstance(channel, RemoteInputChannel):
                parked += channel.buffers.floating_available
                exclusive += max(channel.initial_credit - channel.buffers.exclusive_available, 0)
        return max(self.gate.pool.used_segments - parked, 0) + exclusive

    @property
    def total_buffers(self) -> int:
        return self.gate.pool.size + self.exclusive_buffers


class TaskMetrics:
    """Reads a task without changing it. Flink: TaskIOMetricGroup."""

    __slots__ = ("task", "_times", "_gates", "_buffer_size")

    def __init__(
        self, task: StreamTask, times: TimeGauges, gates: Sequence[MeasuredGate], buffer_size: Callable[[], int]
    ) -> None:
        self.task = task
        self._times = times
        self._gates = tuple(gates)
        self._buffer_size = buffer_size

    def update(self) -> None:
        """Closes the samples of the time gauges at the end of an interval (rule 13.2)."""
        self._times.update()

    def sample(self) -> MetricsSample:
        """Returns the current values of the gauges; those of time gauges are from the last ``update``."""
        times = self._times
        return self._sample(times.idle.value, times.soft.value, times.hard.value)

    def last_sample(self, interval_began_ns: int) -> MetricsSample:
        """Returns the last sample of a task that has ended; its time gauges include the last, shortened interval."""
        task_times = self.task.times
        began_ms = max(interval_began_ns, task_times.started_ns) // NS_PER_MS
        open_ms = task_times.stopped_ns // NS_PER_MS - began_ms
        times = self._times
        sample = self._sample(
            times.idle.value_with(open_ms), times.soft.value_with(open_ms), times.hard.value_with(open_ms)
        )
        # A released channel has no exclusive buffers, which rule 13.6 would count as used.
        return sample._replace(input_pool_usage=0)

    def _sample(self, idle_ms: int, soft_ms: int, hard_ms: int) -> MetricsSample:
        task = self.task
        partitions = [writer.partition for writer in task.writers]
        return MetricsSample(
            busy_ms=busy_ms_per_second(idle_ms, soft_ms + hard_ms) if task.measures_busy_time else -1,
            idle_ms=idle_ms,
            soft_ms=soft_ms,
            hard_ms=hard_ms,
            records_in=task.input.records_in,
            records_out=task.records_out,
            buffers_out=sum(partition.buffers_out for partition in partitions),
            bytes_out=sum(partition.bytes_out for partition in partitions),
            input_queue=task.queued_input,
            output_queue=sum(partition.queued_buffers for partition in partitions),
            input_pool_usage=_share(
                sum(gate.used_buffers for gate in self._gates), sum(gate.total_buffers for gate in self._gates)
            ),
            output_pool_usage=_share(
                sum(partition.pool.used_segments for partition in partitions),
                sum(partition.pool.size for partition in partitions),
            ),
            input_watermark=task.input.current_watermark,
            output_watermark=task.chain.wrappers[-1].output.current_watermark,
            mailbox_size=len(task.mailbox),
            buffer_size=self._buffer_size(),
        )


def busy_ms_per_second(idle_ms: int, back_pressured_ms: int) -> int:
    """Returns the busy time in ms per second: the time that is neither idle nor back-pressured (rule 13.1)."""
    return 1000 - min(1000, idle_ms + back_pressured_ms)


def _share(used: int, total: int) -> int:
    return used * _MILLIONTHS // total if total else 0
