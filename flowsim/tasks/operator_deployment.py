"""The deployment data of one operator, and its context. Flink: StreamOperatorParameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from flowsim.facts.tracer import TaskTrace
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.job_graph import ChainedOperator
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.operator_cost import RecordCosts
from flowsim.graph.runtime_execution_mode import RuntimeExecutionMode
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.stream_operator import OperatorContext
from flowsim.streamrecord.operator_event import OperatorEvent
from flowsim.task_clock import TaskClock
from flowsim.tasks.processing_time import OperatorProcessingTimeService
from flowsim.timers.internal_timer_service import CancellationContext


@dataclass(frozen=True, slots=True)
class OperatorDeployment:
    """The data of one operator of one subtask, before the operator's set-up."""

    subtask: Subtask
    chained: ChainedOperator
    settings: JobSettings
    executor: MailboxExecutor
    processing_time: OperatorProcessingTimeService
    random: Random
    run_seed: int
    run_started_ns: int
    attempt_number: int = 0
    """The number of earlier attempts of the subtask."""

    @property
    def cost(self) -> int | RecordCosts:
        """The cost of a record of the subtask: ns, or functions of the record."""
        node = self.chained.node
        constant_ns = self.settings.cost_ns if node.cost_ns is None else node.cost_ns
        return node.costs.of_subtask(self.subtask.index, constant_ns)

    def create_context(
        self,
        clock: TaskClock,
        trace: TaskTrace | None,
        cancellation: CancellationContext,
        async_calls: AsyncCalls,
        fail_externally: Callable[[Callable[[], None]], None],
        send_operator_event: Callable[[str, OperatorEvent], None],
    ) -> OperatorContext:
        """Creates the operator's context; the arguments come from the operator's task."""
        subtask, node, vertex, settings = self.subtask, self.chained.node, self.subtask.vertex, self.settings
        return OperatorContext(
            operator_name=node.name,
            operator_index=self.chained.index,
            task_name=subtask.name,
            subtask_index=subtask.index,
            parallelism=vertex.parallelism,
            max_parallelism=vertex.max_parallelism,
            key_group_range=subtask.key_group_range,
            key_selector=node.key_selector,
            key_selectors=node.key_selectors,
            vertex_id=vertex.id,
            key_type=node.key_type,
            clock=clock,
            processing_time=self.processing_time,
            mailbox_executor=self.executor,
            random=self.random,
            cost_ns=self.cost if isinstance(self.cost, int) else 0,
            trace=trace,
            cancellation=cancellation,
            interruptible_timers=settings.interruptible_timers,
            async_calls=async_calls,
            fail_externally=fail_externally,
            object_reuse=settings.object_reuse,
            operator_id=self.chained.operator_id,
            uid_or_position=node.uid_or_position,
            is_batch=settings.runtime_mode is RuntimeExecutionMode.BATCH,
            is_checkpointing_enabled=settings.checkpointing is not None and settings.checkpointing.is_enabled,
            attempt_number=self.attempt_number,
            state_ttl=node.state_ttl,
            job_parameters=node.job_parameters,
            run_seed=self.run_seed,
            run_started_ns=self.run_started_ns,
            send_to_coordinator=None
            if node.enumerator_factory is None
            else lambda event: send_operator_event(self.chained.operator_id, event),
        )
