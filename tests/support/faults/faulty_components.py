"""The components of a run with faults of tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import Final

from flowsim.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from flowsim.cluster.job_status import JobStatus
from flowsim.facts.tracer import TaskTrace
from flowsim.faults.catalogue import Component, Fault
from flowsim.faults.channels import FaultyElements
from flowsim.faults.faulty_components import FaultyComponents, FaultySubtaskComponents
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.job_graph import JobGraph
from flowsim.graph.stream_graph import PartitionerSpec, StreamGraph
from flowsim.legacy.locked_stream_task import LockedLoopBatches, LockedStreamTask
from flowsim.legacy.source_thread import SourceThread
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.connections.partition_request_client import PartitionRequestClient
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue, Transport
from flowsim.network.connections.view_reader import (
    BufferReceiver,
    CreditBasedSequenceNumberingViewReader,
    ReaderQueue,
)
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.writers.adaptive_load_based_partitioner import AdaptiveLoadBasedPartitioner
from flowsim.network.writers.partitioner import (
    ForwardPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    StreamPartitioner,
)
from flowsim.network.writers.record_writer import Flusher, RecordWriter
from flowsim.operators.stream_operator import StreamOperator
from flowsim.task_clock import TaskClock
from flowsim.tasks.batches import Batches
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain, OperatorWrapper
from flowsim.tasks.stream_task import StreamTask
from tests.support.faults.connections import (
    CredulousChannel,
    FaultyViewReader,
    ImpatientChannel,
    LeakingChannel,
    OverAnnouncingChannel,
    SleepingQueue,
)
from tests.support.faults.faulty_operators import BrokenOperatorComponents, faulty_operator
from tests.support.faults.network import (
    ChangedElements,
    FaultyRecordWriter,
    MisroutingPartitioner,
    SkippingAdaptivePartitioner,
    SkippingPartitioner,
    with_forward_edges,
)
from tests.support.faults.recovery import HastyCoordinator, faulty_checkpointing
from tests.support.faults.tasks import (
    DoubleClosingChain,
    EarlyFinishingChain,
    InputWithoutLastWatermark,
    InterruptedMailbox,
    MailboxOfTwo,
    NeverEmptyInput,
    PriorityIgnoringMailbox,
    ReentrantBatches,
    ReentrantLockedLoopBatches,
    ReversingMailbox,
    StoppedSourceThread,
    StoppingInput,
    StuckClocksChain,
    TaskStop,
    UnbatchedMailbox,
    UnpausedClocksChain,
)

_MAILBOXES: Final[dict[str, Callable[[Callable[[], None], TaskTrace | None, Callable[[], bool]], TaskMailbox]]] = {
    "mail_overtakes": ReversingMailbox,
    "mail_joins_batch": UnbatchedMailbox,
    "batch_interrupted": InterruptedMailbox,
    "yield_runs_any_mail": PriorityIgnoringMailbox,
}
_CHANNELS: Final[dict[str, Callable[..., RemoteInputChannel]]] = {
    "received_buffer_leaks": LeakingChannel,
    "obsolete_barrier_accepted": CredulousChannel,
    "new_data_before_restored": ImpatientChannel,
}
_CHAINS: Final[dict[str, type[OperatorChain]]] = {
    "finish_before_end_input": EarlyFinishingChain,
    "close_twice": DoubleClosingChain,
    "idle_under_back_pressure": UnpausedClocksChain,
    "idle_clock_stuck": StuckClocksChain,
}


class BrokenSubtaskComponents(FaultySubtaskComponents):
    """Creates the task of a subtask and the task's components, with faults of tests.

    If two faults replace the same component and cannot be combined, the last of ``faults`` applies.
    """

    __slots__ = ("_stop",)

    def __init__(self, subtask: Subtask, faults: Sequence[Fault], run: FaultyComponents) -> None:
        super().__init__(subtask, faults, run)
        self._stop: TaskStop | None = None

    # The task.

    def task_checkpointing(self, task: StreamTask, checkpointing: TaskCheckpointing) -> TaskCheckpointing:
        return faulty_checkpointing(task, checkpointing, self.names(Component.CHECKPOINTS))

    def create_mailbox(
        self, on_put: Callable[[], None], trace: TaskTrace | None, is_mailbox_thread: Callable[[], bool]
    ) -> TaskMailbox:
        for name in reversed(self.names(Component.TASK)):
            if name in _MAILBOXES:
                return _MAILBOXES[name](on_put, trace, is_mailbox_thread)
        return super().create_mailbox(on_put, trace, is_mailbox_thread)

    def create_batches(self, task: StreamTask) -> Batches:
        if "reenter_action" not in self.names(Component.TASK):
            return super().create_batches(task)
        return ReentrantBatches(
            task.actor, task.scheduler, task.timers, task.outbox, task.times, task.budget, task.record_queue_peaks
        )

    def create_locked_loop_batches(self, task: LockedStreamTask) -> LockedLoopBatches:
        if "reenter_action" not in self.names(Component.TASK):
            return super().create_locked_loop_batches(task)
        return ReentrantLockedLoopBatches(
            task.actor, task.scheduler, task.timers, task.outbox, task.times, task.budget, task.record_queue_peaks
        )

    @property
    def source_thread(self) -> type[SourceThread]:
        stops_at_once = any(fault.fault == "stop_task" and fault.at == 0 for fault in self.faults[Component.TASK])
        return StoppedSourceThread if stops_at_once else super().source_thread

    # Its operators.

    def create_operator_chain(self, wrappers: Sequence[OperatorWrapper], trace: TaskTrace | None) -> OperatorChain:
        for name in reversed(self.names(Component.TASK)):
            if name in _CHAINS:
                return _CHAINS[name](wrappers, trace)
        return super().create_operator_chain(wrappers, trace)

    # Its input.

    def create_source_input(self, task: StreamTask, head: StreamOperator) -> TaskInput:
        return self._faulty_input(task, super().create_source_input(task, head), self._task_stop(task.clock))

    def create_network_input(
        self, task: StreamTask, chain: OperatorChain, gates: Sequence[Sequence[SingleInputGate]]
    ) -> TaskInput:
        self._stop = self._task_stop(task.clock)
        return self._faulty_input(task, super().create_network_input(task, chain, gates), self._stop)

    def create_elements(self) -> FaultyElements | None:
        faults = self.faults[Component.CHANNEL]
        return ChangedElements(faults, self._stop) if faults or self._stop is not None else None

    def _task_stop(self, clock: TaskClock) -> TaskStop | None:
        stops = [fault.at for fault in self.faults[Component.TASK] if fault.fault == "stop_task"]
        return TaskStop(min(stops), clock) if stops else None

    def _faulty_input(self, task: StreamTask, task_input: TaskInput, stop: TaskStop | None) -> TaskInput:
        if isinstance(task.mailbox, MailboxOfTwo):
            # The input is the last component of a task, so its mails come after all those of the deployment.
            task.mailbox.put_equal_mails()
        if "drain_without_max_watermark" in self.names(Component.TASK):
            task_input = InputWithoutLastWatermark(task_input)
        if "input_never_empty" in self.names(Component.TASK):
            task_input = NeverEmptyInput(task_input)
        return task_input if stop is None else StoppingInput(task_input, stop)

    # Its outputs.

    def create_partitioner(
        self, spec: PartitionerSpec, channels: int, max_parallelism: int, random: Random
    ) -> StreamPartitioner:
        made = super().create_partitioner(spec, channels, max_parallelism, random)
        if isinstance(made, KeyGroupStreamPartitioner) and "misroute_keys" in self.names(Component.WRITER):
            return MisroutingPartitioner(made.channels, made.key_selector, made.key_type, made.max_parallelism)
        for fault in self.faults[Component.WRITER]:
            if isinstance(made, RebalancePartitioner) and fault.fault == "rebalance_skips_channel":
                return SkippingPartitioner(channels, random, fault.at)
            if spec.name == "FORWARD" and fault.fault == "forward_over_several_channels":
                return ForwardPartitioner(channels)
        return made

    def create_adaptive_partitioner(
        self, partition: ResultPartition, max_traverse_size: int
    ) -> AdaptiveLoadBasedPartitioner:
        for fault in self.faults[Component.WRITER]:
            if fault.fault == "rebalance_skips_channel":
                return SkippingAdaptivePartitioner(partition, max_traverse_size, fault.at)
        return super().create_adaptive_partitioner(partition, max_traverse_size)

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
        return FaultyRecordWriter(
            partition, partitioner, timeout_ms, first_channel, random, trace, flusher, self.faults[Component.WRITER]
        )

    def _channel_faults(self, channel_id: int) -> list[str]:
        faults = self.faults[Component.READER]
        return [fault.fault for fault in faults if fault.channel is None or fault.channel == channel_id]

    def create_partition_request_queue(self, transport: Transport, outbox: Outbox) -> PartitionRequestQueue:
        if "resume_not_woken" not in self.names(Component.READER):
            return super().create_partition_request_queue(transport, outbox)
        return SleepingQueue(transport, outbox, self.faults[Component.READER], self.run.lost_credits)

    def create_view_reader(
        self,
        queue: ReaderQueue,
        receiver: BufferReceiver,
        initial_credit: int,
        channel_id: int,
        trace: TaskTrace | None,
    ) -> CreditBasedSequenceNumberingViewReader:
        faults = self._channel_faults(channel_id)
        return FaultyViewReader(queue, receiver, initial_credit, channel_id, trace, faults)

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
        faults = self._channel_faults(channel_id)
        for fault, channel in _CHANNELS.items():
            if fault in faults:
                return channel(gate, index, channel_id, exclusive_buffers, client, network_pool, trace)
        extra_credits = faults.count("credit_from_nowhere")
        return OverAnnouncingChannel(
            gate, index, channel_id, exclusive_buffers, client, network_pool, trace, extra_credits
        )


class BrokenComponents(FaultyComponents):
    """Puts the faults of tests into a run."""

    __slots__ = ()

    of_subtask = BrokenSubtaskComponents
    of_operator = BrokenOperatorComponents

    @classmethod
    def break_operator(cls, operator: StreamOperator, faults: Collection[str]) -> StreamOperator:
        return faulty_operator(super().break_operator(operator, faults), faults)

    def create_job_graph(self, graph: StreamGraph) -> JobGraph:
        job = super().create_job_graph(graph)
        for fault in self.faults:
            if fault.fault == "forward_over_several_channels":
                job = with_forward_edges(job, fault.operator)
        return job

    @property
    def checkpoint_coordinator(self) -> type[CheckpointCoordinator]:
        is_hasty = any(fault.fault == "completed_too_early" for fault in self.faults)
        return HastyCoordinator if is_hasty else super().checkpoint_coordinator

    def status_when_quiescent(self, tasks: Sequence[StreamTask]) -> JobStatus:
        """Returns the status of the job; a task that a fault stopped is not a deadlock (D4)."""
        is_stopped = any(isinstance(task.input, StoppingInput) and task.input.stop.is_reached for task in tasks)
        return JobStatus.STOPPED if is_stopped else super().status_when_quiescent(tasks)
