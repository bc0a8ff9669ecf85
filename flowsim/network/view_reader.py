"""The sending half of a remote channel: spends credits, numbers buffers, takes turns with its neighbours.

Flink: CreditBasedSequenceNumberingViewReader, PartitionRequestQueue (rules 6.9-6.16).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.subpartition import Buffer, PipelinedSubpartition


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

    Invariant I6.b: no data buffer leaves at zero credits; events cost none (rule 6.11).
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
        subpartition: PipelinedSubpartition,
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
        is_data = polled.buffer.event is None
        if is_data:
            if self.fault_free_credits > 0:
                self.fault_free_credits -= 1
            else:
                self.credits -= 1
                if self.credits < 0:
                    raise InvariantViolation(f"channel {self.channel_id} sent a data buffer without credit")
        if self.trace is not None:
            kind = BufferKind.DATA if is_data else BufferKind.EVENT
            self.trace.buffer(
                self.channel_id,
                BufferSide.SENT,
                polled.sequence_number,
                kind,
                len(polled.buffer),
                polled.backlog,
                self.credits,
            )
        more = (polled.next_is_data or polled.next_is_event) if self.credits > 0 else polled.next_is_event
        return BufferResponse(polled.buffer, polled.sequence_number, polled.backlog, more)


class PartitionRequestQueue:
    """Readers that share one connection: first in, first out, one buffer each turn (rule 6.15). Flink: PartitionRequestQueue."""

    __slots__ = ("_available", "_draining")

    def __init__(self) -> None:
        self._available: deque[ViewReader] = deque()
        self._draining = False

    def notify(self, reader: ViewReader) -> None:
        """Rule 6.16: data, credit or a resume came for ``reader``; sends what can be sent."""
        if reader.registered:
            return
        if not reader.is_available:
            reader.note_lack_of_credit()
            if reader.must_announce_backlog:
                reader.receiver.on_sender_backlog(reader.subpartition.reported_backlog)
            return
        reader.registered = True
        self._available.append(reader)
        self._write_and_flush()

    def _write_and_flush(self) -> None:
        if self._draining:
            return
        self._draining = True
        try:
            while self._available:
                reader = self._available.popleft()
                reader.registered = False
                response = reader.next_buffer()
                if response is None:
                    continue
                if response.more_available:
                    reader.registered = True
                    self._available.append(reader)
                else:
                    reader.note_lack_of_credit()
                reader.receiver.on_buffer(response.buffer, response.sequence_number, response.backlog)
        finally:
            self._draining = False
