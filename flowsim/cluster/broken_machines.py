"""Machines that break one rule each: what some faults put in place of the right ones (``flowsim.cluster.faults``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flowsim.facts.kinds import LifeEvent
from flowsim.mailbox.mail import MIN_PRIORITY, Mail
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue, Transport
from flowsim.network.connections.view_reader import CreditBasedSequenceNumberingViewReader
from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.result_subpartition import BufferAndBacklog, ResultSubpartition, SubpartitionView
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

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        self._view.notify_new_buffer_size(desired_bytes)

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


class OverpromisingInputChannel(RemoteInputChannel):
    """Its first announcement promises ``extra_credits`` buffers more than it has."""

    __slots__ = ("extra_credits",)

    extra_credits: int

    def get_and_reset_unannounced_credit(self) -> int:
        self.unannounced_credit += self.extra_credits
        self.extra_credits = 0
        return super().get_and_reset_unannounced_credit()


class FaultyViewReader(CreditBasedSequenceNumberingViewReader):
    """Spends no credit for its first ``free_buffers``; ``counts_events``: an event that is next counts as a data buffer."""

    __slots__ = ("free_buffers", "counts_events")

    free_buffers: int
    counts_events: bool

    def request_subpartition(self, subpartition: ResultSubpartition) -> None:
        super().request_subpartition(subpartition)
        if self.counts_events:
            self.view = ViewThatCountsEvents(self.view)

    @property
    def is_available(self) -> bool:
        return self.view.is_available(self.credits > 0 or self.free_buffers > 0)

    def _pay(self) -> None:
        if self.free_buffers > 0:
            self.free_buffers -= 1
        else:
            super()._pay()


class CreditLoss:
    """One credit of ``channel``, of any when None, that is lost on its way."""

    __slots__ = ("channel", "is_over")

    def __init__(self, channel: int | None) -> None:
        self.channel = channel
        self.is_over = False


class CreditLosingQueue(PartitionRequestQueue):
    """Takes one credit off an announcement for each loss that is not over; queues may share losses."""

    __slots__ = ("_losses",)

    def __init__(self, transport: Transport, outbox: Outbox, losses: Sequence[CreditLoss]) -> None:
        super().__init__(transport, outbox)
        self._losses = tuple(losses)

    def add_credit(self, channel_id: int, credits: int) -> None:
        for loss in self._losses:
            if not loss.is_over and loss.channel in (None, channel_id):
                loss.is_over = True
                credits -= 1
                break
        if credits:
            super().add_credit(channel_id, credits)
