"""A gate with a handler for its events. Flink: CheckpointedInputGate (section 7.C)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from flowsim.errors import InvariantViolation
from flowsim.mailbox.mail import MailOptions
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.input_gate import BufferOrEvent, EndOfDataStatus, InputGate
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.events import EndOfData, EndOfOutputChannelStateEvent, Event


class EventObserver(Protocol):
    """Observes which channel's event the barrier handler handles.

    A Protocol, because the network does not import the tasks, whose checkpoints are observed.
    """

    def event_starts(self, channel_id: int, event: Event) -> None: ...

    def event_ends(self) -> None: ...


class CheckpointedInputGate:
    """Reads a gate, acknowledges the end of its data, and handles its events (rules 7.12, 7.13, 7.14).

    The handler gets barriers, announcements and ends of channels. ``finished`` turns True at the first poll of a
    finished gate that returns nothing. ``poll_priority_events_by`` reads priority events before all other mails. Flink:
    CheckpointedInputGate.
    """

    __slots__ = (
        "gate",
        "finished",
        "on_priority_event",
        "_handler",
        "_channels",
        "_observer",
        "_executor",
        "_restored",
    )

    def __init__(self, gate: InputGate) -> None:
        self.gate = gate
        self.finished = False
        self._handler: CheckpointBarrierHandler | None = None
        self._channels: list[InputChannelInfo] = []
        """By the index of a channel in the input."""
        self._observer: EventObserver | None = None
        self.on_priority_event: Callable[[InputChannel, Event], None] | None = None
        """Called after an urgent mail has read a priority event; other events are returned by ``poll``."""
        self._executor: MailboxExecutor | None = None
        self._restored: list[InputChannel] = []
        """The channels that ended the restored data of their senders, until all channels of the input did."""

    @property
    def is_available(self) -> bool:
        return self.gate.is_available

    def when_available(self, callback: Callable[[], None]) -> None:
        self.gate.when_available(callback)

    def poll(self) -> BufferOrEvent | None:
        """Returns the next buffer or event, after the handler has processed it."""
        polled = self.gate.poll()
        if polled is None:
            self.finished = self.gate.finished
            return None
        event = polled.received.event
        if event is not None:
            if isinstance(event, EndOfData):
                polled.channel.acknowledge_all_records_processed()
            elif isinstance(event, EndOfOutputChannelStateEvent):
                self._end_recovery(polled.channel)
            elif self._handler is not None:
                self._process_event(self._handler, polled.channel, event)
        elif self._handler is not None:
            self._handler.add_processed_bytes(len(polled.received.payload))
        return polled

    def handle_events_by(
        self,
        handler: CheckpointBarrierHandler,
        gates: Sequence[SingleInputGate],
        first_gate: int = 0,
        observer: EventObserver | None = None,
    ) -> None:
        """Passes events to the handler that all inputs of the task share (rule 12.78).

        ``gates``: those of this input; ``first_gate`` is the index of the first one among all gates of the task.
        """
        self._handler = handler
        self._channels = [
            InputChannelInfo(first_gate + number, channel)
            for number, gate in enumerate(gates)
            for channel in range(gate.count)
        ]
        self._observer = observer

    def _process_event(self, handler: CheckpointBarrierHandler, channel: InputChannel, event: Event) -> None:
        if self._observer is None:
            handler.process_event(self._channels[channel.index], event)
        else:
            self._observer.event_starts(channel.channel_id, event)
            handler.process_event(self._channels[channel.index], event)
            self._observer.event_ends()

    def poll_priority_events_by(self, executor: MailboxExecutor) -> None:
        """Lets an urgent mail of ``executor`` read priority events when they arrive (rule 7.14)."""
        self._executor = executor
        self._await_priority_events()

    def end_of_data_status(self) -> EndOfDataStatus:
        return self.gate.end_of_data_status()

    @property
    def queued_buffers(self) -> int:
        return self.gate.queued_buffers

    def close(self) -> None:
        self.gate.close()

    @property
    def are_all_channels_recovered(self) -> bool:
        """True when the last channel has ended the restored data of its sender (rule 12.95)."""
        return not self._restored

    def _end_recovery(self, channel: InputChannel) -> None:
        """Resumes all channels when the last one has ended its restored data (rule 12.95). Flink: UpstreamRecoveryTracker."""
        self._restored.append(channel)
        if len(self._restored) == self.gate.count:
            restored, self._restored = self._restored, []
            for each in restored:
                each.resume_consumption()

    def _await_priority_events(self) -> None:
        self.gate.priority_availability.when_available(self._put_mail)

    def _put_mail(self) -> None:
        if self._executor is not None:
            with suppress(MailboxClosedException):
                self._executor.execute(self._process_priority_events, "process priority events", MailOptions.URGENT)

    def _process_priority_events(self) -> None:
        # The default action may have read them before the mail ran.
        more = self.gate.priority_availability.available
        while more:
            polled = self.poll()
            if polled is None or not polled.received.data_type.has_priority:
                raise InvariantViolation("Should only poll priority events")
            if self.on_priority_event is not None and polled.received.event is not None:
                self.on_priority_event(polled.channel, polled.received.event)
            more = polled.more_priority_events
        self._await_priority_events()
