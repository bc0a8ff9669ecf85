"""The network of one job: pools, partitions, gates and connections.

Flink: NettyShuffleEnvironment, SingleInputGateFactory, ResultPartitionFactory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from flowsim.cluster.components import SubtaskComponents
from flowsim.cluster.connection_manager import ConnectionManager, GateKey, PartitionConnector
from flowsim.facts.tracer import TaskTrace
from flowsim.graph.edge_expansion import EdgeExpansion, Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import JobEdge
from flowsim.graph.job_settings import BufferDebloatSettings, JobSettings
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.gates.buffer_debloater import BufferDebloater, ThroughputCalculator
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.blocking_result_partition import BlockingResultPartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.partitions.result_subpartition import UNLIMITED_SIZE
from flowsim.network.writers.partitioner import KeyGroupStreamPartitioner
from flowsim.network.writers.record_writer import NO_FLUSHER, RecordWriter
from flowsim.sim.rng import RandomStreams
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.buffer_debloating import BufferDebloating
from flowsim.tasks.output_flusher import OutputFlusher
from flowsim.tasks.stream_task import StreamTask


class _ExploredChannels(Random):
    """Draws the channels of a partitioner: an exploration chooses them."""

    _draw: Callable[[int], int]

    @classmethod
    def of(cls, random: Random, scheduler: Scheduler, actor: int, edge: JobEdge) -> _ExploredChannels:
        """Returns what draws for the partitioner of an edge instead of ``random``, which decides the defaults."""
        drawing = cls()
        is_shuffle = edge.partitioner.name == "SHUFFLE"

        def draw(channels: int) -> int:
            drawn = random.randrange(channels)
            if is_shuffle:
                return scheduler.draw("shuffle", range(channels), drawn, actor, edge.id)
            # Round robin draws the channel before the first one.
            return (
                scheduler.draw("first_channel", range(channels), (drawn + 1) % channels, actor, edge.id) - 1
            ) % channels

        drawing._draw = draw
        return drawing

    def randrange(self, channels: int) -> int:  # type: ignore[override]
        return self._draw(channels)


class NetworkEnvironment:
    """Connects tasks to each other. Flink: NettyShuffleEnvironment.

    Every task manager has a network buffer pool, which its subtasks share (D5). ``tasks`` and ``components``: by the id
    of their subtask.
    """

    def __init__(
        self,
        execution: ExecutionGraph,
        streams: RandomStreams,
        components: Sequence[SubtaskComponents],
        tasks: Sequence[StreamTask],
        scheduler: Scheduler,
    ) -> None:
        self.execution = execution
        self.settings: JobSettings = execution.job.graph.settings
        self._streams = streams
        self._scheduler = scheduler
        self._components = components
        self._tasks = tasks
        self._pools: dict[int, NetworkBufferPool] = {}
        self._partitions: dict[tuple[int, int], ResultPartition] = {}
        self._gates: dict[GateKey, SingleInputGate] = {}
        self._gates_of: dict[int, list[tuple[int, SingleInputGate]]] = {}
        """The gates of each subtask with their edges, by subtask id."""
        self._debloaters: dict[int, list[BufferDebloater]] = {}
        self.connections = ConnectionManager(execution, components, tasks, self._gates, scheduler)
        self._spill = SpillDirectory()
        self._flushers: dict[int, list[OutputFlusher]] = {}
        """The flushers of the tasks that have not started yet."""

    def _network_pool(self, subtask: Subtask) -> NetworkBufferPool:
        owner = self.execution.placement.task_manager_of[subtask.id]
        pool = self._pools.get(owner)
        if pool is None:
            total = self.execution.memory.segments[owner]
            pool = self._pools[owner] = NetworkBufferPool(total, self.settings.segment_size_bytes)
        return pool

    def create_writer(self, subtask: Subtask, edge: JobEdge) -> RecordWriter:
        """Creates a subtask's output to one edge: a pool, a partition and a writer."""
        task, components = self._tasks[subtask.id], self._components[subtask.id]
        expansion = self.execution.expansion(edge)
        count = expansion.subpartitions(subtask.index)
        partition = self._create_partition(subtask, expansion, count)
        self._partitions[edge.id, subtask.index] = partition
        flusher = None
        if edge.buffer_timeout_ms > 0:
            flusher = OutputFlusher(task.timers, task.outbox, edge.buffer_timeout_ms, edge.id)
        random = self._streams.stream("partitioner", edge.id, subtask.index)
        chance = (
            _ExploredChannels.of(random, self._scheduler, subtask.id, edge)
            if self._scheduler.explores_arrivals
            else random
        )
        partitioner = components.create_partitioner(edge.partitioner, count, edge.target.max_parallelism, chance)
        if isinstance(partitioner, KeyGroupStreamPartitioner):
            partitioner.target = edge.target.head.name
        if edge.max_traverse_size is not None and count > 1:
            partitioner = components.create_adaptive_partitioner(partition, edge.max_traverse_size)
        writer = components.create_record_writer(
            partition,
            partitioner,
            edge.buffer_timeout_ms,
            expansion.first_channel_of(subtask.index),
            random,
            task.trace,
            NO_FLUSHER if flusher is None else flusher,
        )
        writer.supports_unaligned_checkpoints = self.execution.job.forced_alignment(edge) is None
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
            # Otherwise the overdraft of another pool could take guaranteed segments, and both would wait forever.
            pool.reserve_segments(planned.required)
        first_channel = expansion.first_channel_of(subtask.index)
        if not edge.exchange.is_pipelined:
            file = self._spill.path / f"edge-{edge.id}-subtask-{subtask.index}"
            return BlockingResultPartition(count, pool, task, file, trace=full, first_channel=first_channel)
        debloat = settings.buffer_debloat
        return ResultPartition(
            count,
            pool,
            task,
            connector=PartitionConnector(self.connections, subtask, expansion),
            finishes_at_flush=self._scheduler.separates_elements,
            zero_exclusive_buffers=settings.exclusive_buffers_per_channel == 0,
            buffer_size=UNLIMITED_SIZE if debloat is None else debloat.starting_bytes,
            trace=full,
            first_channel=first_channel,
        )

    def create_gate(self, subtask: Subtask, edge: JobEdge) -> SingleInputGate:
        """Creates a subtask's input from one edge."""
        expansion, planned = self.execution.expansion(edge), self.execution.memory.inputs[edge.id, subtask.id]
        network_pool = self._network_pool(subtask)
        if planned.exclusive:
            network_pool.reserve(planned.exclusive)
        pool = network_pool.create_buffer_pool(
            planned.required, planned.maximum, pool_id=planned.id, trace=_full(self._tasks[subtask.id])
        )
        pool.reserve_segments(planned.required)
        gates = self._gates_of.setdefault(subtask.id, [])
        edges = self.execution.job.edges
        first_index = sum(gate.count for other, gate in gates if edges[other].input_index == edge.input_index)
        factory = InputChannels(self, subtask, expansion, first_index)
        gate = SingleInputGate(expansion.input_count(subtask.index), pool, factory)
        self._gates[edge.id, subtask.id] = gate
        gates.append((edge.id, gate))
        return gate

    def buffer_size(self, task: int) -> int:
        """Returns the smallest buffer size in bytes that a gate of the task requests.

        Without debloating it is the segment size (rule 13.12).
        """
        sizes = [debloater.last_bytes for debloater in self._debloaters.get(task, ())]
        return min(sizes, default=self.settings.segment_size_bytes)

    def gates_of(self, task: int) -> Sequence[tuple[int, SingleInputGate]]:
        """Returns the input gates of a task, each with its edge."""
        return self._gates_of.get(task, ())

    def create_input_channel(
        self, gate: SingleInputGate, subtask: Subtask, expansion: EdgeExpansion, index: int, flattened_index: int
    ) -> InputChannel:
        """Creates channel ``index`` of one edge's gate; ``flattened_index`` counts the channels of the whole input."""
        task, edge = self._tasks[subtask.id], expansion.edge
        source, subpartition = expansion.input_at(subtask.index, index)
        channel_id = expansion.first_channel_of(source) + subpartition
        source_id = self.connections.first_subtask(edge.source.id) + source
        if self.execution.placement.share(source_id, subtask.id):
            producer = self._tasks[source_id].outbox
            return LocalInputChannel(gate, flattened_index, channel_id, producer, task.outbox, _full(task))
        client = self.connections.create_partition_request_client(source_id, subtask.id, edge.id)
        credit = self.execution.memory.inputs[edge.id, subtask.id].credit
        return self._components[source_id].create_remote_input_channel(
            gate, flattened_index, channel_id, credit, client, self._network_pool(subtask), _full(task)
        )

    def start(self, task: StreamTask) -> None:
        """Starts the network of a task: reads data that is already complete, and starts debloating."""
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
            reader = self.connections.connect(self.execution.subtasks[first_source + source], expansion, subpartition)
            reader.notify_data_available()

    def _start_debloating(self, task: StreamTask, settings: BufferDebloatSettings) -> None:
        gates = self.gates_of(task.id)
        if gates:
            self._debloaters[task.id] = [self._begin_debloating(task, edge, gate, settings) for edge, gate in gates]
            executor = task.mailbox_processor.executor(0)
            read = [gate for _, gate in gates]
            BufferDebloating(task.timers, executor, settings.period_ms, read, lambda: task.state.is_terminal).start()

    def _begin_debloating(
        self, task: StreamTask, edge: int, gate: SingleInputGate, settings: BufferDebloatSettings
    ) -> BufferDebloater:
        largest = self.settings.segment_size_bytes
        debloater = BufferDebloater(
            settings.target_ms,
            settings.starting_bytes,
            largest,
            min(settings.minimum_bytes, largest),
            settings.threshold_percent,
            settings.samples,
        )
        gate.begin_debloating(ThroughputCalculator(task.clock), debloater, edge, _full(task))
        return debloater

    def release(self, subtasks: Sequence[int]) -> None:
        """Frees the partitions, gates and connections of ended attempts, which new ones replace."""
        ended = frozenset(subtasks)
        for number in subtasks:
            for writer in self._tasks[number].writers:
                if isinstance(writer.partition, BlockingResultPartition):
                    writer.partition.discard()  # The new attempt writes to a file of the same name.
                else:
                    writer.partition.release()
            for _, gate in self._gates_of.pop(number, ()):
                gate.close()
                for index in range(gate.count):
                    gate.channel(index)  # The memory of a channel that was never used is released with it.
            self._flushers.pop(number, None)
            self._debloaters.pop(number, None)
        self.connections.release(ended)

    def close(self) -> None:
        """Ends the network of the run: drops data in flight and removes spilled files. A second call has no effect."""
        self.connections.close()
        for partition in self._partitions.values():
            if isinstance(partition, BlockingResultPartition):
                partition.discard()
        self._spill.close()


class InputChannels:
    """Creates the channels of one gate on first use. Flink: SingleInputGateFactory."""

    __slots__ = ("_network", "_subtask", "_expansion", "_first_index")

    def __init__(
        self, network: NetworkEnvironment, subtask: Subtask, expansion: EdgeExpansion, first_index: int
    ) -> None:
        self._network = network
        self._subtask = subtask
        self._expansion = expansion
        self._first_index = first_index

    def create_input_channel(self, gate: SingleInputGate, index: int) -> InputChannel:
        return self._network.create_input_channel(
            gate, self._subtask, self._expansion, index, self._first_index + index
        )


class SpillDirectory:
    """A temporary folder that is created on first use. ``close`` removes it. Flink: FileChannelManager."""

    __slots__ = ("_folder",)

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None

    @property
    def path(self) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="flowsim-")
        return Path(self._folder.name)

    def close(self) -> None:
        """Removes the folder and its contents. A second call has no effect."""
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()


def _full(task: StreamTask) -> TaskTrace | None:
    return task.trace.full if task.trace is not None else None
