"""The channels of a job and their connections. Flink: NettyConnectionManager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from flowsim.cluster.components import SubtaskComponents
from flowsim.graph.edge_expansion import EdgeExpansion, Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_settings import Link
from flowsim.network.connections.partition_request_client import PartitionRequestClient
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue
from flowsim.network.connections.transport import ImmediateTransport, TimedTransport
from flowsim.network.connections.view_reader import CreditBasedSequenceNumberingViewReader
from flowsim.network.connections.wire import TimedConnections
from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_subpartition import BufferAvailabilityListener, ResultSubpartition
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.stream_task import StreamTask

GateKey = tuple[int, int]
"""The edge id and the id of the reading subtask."""


class ConnectionManager:
    """Connects subpartitions to the channels that read them; channels of two tasks share one connection (rule 6.15).

    A connection is a ``PartitionRequestClient`` at the receiver and a ``PartitionRequestQueue`` at the sender.
    ``timed``: the connections with transfer times. Flink: NettyConnectionManager.
    """

    __slots__ = ("timed", "_execution", "_explores_arrivals", "_components", "_tasks", "_gates", "_clients", "_first")

    def __init__(
        self,
        execution: ExecutionGraph,
        components: Sequence[SubtaskComponents],
        tasks: Sequence[StreamTask],
        gates: Mapping[GateKey, SingleInputGate],
        scheduler: Scheduler,
    ) -> None:
        self.timed = TimedConnections(scheduler)
        self._execution = execution
        self._explores_arrivals = scheduler.explores_arrivals
        self._components = components
        self._tasks = tasks
        self._gates = gates
        self._clients: dict[tuple[int, int, int], PartitionRequestClient] = {}
        self._first: dict[int, int] = {}
        for subtask in execution.subtasks:
            self._first.setdefault(subtask.vertex.id, subtask.id)

    def first_subtask(self, vertex: int) -> int:
        """Returns the id of subtask 0 of a vertex."""
        return self._first[vertex]

    def create_partition_request_client(self, source: int, target: int, edge: int) -> PartitionRequestClient:
        """Returns the connection between two tasks; its first channel creates it, over the link of that channel."""
        explores = self._explores_arrivals
        key = source, target, edge if explores else -1
        found = self._clients.get(key)
        if found is None:
            found = self._clients[key] = self._connection(*key, Link() if explores else self._execution.links.get(edge))
        return found

    def _connection(self, source: int, target: int, edge: int, link: Link | None) -> PartitionRequestClient:
        sender, receiver = self._tasks[source], self._tasks[target]
        if link is None:
            return PartitionRequestClient(self._queue(sender, ImmediateTransport()), receiver.outbox)
        wires = self.timed.connect(source, target, link.latency_ns, link.bytes_per_second, edge)
        queue = self._queue(sender, TimedTransport(wires.forward))
        return PartitionRequestClient(queue, receiver.outbox, wires.backward)

    def _queue(self, sender: StreamTask, transport: ImmediateTransport | TimedTransport) -> PartitionRequestQueue:
        return self._components[sender.id].create_partition_request_queue(transport, sender.outbox)

    def target_of(self, source: Subtask, expansion: EdgeExpansion, subpartition: int) -> int:
        """Returns the id of the subtask that reads a subpartition."""
        return self._first[expansion.edge.target.id] + expansion.target_of(source.index, subpartition)

    def gate_of(self, edge: int, target: int) -> SingleInputGate:
        """Returns the gate by which a subtask reads an edge."""
        return self._gates[edge, target]

    def receiver(self, target: int) -> StreamTask:
        """Returns the task of a reading subtask."""
        return self._tasks[target]

    def connect(
        self, source: Subtask, expansion: EdgeExpansion, subpartition: ResultSubpartition
    ) -> BufferAvailabilityListener:
        """Lets the channel read the subpartition, as Flink's partition request. Returns the listener for data."""
        edge = expansion.edge
        target = self.target_of(source, expansion, subpartition.index)
        gate = self._gates[edge.id, target]
        channel = gate.channel(expansion.input_index(target - self._first[edge.target.id], source.index))
        reader: LocalInputChannel | CreditBasedSequenceNumberingViewReader
        if isinstance(channel, LocalInputChannel):
            reader = channel
        elif isinstance(channel, RemoteInputChannel):
            reader = self._create_reader(self._tasks[source.id], channel)
        else:
            raise TypeError(f"unknown channel class: {type(channel).__name__}")
        reader.request_subpartition(subpartition)
        if gate.announced_size_bytes is not None:
            reader.view.notify_new_buffer_size(gate.announced_size_bytes)
        return reader

    def _create_reader(self, sender: StreamTask, channel: RemoteInputChannel) -> CreditBasedSequenceNumberingViewReader:
        queue = channel.client.queue
        trace = sender.trace.full if sender.trace is not None else None
        reader = self._components[sender.id].create_view_reader(
            queue, channel, channel.initial_credit, channel.channel_id, trace
        )
        queue.notify_reader_created(reader)
        sender.view_readers.append(reader)
        return reader

    def release(self, subtasks: Set[int]) -> None:
        """Drops the connections of ended attempts, with the messages in flight."""
        for key in list(self._clients):
            if key[0] in subtasks or key[1] in subtasks:
                del self._clients[key]
        self.timed.release(subtasks)

    def close(self) -> None:
        """Drops the messages in flight at the end of the run."""
        self.timed.close()


class PartitionConnector:
    """Connects each subpartition of a partition at its first buffer; before that there is nothing to read.

    A receiver that reads stored data first is connected when it has read all of it (rule 12.92).
    """

    __slots__ = ("_connections", "_source", "_expansion")

    def __init__(self, connections: ConnectionManager, source: Subtask, expansion: EdgeExpansion) -> None:
        self._connections = connections
        self._source = source
        self._expansion = expansion

    def on_subpartition_created(self, subpartition: ResultSubpartition) -> None:
        target = self._connections.target_of(self._source, self._expansion, subpartition.index)
        gate = self._connections.gate_of(self._expansion.edge.id, target)
        if gate.awaits_recovery:
            gate.when_partitions_requested(
                PartitionRequest(self._connections, self._source, self._expansion, subpartition).send
            )
        else:
            self._connections.connect(self._source, self._expansion, subpartition)


class PartitionRequest:
    """A receiver's request for a subpartition; it leaves at the end of the receiver's batch (decision D4)."""

    __slots__ = ("_connections", "_source", "_expansion", "_subpartition")

    def __init__(
        self,
        connections: ConnectionManager,
        source: Subtask,
        expansion: EdgeExpansion,
        subpartition: ResultSubpartition,
    ) -> None:
        self._connections = connections
        self._source = source
        self._expansion = expansion
        self._subpartition = subpartition

    def send(self) -> None:
        """Sends the request from the receiver."""
        target = self._connections.target_of(self._source, self._expansion, self._subpartition.index)
        outbox = self._connections.receiver(target).outbox
        if outbox.sealed:
            outbox.hold_upstream(self)
        else:
            self.publish()

    def publish(self) -> None:
        """Connects the receiver, which gets what is queued."""
        reader = self._connections.connect(self._source, self._expansion, self._subpartition)
        if isinstance(self._subpartition, PipelinedSubpartition) and self._subpartition.is_data_available:
            reader.notify_data_available()
