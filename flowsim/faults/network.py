"""Faulty components of the network: writers, partitioners, what a sender reads from and what a channel receives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random

from flowsim.facts.tracer import TaskTrace
from flowsim.faults.catalogue import Fault
from flowsim.faults.tasks import TaskStop
from flowsim.network.buffers.buffer import FREEING, BufferSlice, MemorySegment, NetworkBuffer
from flowsim.network.connections.partition_request_client import PartitionRequestClient
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue, Transport
from flowsim.network.connections.view_reader import (
    BufferReceiver,
    CreditBasedSequenceNumberingViewReader,
    ReaderQueue,
)
from flowsim.network.gates.buffer_manager import MemorySegmentProvider
from flowsim.network.gates.input_channel import BufferAndAvailability, InputChannel, Received
from flowsim.network.gates.remote_input_channel import RemoteGate, RemoteInputChannel
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.partitions.result_subpartition import BufferAndBacklog, ResultSubpartition, SubpartitionView
from flowsim.network.writers.partitioner import (
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    StreamPartitioner,
    Value,
)
from flowsim.network.writers.record_writer import Collect, Flusher, RecordWriter
from flowsim.streamrecord.codec import RECORD_LENGTH, Element
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.units import MAX_WATERMARK

# Writers.


class MisroutingPartitioner(KeyGroupStreamPartitioner):
    """Every key goes to the subtask after its own."""

    __slots__ = ()

    def route(self, index: object, key: Value) -> int:
        self.routes[index] = subpartition = (super().route(index, key) + 1) % self.channels
        return subpartition


class SkippingPartitioner(RebalancePartitioner):
    """Leaves out one channel in its turn, after record ``at``."""

    __slots__ = ("_left",)

    def __init__(self, channels: int, random: Random, at: int) -> None:
        super().__init__(channels, random)
        self._left = at + 1
        """Records before the channel is left out."""

    def select_channel(self, value: Value) -> int:
        self._left -= 1
        if self._left == -1:
            super().select_channel(value)
        return super().select_channel(value)


class FaultyRecordWriter(RecordWriter):
    """A writer with any of the faults of writers that are not those of its partitioner."""

    __slots__ = ("_faults", "_regressions_at", "_watermarks")

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
        self._watermarks = 0
        for fault in faults:
            if fault.fault == "lose_record_in_chain":
                self.collect = LosingCollect(self.collect, fault.at)
            elif fault.fault == "leak_segment":
                partition.pool.request_segment(0)

    def emit_watermark(self, timestamp: int) -> None:
        position = self._watermarks
        self._watermarks += 1
        super().emit_watermark(timestamp)
        if position in self._regressions_at:
            super().emit_watermark(timestamp - 1)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        if status is WatermarkStatus.IDLE or "never_active_again" not in self._faults:
            super().emit_watermark_status(status)

    def notify_end_of_data(self, mode: StopMode) -> None:
        super().notify_end_of_data(mode)
        if "watermark_after_end_of_data" in self._faults:
            super().emit_watermark(MAX_WATERMARK)
        if "empty_buffer_sent" in self._faults:
            self._send_an_empty_buffer()

    def _send_an_empty_buffer(self) -> None:
        """Finishes a buffer without bytes, and lets it leave as if the receiver had no exclusive buffers."""
        subpartition, builder = self.partition.subpartition(0), self.partition.pool.request_builder(0)
        if isinstance(subpartition, PipelinedSubpartition) and builder is not None:
            subpartition.zero_exclusive_buffers = True
            subpartition.add(builder.create_consumer_from_beginning())
            builder.finish()
            builder.close()


class LosingCollect:
    """Loses record ``at`` on its way to the writer."""

    __slots__ = ("_collect", "_at", "_records")

    def __init__(self, collect: Collect, at: int) -> None:
        self._collect = collect
        self._at = at
        self._records = 0

    def __call__(self, value: Value, timestamp: int | None) -> None:
        self._records += 1
        if self._records != self._at + 1:
            self._collect(value, timestamp)


# What a sender reads from, and its credits.


class LostCredits:
    """The faults of one run that lose a credit, each once: the next announcement that it applies to."""

    __slots__ = ("_pending",)

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._pending = list(dict.fromkeys(fault for fault in faults if fault.fault == "lose_credit"))

    def lose_one(self, faults: Iterable[Fault], channel_id: int) -> bool:
        """Whether one of ``faults`` applies to the channel and has not happened yet; now it has."""
        for fault in faults:
            if fault.channel in (None, channel_id) and fault in self._pending:
                self._pending.remove(fault)
                return True
        return False


class CreditLosingQueue(PartitionRequestQueue):
    """Some announcements arrive with a credit less."""

    __slots__ = ("_faults", "_lost_credits")

    def __init__(
        self, transport: Transport, outbox: Outbox, faults: Sequence[Fault], lost_credits: LostCredits
    ) -> None:
        super().__init__(transport, outbox)
        self._faults = faults
        self._lost_credits = lost_credits

    def add_credit(self, channel_id: int, credits: int) -> None:
        if self._lost_credits.lose_one(self._faults, channel_id):
            credits -= 1
        if credits:
            super().add_credit(channel_id, credits)


class FaultyViewReader(CreditBasedSequenceNumberingViewReader):
    """Sends its first buffer without credit, reports a wrong backlog, or is not notified of data."""

    __slots__ = ("_faults", "_free_buffers", "_has_lost_one")

    def __init__(
        self,
        queue: ReaderQueue,
        receiver: BufferReceiver,
        initial_credit: int,
        channel_id: int,
        trace: TaskTrace | None,
        faults: Collection[str],
    ) -> None:
        super().__init__(queue, receiver, initial_credit, channel_id, trace)
        self._free_buffers = 1 if "send_without_credit" in faults else 0
        """This many data buffers cost no credit."""
        self._faults = faults
        self._has_lost_one = False

    def request_subpartition(self, subpartition: ResultSubpartition) -> None:
        super().request_subpartition(subpartition)
        if "backlog_counts_events" in self._faults:
            self.view = EventCountingView(self.view)
        if "backlog_before_flush" in self._faults and isinstance(subpartition, PipelinedSubpartition):
            self.view = TailCountingView(self.view, subpartition)

    def notify_data_available(self) -> None:
        if "notifications_lost" in self._faults:
            return
        if "notification_late" in self._faults and not self._has_lost_one:
            self._has_lost_one = True
            return
        super().notify_data_available()

    @property
    def is_available(self) -> bool:
        return self.view.is_available(self.credits > 0 or self._free_buffers > 0)

    def _pay(self) -> None:
        if self._free_buffers > 0:
            self._free_buffers -= 1
        else:
            super()._pay()


class MiscountingView:
    """Reports a backlog with more than the data buffers that can be read."""

    __slots__ = ("_view",)

    def __init__(self, view: SubpartitionView) -> None:
        self._view = view

    def poll(self) -> BufferAndBacklog | None:
        polled = self._view.poll()
        return None if polled is None else polled._replace(backlog=self._backlog(polled))

    def _backlog(self, polled: BufferAndBacklog) -> int:
        raise NotImplementedError

    def is_available(self, has_credit: bool) -> bool:
        return self._view.is_available(has_credit)

    @property
    def reported_backlog(self) -> int:
        return self._view.reported_backlog

    @property
    def queued_buffers(self) -> int:
        return self._view.queued_buffers

    def resume_consumption(self) -> None:
        self._view.resume_consumption()

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        self._view.notify_new_buffer_size(desired_bytes)

    def release(self) -> None:
        self._view.release()


class EventCountingView(MiscountingView):
    """Counts an event that is next in the queue as a data buffer of the backlog."""

    __slots__ = ()

    def _backlog(self, polled: BufferAndBacklog) -> int:
        return polled.backlog + polled.next_type.is_event


class TailCountingView(MiscountingView):
    """Counts a data buffer at the tail before any flush of it."""

    __slots__ = ("_subpartition",)

    def __init__(self, view: SubpartitionView, subpartition: PipelinedSubpartition) -> None:
        super().__init__(view)
        self._subpartition = subpartition

    def _backlog(self, polled: BufferAndBacklog) -> int:
        return self._subpartition.backlog


class LeakingChannel(RemoteInputChannel):
    """The memory of its first data buffer is never free again."""

    __slots__ = ("_leaks",)

    def __init__(
        self,
        gate: RemoteGate,
        index: int,
        channel_id: int,
        exclusive_buffers: int,
        client: PartitionRequestClient,
        network_pool: MemorySegmentProvider,
        trace: TaskTrace | None,
    ) -> None:
        super().__init__(gate, index, channel_id, exclusive_buffers, client, network_pool, trace)
        self._leaks = True

    def next_buffer(self) -> BufferAndAvailability | None:
        polled = super().next_buffer()
        if polled is None or not self._leaks or polled.received.event is not None:
            return polled
        self._leaks = False
        return polled._replace(received=BufferSlice(polled.received.payload, NetworkBuffer(MemorySegment(0), FREEING)))


class OverAnnouncingChannel(RemoteInputChannel):
    """Its first announcement has ``extra_credits`` more than the channel has buffers."""

    __slots__ = ("_extra_credits",)

    def __init__(
        self,
        gate: RemoteGate,
        index: int,
        channel_id: int,
        exclusive_buffers: int,
        client: PartitionRequestClient,
        network_pool: MemorySegmentProvider,
        trace: TaskTrace | None,
        extra_credits: int,
    ) -> None:
        super().__init__(gate, index, channel_id, exclusive_buffers, client, network_pool, trace)
        self._extra_credits = extra_credits

    def get_and_reset_unannounced_credit(self) -> int:
        self.unannounced_credit += self._extra_credits
        self._extra_credits = 0
        return super().get_and_reset_unannounced_credit()


# What a channel receives.


class FaultyElements:
    """The elements of a task's channels after their faults; counts the records of each channel over all its buffers."""

    __slots__ = ("_faults", "_stop", "_seen")

    def __init__(self, faults: Sequence[Fault], stop: TaskStop | None) -> None:
        self._faults = faults
        self._stop = stop
        self._seen: dict[tuple[int, int], int] = {}
        """Records that each fault (its index) has met in each channel (its id)."""

    def of_buffer(self, channel: InputChannel, elements: Iterable[Element]) -> Iterable[Element]:
        """A fault takes effect when its element is taken."""
        for number, fault in enumerate(self._faults):
            if fault.channel is None or fault.channel == channel.channel_id:
                elements = self._break(elements, fault, (number, channel.channel_id))
        return elements if self._stop is None else _stopping(elements, self._stop)

    def _break(self, elements: Iterable[Element], fault: Fault, counter: tuple[int, int]) -> Iterator[Element]:
        held: Element | None = None
        for element in elements:
            if held is not None:
                yield element
                yield held
                held = None
                continue
            if len(element) != RECORD_LENGTH:
                yield element
                continue
            position = self._seen.get(counter, 0)
            self._seen[counter] = position + 1
            if position != fault.at:
                yield element
                continue
            match fault.fault:
                case "drop_element":
                    continue
                case "duplicate_element":
                    yield element
                    yield element
                case "swap_elements":
                    held = element
                case "corrupt_element":
                    timestamp, value = element
                    yield ((timestamp + 1 if isinstance(timestamp, int) else 0), value)
        if held is not None:
            yield held


class FaultyDeserializer(RecordDeserializer):
    """Changes the elements of its buffers; how many come out is known only when they are used up."""

    __slots__ = ("_faulty",)

    def __init__(self, faulty: FaultyElements) -> None:
        super().__init__()
        self._faulty = faulty

    def set_next_buffer(self, channel: InputChannel, received: Received) -> None:
        super().set_next_buffer(channel, received)
        self.elements = iter(self._faulty.of_buffer(channel, self.elements))

    @property
    def is_buffer_consumed(self) -> bool:
        return False


def _stopping(elements: Iterable[Element], stop: TaskStop) -> Iterator[Element]:
    for element in elements:
        if len(element) == RECORD_LENGTH:
            stop.count_record()
        yield element
