"""The channels of a job: who reads which subpartition, over which connection.

Flink: NettyConnectionManager, NettyPartitionRequestClient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flowsim.cluster.faults import DeployedFaults
from flowsim.cluster.linked_transport import LinkedTransport
from flowsim.cluster.links import Alarm, Links
from flowsim.graph.edge_expansion import EdgeExpansion, Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.stream_graph import Link
from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.result_subpartition import ResultSubpartition, SubpartitionView
from flowsim.network.senders.partition_request_queue import PartitionRequestQueue
from flowsim.network.senders.view_reader import ViewReader
from flowsim.tasks.stream_task import StreamTask

GateKey = tuple[int, int]
"""Edge id and id of the reading subtask."""

Message = Callable[[], None]


class Connections:
    """Connects subpartitions to the channels that read them; channels of two tasks share one connection (rule 6.15).

    ``links``: the connections that take time. Flink: NettyConnectionManager,
    NettyPartitionRequestClient.
    """

    __slots__ = (
        "links",
        "_execution",
        "_faults",
        "_tasks",
        "_gates",
        "_queues",
        "_first",
        "_sizes",
        "_views",
        "_debloats",
    )

    def __init__(
        self,
        execution: ExecutionGraph,
        faults: DeployedFaults,
        tasks: Sequence[StreamTask],
        gates: Mapping[GateKey, SingleInputGate],
        alarm: Alarm,
    ) -> None:
        self.links = Links(alarm)
        self._execution = execution
        self._faults = faults
        self._tasks = tasks
        self._gates = gates
        self._queues: dict[tuple[int, int], tuple[PartitionRequestQueue, LinkedTransport | None]] = {}
        self._first: dict[int, int] = {}
        for subtask in execution.subtasks:
            self._first.setdefault(subtask.vertex.id, subtask.id)
        self._debloats = execution.job.graph.settings.buffer_debloat is not None
        self._sizes: dict[GateKey, int] = {}
        """The buffer size that a gate announced last."""
        self._views: dict[GateKey, list[tuple[StreamTask, SubpartitionView, LinkedTransport | None]]] = {}
        """What a gate reads, with the reading task, as far as it is connected."""

    def first_subtask(self, vertex: int) -> int:
        """Id of subtask 0 of a vertex."""
        return self._first[vertex]

    def connect(self, source: Subtask, expansion: EdgeExpansion, subpartition: ResultSubpartition) -> Message:
        """Lets the channel read the subpartition: the partition request of Flink. The answer tells it that there are data."""
        edge = expansion.edge
        target = self._first[edge.target.id] + expansion.target_of(source.index, subpartition.index)
        gate = self._gates[edge.id, target]
        channel = gate.channel(expansion.input_index(target - self._first[edge.target.id], source.index))
        sender, receiver = self._tasks[source.id], self._tasks[target]
        transport: LinkedTransport | None = None
        if isinstance(channel, LocalInputChannel):
            view, data_available = self._connect_local(sender, subpartition, channel)
        elif isinstance(channel, RemoteInputChannel):
            queue, transport = self._connection(source.id, target, self._execution.links.get(edge.id))
            view, data_available = self._connect_remote(sender, subpartition, receiver, channel, queue, transport)
        else:
            raise TypeError(f"a channel of no known kind: {type(channel).__name__}")
        if self._debloats:
            self._views.setdefault((edge.id, target), []).append((receiver, view, transport))
            if (edge.id, target) in self._sizes:
                view.buffer_size(self._sizes[edge.id, target])
        return data_available

    def announce_buffer_size(self, key: GateKey, size: int) -> None:
        """A gate wishes for buffers of ``size`` bytes: its senders learn of it as of a credit (rule 6.24)."""
        self._sizes[key] = size
        for receiver, view, transport in self._views.get(key, ()):
            receiver.outbox.upstream(_back(transport, _resizing(view, size)))

    def close(self) -> None:
        """The run ends: what is under way is dropped."""
        self.links.close()

    @staticmethod
    def _connect_local(
        sender: StreamTask, subpartition: ResultSubpartition, channel: LocalInputChannel
    ) -> tuple[SubpartitionView, Message]:
        def data_available() -> None:
            sender.outbox.local_data_available(channel)

        channel.subpartition = subpartition.create_read_view(
            data_available, lambda number: sender.outbox.local_priority_event(channel, number)
        )
        return channel.subpartition, data_available

    def _connect_remote(
        self,
        sender: StreamTask,
        subpartition: ResultSubpartition,
        receiver: StreamTask,
        channel: RemoteInputChannel,
        queue: PartitionRequestQueue,
        transport: LinkedTransport | None,
    ) -> tuple[SubpartitionView, Message]:
        full = sender.trace.full if sender.trace is not None else None

        def data_available() -> None:
            sender.outbox.data_available(queue, reader)

        view = subpartition.create_read_view(data_available, lambda number: data_available())
        reader = ViewReader(view, channel, channel.initial_credit, channel.channel_id, full)
        self._faults.apply_to_reader(reader, sender)
        sender.view_readers.append(reader)

        def announce(credits: int) -> None:
            credits = self._faults.credits_that_arrive(channel.channel_id, sender, credits)
            if credits:
                reader.add_credit(credits)
                data_available()

        def resume() -> None:
            reader.resume_consumption()
            data_available()

        channel.announce_credit = announce
        if transport is not None:
            channel.announce_credit = lambda credits: transport.send_back(lambda: announce(credits))
        channel.on_resume = lambda: receiver.outbox.upstream(_back(transport, resume))
        return view, data_available

    def _connection(
        self, source: int, target: int, link: Link | None
    ) -> tuple[PartitionRequestQueue, LinkedTransport | None]:
        found = self._queues.get((source, target))
        if found is None:
            transport = None
            if link is not None:
                transport = LinkedTransport(self.links.connect(source, target, link), self._tasks[source].outbox.flush)
            found = self._queues[source, target] = PartitionRequestQueue(transport), transport
        return found


def _back(transport: LinkedTransport | None, message: Message) -> Message:
    """``message`` as it goes to the sender: at once, or over the link."""
    return message if transport is None else lambda: transport.send_back(message)


def _resizing(view: SubpartitionView, size: int) -> Message:
    return lambda: view.buffer_size(size)
