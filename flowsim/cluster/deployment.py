"""Creates connected tasks from an execution graph. Flink: TaskExecutor, TaskDeploymentDescriptor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from flowsim.cluster.components import Components
from flowsim.cluster.network_environment import NetworkEnvironment
from flowsim.cluster.task_failures import (
    AttemptFailures,
    FailingStateHandler,
    TaskFailures,
    fail_in_input,
    fail_in_source,
)
from flowsim.cluster.watermark_alignment import WatermarkAlignment
from flowsim.errors import BadInput
from flowsim.facts.recorder import Recorder
from flowsim.facts.tracer import TaskTrace
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph, input_count
from flowsim.graph.job_graph import ChainedOperator, JobEdge
from flowsim.graph.job_settings import JobSettings
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.windowing.aligned_window_operator import without_shortcuts
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.quantities import count_text
from flowsim.sim.rng import RandomStreams
from flowsim.sim.scheduler import Scheduler
from flowsim.streamrecord.output import Output
from flowsim.task_clock import TaskClock
from flowsim.tasks.batches import BatchBudget
from flowsim.tasks.changed_output import ChangedOutput
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.finished_operator_chain import FinishedOperatorChain
from flowsim.tasks.inputs.demultiplexing_record_deserializer import RecordFilter
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain, OperatorWrapper
from flowsim.tasks.operator_deployment import OperatorDeployment
from flowsim.tasks.operator_outputs import ChainingOutput, CopyingChainingOutput, OperatorOutput, OutputEdge
from flowsim.tasks.record_charge import ChargedOutput, PausedTime, RecordCharge
from flowsim.tasks.stream_task import StreamTask
from flowsim.units import NS_PER_MS

OnDeploy = Callable[[int, StreamTask], TaskCheckpointing | None]
"""Called with the id of a subtask and its new task; returns the checkpoints of the task, if the job has any."""


class Deployment:
    """The tasks of one job, connected but not started."""

    def __init__(
        self,
        execution: ExecutionGraph,
        scheduler: Scheduler,
        streams: RandomStreams,
        recorder: Recorder | None,
        components: Components | None = None,
        budget_records: int | None = None,
        on_deploy: OnDeploy | None = None,
        failures: TaskFailures | None = None,
    ) -> None:
        """``on_deploy`` is called with each task when it is created, and returns its checkpoints.

        ``failures``: None: the run asks for no failure of a task.
        """
        self.execution = execution
        self.settings: JobSettings = execution.job.graph.settings
        self.scheduler = scheduler
        self._started_ns = scheduler.now_ns
        self.streams = streams
        self.recorder = recorder
        self._components = (Components() if components is None else components).of_subtasks(execution)
        has_coordinators = any(node.enumerator_factory is not None for node in execution.job.graph.nodes.values())
        has_job_manager = self.settings.checkpointing is not None or has_coordinators
        records = self.settings.budget_records if budget_records is None else budget_records
        self._budget = BatchBudget(records, NS_PER_MS if has_job_manager else None)
        self._on_deploy = on_deploy
        self._failures = failures
        self._actor_ids = len(execution.subtasks) - 1 + has_job_manager
        self._clocks: dict[int, TaskClock] = {}
        self._traces: dict[int, TaskTrace | None] = {}
        self._attempts = [0] * len(execution.subtasks)
        self.tasks: list[StreamTask] = [self._create_task(subtask) for subtask in execution.subtasks]
        self.network = NetworkEnvironment(execution, streams, self._components, self.tasks, scheduler)
        try:
            for subtask in execution.subtasks:
                self._wire(subtask)
        except BaseException:
            self.network.close()  # Else the folder of blocking partitions would stay.
            raise
        self.alignment = WatermarkAlignment(execution, self.tasks, scheduler)

    def redeploy(self, subtasks: Sequence[int]) -> None:
        """Replaces ended attempts of tasks by new ones; their memory and connections are free before."""
        self.network.release(subtasks)
        for number in subtasks:
            self._attempts[number] += 1
            trace = self._traces[number]
            if trace is not None:
                trace.begin_attempt()
            self.tasks[number] = self._create_task(self.execution.subtasks[number])
        for number in subtasks:
            self._wire(self.execution.subtasks[number])
            self.alignment.redeployed(number, self.tasks[number])

    def _create_task(self, subtask: Subtask) -> StreamTask:
        clock = self._clocks.get(subtask.id)
        if clock is None:
            clock = self._clocks[subtask.id] = TaskClock(self.scheduler.now_ns)
            self._traces[subtask.id] = (
                None if self.recorder is None else TaskTrace(subtask.id, clock, self.recorder, self.scheduler)
            )
        trace = self._traces[subtask.id]
        components = self._components[subtask.id]
        return components.create_task(self.scheduler, self._budget, trace, clock, self._new_actor_id)

    def _new_actor_id(self) -> int:
        """Returns a number for an actor that is not a task's mailbox loop."""
        self._actor_ids += 1
        return self._actor_ids

    def _wire(self, subtask: Subtask) -> None:
        task = self.tasks[subtask.id]
        out_edges = self.execution.job.out_edges(subtask.vertex)
        writers = {edge.id: self.network.create_writer(subtask, edge) for edge in out_edges}
        checkpointing = None if self._on_deploy is None else self._on_deploy(subtask.id, task)
        is_finished = checkpointing is not None and checkpointing.is_restored_as_finished
        chain = self._create_chain(subtask, task, writers, is_finished=is_finished)
        gates = self._create_gates(subtask, chain)
        task.wire(chain, self._create_input(subtask, task, chain, gates), list(writers.values()))
        failures = self._failures_of(subtask)
        if failures is not None:
            fail_in_input(task, failures)
        if checkpointing is not None:
            checkpointing = replace(checkpointing, record_filters=self._record_filters(subtask))
            checkpointing = self._components[subtask.id].task_checkpointing(task, checkpointing)
            task.enable_checkpoints(checkpointing, gates)
            if failures is not None:
                head = chain.wrappers[0]
                head.state_handler = FailingStateHandler(head, checkpointing, failures)

    def _record_filters(self, subtask: Subtask) -> list[Callable[[], RecordFilter]]:
        """Returns what creates the filters of each gate, in the order of ``_create_gates`` (rule 12.104)."""
        edges = sorted(self.execution.job.in_edges(subtask.vertex), key=lambda edge: (edge.input_index, edge.id))
        return [partial(self._record_filter, subtask, edge) for edge in edges]

    def _record_filter(self, subtask: Subtask, edge: JobEdge) -> RecordFilter:
        vertex = subtask.vertex
        random = self.streams.stream("record filter", edge.id, subtask.index)
        partitioner = self._components[subtask.id].create_partitioner(
            edge.partitioner, vertex.parallelism, vertex.max_parallelism, random
        )
        return lambda value: partitioner.select_channel(value) == subtask.index

    def _failures_of(self, subtask: Subtask) -> AttemptFailures | None:
        return None if self._failures is None else self._failures.of(subtask.id, self._attempts[subtask.id])

    def _create_input(
        self, subtask: Subtask, task: StreamTask, chain: OperatorChain, gates: Sequence[Sequence[SingleInputGate]]
    ) -> TaskInput:
        components = self._components[subtask.id]
        if chain.head.is_source:
            if isinstance(chain, FinishedOperatorChain):
                return chain.create_source_input()
            return components.create_source_input(task, chain.head)
        return components.create_network_input(task, chain, gates)

    def _create_gates(self, subtask: Subtask, chain: OperatorChain) -> list[list[SingleInputGate]]:
        """Returns the gates of each input; none for a source."""
        head = chain.head
        if head.is_source:
            return []
        edges = self.execution.job.in_edges(subtask.vertex)
        count, connected = len(head.inputs), input_count(self.execution.job, subtask.vertex)
        if count != connected:
            raise BadInput(
                f"operator '{subtask.vertex.head.name}' has {count_text(count, 'input')}, the job feeds {connected}"
            )
        return [
            [self.network.create_gate(subtask, edge) for edge in edges if edge.input_index == index]
            for index in range(count)
        ]

    def _create_chain(
        self, subtask: Subtask, task: StreamTask, writers: Mapping[int, RecordWriter], *, is_finished: bool
    ) -> OperatorChain:
        """Creates the operators tail first, so that an operator's consumers exist when it is wired (rule 4.2).

        ``is_finished``: the task is restored as finished.
        """
        components = self._components[subtask.id]
        wrappers: dict[int, OperatorWrapper] = {}
        for chained in reversed(subtask.vertex.operators):
            operator = components.create_operator(chained)
            records_state = task.trace is not None and task.trace.state is not None
            if isinstance(operator, WindowOperator) and (records_state or chained.node.batch_inputs is not None):
                operator = without_shortcuts(operator)
            if chained.node.on_operator is not None:
                chained.node.on_operator(subtask.index, operator)
            edges = self._output_edges(subtask, task, chained, operator, wrappers, writers)
            failures = self._failures_of(subtask)
            if failures is not None and operator.is_source:
                edges = fail_in_source(edges, failures)
            wrappers[chained.index] = self._set_up(subtask, task, chained, operator, edges)
        in_order = [wrappers[chained.index] for chained in subtask.vertex.operators]
        if is_finished:
            return FinishedOperatorChain(in_order, task.trace, task.name, list(writers.values()))
        return components.create_operator_chain(in_order, task.trace)

    def _output_edges(
        self,
        subtask: Subtask,
        task: StreamTask,
        chained: ChainedOperator,
        operator: StreamOperator,
        wrappers: Mapping[int, OperatorWrapper],
        writers: Mapping[int, RecordWriter],
    ) -> list[OutputEdge]:
        """Returns the edges, network first: a record that waits for a buffer has not reached the rest of the chain."""
        vertex = subtask.vertex
        successors = vertex.consumers_of(chained)
        out_edges = [edge for edge in self.execution.job.out_edges(vertex) if edge.source_operator == chained.index]
        copies = self._copies(operator, len(successors) + len(out_edges))
        edges = [OutputEdge(edge.side_output, writers[edge.id]) for edge in out_edges]
        for successor in successors:
            consumer = wrappers[successor.index]
            output = (CopyingChainingOutput if copies else ChainingOutput)(
                consumer.charged(consumer.operator), consumer.name
            )
            edges.append(OutputEdge(successor.input_tag, output))
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
        # Of their own: a restored operator goes on with its numbers, whatever markers there were.
        markers = self.streams.stream("latency markers", vertex.id, chained.index, subtask.index)
        output = OperatorOutput(edges, markers.randrange)
        executor = task.mailbox_processor.executor(chained.chain_index, node.name)
        processing_time = task.create_processing_time(chained.index, executor)
        deployed = OperatorDeployment(
            subtask,
            chained,
            self.settings,
            executor,
            processing_time,
            random,
            self.streams.seed,
            self._started_ns,
            self._attempts[subtask.id],
        )
        context = task.create_operator_context(deployed)
        context.components = self._components[subtask.id].create_operator_components(chained)
        charge = self._charge_of(deployed, task)
        taken: Output = ChargedOutput(output, charge) if charge is not None and operator.is_source else output
        operator.setup(context, taken if node.change is None else ChangedOutput(taken, node.change))
        return OperatorWrapper(
            operator,
            node.name,
            chained.index,
            output,
            executor,
            processing_time,
            context.cost_ns,
            charge,
            self._components[subtask.id].observe_operator(chained, context),
        )

    def _charge_of(self, deployed: OperatorDeployment, task: StreamTask) -> RecordCharge | None:
        """Returns what adds the costs of records that differ, and pauses; None without these, and on the real clock."""
        node, subtask, cost = deployed.chained.node, deployed.subtask.index, deployed.cost
        pauses = [
            PausedTime(self._started_ns + pause.from_ns, self._started_ns + pause.to_ns)
            for pause in node.pauses
            if pause.subtask in (None, subtask)
        ]
        if not self.scheduler.is_virtual or (isinstance(cost, int) and not pauses):
            return None
        for pause in pauses:
            task.timers.end_batch_at(pause.from_ns)
        costs = () if isinstance(cost, int) else cost
        return RecordCharge(costs, task.clock, pauses, lambda until_ns: task.working.pause_until(until_ns))

    def _copies(self, operator: StreamOperator, consumers: int) -> bool:
        """True if chained operators get copies of the output of ``operator`` (rule 5.10)."""
        belongs_to_one = isinstance(operator, SourceOperator) and operator.hands_over_records and consumers == 1
        return not self.settings.object_reuse and not belongs_to_one
