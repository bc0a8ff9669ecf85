"""The network between the tasks of a scenario: placement, links, debloating, adaptive partitioner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from flowsim.errors import did_you_mean
from flowsim.graph.job_settings import AdaptivePartitionerSettings, BufferDebloatSettings, Link
from flowsim.scenario.setting_keys import keys_of, values_of
from flowsim.scenario.types import PLACE_PATTERN, Name, Strict
from flowsim.scenario.yaml.problems import Problems

Place = Annotated[str, Field(pattern=PLACE_PATTERN)]
TaskManagersSetting = (
    Literal["each", "one"] | Annotated[dict[Name, list[Place]], Field(min_length=1, max_length=10_000)]
)


@keys_of(Link)
class LinkModel(Strict):
    """The latency and bandwidth of the network between the tasks of two operators on different task managers."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


@keys_of(BufferDebloatSettings)
class BufferDebloatModel(Strict):
    """Receivers request smaller buffers, so that the data in flight takes about the target time."""

    enabled: bool = Field(default=True, description="`false`: buffers keep their size, as without `buffer_debloat`.")


@keys_of(AdaptivePartitionerSettings)
class AdaptivePartitionerModel(Strict):
    """Writers of rebalance and rescale send each record to the idlest of the next channels."""

    enabled: bool = Field(default=True, description="`false`: channels in turn, as without `adaptive_partitioner`.")


def compile_adaptive_partitioner(model: AdaptivePartitionerModel | None) -> AdaptivePartitionerSettings | None:
    """Returns the settings of adaptive partition selection; None without it."""
    if model is None or not model.enabled:
        return None
    return AdaptivePartitionerSettings(**values_of(model, AdaptivePartitionerSettings))


def compile_debloat(model: BufferDebloatModel | None) -> BufferDebloatSettings | None:
    """Returns the debloating settings; None without debloating."""
    if model is None or not model.enabled:
        return None
    return BufferDebloatSettings(**values_of(model, BufferDebloatSettings))


def compile_links(models: Sequence[LinkModel], graph_names: Mapping[str, str], problems: Problems) -> list[Link]:
    """Returns the links between nodes of the graph; reports an unknown node."""
    links = []
    for index, model in enumerate(models):
        link = Link(**values_of(model, Link))
        for key, node in (("from", link.source), ("to", link.target)):
            if node is not None and node not in graph_names:
                message = f"there is no node {node!r}{did_you_mean(node, graph_names)}"
                problems.at(("settings", "links", index, key), message)
                return []
        source, target = (None if node is None else graph_names[node] for node in (link.source, link.target))
        links.append(replace(link, source=source, target=target))
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
