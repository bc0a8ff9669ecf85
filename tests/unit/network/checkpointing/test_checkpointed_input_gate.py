"""A gate read by a task (rules 7.12, 7.13, 7.14)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.mailbox.mail import MailOptions
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.network.buffers.buffer import EventBuffer
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpointed_input_gate import CheckpointedInputGate
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.events import CheckpointBarrier, EndOfData, EndOfPartitionEvent, Event, StopMode
from tests.support.barriers import ALIGNED, UNALIGNED
from tests.support.operators.receiving import barrier, data, gate_of, remote, sent_back


class Handler(CheckpointBarrierHandler):
    """The events that it was given."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def process_event(self, channel: InputChannelInfo, event: Event) -> None:
        self.events.append(event)

    def add_processed_bytes(self, size_bytes: int) -> None:
        """Only barrier handlers count."""


class Mailbox(MailboxExecutor):
    """Urgent mails that have not run."""

    def __init__(self) -> None:
        self.mails: list[Callable[[], None]] = []

    def execute(
        self, command: Callable[[], None], description: str, options: MailOptions = MailOptions.DEFAULT
    ) -> None:
        self.mails.append(command)


def test_end_of_data_is_acknowledged_on_its_channel() -> None:
    """Rule 7.12: once for each channel."""
    gate = gate_of(2)
    read = CheckpointedInputGate(gate)
    first, second = remote(gate, 0), remote(gate, 1)
    for channel in (first, second):
        channel.on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 0, 0)
    read.poll()
    assert (sent_back(first), sent_back(second)) == (["processed"], [])
    read.poll()
    assert (sent_back(first), sent_back(second)) == (["processed"], ["processed"])


def test_events_are_handled_before_the_task_gets_them() -> None:
    """Rule 7.12."""
    gate, handler = gate_of(1), Handler()
    read = CheckpointedInputGate(gate)
    read.handle_events_by(handler, [gate])
    for number, buffer in enumerate((data(), barrier(ALIGNED), EventBuffer(EndOfPartitionEvent()))):
        remote(gate).on_buffer(buffer, number, 0)
    while read.poll() is not None:
        continue
    assert handler.events == [CheckpointBarrier(1, 1, ALIGNED), EndOfPartitionEvent()]


def test_gate_is_finished_when_finished_gate_was_polled_empty() -> None:
    """Rule 7.13."""
    gate = gate_of(1)
    read = CheckpointedInputGate(gate)
    assert (read.poll(), read.finished) == (None, False)
    remote(gate).on_buffer(EventBuffer(EndOfPartitionEvent()), 0, 0)
    assert read.poll() is not None
    assert (gate.finished, read.finished) == (True, False)
    assert read.poll() is None
    assert read.finished


def test_one_urgent_mail_reads_all_priority_events() -> None:
    """Rule 7.14: the data stays where it is."""
    gate, handler, mailbox = gate_of(2), Handler(), Mailbox()
    read, mails = CheckpointedInputGate(gate), mailbox.mails
    read.handle_events_by(handler, [gate])
    read.poll_priority_events_by(mailbox)
    for index in (0, 1):
        remote(gate, index).on_buffer(data(), 0, 0)
        remote(gate, index).on_buffer(barrier(UNALIGNED, index), 1, 0)
    assert len(mails) == 1
    mails.pop()()
    assert (len(handler.events), gate.queued_buffers, mails) == (2, 2, [])
    remote(gate, 1).on_buffer(barrier(UNALIGNED, 2), 2, 0)
    assert len(mails) == 1


def test_mail_does_nothing_when_task_already_read_priority_event() -> None:
    """Rule 7.14."""
    gate, mailbox = gate_of(1), Mailbox()
    read, mails = CheckpointedInputGate(gate), mailbox.mails
    read.poll_priority_events_by(mailbox)
    remote(gate).on_buffer(barrier(UNALIGNED), 0, 0)
    remote(gate).on_buffer(data(), 1, 0)
    read.poll()
    mails.pop()()
    assert (gate.queued_buffers, mails) == (1, [])
