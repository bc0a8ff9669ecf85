"""Faulty channels: received elements, and credits that a sender loses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flowsim.faults.catalogue import Fault
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue, Transport
from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.network.outbox import Outbox
from flowsim.streamrecord.codec import RECORD_LENGTH, Element
from flowsim.tasks.inputs.record_deserializer import DecodedChannel, RecordDeserializer

# Received elements.


class FaultyElements:
    """The elements of a task's channels with faults; counts the records of each channel."""

    __slots__ = ("_faults", "_seen")

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = faults
        self._seen: dict[tuple[int, int], int] = {}
        """Number of records by fault index and channel id."""

    def of_buffer(self, channel: InputChannel, elements: Iterable[Element]) -> Iterable[Element]:
        """Yields the elements of a buffer; a fault takes effect when its element is read."""
        for number, fault in enumerate(self._faults):
            if fault.channel is None or fault.channel == channel.channel_id:
                elements = self._break(iter(elements), fault, (number, channel.channel_id))
        return elements

    def _break(self, elements: Iterator[Element], fault: Fault, counter: tuple[int, int]) -> Iterator[Element]:
        for element in elements:
            if len(element) != RECORD_LENGTH:
                yield element
                continue
            position = self._seen.get(counter, 0)
            self._seen[counter] = position + 1
            if position == fault.at:
                yield from self.replaced(fault, element, elements)
            else:
                yield element

    def replaced(self, fault: Fault, element: Element, following: Iterator[Element]) -> Iterable[Element]:
        """Returns what the receiver reads instead of the element, and of those that it takes from ``following``."""
        return () if fault.fault == "drop_element" else (element,)


class FaultyDeserializer(RecordDeserializer):
    """A deserializer that changes elements; the number of elements is known only at the end of a buffer."""

    __slots__ = ("_faulty",)

    def __init__(self, faulty: FaultyElements) -> None:
        super().__init__()
        self._faulty = faulty

    def set_next_buffer(self, channel: DecodedChannel, received: Received) -> None:
        super().set_next_buffer(channel, received)
        if isinstance(channel, InputChannel):
            self.elements = iter(self._faulty.of_buffer(channel, self.elements))

    @property
    def is_buffer_consumed(self) -> bool:
        return False


# Credits.


class LostCredits:
    """The faults of one run that lose a credit. Each fault happens once, at the next matching announcement."""

    __slots__ = ("_pending",)

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._pending = list(dict.fromkeys(fault for fault in faults if fault.fault == "lose_credit"))

    def lose_one(self, faults: Iterable[Fault], channel_id: int) -> bool:
        """Marks the first matching fault that has not happened yet as happened; returns False if there is none."""
        for fault in faults:
            if fault.channel in (None, channel_id) and fault in self._pending:
                self._pending.remove(fault)
                return True
        return False


class CreditLosingQueue(PartitionRequestQueue):
    """A sender's queue that loses a credit of some announcements."""

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
