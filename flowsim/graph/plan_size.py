"""The size of a job before it is built: what its subtasks, channels and network buffers need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.errors import BadInput
from flowsim.graph.edge_expansion import EdgeExpansion
from flowsim.graph.job_graph import JobEdge, JobGraph
from flowsim.limits import Limits, to_raise

_SUBTASK_BYTES: Final = 30_000
_CHANNEL_BYTES: Final = 2_500
"""Memory of flowsim in a run that uses every channel (docs/performance.md)."""


@dataclass(frozen=True, slots=True)
class PlanSize:
    """What a job would need. ``buffers``: network buffers that its pools are guaranteed."""

    subtasks: int
    channels: int
    buffers: int

    @property
    def memory_bytes(self) -> int:
        """About what flowsim needs for a run."""
        return self.subtasks * _SUBTASK_BYTES + self.channels * _CHANNEL_BYTES

    def __str__(self) -> str:
        return (
            f"{_counted(self.subtasks, 'subtask')}, {_counted(self.channels, 'channel')} and "
            f"{_counted(self.buffers, 'network buffer')}, and flowsim about {self.memory_bytes / 2**30:,.1f} GiB of memory"
        )


def plan_size(job: JobGraph) -> PlanSize:
    """Computed from the parallelism of vertices, without a loop over subtasks or channels."""
    channels = [EdgeExpansion(edge, 0).channel_count for edge in job.edges]
    # Rules 5.40, 6.1: a buffer per channel and one more on each side, and the exclusive buffers of the channels.
    per_channel = 1 + job.graph.settings.exclusive_buffers_per_channel
    pools = sum(edge.source.parallelism + edge.target.parallelism for edge in job.edges)
    subtasks = sum(vertex.parallelism for vertex in job.vertices)
    return PlanSize(subtasks, sum(channels), sum(channels) * per_channel + pools)


def check_plan_size(job: JobGraph, limits: Limits) -> None:
    """Raises BadInput for a job beyond the limits; says what it would need."""
    size = plan_size(job)
    most = max(job.vertices, key=lambda vertex: vertex.parallelism)
    widest = max(job.edges, key=lambda edge: EdgeExpansion(edge, 0).channel_count, default=None)
    of_edge = "" if widest is None else _of_edge(widest)
    for name, needed, limit, where in (
        ("subtasks", size.subtasks, limits.subtasks, f"{most.parallelism:,} of them run {most.name}"),
        ("channels", size.channels, limits.channels, of_edge),
        ("network_buffers", size.buffers, limits.network_buffers, of_edge),
    ):
        if needed > limit:
            what = name.replace("_", " ")
            raise BadInput(
                f"the job needs {size}: expected at most {limit:,} {what}; {where}: lower the parallelism {to_raise(name)}"
            )


def check_shared_memory(names: Sequence[str], pools: Sequence[int], is_scarce: Sequence[bool], limits: Limits) -> None:
    """Raises BadInput if too many pools share too little memory: every pool that ends resizes all others (rule 5.39).

    ``names``, ``pools`` (their number) and ``is_scarce``: by task manager.
    """
    for name, count, scarce in zip(names, pools, is_scarce, strict=True):
        if scarce and count > limits.shared_pools:
            raise BadInput(
                f"task manager {name!r} has {count:,} buffer pools that share too little memory for all of them: expected at "
                f"most {limits.shared_pools:,}; place the subtasks on more task managers, or give network_buffers for all "
                f"{to_raise('shared_pools')}"
            )


def _of_edge(edge: JobEdge) -> str:
    channels = EdgeExpansion(edge, 0).channel_count
    return f"{channels:,} of the channels connect {edge.source.name} and {edge.target.name}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
