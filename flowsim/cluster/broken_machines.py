"""Machines that break one rule each: what some faults put in place of the right ones (``flowsim.cluster.faults``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flowsim.facts.kinds import LifeEvent
from flowsim.mailbox.mail import MIN_PRIORITY, Mail
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.network.partitions.result_subpartition import BufferAndBacklog, SubpartitionView
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.streamrecord.codec import Element
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.tasks.operator_chain import OperatorChain

ChannelFault = Callable[[InputChannel, Iterable[Element]], Iterable[Element]]
"""A fault between the bytes of a channel and what is decoded from them."""


def becomes(machine: Any, broken: type[Any]) -> None:
    """The machine works as ``broken`` from now on, with the state it has."""
    machine.__class__ = broken


def _nothing() -> None:
    """What a mail does that is there only to be run in the wrong turn."""


class OvertakingMailbox(TaskMailbox):
    """Its first batch runs from the back: the last of two equal mails comes first."""

    __slots__ = ()

    def put_two(self) -> None:
        """Two mails that the task finds when it begins."""
        for number in ("first", "second"):
            self.put(Mail(_nothing, MIN_PRIORITY, f"{number} of two equal mails"))

    def try_take_from_batch(self) -> Mail | None:
        becomes(self, TaskMailbox)
        self._batch.reverse()
        return self.try_take_from_batch()


class CarelessMailbox(TaskMailbox):
    """Inside a yield it gives out any mail, and there is one that should wait."""

    __slots__ = ()

    def try_take(self, priority: int) -> Mail | None:
        if priority == MIN_PRIORITY:
            return super().try_take(priority)
        becomes(self, TaskMailbox)
        self.put(Mail(_nothing, MIN_PRIORITY, "a mail that must wait until the yield is over"))
        mail = self._queue.pop()
        return self.taken(mail)


class BreakingDeserializer(RecordDeserializer):
    """A fault changes the elements of its buffers; how many come out is known only when they are used up."""

    __slots__ = ("_fault",)

    def __init__(self, fault: ChannelFault) -> None:
        super().__init__()
        self._fault = fault

    def set_next_buffer(self, channel: InputChannel, received: Received) -> None:
        super().set_next_buffer(channel, received)
        self.elements = iter(self._fault(channel, self.elements))

    @property
    def is_buffer_consumed(self) -> bool:
        return False


class WriterThatStaysIdle(RecordWriter):
    """Once it has announced an idle time it never announces its end, and drops the watermarks that come after it."""

    __slots__ = ()

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        if status is WatermarkStatus.IDLE:
            super().emit_watermark_status(status)


class ChainThatFinishesFirst(OperatorChain):
    """Its operators finish before the head is told that its input has ended."""

    __slots__ = ()

    def end_input_of_head(self) -> None:
        """Later."""

    def finish(self, mode: StopMode) -> None:
        super().finish(mode)
        super().end_input_of_head()


class ChainThatClosesTwice(OperatorChain):
    """Closes its tail once more at the end."""

    __slots__ = ()

    def close(self) -> None:
        super().close()
        self._life(self.wrappers[-1], LifeEvent.CLOSE)


class ViewThatCountsEvents:
    """Tells an event that stands next in the queue as if it were a data buffer."""

    def __init__(self, view: SubpartitionView) -> None:
        self._view = view

    def poll(self) -> BufferAndBacklog | None:
        polled = self._view.poll()
        if polled is None or not polled.next_type.is_event:
            return polled
        return polled._replace(backlog=polled.backlog + 1)

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

    def buffer_size(self, desired_bytes: int) -> None:
        self._view.buffer_size(desired_bytes)

    def release(self) -> None:
        self._view.release()


def without_last_watermark(task_input: Any) -> None:
    """The source's input drains without advancing to the end of event time."""
    broken = type(
        "InputWithoutLastWatermark", (type(task_input),), {"__slots__": (), "end_of_input_with_drain": _ignore}
    )
    becomes(task_input, broken)


def _ignore(task_input: object, chain: OperatorChain) -> None:
    """Rule 4.10 broken."""


def with_a_credit_from_nowhere(channel: Any) -> None:
    """The channel's next announcement promises one buffer more than it has."""
    honest = type(channel)

    def announce(self: Any) -> int:
        becomes(self, honest)
        self.unannounced_credit += 1
        credits: int = self.get_and_reset_unannounced_credit()
        return credits

    becomes(
        channel, type("ChannelThatPromises", (honest,), {"__slots__": (), "get_and_reset_unannounced_credit": announce})
    )
