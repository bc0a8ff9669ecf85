"""The settings of a compared job: what both sides have in common, and Flink's configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

from flowsim.cluster.job_execution import RunOptions
from flowsim.conform.sinks import Commits, with_noting_sink
from flowsim.conform.unsupported import Unsupported
from flowsim.connectors.source import Source
from flowsim.datastream.building.operator_factories import source_function_operator
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart, NoRestart
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.operator_cost import OperatorCosts
from flowsim.graph.runtime_execution_mode import RuntimeExecutionMode
from flowsim.graph.stream_graph import StreamGraph, StreamNode
from flowsim.legacy.source_function import LegacySource

MOST_RESTARTS: Final = 20
"""A job that fails again after each restart ends with the last of them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting of the scenario that the comparison changes."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class CommonJob:
    """A job as both sides can run it."""

    graph: StreamGraph
    changes: tuple[Difference, ...]
    """What differs from the job of the user."""
    commits: Commits
    """Filled by a run here."""


def common_job(graph: StreamGraph) -> CommonJob:
    """Returns the job as both sides can run it: without costs, links, buffer timeouts, delays of restarts and output.

    Raises Unsupported for BATCH mode, and for a sink that cannot be replaced by one that writes nothing.
    """
    if graph.settings.runtime_mode is RuntimeExecutionMode.BATCH:
        raise Unsupported("BATCH mode: no exchange has a time that can be conducted")
    settings, changes = graph.settings, list(_changes(graph))
    checkpointing = settings.checkpointing
    if checkpointing is not None:
        checkpointing = replace(checkpointing, sync_latency_ns=0, async_latency_ns=0, async_bytes_per_second=None)
    restart = settings.restart_strategy
    restarts = restart is not None or (checkpointing is not None and checkpointing.is_enabled)
    if restarts and not isinstance(restart, NoRestart):
        restart = FixedDelayRestart(min(getattr(restart, "attempts", MOST_RESTARTS), MOST_RESTARTS), 0)
    common = replace(
        settings,
        cost_ns=0,
        buffer_timeout_ms=0,
        links=(),
        buffer_debloat=None,
        adaptive_partitioner=None,
        network_buffers=None,
        task_managers="one",
        checkpointing=checkpointing,
        restart_strategy=restart,
    )
    commits: Commits = {}
    made = StreamGraph(graph.name, common, edges=list(graph.edges))
    for node in graph.nodes.values():
        free = replace(node, cost_ns=None, costs=OperatorCosts(), buffer_timeout_ms=None)
        if _is_played_as_source_function(node):
            free = _source_function(free, settings)
        if node.description.kind == "sink":
            free = with_noting_sink(free, commits, has_checkpoints=checkpointing is not None)
        made.add_node(free)
    return CommonJob(made, tuple(changes), commits)


def _is_played_as_source_function(node: StreamNode) -> bool:
    """Returns True for a source of the new kind that emits event time itself, as on Flink source functions do."""
    params = node.description.params
    has_splits = params.get("splits") or params.get("assignment") == "dynamic"
    is_reader = node.is_source and not node.is_legacy_source and not has_splits
    return is_reader and getattr(node.operator_factory(), "strategy", None) is None


def _source_function(node: StreamNode, settings: JobSettings) -> StreamNode:
    source = LegacySource(cast(Source, node.source))
    description = replace(node.description, params={**node.description.params, "legacy": True})
    make = source_function_operator(source, settings)
    return replace(
        node, is_legacy_source=True, source=source, description=description, operator_factory=lambda: make(node.name)
    )


def with_remote_channels(job: CommonJob) -> CommonJob:
    """Returns the job with a task manager for each subtask, so that every buffer leaves by itself."""
    graph = job.graph
    made = StreamGraph(graph.name, replace(graph.settings, task_managers="each"), edges=list(graph.edges))
    for node in graph.nodes.values():
        made.add_node(node)
    return replace(job, graph=made)


def _changes(graph: StreamGraph) -> Iterator[Difference]:
    settings, nodes = graph.settings, list(graph.nodes.values())
    if settings.cost_ns or any(map(_has_cost, nodes)):
        yield Difference("costs of records", "Flink's operators take no virtual time: 0 on both sides")
    if settings.buffer_timeout_ms or any(node.buffer_timeout_ms for node in nodes):
        yield Difference("buffer timeouts", "both sides send every record at once")
    if any(edge.partitioner is not None and edge.partitioner.name == "REBALANCE" for edge in graph.edges):
        yield Difference("the first channel of rebalance", "chance chooses it: the first one on both sides")
    if settings.task_managers != "one":
        yield Difference(
            "task managers", "the embedded cluster has one: one on both sides, except in every second schedule here"
        )
    if settings.links:
        yield Difference("links", "Flink has no simulated network: none on both sides")
    if settings.buffer_debloat is not None:
        yield Difference("buffer_debloat", "it depends on measured time: off on both sides")
    if settings.network_buffers is not None:
        yield Difference("network_buffers", "the embedded cluster has as many as its pools request: so on both sides")
    if settings.adaptive_partitioner is not None:
        yield Difference("adaptive_partitioner", "it depends on the load of channels: off on both sides")
    if settings.restart_strategy is not None and not isinstance(settings.restart_strategy, NoRestart):
        yield Difference("delays of restarts", f"both sides restart at once, at most {MOST_RESTARTS} times")
    checkpointing = settings.checkpointing
    if checkpointing is not None and (checkpointing.sync_latency_ns or checkpointing.async_latency_ns):
        yield Difference("durations of checkpoints", "Flink's checkpoints take no virtual time: 0 on both sides")


def _has_cost(node: StreamNode) -> bool:
    return bool(node.cost_ns) or node.costs != OperatorCosts()


def configuration(settings: JobSettings, snapshots: Path) -> dict[str, str]:
    """Returns Flink's configuration of a job: the settings that have an option there.

    Checkpoints are triggered by the conductor, when they are due here; so Flink's own interval is long.
    """
    found = {
        "web.checkpoints.history": "1000",
        "execution.buffer-timeout.interval": "0 ms",
        "pipeline.auto-watermark-interval": f"{settings.auto_watermark_interval_ms} ms",
        "pipeline.operator-chaining.enabled": str(settings.operator_chaining).lower(),
        "pipeline.object-reuse": str(settings.object_reuse).lower(),
        "parallelism.default": str(settings.parallelism),
        "restart-strategy.type": "none",
        "metrics.latency.interval": f"{settings.latency_interval_ms} ms",
        "pipeline.watermark-alignment.buffer-size": str(settings.watermark_alignment_buffer_size),
    }
    if settings.max_parallelism is not None:
        found["pipeline.max-parallelism"] = str(settings.max_parallelism)
    checkpointing = settings.checkpointing
    if checkpointing is not None:
        found |= _checkpointing(checkpointing, snapshots)
    if isinstance(settings.restart_strategy, FixedDelayRestart):
        found["restart-strategy.type"] = "fixed-delay"
        found["restart-strategy.fixed-delay.attempts"] = str(settings.restart_strategy.attempts)
        found["restart-strategy.fixed-delay.delay"] = "1 ms"
    return found


def buffers(settings: JobSettings) -> dict[str, int]:
    """Returns the numbers of buffers of channels and gates, which are settings of Flink's cluster."""
    return {
        "exclusive": settings.exclusive_buffers_per_channel,
        "floating": settings.floating_buffers_per_gate,
        "most_per_channel": settings.max_buffers_per_channel,
        "overdraft": settings.overdraft_buffers,
    }


def _checkpointing(settings: CheckpointSettings, snapshots: Path) -> dict[str, str]:
    found = {
        # Also before the first checkpoint of its own.
        "execution.checkpointing.min-pause": "10 h",
        "execution.checkpointing.timeout": "1 min",
        "execution.checkpointing.mode": "EXACTLY_ONCE" if settings.exactly_once else "AT_LEAST_ONCE",
        "execution.checkpointing.dir": snapshots.as_uri(),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.tolerable-failed-checkpoints": "1000",
        "execution.checkpointing.max-concurrent-checkpoints": str(settings.max_concurrent),
        "execution.checkpointing.unaligned.enabled": str(settings.unaligned).lower(),
        # Also for jobs with custom partitioners, which Flink otherwise refuses.
        "execution.checkpointing.unaligned.forced": "true",
        # A subtask that shares a file answers only when the others of this file do, also paused ones.
        "execution.checkpointing.unaligned.max-subtasks-per-channel-state-file": "1",
        "execution.checkpointing.aligned-checkpoint-timeout": f"{settings.aligned_timeout_ms} ms",
        "execution.checkpointing.checkpoints-after-tasks-finish": str(settings.after_tasks_finish).lower(),
    }
    if settings.is_enabled:
        found["execution.checkpointing.interval"] = "10 h"
    return found


def in_order_of_time(options: RunOptions) -> RunOptions:
    """Returns the options of a run on the virtual clock, without a schedule of its own."""
    return replace(options, policy="fifo", clock="virtual")
