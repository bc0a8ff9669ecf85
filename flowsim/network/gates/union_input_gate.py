"""Several gates of one task input, polled in turn. Flink: UnionInputGate (section 7.B)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.network.gates.input_gate import AvailabilityHelper, BufferOrEvent, EndOfDataStatus
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.prioritized_deque import PrioritizedDeque
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent


class UnionInputGate:
    """Polls the gates with data in turn; a gate without data is queued when it becomes available (rules 7.10, 7.11).

    Channel indexes are consecutive over all gates. Flink: UnionInputGate.
    """

    __slots__ = (
        "gates",
        "availability",
        "priority_availability",
        "_queue",
        "_gates_with_partitions",
        "_gates_with_data",
        "_drain",
    )

    def __init__(self, gates: Sequence[SingleInputGate]) -> None:
        self.gates = tuple(gates)
        self.availability = AvailabilityHelper()
        self.priority_availability = AvailabilityHelper()
        self._queue: PrioritizedDeque[SingleInputGate] = PrioritizedDeque()
        self._gates_with_partitions = len(self.gates)
        self._gates_with_data = len(self.gates)
        self._drain = True
        for gate in self.gates:
            if gate.is_available:
                self._queue.append(gate)
            else:
                self._await_data(gate)
            self._await_priority(gate)
        if self._queue:
            self.availability.set_available()

    @property
    def count(self) -> int:
        return sum(gate.count for gate in self.gates)

    @property
    def is_available(self) -> bool:
        return self.availability.available

    def when_available(self, callback: Callable[[], None]) -> None:
        self.availability.when_available(callback)

    @property
    def finished(self) -> bool:
        return self._gates_with_partitions == 0

    def poll(self) -> BufferOrEvent | None:
        if not self._gates_with_partitions:
            return None
        queue = self._queue
        while queue:
            gate = queue.popleft()
            # A gate can be queued and empty: what made it available was read, or was a buffer without bytes (rule 7.10).
            polled = gate.poll()
            if polled is None:
                self._await_data(gate)
                continue
            more_gates = self._after_poll(gate, polled)
            event = polled.received.event
            if event is not None:
                if isinstance(event, EndOfPartitionEvent) and gate.finished:
                    self._end_partitions()
                elif isinstance(event, EndOfData):
                    self._end_data(gate.end_of_data_status())
            return polled if polled.more_available or not more_gates else polled._replace(more_available=True)
        self.availability.reset_unavailable()
        return None

    def end_of_data_status(self) -> EndOfDataStatus:
        if self._gates_with_data:
            return EndOfDataStatus.NOT_END_OF_DATA
        return EndOfDataStatus.DRAINED if self._drain else EndOfDataStatus.STOPPED

    @property
    def queued_buffers(self) -> int:
        return sum(gate.queued_buffers for gate in self.gates)

    def close(self) -> None:
        for gate in self.gates:
            gate.close()

    def _after_poll(self, gate: SingleInputGate, found: BufferOrEvent) -> bool:
        """Queues the gate again, or waits until it is available; returns True if any gate is queued."""
        queue = self._queue
        if found.more_available:
            if found.more_priority_events:
                queue.add_priority_element(gate)
            else:
                queue.append(gate)
        elif not gate.finished:
            self._await_data(gate)
        if found.received.data_type.has_priority:
            if not found.more_priority_events:
                self._await_priority(gate)
            if not queue.priority_elements:
                self.priority_availability.reset_unavailable()
        return bool(queue)

    def _await_data(self, gate: SingleInputGate) -> None:
        gate.availability.when_available(lambda: self._enqueue(gate, priority=False))

    def _await_priority(self, gate: SingleInputGate) -> None:
        gate.priority_availability.when_available(lambda: self._enqueue(gate, priority=True))

    def _enqueue(self, gate: SingleInputGate, *, priority: bool) -> None:
        queue = self._queue
        queued = any(waiting is gate for waiting in queue)
        if queued and (not priority or queue.contains_priority_element(gate)):
            return
        # The priority event can have been read before this call: the notice is out of date then (rule 7.5).
        if priority and not gate.priority_availability.available:
            return
        if not priority:
            queue.append(gate)
        elif queued:
            queue.prioritize(gate)
        else:
            queue.add_priority_element(gate)
        if priority and queue.priority_elements == 1:
            self.priority_availability.set_available()
        if len(queue) == 1:
            self.availability.set_available()

    def _end_partitions(self) -> None:
        """Counts a gate that has ended; after the last gate, turns ``availability`` on (rule 7.11)."""
        self._gates_with_partitions -= 1
        if not self._gates_with_partitions:
            self.availability.set_available()

    def _end_data(self, status: EndOfDataStatus) -> None:
        if status is not EndOfDataStatus.NOT_END_OF_DATA:
            self._drain = self._drain and status is EndOfDataStatus.DRAINED
            self._gates_with_data -= 1
