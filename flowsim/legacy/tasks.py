"""Creates the tasks that need a checkpoint lock. Flink (until 1.9): StreamTask, SourceStreamTask."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts.tracer import TaskTrace
from flowsim.graph.edge_expansion import Subtask
from flowsim.legacy.async_designs import has_legacy_async_operator
from flowsim.legacy.locked_stream_task import LockedStreamTask
from flowsim.legacy.source_stream_task import SourceStreamTask, SourceTaskComponents
from flowsim.sim.scheduler import Scheduler
from flowsim.task_clock import TaskClock
from flowsim.tasks.batches import BatchBudget


def create_legacy_task(
    subtask: Subtask,
    scheduler: Scheduler,
    budget: BatchBudget,
    trace: TaskTrace | None,
    clock: TaskClock,
    components: SourceTaskComponents,
    new_actor_id: Callable[[], int],
) -> LockedStreamTask | None:
    """Creates the task of a source function or of a legacy async operator; returns None for all other subtasks.

    ``new_actor_id`` numbers the actors that a task has besides its mailbox loop.
    """
    vertex = subtask.vertex
    has_emitters = has_legacy_async_operator(vertex)
    if not vertex.is_legacy_source and not has_emitters:
        return None
    kind = SourceStreamTask if vertex.is_legacy_source else LockedStreamTask
    upstream_operators = {chained.index: chained.input_operator for chained in vertex.operators}
    return kind(
        subtask.id,
        subtask.name,
        scheduler,
        budget,
        trace,
        clock,
        components,
        new_actor_id,
        upstream_operators,
        has_emitters,
    )
