"""Turns an execution graph into wired tasks. Flink: TaskExecutor, TaskDeploymentDescriptor, NettyShuffleEnvironment."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from flowsim.cluster.faults import DeployedFaults, Fault
from flowsim.facts.tracer import Recorder, TaskTrace
from flowsim.graph.execution_graph import EdgeExpansion, ExecutionGraph, Subtask
from flowsim.graph.job_graph import JobEdge
from flowsim.graph.stream_graph import JobSettings, PartitionerSpec
from flowsim.network.buffer_pool import NetworkBufferPool
from flowsim.network.input_channel import InputChannel, LocalInputChannel, RemoteInputChannel
from flowsim.network.input_gate import InputGate, SingleInputGate, UnionInputGate
from flowsim.network.partitioner import (
    BroadcastPartitioner,
    CustomPartitionerWrapper,
    ForwardPartitioner,
    GlobalPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
    StreamPartitioner,
)
from flowsim.network.record_writer import RecordWriter
from flowsim.network.result_partition import ResultPartition
from flowsim.network.subpartition import PipelinedSubpartition
from flowsim.network.view_reader import PartitionRequestQueue, ViewReader
from flowsim.operators.source import SourceOperator
from flowsim.operators.stream_operator import OperatorContext, StreamOperator
from flowsim.sim.rng import RandomStreams
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.network_input import StreamTaskNetworkInput
from flowsim.tasks.operator_chain import OperatorChain, OperatorWrapper
from flowsim.tasks.operator_outputs import ChainingOutput, OperatorOutput, OutputEdge
from flowsim.tasks.output_flusher import flusher_for
from flowsim.tasks.processing_time import OperatorProcessingTimeService
from flowsim.tasks.source_input import StreamTaskSourceInput
from flowsim.tasks.stream_task import BatchBudget, StreamTask
from flowsim.tasks.task_clock import TaskClock


class Deployment:
    """The tasks of one job, wired to each other but not started.

    Every subtask has a task manager, and so a network buffer pool, of its own; with ``local_channels`` all share one (D5).
    """

    def __init__(
        self,
        execution: ExecutionGraph,
        scheduler: Scheduler,
        streams: RandomStreams,
        recorder: Recorder | None,
        faults: tuple[Fault, ...] = (),
        budget_records: int | None = None,
    ) -> None:
        self.execution = execution
        self.settings: JobSettings = execution.job.graph.settings
        self.scheduler = scheduler
        self.streams = streams
        self.recorder = recorder
        self.faults = DeployedFaults(faults, execution)
        self._budget = BatchBudget(self.settings.budget_records if budget_records is None else budget_records)
        self._pools: dict[int, NetworkBufferPool] = {}
        self._partitions: dict[tuple[int, int], ResultPartition] = {}
        self._gates: dict[tuple[int, int], SingleInputGate] = {}
        self._connections: dict[tuple[int, int], PartitionRequestQueue] = {}
        self.tasks: list[StreamTask] = [self._create_task(subtask) for subtask in execution.subtasks]
        for subtask in execution.subtasks:
            self._wire(subtask)
        self.faults.apply_to_tasks(self.tasks)

    def _create_task(self, subtask: Subtask) -> StreamTask:
        clock = TaskClock(self.scheduler.now_ns)
        trace = None if self.recorder is None else TaskTrace(subtask.id, clock, self.recorder, self.scheduler)
        return StreamTask(subtask.id, subtask.name, self.scheduler, self._budget, trace, clock)

    # One task.

    def _wire(self, subtask: Subtask) -> None:
        task = self.tasks[subtask.id]
        out_edges = self.execution.job.out_edges(subtask.vertex)
        writers = {edge.id: self._create_writer(subtask, task, edge) for edge in out_edges}
        chain = self._create_chain(subtask, task, writers)
        head = chain.head
        if isinstance(head, SourceOperator):
            task.wire(chain, StreamTaskSourceInput(head, task.timers), list(writers.values()))
            return
        gates = [self._create_gate(subtask, edge) for edge in self.execution.job.in_edges(subtask.vertex)]
        gate: InputGate = gates[0] if len(gates) == 1 else UnionInputGate(gates)
        channels = sum(each.count for each in gates)
        network = StreamTaskNetworkInput(gate, channels, head, task.clock, task.trace, self.faults.of_input(subtask))
        network.channel_fault = self.faults.channel_fault(subtask, task)
        task.wire(chain, network, list(writers.values()))

    def _create_chain(self, subtask: Subtask, task: StreamTask, writers: dict[int, RecordWriter]) -> OperatorChain:
        """Tail first, so that every operator's consumers exist when it is wired (rule 4.2)."""
        vertex = subtask.vertex
        wrappers: dict[int, OperatorWrapper] = {}
        for chained in reversed(vertex.operators):
            node = chained.node
            operator = node.operator_factory()
            successors = vertex.consumers_of(chained)
            out_edges = [edge for edge in self.execution.job.out_edges(vertex) if edge.source_operator == chained.index]
            copies = self._copies(operator, len(successors) + len(out_edges))
            counts = task.trace is not None
            # The network first: a record that waits for a buffer has not reached the chain behind it.
            edges = [OutputEdge(edge.side_output, writers[edge.id]) for edge in out_edges]
            for successor in successors:
                output_to = ChainingOutput(wrappers[successor.index].operator, copies=copies, counts=counts)
                edges.append(OutputEdge(successor.input_tag, output_to))
            random = self.streams.stream("operator", vertex.id, chained.index, subtask.index)
            output = OperatorOutput(edges, random.randrange)
            executor = task.mailbox_processor.executor(chained.chain_index)
            processing_time = OperatorProcessingTimeService(task.timers, executor)
            cost_ns = self.settings.cost_ns if node.cost_ns is None else node.cost_ns
            operator.setup(
                OperatorContext(
                    operator_name=node.name,
                    operator_index=chained.index,
                    task_name=subtask.name,
                    subtask_index=subtask.index,
                    parallelism=vertex.parallelism,
                    max_parallelism=vertex.max_parallelism,
                    key_group_range=subtask.key_group_range,
                    key_selector=node.key_selector,
                    key_type=node.key_type,
                    clock=task.clock,
                    processing_time=processing_time,
                    mailbox_executor=executor,
                    random=random,
                    cost_ns=cost_ns,
                    trace=task.trace,
                    faults=self.faults.of_operator(subtask, chained),
                ),
                output,
            )
            wrappers[chained.index] = OperatorWrapper(
                operator, node.name, chained.index, output, executor, processing_time, cost_ns
            )
        return OperatorChain([wrappers[chained.index] for chained in vertex.life_order], task.trace)

    def _copies(self, operator: StreamOperator, consumers: int) -> bool:
        """Whether chained operators get copies of what ``operator`` emits (rule 5.10)."""
        belongs_to_one = isinstance(operator, SourceOperator) and operator.hands_over_records and consumers == 1
        return not self.settings.object_reuse and not belongs_to_one

    # The network.

    def _network_pool(self, subtask: Subtask) -> NetworkBufferPool:
        owner = 0 if self.settings.local_channels else subtask.id
        pool = self._pools.get(owner)
        if pool is None:
            members = self.execution.subtasks if self.settings.local_channels else [subtask]
            total = self.settings.network_buffers
            if total is None:
                total = sum(self._most_segments(member) for member in members)
            pool = self._pools[owner] = NetworkBufferPool(total, self.settings.segment_size_bytes)
        return pool

    def _most_segments(self, subtask: Subtask) -> int:
        """What the pools of a subtask may ask for at most."""
        settings, job = self.settings, self.execution.job
        segments = 0
        for edge in job.out_edges(subtask.vertex):
            subpartitions = self.execution.expansion(edge).subpartitions(subtask.index)
            segments += self._output_maximum(subpartitions) + settings.overdraft_buffers
        for edge in job.in_edges(subtask.vertex):
            channels = self.execution.expansion(edge).input_count(subtask.index)
            segments += channels * settings.exclusive_buffers_per_channel + max(settings.floating_buffers_per_gate, 1)
        return segments

    def _output_maximum(self, subpartitions: int) -> int:
        """Rule 5.41."""
        settings = self.settings
        return max(
            subpartitions * settings.exclusive_buffers_per_channel + settings.floating_buffers_per_gate,
            subpartitions + 1,
        )

    def _create_writer(self, subtask: Subtask, task: StreamTask, edge: JobEdge) -> RecordWriter:
        expansion, settings = self.execution.expansion(edge), self.settings
        count = expansion.subpartitions(subtask.index)
        pool = self._network_pool(subtask).create_buffer_pool(
            count + 1, self._output_maximum(count), count, settings.max_buffers_per_channel, settings.overdraft_buffers
        )
        partition = ResultPartition(
            count, pool, task.wait_for_buffer, zero_exclusive_buffers=settings.exclusive_buffers_per_channel == 0
        )
        partition.on_subpartition_created = self._connector(subtask, expansion)
        self._partitions[edge.id, subtask.index] = partition
        flusher, on_data = flusher_for(edge.buffer_timeout_ms, task.timers, task.outbox)
        random = self.streams.stream("partitioner", edge.id, subtask.index)
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
        self.faults.apply_to_writer(subtask, edge, writer)
        if flusher is not None:
            flusher.attach(writer)
        return writer

    def _create_gate(self, subtask: Subtask, edge: JobEdge) -> SingleInputGate:
        expansion, settings = self.execution.expansion(edge), self.settings
        count = expansion.input_count(subtask.index)
        network_pool = self._network_pool(subtask)
        if not settings.local_channels:
            network_pool.reserve(count * settings.exclusive_buffers_per_channel)
        pool = network_pool.create_buffer_pool(1, max(settings.floating_buffers_per_gate, 1))
        first_index = sum(g.count for (e, t), g in self._gates.items() if t == subtask.id and self._same_input(e, edge))
        gate = SingleInputGate(count, pool, self._channel_factory(subtask, expansion, first_index))
        self._gates[edge.id, subtask.id] = gate
        return gate

    def _same_input(self, edge_id: int, edge: JobEdge) -> bool:
        other = self.execution.job.edges[edge_id]
        return other.target is edge.target and other.input_index == edge.input_index

    def _channel_factory(
        self, subtask: Subtask, expansion: EdgeExpansion, first_index: int
    ) -> Callable[[SingleInputGate, int], InputChannel]:
        task, edge = self.tasks[subtask.id], expansion.edge
        full = task.trace.full if task.trace is not None else None
        first_source = self.execution.subtasks_of(edge.source)[0].id

        def create(gate: SingleInputGate, index: int) -> InputChannel:
            source, subpartition = expansion.input_at(subtask.index, index)
            channel_id = expansion.first_channel_of(source) + subpartition
            if self.settings.local_channels:
                producer = self.tasks[first_source + source].outbox
                read = self._partitions[edge.id, source].subpartition(subpartition)
                return LocalInputChannel(gate, first_index + index, channel_id, read, producer.is_sealed_for, full)
            exclusive = self.settings.exclusive_buffers_per_channel
            remote = RemoteInputChannel(gate, first_index + index, channel_id, exclusive, full)
            remote.on_credit = task.outbox.credit_available
            return remote

        return create

    def _connector(self, source: Subtask, expansion: EdgeExpansion) -> Callable[[PipelinedSubpartition], None]:
        """Connects a channel when its first buffer is queued: the partition request of Flink, made on demand."""
        edge = expansion.edge
        targets = self.execution.subtasks_of(edge.target)

        def connect(subpartition: PipelinedSubpartition) -> None:
            target = targets[expansion.target_of(source.index, subpartition.index)]
            gate = self._gates[edge.id, target.id]
            index = expansion.input_index(target.index, source.index)
            sender, channel = self.tasks[source.id], gate.channel(index)
            if isinstance(channel, LocalInputChannel):
                local = channel
                subpartition.create_read_view(lambda: sender.outbox.local_data_available(local))
            elif isinstance(channel, RemoteInputChannel):
                self._connect_remote(sender, subpartition, channel, self._connection(source.id, target.id))

        return connect

    def _connect_remote(
        self,
        sender: StreamTask,
        subpartition: PipelinedSubpartition,
        channel: RemoteInputChannel,
        queue: PartitionRequestQueue,
    ) -> None:
        full = sender.trace.full if sender.trace is not None else None
        reader = ViewReader(subpartition, channel, channel.initial_credit, channel.channel_id, full)
        self.faults.apply_to_reader(reader, sender)
        sender.view_readers.append(reader)

        def announce(credits: int) -> None:
            credits = self.faults.credits_that_arrive(channel.channel_id, sender, credits)
            if credits:
                reader.add_credit(credits)
                sender.outbox.data_available(queue, reader)

        channel.announce_credit = announce
        subpartition.create_read_view(lambda: sender.outbox.data_available(queue, reader))

    def _connection(self, source: int, target: int) -> PartitionRequestQueue:
        queue = self._connections.get((source, target))
        if queue is None:
            queue = self._connections[source, target] = PartitionRequestQueue()
        return queue


def create_partitioner(spec: PartitionerSpec, channels: int, max_parallelism: int, chance: Random) -> StreamPartitioner:
    """A partitioner of its own for one writer (I2.d); ``max_parallelism`` is the target's (rule 1.23)."""
    match spec.name:
        case "FORWARD":
            # Rule 1.4: over several subpartitions a forward edge becomes round robin; over one it is the same.
            return ForwardPartitioner(channels) if channels == 1 else RebalancePartitioner(channels, chance)
        case "REBALANCE":
            return RebalancePartitioner(channels, chance)
        case "RESCALE":
            return RescalePartitioner(channels)
        case "SHUFFLE":
            return ShufflePartitioner(channels, chance)
        case "BROADCAST":
            return BroadcastPartitioner(channels)
        case "GLOBAL":
            return GlobalPartitioner(channels)
        case "HASH" if spec.key_selector is not None:
            return KeyGroupStreamPartitioner(channels, spec.key_selector, spec.key_type, max_parallelism)
        case "CUSTOM" if spec.key_selector is not None and spec.partition is not None:
            return CustomPartitionerWrapper(channels, spec.partition, spec.key_selector)
    raise ValueError(f"unknown partitioner {spec.name}, or its key selector is missing")
