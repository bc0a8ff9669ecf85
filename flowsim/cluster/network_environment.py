"""The network between the tasks of one job: pools, partitions, gates and the connections between them.

Flink: NettyShuffleEnvironment, SingleInputGateFactory, ResultPartitionFactory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.cluster.connections import Connections, GateKey
from flowsim.cluster.faults import DeployedFaults
from flowsim.cluster.partitioners import create_partitioner
from flowsim.cluster.spill_directory import SpillDirectory
from flowsim.facts.tracer import TaskTrace
from flowsim.graph.edge_expansion import EdgeExpansion, Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import JobEdge
from flowsim.graph.stream_graph import BufferDebloatSettings, JobSettings
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.blocking_result_partition import BlockingResultPartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.partitions.result_subpartition import UNCONNECTED, UNLIMITED_SIZE, ResultSubpartition
from flowsim.network.throughput.buffer_debloater import BufferDebloater
from flowsim.network.throughput.throughput_calculator import ThroughputCalculator
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.sim.rng import RandomStreams
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.buffer_debloating import BufferDebloating, GateDebloating
from flowsim.tasks.output_flusher import OutputFlusher, flusher_for
from flowsim.tasks.stream_task import StreamTask
from flowsim.units import NS_PER_MS


class NetworkEnvironment:
    """Wires tasks to each other. Flink: NettyShuffleEnvironment.

    Every task manager has a network buffer pool, which the subtasks placed on it share (D5).
    ``tasks`` stand at the index of their subtask's id.
    """

    def __init__(
        self,
        execution: ExecutionGraph,
        streams: RandomStreams,
        faults: DeployedFaults,
        tasks: Sequence[StreamTask],
        scheduler: Scheduler,
    ) -> None:
        self.execution = execution
        self.settings: JobSettings = execution.job.graph.settings
        self._streams = streams
        self._faults = faults
        self._tasks = tasks
        self._pools: dict[int, NetworkBufferPool] = {}
        self._partitions: dict[tuple[int, int], ResultPartition] = {}
        self._gates: dict[GateKey, SingleInputGate] = {}
        self._debloaters: dict[int, list[BufferDebloater]] = {}
        self.connections = Connections(execution, faults, tasks, self._gates, scheduler)
        self._spill = SpillDirectory()
        self._flushers: dict[int, list[OutputFlusher]] = {}
        """Of the tasks that have not started."""

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
        expansion = self.execution.expansion(edge)
        count = expansion.subpartitions(subtask.index)
        partition = self._create_partition(subtask, expansion, count)
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
            self._flushers.setdefault(subtask.id, []).append(flusher)
        return writer

    def _create_partition(self, subtask: Subtask, expansion: EdgeExpansion, count: int) -> ResultPartition:
        task, edge, settings = self._tasks[subtask.id], expansion.edge, self.settings
        planned, full = self.execution.memory.outputs[edge.id, subtask.id], _full(task)
        pool = self._network_pool(subtask).create_buffer_pool(
            planned.required,
            planned.maximum,
            count,
            planned.per_channel,
            planned.overdraft,
            pool_id=planned.id,
            trace=full,
        )
        if self.execution.memory.is_scarce[planned.task_manager]:
            # Else the overdraft of another pool could take what is guaranteed to this one, and both wait for ever.
            pool.reserve_segments(planned.required)
        first_channel = expansion.first_channel_of(subtask.index)
        if not edge.exchange.is_pipelined:
            file = self._spill.path / f"edge-{edge.id}-subtask-{subtask.index}"
            return BlockingResultPartition(
                count, pool, task.wait_for_buffer, file, trace=full, first_channel=first_channel
            )
        debloat = settings.buffer_debloat
        partition = ResultPartition(
            count,
            pool,
            task.wait_for_buffer,
            zero_exclusive_buffers=settings.exclusive_buffers_per_channel == 0,
            buffer_size=UNLIMITED_SIZE if debloat is None else debloat.starting_bytes,
            trace=full,
            first_channel=first_channel,
        )
        partition.on_subpartition_created = self._connector(subtask, expansion)
        return partition

    def create_gate(self, subtask: Subtask, edge: JobEdge) -> SingleInputGate:
        """The input of a subtask from one edge."""
        expansion, planned = self.execution.expansion(edge), self.execution.memory.inputs[edge.id, subtask.id]
        network_pool = self._network_pool(subtask)
        if planned.exclusive:
            network_pool.reserve(planned.exclusive)
        pool = network_pool.create_buffer_pool(
            planned.required, planned.maximum, pool_id=planned.id, trace=_full(self._tasks[subtask.id])
        )
        pool.reserve_segments(planned.required)
        first_index = sum(g.count for (e, t), g in self._gates.items() if t == subtask.id and self._same_input(e, edge))
        gate = SingleInputGate(
            expansion.input_count(subtask.index), pool, self._channel_factory(subtask, expansion, first_index)
        )
        self._gates[edge.id, subtask.id] = gate
        return gate

    def buffer_size(self, task: int) -> int:
        """The least size that a gate of a task asks for; without debloating that of segments. Bytes (rule 13.12)."""
        sizes = [debloater.last_bytes for debloater in self._debloaters.get(task, ())]
        return min(sizes, default=self.settings.segment_size_bytes)

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
        full = _full(task)
        first_source = self.connections.first_subtask(edge.source.id)
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
        """Connects a channel when its first buffer is queued: what it would find before that is nothing."""

        def connect(subpartition: ResultSubpartition) -> None:
            self.connections.connect(source, expansion, subpartition)

        return connect

    def start(self, task: StreamTask) -> None:
        """The task is started: it reads what is complete already, and begins to look at its buffer sizes."""
        for flusher in self._flushers.pop(task.id, ()):
            flusher.start()
        subtask = self.execution.subtasks[task.id]
        for edge in self.execution.job.in_edges(subtask.vertex):
            if not edge.exchange.is_pipelined:
                self._read_blocking(subtask, self.execution.expansion(edge))
        if self.settings.buffer_debloat is not None:
            self._start_debloating(task, self.settings.buffer_debloat)

    def _read_blocking(self, target: Subtask, expansion: EdgeExpansion) -> None:
        first_source = self.connections.first_subtask(expansion.edge.source.id)
        for index in range(expansion.input_count(target.index)):
            source, number = expansion.input_at(target.index, index)
            subpartition = self._partitions[expansion.edge.id, source].subpartition(number)
            data_available = self.connections.connect(
                self.execution.subtasks[first_source + source], expansion, subpartition
            )
            data_available()

    def _start_debloating(self, task: StreamTask, settings: BufferDebloatSettings) -> None:
        gates = [self._debloating(task, edge, gate, settings) for edge, gate in self.gates_of(task.id)]
        if gates:
            self._debloaters[task.id] = [gate.debloater for gate in gates]
            executor = task.mailbox_processor.executor(0)
            BufferDebloating(task.timers, executor, settings.period_ms, gates).start()

    def _debloating(
        self, task: StreamTask, edge: int, gate: SingleInputGate, settings: BufferDebloatSettings
    ) -> GateDebloating:
        gate.throughput = ThroughputCalculator(lambda: task.clock.now_ns // NS_PER_MS)
        largest = self.settings.segment_size_bytes
        debloater = BufferDebloater(
            settings.target_ms,
            settings.starting_bytes,
            largest,
            min(settings.minimum_bytes, largest),
            settings.threshold_percent,
            settings.samples,
        )

        def announce(size: int) -> None:
            self.connections.announce_buffer_size((edge, task.id), size)

        return GateDebloating(gate, edge, gate.throughput, debloater, announce, _full(task))

    def close(self) -> None:
        """The run is over: drops what is under way and removes what was spilled. Harmless the second time."""
        self.connections.close()
        for partition in self._partitions.values():
            if isinstance(partition, BlockingResultPartition):
                partition.discard()
        self._spill.close()


def _full(task: StreamTask) -> TaskTrace | None:
    return task.trace.full if task.trace is not None else None
