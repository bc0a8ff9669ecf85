"""Faulty components of connections: the view and notifications of a sender, and the receiving channel."""

from __future__ import annotations

from collections.abc import Collection

from flowsim.facts.tracer import TaskTrace
from flowsim.faults.channels import CreditLosingQueue
from flowsim.network.buffers.buffer import FREEING, BufferSlice, MemorySegment, NetworkBuffer
from flowsim.network.buffers.data_type import DataType
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.connections.partition_request_client import PartitionRequestClient
from flowsim.network.connections.view_reader import (
    BufferReceiver,
    CreditBasedSequenceNumberingViewReader,
    ReaderQueue,
)
from flowsim.network.gates.channel_state_persister import ChannelStatePersister, CheckpointStatus
from flowsim.network.gates.input_channel import BufferAndAvailability, ChannelGate
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_subpartition import BufferAndBacklog, ResultSubpartition, SubpartitionView
from flowsim.streamrecord.events import CheckpointBarrier, Event


class SleepingQueue(CreditLosingQueue):
    """A sender's queue that resumes channels, and does not send their data."""

    __slots__ = ()

    def resume_consumption(self, channel_id: int) -> None:
        self._readers[channel_id].resume_consumption()


class FaultyViewReader(CreditBasedSequenceNumberingViewReader):
    """A reader that sends its first buffer without credit, reports a wrong backlog, or is not notified of data."""

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
        """Number of data buffers that need no credit."""
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
    """A view that reports a backlog above the number of readable data buffers."""

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

    @property
    def awaits_acknowledgement(self) -> bool:
        return self._view.awaits_acknowledgement

    def acknowledge_all_data_processed(self) -> None:
        self._view.acknowledge_all_data_processed()

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        self._view.notify_new_buffer_size(desired_bytes)

    def release(self) -> None:
        self._view.release()


class EventCountingView(MiscountingView):
    """A view that counts the next queued event as a data buffer of the backlog."""

    __slots__ = ()

    def _backlog(self, polled: BufferAndBacklog) -> int:
        return polled.backlog + polled.next_type.is_event


class TailCountingView(MiscountingView):
    """A view that counts a data buffer at the tail before the buffer is flushed."""

    __slots__ = ("_subpartition",)

    def __init__(self, view: SubpartitionView, subpartition: PipelinedSubpartition) -> None:
        super().__init__(view)
        self._subpartition = subpartition

    def _backlog(self, polled: BufferAndBacklog) -> int:
        return self._subpartition.backlog


class LeakingChannel(RemoteInputChannel):
    """A channel that never recycles the memory of its first data buffer."""

    __slots__ = ("_leaks",)

    def __init__(
        self,
        gate: ChannelGate,
        index: int,
        channel_id: int,
        exclusive_buffers: int,
        client: PartitionRequestClient,
        network_pool: NetworkBufferPool,
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
    """A channel whose first announcement has ``extra_credits`` more credits than the channel has buffers."""

    __slots__ = ("_extra_credits",)

    def __init__(
        self,
        gate: ChannelGate,
        index: int,
        channel_id: int,
        exclusive_buffers: int,
        client: PartitionRequestClient,
        network_pool: NetworkBufferPool,
        trace: TaskTrace | None,
        extra_credits: int,
    ) -> None:
        super().__init__(gate, index, channel_id, exclusive_buffers, client, network_pool, trace)
        self._extra_credits = extra_credits

    def get_and_reset_unannounced_credit(self) -> int:
        self.unannounced_credit += self._extra_credits
        self._extra_credits = 0
        return super().get_and_reset_unannounced_credit()


class CredulousChannel(RemoteInputChannel):
    """A channel that stores nothing after a barrier of any checkpoint, also of an older one."""

    __slots__ = ()

    def _check_for_barrier(self, persister: ChannelStatePersister, event: Event, sequence_number: int) -> None:
        super()._check_for_barrier(persister, event, sequence_number)
        if isinstance(event, CheckpointBarrier) and persister.status is CheckpointStatus.BARRIER_PENDING:
            persister.status = CheckpointStatus.BARRIER_RECEIVED


class ImpatientChannel(RemoteInputChannel):
    """A channel that delivers the data that its sender restored after the first new data.

    It keeps the restored data until then; where an element is in parts, it waits for the rest of it.
    """

    __slots__ = ("_kept", "_other_position")

    def __init__(
        self,
        gate: ChannelGate,
        index: int,
        channel_id: int,
        exclusive_buffers: int,
        client: PartitionRequestClient,
        network_pool: NetworkBufferPool,
        trace: TaskTrace | None,
    ) -> None:
        super().__init__(gate, index, channel_id, exclusive_buffers, client, network_pool, trace)
        self._kept: list[BufferAndAvailability] = []
        self._other_position = 0
        """The position of the next restored element, or of the next new one while restored data is delivered."""

    def next_buffer(self) -> BufferAndAvailability | None:
        if self._other_position > 0 and not self._kept:
            self.position, self._other_position = self._other_position, 0
        has_begun = self.position > 0 or self._other_position > 0
        if self._kept and has_begun and not self.tail and not self._received.priority_elements:
            if self.position > 0:
                self.position, self._other_position = self._other_position, self.position
            return _with_more(self._kept.pop(0))
        polled = super().next_buffer()
        while polled is not None and polled.received.event is None and self.position < 0 and not self.tail:
            self._other_position = self.position
            self._kept.append(polled)
            polled = super().next_buffer()
        return _with_more(polled) if polled is not None and self._kept else polled


def _with_more(polled: BufferAndAvailability) -> BufferAndAvailability:
    """Lets the gate ask the channel again."""
    return polled._replace(next_type=DataType.DATA_BUFFER) if polled.next_type is DataType.NONE else polled
