"""The settings of a compared job: what both sides have in common, and Flink's configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.run_actions import StopJob
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart, NoRestart
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.operator_cost import OperatorCosts
from flowsim.graph.stream_graph import StreamGraph, StreamNode


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting of the scenario that the comparison changes."""

    what: str
    why: str


def without_costs(graph: StreamGraph) -> tuple[StreamGraph, list[Difference]]:
    """Returns the job as both sides can run it, and what was changed: costs, links, buffer timeouts, restart delays."""
    settings, changes = graph.settings, list(_changes(graph))
    checkpointing = settings.checkpointing
    if checkpointing is not None:
        checkpointing = replace(checkpointing, sync_latency_ns=0, async_latency_ns=0, async_bytes_per_second=None)
    restart = settings.restart_strategy
    if restart is not None and not isinstance(restart, NoRestart):
        restart = FixedDelayRestart(getattr(restart, "attempts", 2**31 - 1), 0)
    common = replace(
        settings,
        cost_ns=0,
        buffer_timeout_ms=0,
        links=(),
        buffer_debloat=None,
        adaptive_partitioner=None,
        checkpointing=checkpointing,
        restart_strategy=restart,
    )
    made = StreamGraph(graph.name, common, edges=list(graph.edges))
    for node in graph.nodes.values():
        made.add_node(replace(node, cost_ns=None, costs=OperatorCosts(), buffer_timeout_ms=None))
    return made, changes


def _changes(graph: StreamGraph) -> Iterator[Difference]:
    settings, nodes = graph.settings, list(graph.nodes.values())
    if settings.cost_ns or any(map(_has_cost, nodes)):
        yield Difference("costs of records", "Flink's operators take no virtual time: 0 on both sides")
    if settings.buffer_timeout_ms or any(node.buffer_timeout_ms for node in nodes):
        yield Difference("buffer timeouts", "both sides send every record at once")
    if settings.links:
        yield Difference("links", "Flink has no simulated network: none on both sides")
    if settings.buffer_debloat is not None:
        yield Difference("buffer_debloat", "it depends on measured time: off on both sides")
    if settings.adaptive_partitioner is not None:
        yield Difference("adaptive_partitioner", "it depends on the load of channels: off on both sides")
    if settings.restart_strategy is not None and not isinstance(settings.restart_strategy, NoRestart):
        yield Difference("delays of restarts", "both sides restart at once")


def _has_cost(node: StreamNode) -> bool:
    return bool(node.cost_ns) or node.costs != OperatorCosts()


def configuration(settings: JobSettings, snapshots: Path) -> dict[str, str]:
    """Returns Flink's configuration of a job: the settings that have an option there.

    Checkpoints are triggered by the conductor, when they are due here; so Flink's own interval is long.
    """
    found = {
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
        if settings.restart_strategy is None or not isinstance(settings.restart_strategy, NoRestart):
            attempts = getattr(settings.restart_strategy, "attempts", 2**31 - 1)
            found["restart-strategy.type"] = "fixed-delay"
            found["restart-strategy.fixed-delay.attempts"] = str(attempts)
            found["restart-strategy.fixed-delay.delay"] = "1 ms"
    return found


def _checkpointing(settings: CheckpointSettings, snapshots: Path) -> dict[str, str]:
    found = {
        "execution.checkpointing.min-pause": "0 ms",
        "execution.checkpointing.timeout": "1 min",
        "execution.checkpointing.mode": "EXACTLY_ONCE" if settings.exactly_once else "AT_LEAST_ONCE",
        "execution.checkpointing.dir": snapshots.as_uri(),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.tolerable-failed-checkpoints": "1000",
        "execution.checkpointing.max-concurrent-checkpoints": str(settings.max_concurrent),
        "execution.checkpointing.unaligned.enabled": str(settings.unaligned).lower(),
        "execution.checkpointing.aligned-checkpoint-timeout": f"{settings.aligned_timeout_ms} ms",
        "execution.checkpointing.checkpoints-after-tasks-finish.enabled": str(settings.after_tasks_finish).lower(),
    }
    if settings.is_enabled:
        found["execution.checkpointing.interval"] = "10 h"
    return found


def options_without_schedule(options: RunOptions) -> RunOptions:
    """Returns the options of a run in order of time."""
    return replace(options, policy="fifo", clock="virtual")


__all__ = ["Difference", "configuration", "fields", "options_without_schedule", "without_costs", "StopJob"]
