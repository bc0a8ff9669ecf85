"""The execution graph of a run: the job in the space of its policy, with the checkpoints that the run needs."""

from __future__ import annotations

from dataclasses import replace

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.job_master.savepoint_restore import prepare_restore
from flowsim.cluster.run_events import CheckedEvents
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.graph.execution_graph import ExecutionGraph, create_execution_graph
from flowsim.graph.explored_spaces import in_order_space, in_runtime_space
from flowsim.graph.stream_graph import StreamGraph
from flowsim.sim.exploring_loop import ExploringPolicy
from flowsim.sim.sampled.costs import CostsPolicy


def planned_job(graph: StreamGraph, options: RunOptions, events: CheckedEvents) -> ExecutionGraph:
    """Returns the execution graph, which several runs with the same options can share if they start from no savepoint.

    Raises BadInput for a job that cannot be deployed, restored, or run on the clock.
    """
    graph.check_run(options.clock)
    task_managers = graph.settings.task_managers
    if isinstance(options.policy, ExploringPolicy | CostsPolicy):
        graph = in_order_space(graph) if options.policy.source.space == "order" else in_runtime_space(graph)
    checkpointing = graph.settings.checkpointing
    if checkpointing is None and events.needs_checkpoints:
        checkpointing = CheckpointSettings()
    if checkpointing is not None:
        graph = replace(graph, settings=replace(graph.settings, checkpointing=checkpointing.in_effect()))
    execution = create_execution_graph(options.components.create_job_graph(graph), options.limits, task_managers)
    if options.savepoint is not None:
        prepare_restore(execution, options.savepoint, options.limits)
    return execution
