"""The network between the tasks of a scenario: placement, links, debloating, adaptive partitioner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from flowsim.errors import did_you_mean
from flowsim.graph.stream_graph import AdaptivePartitionerSettings, BufferDebloatSettings, Link
from flowsim.scenario.types import PLACE_PATTERN, ByteSize, DurationNs, Name, PositiveMs, Strict
from flowsim.scenario.yaml.problems import Problems

Place = Annotated[str, Field(pattern=PLACE_PATTERN)]
TaskManagersSetting = (
    Literal["each", "one"] | Annotated[dict[Name, list[Place]], Field(min_length=1, max_length=10_000)]
)


class LinkModel(Strict):
    """The latency and bandwidth of the network between the tasks of two operators on different task managers."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)

    source: Name | None = Field(
        default=None, alias="from", description="A source or operator with its whole chain; without it, any."
    )
    target: Name | None = Field(
        default=None, alias="to", description="An operator or sink with its whole chain; without it, any."
    )
    latency: DurationNs = Field(
        default=0, description="Time from the end of sending to the arrival; it also delays credits."
    )
    bandwidth: Annotated[ByteSize, Field(ge=1)] | None = Field(
        default=None,
        description="Bytes per second of each connection, which is one pair of subtasks; without it there is no limit.",
    )


class BufferDebloatModel(Strict):
    """Receivers request smaller buffers, so that the data in flight takes about the target time."""

    enabled: bool = Field(default=True, description="`false`: buffers keep their size, as without `buffer_debloat`.")
    period: PositiveMs = Field(default=200, description="Time between two measurements of the throughput of a gate.")
    target: PositiveMs = Field(
        default=1000, description="Time in which a gate should process the data that is in flight."
    )
    threshold: Annotated[int, Field(ge=0, le=100)] = Field(
        default=25, description="A new buffer size is announced only if it differs by at least this percentage."
    )
    samples: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=20,
        description="Number of samples of the moving average: the newest measurement has the weight 2 / (samples + 1).",
    )
    starting_size: Annotated[ByteSize, Field(ge=1, le=1 << 26)] = Field(
        default=1024, description="Size of buffers before the first announcement."
    )
    minimum_size: Annotated[ByteSize, Field(ge=1, le=1 << 26)] = Field(
        default=256, description="Smallest buffer size that a gate announces; at most the segment size."
    )


class AdaptivePartitionerModel(Strict):
    """Writers of rebalance and rescale send each record to the idlest of the next channels."""

    enabled: bool = Field(default=True, description="`false`: channels in turn, as without `adaptive_partitioner`.")
    max_traverse_size: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        default=4, description="Number of channels that a writer compares for one record."
    )


def compile_adaptive_partitioner(model: AdaptivePartitionerModel | None) -> AdaptivePartitionerSettings | None:
    """Returns the settings of adaptive partition selection; None without it."""
    return None if model is None or not model.enabled else AdaptivePartitionerSettings(model.max_traverse_size)


def compile_debloat(model: BufferDebloatModel | None) -> BufferDebloatSettings | None:
    """Returns the debloating settings; None without debloating."""
    if model is None or not model.enabled:
        return None
    return BufferDebloatSettings(
        model.period, model.target, model.threshold, model.samples, model.starting_size, model.minimum_size
    )


def compile_links(models: Sequence[LinkModel], graph_names: Mapping[str, str], problems: Problems) -> list[Link]:
    """Returns the links between nodes of the graph; reports an unknown node."""
    links = []
    for index, link in enumerate(models):
        ends: list[str | None] = []
        for key, node in (("from", link.source), ("to", link.target)):
            if node is not None and node not in graph_names:
                message = f"there is no node {node!r}{did_you_mean(node, graph_names)}"
                problems.at(("settings", "links", index, key), message)
                return []
            ends.append(None if node is None else graph_names[node])
        links.append(Link(ends[0], ends[1], link.latency, link.bandwidth))
    return links


def compile_task_managers(
    setting: TaskManagersSetting, graph_names: Mapping[str, str], problems: Problems
) -> str | dict[str, list[str]]:
    """Returns the placement, by the nodes' names in the graph; reports every unknown node."""
    if isinstance(setting, str):
        return setting
    placed: dict[str, list[str]] = {}
    for manager, places in setting.items():
        placed[manager] = []
        for index, place in enumerate(places):
            node, slash, subtasks = place.partition("/")
            if node not in graph_names:
                message = f"there is no node {node!r}{did_you_mean(node, graph_names)}"
                problems.at(("settings", "task_managers", manager, index), message)
            else:
                placed[manager].append(graph_names[node] + slash + subtasks)
    return placed
