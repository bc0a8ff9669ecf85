"""Factories for the components of every subtask; a run can replace them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from flowsim.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.partitioners import create_partitioner
from flowsim.facts.tracer import TaskTrace
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import ChainedOperator, JobGraph, create_job_graph
from flowsim.graph.stream_graph import PartitionerSpec, StreamGraph
from flowsim.legacy.locked_stream_task import LockedLoopBatches, LockedStreamTask
from flowsim.legacy.source_thread import SourceThread
from flowsim.legacy.tasks import create_legacy_task
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.connections.partition_request_client import PartitionRequestClient
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue, Transport
from flowsim.network.connections.view_reader import BufferReceiver, CreditBasedSequenceNumberingViewReader, ReaderQueue
from flowsim.network.gates.input_gate import InputGate
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.gates.union_input_gate import UnionInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.writers.adaptive_load_based_partitioner import AdaptiveLoadBasedPartitioner
from flowsim.network.writers.partitioner import StreamPartitioner
from flowsim.network.writers.record_writer import Flusher, RecordWriter
from flowsim.operators.operator_components import OperatorComponents
from flowsim.operators.stream_operator import OperatorContext, OperatorInput, StreamOperator
from flowsim.sim.scheduler import Scheduler
from flowsim.task_clock import TaskClock
from flowsim.tasks.batches import BatchBudget, Batches
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.inputs.multiple_input_processor import StreamMultipleInputProcessor
from flowsim.tasks.inputs.network_input import (
    CanEmitBatchOfRecordsChecker,
    StreamTaskNetworkInput,
    StreamTaskNetworkOutput,
)
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.tasks.inputs.sorted_inputs import SortedInputs
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain, OperatorWrapper
from flowsim.tasks.source_operator_stream_task import SourceOperatorStreamTask
from flowsim.tasks.stream_task import StreamTask
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve, ValveOutput


class SubtaskComponents:
    """Creates the task of one subtask and the task's components; a subclass can replace some of them."""

    __slots__ = ("subtask",)

    def __init__(self, subtask: Subtask) -> None:
        self.subtask = subtask

    # The task.

    def create_task(
        self,
        scheduler: Scheduler,
        budget: BatchBudget,
        trace: TaskTrace | None,
        clock: TaskClock,
        new_actor_id: Callable[[], int],
    ) -> StreamTask:
        """Creates the task for the chain; ``new_actor_id`` numbers the actors other than the mailbox loop."""
        subtask = self.subtask
        legacy = create_legacy_task(subtask, scheduler, budget, trace, clock, self, new_actor_id)
        if legacy is not None:
            return legacy
        kind = SourceOperatorStreamTask if subtask.vertex.operators[0].node.is_source else StreamTask
        return kind(subtask.id, subtask.name, scheduler, budget, trace, clock, self)

    def task_checkpointing(self, task: StreamTask, checkpointing: TaskCheckpointing) -> TaskCheckpointing:
        """Returns the checkpoints of an attempt."""
        return checkpointing

    def create_mailbox(
        self, on_put: Callable[[], None], trace: TaskTrace | None, is_mailbox_thread: Callable[[], bool]
    ) -> TaskMailbox:
        return TaskMailbox(on_put, trace, is_mailbox_thread)

    def create_batches(self, task: StreamTask) -> Batches:
        """Creates the batches of the mailbox loop."""
        return Batches(
            task.actor, task.scheduler, task.timers, task.outbox, task.times, task.budget, task.record_queue_peaks
        )

    def create_locked_loop_batches(self, task: LockedStreamTask) -> LockedLoopBatches:
        """Creates the batches of a mailbox loop that shares its task with threads."""
        return LockedLoopBatches(
            task.actor, task.scheduler, task.timers, task.outbox, task.times, task.budget, task.record_queue_peaks
        )

    @property
    def source_thread(self) -> type[SourceThread]:
        """The class of the thread that runs a source function."""
        return SourceThread

    # Its operators.

    def create_operator(self, chained: ChainedOperator) -> StreamOperator:
        return chained.node.operator_factory()

    def create_operator_components(self, chained: ChainedOperator) -> OperatorComponents:
        """Creates the factory for the operator's own components."""
        return OperatorComponents()

    def observe_operator(
        self, chained: ChainedOperator, context: OperatorContext
    ) -> Callable[[OperatorInput, int], OperatorInput] | None:
        """Returns a function that puts an observer before an input of the operator, by its index; None: no observer."""
        return None

    def create_operator_chain(self, wrappers: Sequence[OperatorWrapper], trace: TaskTrace | None) -> OperatorChain:
        return OperatorChain(wrappers, trace)

    # Its input.

    def create_source_input(self, task: StreamTask, head: StreamOperator) -> TaskInput:
        return task.create_source_input(head)

    def create_network_input(
        self, task: StreamTask, chain: OperatorChain, gates: Sequence[Sequence[SingleInputGate]]
    ) -> TaskInput:
        """Creates the input from one gate per edge; gates of the same operator input are united (rule 7.11)."""
        can_emit_batch = CanEmitBatchOfRecordsChecker(task.clock, emits_batches=len(gates) == 1)
        name = chain.wrappers[0].name
        outputs = [
            StreamTaskNetworkOutput(chain.input_of_head(index), name, index, task.trace) for index in range(len(gates))
        ]
        batch = self.subtask.vertex.head.batch_inputs
        if batch is not None:
            key_type = self.subtask.vertex.head.key_type
            sorting = SortedInputs(batch, key_type, chain, outputs, can_emit_batch, task.trace)
            reads = zip(gates, sorting.reads, strict=True)
            return sorting.of([self._network_input(task, *each, can_emit_batch) for each in reads])
        inputs = [self._network_input(task, *each, can_emit_batch) for each in zip(gates, outputs, strict=True)]
        if len(inputs) == 1:
            return inputs[0]
        return StreamMultipleInputProcessor(inputs, chain.input_selectable, chain.end_input_of_head_of)

    def _network_input(
        self,
        task: StreamTask,
        united: Sequence[SingleInputGate],
        output: StreamTaskNetworkOutput,
        can_emit_batch: CanEmitBatchOfRecordsChecker,
    ) -> StreamTaskNetworkInput:
        gate: InputGate = united[0] if len(united) == 1 else UnionInputGate(united)
        valve = self.create_valve(sum(each.count for each in united), output)
        return StreamTaskNetworkInput(gate, output, valve, self.create_deserializer(), can_emit_batch, task.trace)

    def create_deserializer(self) -> RecordDeserializer:
        """Creates the decoder for the channels of one input."""
        return RecordDeserializer()

    def create_valve(self, channels: int, output: ValveOutput) -> StatusWatermarkValve:
        """Creates the valve that combines the watermarks and statuses of the channels of one input."""
        return StatusWatermarkValve(channels, output)

    def create_remote_input_channel(
        self,
        gate: SingleInputGate,
        index: int,
        channel_id: int,
        exclusive_buffers: int,
        client: PartitionRequestClient,
        network_pool: NetworkBufferPool,
        trace: TaskTrace | None,
    ) -> RemoteInputChannel:
        """Creates the receiving side of a channel from another subtask."""
        return RemoteInputChannel(gate, index, channel_id, exclusive_buffers, client, network_pool, trace)

    # Its outputs.

    def create_partitioner(
        self, spec: PartitionerSpec, channels: int, max_parallelism: int, random: Random
    ) -> StreamPartitioner:
        """Creates a partitioner. ``max_parallelism`` is the one of the reading operator."""
        return create_partitioner(spec, channels, max_parallelism, random)

    def create_adaptive_partitioner(
        self, partition: ResultPartition, max_traverse_size: int
    ) -> AdaptiveLoadBasedPartitioner:
        """Creates what replaces the partitioner of an adaptive writer; it selects the idlest channels."""
        return AdaptiveLoadBasedPartitioner(partition, max_traverse_size)

    def create_record_writer(
        self,
        partition: ResultPartition,
        partitioner: StreamPartitioner,
        timeout_ms: int,
        first_channel: int,
        random: Random,
        trace: TaskTrace | None,
        flusher: Flusher,
    ) -> RecordWriter:
        return RecordWriter(partition, partitioner, timeout_ms, first_channel, random, trace, flusher)

    def create_partition_request_queue(self, transport: Transport, outbox: Outbox) -> PartitionRequestQueue:
        """Creates the sending side of the connection to another task."""
        return PartitionRequestQueue(transport, outbox)

    def create_view_reader(
        self,
        queue: ReaderQueue,
        receiver: BufferReceiver,
        initial_credit: int,
        channel_id: int,
        trace: TaskTrace | None,
    ) -> CreditBasedSequenceNumberingViewReader:
        """Creates the reader of one subpartition for a channel of another subtask."""
        return CreditBasedSequenceNumberingViewReader(queue, receiver, initial_credit, channel_id, trace)


class Components:
    """Creates the components of a run. This class creates the standard components; a subclass can replace them."""

    __slots__ = ()

    def create_job_graph(self, graph: StreamGraph) -> JobGraph:
        """Chains the operators of a job, and resolves the partitioners of its edges."""
        return create_job_graph(graph)

    def of_subtasks(self, execution: ExecutionGraph) -> list[SubtaskComponents]:
        """Returns one factory per subtask, by subtask id; called once per run."""
        return [SubtaskComponents(subtask) for subtask in execution.subtasks]

    @property
    def checkpoint_coordinator(self) -> type[CheckpointCoordinator]:
        """The coordinator of the job's checkpoints."""
        return CheckpointCoordinator

    def status_when_quiescent(self, tasks: Sequence[StreamTask]) -> JobStatus:
        """Returns the job's status when no task can run and some tasks are unfinished."""
        return JobStatus.DEADLOCKED
