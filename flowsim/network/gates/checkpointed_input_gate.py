"""A gate as a task reads it: its events are told to whoever works with them. Flink: CheckpointedInputGate (section 7.C)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.errors import InvariantViolation
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.input_gate import BufferOrEvent, EndOfDataStatus, InputGate
from flowsim.streamrecord.events import EndOfData, Event

EventHandler = Callable[[InputChannel, Event], None]
"""Hears of every event that is read, before the task does."""


class CheckpointedInputGate:
    """Reads a gate, acknowledges the end of its data, and looks at its events (rules 7.12, 7.13, 7.14).

    ``on_event`` hears of barriers, announcements and ends of channels. ``finished`` turns true with the poll that finds
    nothing at a finished gate. ``poll_priority_events_by`` gets priority events read before all other mails.
    Flink: CheckpointedInputGate.
    """

    __slots__ = ("gate", "finished", "on_event", "_execute_urgently")

    def __init__(self, gate: InputGate, on_event: EventHandler | None = None) -> None:
        self.gate = gate
        self.finished = False
        self.on_event = on_event
        self._execute_urgently: Callable[[Callable[[], None]], None] | None = None

    @property
    def is_available(self) -> bool:
        return self.gate.is_available

    def when_available(self, callback: Callable[[], None]) -> None:
        self.gate.when_available(callback)

    def poll(self) -> BufferOrEvent | None:
        """The next buffer or event, which ``on_event`` has heard of."""
        found = self.gate.poll()
        if found is None:
            self.finished = self.gate.finished
            return None
        event = found.received.event
        if event is not None:
            if isinstance(event, EndOfData):
                found.channel.acknowledge_all_records_processed()
            elif self.on_event is not None:
                self.on_event(found.channel, event)
        return found

    def poll_priority_events_by(self, execute_urgently: Callable[[Callable[[], None]], None]) -> None:
        """From now on an urgent mail, put by ``execute_urgently``, reads priority events as they come (rule 7.14)."""
        self._execute_urgently = execute_urgently
        self._await_priority_events()

    def end_of_data_status(self) -> EndOfDataStatus:
        return self.gate.end_of_data_status()

    @property
    def queued_buffers(self) -> int:
        return self.gate.queued_buffers

    def close(self) -> None:
        self.gate.close()

    def _await_priority_events(self) -> None:
        self.gate.priority_availability.when_available(self._put_mail)

    def _put_mail(self) -> None:
        if self._execute_urgently is not None:
            self._execute_urgently(self._process_priority_events)

    def _process_priority_events(self) -> None:
        # The default action may have read them before the mail ran.
        more = self.gate.priority_availability.available
        while more:
            found = self.poll()
            if found is None or not found.received.data_type.has_priority:
                raise InvariantViolation("Should only poll priority events")
            more = found.more_priority_events
        self._await_priority_events()
