"""The neighbours of a network class in a test: each records its calls, or passes them to a function of the test."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.connections.partition_request_client import CreditedChannel, PartitionRequestClient
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.result_subpartition import ResultSubpartition


class Recycled:
    """A recycler: the segments that came back."""

    def __init__(self) -> None:
        self.segments: list[MemorySegment] = []

    def recycle(self, segment: MemorySegment) -> None:
        self.segments.append(segment)


class Returned(NetworkBufferPool):
    """Network memory: how many exclusive buffers came back each time."""

    def __init__(self) -> None:
        super().__init__(0, 0)
        self.counts: list[int] = []

    def return_reserved(self, segments: int) -> None:
        self.counts.append(segments)


class NeverWaits:
    """The owner of a partition that always has a buffer."""

    def wait_for_buffer(self, pool: LocalBufferPool) -> None:
        raise AssertionError("has to wait for a buffer")


class Waits:
    """The owner of a partition that may have to wait."""

    def __init__(self, wait: Callable[[LocalBufferPool], None]) -> None:
        self.wait = wait

    def wait_for_buffer(self, pool: LocalBufferPool) -> None:
        self.wait(pool)


class Connector:
    """The indexes of the subpartitions that can be read."""

    def __init__(self) -> None:
        self.readable: list[int] = []

    def on_subpartition_created(self, subpartition: ResultSubpartition) -> None:
        self.readable.append(subpartition.index)


class Listener:
    """The reader of a subpartition, without reading."""

    def __init__(
        self, on_data: Callable[[], None] = lambda: None, on_priority_event: Callable[[int], None] = lambda _: None
    ) -> None:
        self._on_data = on_data
        self._on_priority_event = on_priority_event

    def notify_data_available(self) -> None:
        self._on_data()

    def notify_priority_event(self, sequence_number: int) -> None:
        self._on_priority_event(sequence_number)


class Channels:
    """A factory of channels from a function."""

    def __init__(self, create: Callable[[SingleInputGate, int], InputChannel]) -> None:
        self._create = create

    def create_input_channel(self, gate: SingleInputGate, index: int) -> InputChannel:
        return self._create(gate, index)


class SentBack(PartitionRequestClient):
    """Sends nothing: (message, id of its channel) as they are given."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, int]] = []

    def notify_credit_available(self, channel: CreditedChannel) -> None:
        self.messages.append(("credit", channel.channel_id))

    def resume_consumption(self, channel: CreditedChannel) -> None:
        self.messages.append(("resume", channel.channel_id))

    def notify_new_buffer_size(self, channel: CreditedChannel, size_bytes: int) -> None:
        self.messages.append((f"buffer size {size_bytes}", channel.channel_id))

    def acknowledge_all_records_processed(self, channel: CreditedChannel) -> None:
        self.messages.append(("processed", channel.channel_id))
