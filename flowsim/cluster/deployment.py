"""Turns an execution graph into wired tasks. Flink: TaskExecutor, TaskDeploymentDescriptor."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.cluster.faults import DeployedFaults, Fault
from flowsim.cluster.network_environment import NetworkEnvironment
from flowsim.cluster.watermark_alignment import WatermarkAlignment
from flowsim.errors import BadInput
from flowsim.facts.tracer import Recorder, TaskTrace
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph, input_count
from flowsim.graph.job_graph import ChainedOperator
from flowsim.graph.stream_graph import JobSettings
from flowsim.legacy.tasks import create_legacy_task
from flowsim.network.gates.input_gate import InputGate
from flowsim.network.gates.union_input_gate import UnionInputGate
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.sim.rng import RandomStreams
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.batches import BatchBudget
from flowsim.tasks.inputs.multiple_input_processor import StreamMultipleInputProcessor
from flowsim.tasks.inputs.network_input import (
    CanEmitBatchOfRecordsChecker,
    StreamTaskNetworkInput,
    StreamTaskNetworkOutput,
)
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain, OperatorWrapper
from flowsim.tasks.operator_outputs import ChainingOutput, OperatorOutput, OutputEdge
from flowsim.tasks.source_operator_stream_task import SourceOperatorStreamTask
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_clock import TaskClock
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve


class Deployment:
    """The tasks of one job, wired to each other but not started."""

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
        self._actor_ids = len(execution.subtasks) - 1
        self.tasks: list[StreamTask] = [self._create_task(subtask) for subtask in execution.subtasks]
        self.network = NetworkEnvironment(execution, streams, self.faults, self.tasks, scheduler)
        for subtask in execution.subtasks:
            self._wire(subtask)
        self.alignment = WatermarkAlignment(execution, self.tasks, scheduler)
        self.faults.apply_to_tasks(self.tasks)

    def _create_task(self, subtask: Subtask) -> StreamTask:
        clock = TaskClock(self.scheduler.now_ns)
        trace = None if self.recorder is None else TaskTrace(subtask.id, clock, self.recorder, self.scheduler)
        budget = self._budget
        legacy = create_legacy_task(subtask, self.scheduler, budget, trace, clock, self._new_actor_id)
        if legacy is not None:
            return legacy
        kind = SourceOperatorStreamTask if subtask.vertex.operators[0].node.is_source else StreamTask
        return kind(subtask.id, subtask.name, self.scheduler, budget, trace, clock)

    def _new_actor_id(self) -> int:
        """Of an actor besides those that are known by the numbers of their tasks."""
        self._actor_ids += 1
        return self._actor_ids

    def _wire(self, subtask: Subtask) -> None:
        task = self.tasks[subtask.id]
        out_edges = self.execution.job.out_edges(subtask.vertex)
        writers = {edge.id: self.network.create_writer(subtask, edge) for edge in out_edges}
        chain = self._create_chain(subtask, task, writers)
        head = chain.head
        if head.is_source:
            task.wire(chain, task.create_source_input(head), list(writers.values()))
            return
        task.wire(chain, self._create_input(subtask, task, chain), list(writers.values()))

    def _create_input(self, subtask: Subtask, task: StreamTask, chain: OperatorChain) -> TaskInput:
        """One gate per edge; those of one input are united (rule 7.11)."""
        edges = self.execution.job.in_edges(subtask.vertex)
        inputs = chain.head.inputs
        connected = input_count(self.execution.job, subtask.vertex)
        if len(inputs) != connected:
            raise BadInput(f"operator '{subtask.vertex.head.name}' has {len(inputs)} inputs, the job feeds {connected}")
        create_deserializer = self.faults.deserializer_factory(subtask, task)
        can_emit_batch = CanEmitBatchOfRecordsChecker(task.clock, emits_batches=len(inputs) == 1)
        made: list[StreamTaskNetworkInput] = []
        for index, head_input in enumerate(inputs):
            gates = [self.network.create_gate(subtask, edge) for edge in edges if edge.input_index == index]
            gate: InputGate = gates[0] if len(gates) == 1 else UnionInputGate(gates)
            output = StreamTaskNetworkOutput(head_input, index, task.trace)
            channels = sum(each.count for each in gates)
            valve = StatusWatermarkValve(channels, output, self.faults.of_input(subtask))
            deserializer = create_deserializer()
            made.append(StreamTaskNetworkInput(gate, output, valve, deserializer, can_emit_batch, task.trace))
        if len(made) == 1:
            return made[0]
        return StreamMultipleInputProcessor(made, chain.head.input_selectable, chain.end_input_of_head_of)

    def _create_chain(self, subtask: Subtask, task: StreamTask, writers: Mapping[int, RecordWriter]) -> OperatorChain:
        """Tail first, so that every operator's consumers exist when it is wired (rule 4.2)."""
        wrappers: dict[int, OperatorWrapper] = {}
        for chained in reversed(subtask.vertex.operators):
            operator = chained.node.operator_factory()
            edges = self._output_edges(subtask, task, chained, operator, wrappers, writers)
            wrappers[chained.index] = self._set_up(subtask, task, chained, operator, edges)
        return OperatorChain([wrappers[chained.index] for chained in subtask.vertex.operators], task.trace)

    def _output_edges(
        self,
        subtask: Subtask,
        task: StreamTask,
        chained: ChainedOperator,
        operator: StreamOperator,
        wrappers: Mapping[int, OperatorWrapper],
        writers: Mapping[int, RecordWriter],
    ) -> list[OutputEdge]:
        """The network first: a record that waits for a buffer has not reached the chain behind it."""
        vertex = subtask.vertex
        successors = vertex.consumers_of(chained)
        out_edges = [edge for edge in self.execution.job.out_edges(vertex) if edge.source_operator == chained.index]
        copies = self._copies(operator, len(successors) + len(out_edges))
        counts = task.trace is not None
        edges = [OutputEdge(edge.side_output, writers[edge.id]) for edge in out_edges]
        for successor in successors:
            output_to = ChainingOutput(wrappers[successor.index].operator, copies=copies, counts=counts)
            edges.append(OutputEdge(successor.input_tag, output_to))
        return edges

    def _set_up(
        self,
        subtask: Subtask,
        task: StreamTask,
        chained: ChainedOperator,
        operator: StreamOperator,
        edges: list[OutputEdge],
    ) -> OperatorWrapper:
        node, vertex = chained.node, subtask.vertex
        random = self.streams.stream("operator", vertex.id, chained.index, subtask.index)
        output = OperatorOutput(edges, random.randrange)
        executor = task.mailbox_processor.executor(chained.chain_index)
        processing_time = task.create_processing_time(chained.index, executor)
        context = task.create_operator_context(subtask, chained, self.settings, executor, processing_time, random)
        context.faults = self.faults.of_operator(subtask, chained)
        operator.setup(context, output)
        return OperatorWrapper(operator, node.name, chained.index, output, executor, processing_time, context.cost_ns)

    def _copies(self, operator: StreamOperator, consumers: int) -> bool:
        """Whether chained operators get copies of what ``operator`` emits (rule 5.10)."""
        belongs_to_one = isinstance(operator, SourceOperator) and operator.hands_over_records and consumers == 1
        return not self.settings.object_reuse and not belongs_to_one
