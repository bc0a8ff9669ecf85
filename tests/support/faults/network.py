"""Faulty components of the network: writers, partitioners, and received elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from flowsim.facts.tracer import TaskTrace
from flowsim.faults.catalogue import Fault
from flowsim.faults.channels import FaultyElements
from flowsim.graph.job_graph import JobGraph
from flowsim.graph.stream_graph import PartitionerSpec
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.writers.adaptive_load_based_partitioner import AdaptiveLoadBasedPartitioner
from flowsim.network.writers.partitioner import (
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    StreamPartitioner,
    Value,
)
from flowsim.network.writers.record_writer import Flusher, RecordWriter
from flowsim.streamrecord.codec import RECORD_LENGTH, Element
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.events import CheckpointBarrier, Event, StopMode
from flowsim.units import MAX_WATERMARK
from tests.support.faults.tasks import TaskStop

# Writers.


class MisroutingPartitioner(KeyGroupStreamPartitioner):
    """A partitioner that sends every key to the subtask after the correct subtask."""

    __slots__ = ()

    def route(self, index: object, key: Value, value: Value) -> int:
        self.routes[index] = subpartition = (super().route(index, key, value) + 1) % self.channels
        return subpartition


def with_forward_edges(job: JobGraph, operator: str | None) -> JobGraph:
    """Makes round robins to another parallelism forward edges. ``operator``: one of the sender's; None: of every sender."""
    changed = JobGraph(job.graph, job.operators, job.vertices)
    for edge in job.edges:
        names = [chained.node.name for chained in edge.source.operators]
        is_between = edge.source.parallelism != edge.target.parallelism and edge.partitioner.name == "REBALANCE"
        if is_between and (operator is None or operator in names):
            edge = replace(edge, partitioner=PartitionerSpec("FORWARD"), max_traverse_size=None)
        changed.add_edge(edge)
    return changed


class SkippingPartitioner(RebalancePartitioner):
    """A partitioner that skips one channel when its turn comes after record ``at``."""

    __slots__ = ("_left",)

    def __init__(self, channels: int, random: Random, at: int) -> None:
        super().__init__(channels, random)
        self._left = at + 1
        """Number of records before the channel is skipped."""

    def select_channel(self, value: Value) -> int:
        self._left -= 1
        if self._left == -1:
            super().select_channel(value)
        return super().select_channel(value)


class SkippingAdaptivePartitioner(AdaptiveLoadBasedPartitioner):
    """An adaptive partitioner that once, after record ``at``, selects the channel after the idlest one."""

    __slots__ = ("_left",)

    def __init__(self, partition: ResultPartition, max_traverse_size: int, at: int) -> None:
        super().__init__(partition, max_traverse_size)
        self._left = at + 1
        """Number of records before the idlest channel is skipped."""

    def select_channel(self, value: Value) -> int:
        self._left -= 1
        self.last = channel = (self.idlest_channel() + (self._left == -1)) % self.channels
        return channel


class FaultyRecordWriter(RecordWriter):
    """A writer with faults of writers; a faulty partitioner is a separate component."""

    __slots__ = ("_faults", "_regressions_at", "_losses_at", "_watermarks", "_records")

    def __init__(
        self,
        partition: ResultPartition,
        partitioner: StreamPartitioner,
        timeout_ms: int,
        first_channel: int,
        random: Random,
        trace: TaskTrace | None,
        flusher: Flusher,
        faults: Sequence[Fault],
    ) -> None:
        super().__init__(partition, partitioner, timeout_ms, first_channel, random, trace, flusher)
        self._faults = {fault.fault for fault in faults}
        self._regressions_at = [fault.at for fault in faults if fault.fault == "watermark_goes_back"]
        self._losses_at = [fault.at for fault in faults if fault.fault == "lose_record_in_chain"]
        self._watermarks = 0
        self._records = 0
        for fault in faults:
            if fault.fault == "leak_segment":
                partition.pool.request_segment(0)

    def collect(self, value: Value, timestamp: int | None) -> None:
        number = self._records
        self._records += 1
        if number not in self._losses_at:
            super().collect(value, timestamp)

    def emit_watermark(self, timestamp: int) -> None:
        position = self._watermarks
        self._watermarks += 1
        super().emit_watermark(timestamp)
        if position in self._regressions_at:
            super().emit_watermark(timestamp - 1)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        if status is WatermarkStatus.IDLE or "never_active_again" not in self._faults:
            super().emit_watermark_status(status)

    def broadcast_event(self, event: Event, has_priority: bool | None = None) -> None:
        super().broadcast_event(event, has_priority)
        if isinstance(event, CheckpointBarrier) and "barrier_repeated" in self._faults:
            super().broadcast_event(event, has_priority)

    def notify_end_of_data(self, mode: StopMode) -> None:
        super().notify_end_of_data(mode)
        if "watermark_after_end_of_data" in self._faults:
            super().emit_watermark(MAX_WATERMARK)
        if "empty_buffer_sent" in self._faults:
            self._send_an_empty_buffer()

    def _send_an_empty_buffer(self) -> None:
        """Finishes a buffer without bytes and sends this buffer, as if the receiver had no exclusive buffers."""
        subpartition, builder = self.partition.subpartition(0), self.partition.pool.request_builder(0)
        if isinstance(subpartition, PipelinedSubpartition) and builder is not None:
            subpartition.zero_exclusive_buffers = True
            subpartition.add(builder.create_consumer_from_beginning())
            builder.finish()
            builder.close()


# Received elements.


class ChangedElements(FaultyElements):
    """The elements of a task's channels with faults; the task may stop after some of its records."""

    __slots__ = ("_stop",)

    def __init__(self, faults: Sequence[Fault], stop: TaskStop | None) -> None:
        super().__init__(faults)
        self._stop = stop

    def of_buffer(self, channel: InputChannel, elements: Iterable[Element]) -> Iterable[Element]:
        elements = super().of_buffer(channel, elements)
        return elements if self._stop is None else _stopping(elements, self._stop)

    def replaced(self, fault: Fault, element: Element, following: Iterator[Element]) -> Iterable[Element]:
        match fault.fault:
            case "duplicate_element":
                return element, element
            case "swap_elements":
                return *islice(following, 1), element
            case "corrupt_element":
                timestamp, value = element
                return (((timestamp + 1 if isinstance(timestamp, int) else 0), value),)
        return super().replaced(fault, element, following)


def _stopping(elements: Iterable[Element], stop: TaskStop) -> Iterator[Element]:
    for element in elements:
        if len(element) == RECORD_LENGTH:
            stop.count_record()
        yield element
