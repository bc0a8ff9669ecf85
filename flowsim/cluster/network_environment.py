"""The network between the tasks of one job: pools, partitions, gates and the connections between them.

Flink: NettyShuffleEnvironment, SingleInputGateFactory, ResultPartitionFactory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.cluster.faults import DeployedFaults
from flowsim.cluster.partitioners import create_partitioner
from flowsim.graph.execution_graph import EdgeExpansion, ExecutionGraph, Subtask
from flowsim.graph.job_graph import JobEdge
from flowsim.graph.stream_graph import JobSettings
from flowsim.network.buffer_pool import NetworkBufferPool
from flowsim.network.input_channel import InputChannel
from flowsim.network.local_input_channel import LocalInputChannel
from flowsim.network.partition_request_queue import PartitionRequestQueue
from flowsim.network.record_writer import RecordWriter
from flowsim.network.remote_input_channel import RemoteInputChannel
from flowsim.network.result_partition import ResultPartition
from flowsim.network.result_subpartition import UNCONNECTED, ResultSubpartition
from flowsim.network.single_input_gate import SingleInputGate
from flowsim.network.view_reader import ViewReader
from flowsim.sim.rng import RandomStreams
from flowsim.tasks.output_flusher import flusher_for
from flowsim.tasks.stream_task import StreamTask


class NetworkEnvironment:
    """Wires tasks to each other. Flink: NettyShuffleEnvironment.

    Every task manager has a network buffer pool, which the subtasks placed on it share (D5).
    ``tasks`` stand at the index of their subtask's id.
    """

    def __init__(
        self, execution: ExecutionGraph, streams: RandomStreams, faults: DeployedFaults, tasks: Sequence[StreamTask]
    ) -> None:
        self.execution = execution
        self.settings: JobSettings = execution.job.graph.settings
        self._streams = streams
        self._faults = faults
        self._tasks = tasks
        self._pools: dict[int, NetworkBufferPool] = {}
        self._partitions: dict[tuple[int, int], ResultPartition] = {}
        self._gates: dict[tuple[int, int], SingleInputGate] = {}
        self._connections: dict[tuple[int, int], PartitionRequestQueue] = {}

    def _network_pool(self, subtask: Subtask) -> NetworkBufferPool:
        owner = self.execution.placement.task_manager_of[subtask.id]
        pool = self._pools.get(owner)
        if pool is None:
            total = self.execution.memory.segments[owner]
            pool = self._pools[owner] = NetworkBufferPool(total, self.settings.segment_size_bytes)
        return pool

    def create_writer(self, subtask: Subtask, edge: JobEdge) -> RecordWriter:
        """The output of a subtask to one edge: its pool, its partition, its writer."""
        task = self._tasks[subtask.id]
        expansion, settings = self.execution.expansion(edge), self.settings
        count, planned = expansion.subpartitions(subtask.index), self.execution.memory.outputs[edge.id, subtask.id]
        pool = self._network_pool(subtask).create_buffer_pool(
            planned.required, planned.maximum, count, planned.per_channel, planned.overdraft
        )
        partition = ResultPartition(
            count, pool, task.wait_for_buffer, zero_exclusive_buffers=settings.exclusive_buffers_per_channel == 0
        )
        partition.on_subpartition_created = self._connector(subtask, expansion)
        self._partitions[edge.id, subtask.index] = partition
        flusher, on_data = flusher_for(edge.buffer_timeout_ms, task.timers, task.outbox)
        random = self._streams.stream("partitioner", edge.id, subtask.index)
        partitioner = create_partitioner(edge.partitioner, count, edge.target.max_parallelism, random)
        writer = RecordWriter(
            partition,
            partitioner,
            edge.buffer_timeout_ms,
            expansion.first_channel_of(subtask.index),
            random,
            task.trace,
            on_data,
        )
        self._faults.apply_to_writer(subtask, edge, writer)
        if flusher is not None:
            flusher.attach(writer)
        return writer

    def create_gate(self, subtask: Subtask, edge: JobEdge) -> SingleInputGate:
        """The input of a subtask from one edge."""
        expansion, planned = self.execution.expansion(edge), self.execution.memory.inputs[edge.id, subtask.id]
        network_pool = self._network_pool(subtask)
        if planned.exclusive:
            network_pool.reserve(planned.exclusive)
        pool = network_pool.create_buffer_pool(planned.required, planned.maximum)
        first_index = sum(g.count for (e, t), g in self._gates.items() if t == subtask.id and self._same_input(e, edge))
        gate = SingleInputGate(
            expansion.input_count(subtask.index), pool, self._channel_factory(subtask, expansion, first_index)
        )
        self._gates[edge.id, subtask.id] = gate
        return gate

    def gates_of(self, task: int) -> list[tuple[int, SingleInputGate]]:
        """The input gates of a task, each with its edge."""
        return [(edge, gate) for (edge, target), gate in self._gates.items() if target == task]

    def _same_input(self, edge_id: int, edge: JobEdge) -> bool:
        other = self.execution.job.edges[edge_id]
        return other.target is edge.target and other.input_index == edge.input_index

    def _channel_factory(
        self, subtask: Subtask, expansion: EdgeExpansion, first_index: int
    ) -> Callable[[SingleInputGate, int], InputChannel]:
        task, edge = self._tasks[subtask.id], expansion.edge
        full = task.trace.full if task.trace is not None else None
        first_source = self.execution.subtasks_of(edge.source)[0].id
        credit = self.execution.memory.inputs[edge.id, subtask.id].credit

        def create(gate: SingleInputGate, index: int) -> InputChannel:
            source, subpartition = expansion.input_at(subtask.index, index)
            channel_id = expansion.first_channel_of(source) + subpartition
            if self.execution.placement.share(first_source + source, subtask.id):
                producer = self._tasks[first_source + source].outbox
                return LocalInputChannel(
                    gate, first_index + index, channel_id, UNCONNECTED, producer.is_sealed_for, full
                )
            remote = RemoteInputChannel(gate, first_index + index, channel_id, credit, full)
            remote.on_credit = task.outbox.credit_available
            remote.buffers.on_exclusive_released = self._network_pool(subtask).return_reserved
            return remote

        return create

    def _connector(self, source: Subtask, expansion: EdgeExpansion) -> Callable[[ResultSubpartition], None]:
        """Connects a channel when its first buffer is queued: the partition request of Flink, made on demand."""
        edge = expansion.edge
        targets = self.execution.subtasks_of(edge.target)

        def connect(subpartition: ResultSubpartition) -> None:
            target = targets[expansion.target_of(source.index, subpartition.index)]
            gate = self._gates[edge.id, target.id]
            index = expansion.input_index(target.index, source.index)
            sender, channel = self._tasks[source.id], gate.channel(index)
            if isinstance(channel, LocalInputChannel):
                local = channel
                local.subpartition = subpartition.create_read_view(
                    lambda: sender.outbox.local_data_available(local),
                    lambda number: sender.outbox.local_priority_event(local, number),
                )
            elif isinstance(channel, RemoteInputChannel):
                queue = self._connection(source.id, target.id)
                self._connect_remote(sender, subpartition, self._tasks[target.id], channel, queue)

        return connect

    def _connect_remote(
        self,
        sender: StreamTask,
        subpartition: ResultSubpartition,
        receiver: StreamTask,
        channel: RemoteInputChannel,
        queue: PartitionRequestQueue,
    ) -> None:
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
        channel.on_resume = lambda: receiver.outbox.upstream(resume)

    def _connection(self, source: int, target: int) -> PartitionRequestQueue:
        queue = self._connections.get((source, target))
        if queue is None:
            queue = self._connections[source, target] = PartitionRequestQueue()
        return queue
