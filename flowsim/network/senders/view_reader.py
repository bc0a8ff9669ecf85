"""The sending half of a remote channel. Flink: CreditBasedSequenceNumberingViewReader (rules 6.9 to 6.14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.data_type import DataType
from flowsim.network.partitions.result_subpartition import Buffer, SubpartitionView


class BufferReceiver(Protocol):
    """The receiving half of the channel."""

    def on_buffer(self, buffer: Buffer, sequence_number: int, backlog: int) -> None: ...

    def on_sender_backlog(self, backlog: int) -> None: ...


@dataclass(frozen=True, slots=True)
class BufferResponse:
    """What goes over the wire for one buffer. Flink: NettyMessage.BufferResponse."""

    buffer: Buffer
    sequence_number: int
    backlog: int
    more_available: bool


class ViewReader:
    """Reads one subpartition for one remote channel. Flink: CreditBasedSequenceNumberingViewReader.

    ``registered``: it stands in the queue of its connection. Invariant I6.b: no data buffer leaves at zero credits; events
    cost none (rule 6.11).
    """

    __slots__ = (
        "subpartition",
        "receiver",
        "credits",
        "initial_credit",
        "registered",
        "channel_id",
        "trace",
        "fault_free_credits",
        "times_out_of_credit",
        "_is_out_of_credit",
    )

    def __init__(
        self,
        subpartition: SubpartitionView,
        receiver: BufferReceiver,
        initial_credit: int,
        channel_id: int,
        trace: TaskTrace | None,
    ) -> None:
        self.subpartition = subpartition
        self.receiver = receiver
        self.credits = initial_credit
        self.initial_credit = initial_credit
        self.registered = False
        self.times_out_of_credit = 0
        """How often data waited for nothing but a credit."""
        self._is_out_of_credit = False
        self.channel_id = channel_id
        self.trace = trace
        self.fault_free_credits = 0
        """The credit fault: this many data buffers go out without spending a credit."""
        if trace is not None:
            trace.credit(channel_id, CreditKind.INITIAL_GOT, initial_credit, initial_credit)

    def add_credit(self, credits: int) -> None:
        """Rule 6.9."""
        self.credits += credits
        self._is_out_of_credit = False
        if self.trace is not None:
            self.trace.credit(self.channel_id, CreditKind.GOT, credits, self.credits)

    def resume_consumption(self) -> None:
        """The receiver goes on behind an event that blocked the channel (rules 5.27, 6.13).

        A receiver without exclusive buffers has given its floating ones away meanwhile, so the credits for them are void.
        """
        if self.initial_credit == 0 and self.credits:
            void, self.credits = self.credits, 0
            if self.trace is not None:
                self.trace.credit(self.channel_id, CreditKind.GOT, -void, 0)
        self.subpartition.resume_consumption()

    @property
    def is_available(self) -> bool:
        """Rule 6.10."""
        return self.subpartition.is_available(self.credits > 0 or self.fault_free_credits > 0)

    def note_lack_of_credit(self) -> None:
        """Called when nothing more can be sent for now."""
        if self.credits == 0 and not self._is_out_of_credit and self.subpartition.is_available(True):
            self._is_out_of_credit = True
            self.times_out_of_credit += 1

    @property
    def must_announce_backlog(self) -> bool:
        """Rule 6.13: nobody reserved a buffer for us, so say that we have data."""
        return self.initial_credit == 0 and self.credits == 0 and self.subpartition.reported_backlog > 0

    def next_buffer(self) -> BufferResponse | None:
        """Polls one buffer and pays for it (rules 6.11, 6.12)."""
        polled = self.subpartition.poll()
        if polled is None:
            return None
        buffer = polled.buffer
        is_data = buffer.event is None
        if is_data:
            self._pay()
        if self.trace is not None:
            kind = BufferKind.DATA if is_data else BufferKind.EVENT
            self.trace.buffer(
                self.channel_id,
                BufferSide.SENT,
                polled.sequence_number,
                kind,
                len(buffer),
                polled.backlog,
                self.credits,
                polled.whole,
            )
        next_type = polled.next_type
        more = next_type.is_event or (self.credits > 0 and next_type is DataType.DATA_BUFFER)
        return BufferResponse(buffer, polled.sequence_number, polled.backlog, more)

    def _pay(self) -> None:
        if self.fault_free_credits > 0:
            self.fault_free_credits -= 1
            return
        self.credits -= 1
        if self.credits < 0:
            raise InvariantViolation(f"channel {self.channel_id} sent a data buffer without credit")
