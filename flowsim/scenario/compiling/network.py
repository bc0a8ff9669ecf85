"""The network settings of a scenario: under the names that the graph uses, and checked against its tasks."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.graph.edge_links import LinkError
from flowsim.graph.execution_graph import create_execution_graph
from flowsim.graph.job_graph import BufferTimeoutError, create_job_graph
from flowsim.graph.placement import PlacementError
from flowsim.graph.stream_graph import BufferDebloatSettings, Link, StreamGraph
from flowsim.scenario.models.network import BufferDebloatModel
from flowsim.scenario.models.scenario import ScenarioModel, SettingsModel
from flowsim.scenario.problems import Problems
from flowsim.scenario.suggestions import nearest
from flowsim.scenario.yaml_positions import Path


def graph_names(model: ScenarioModel) -> dict[str, str]:
    """The names that the nodes of a scenario have in the graph."""
    names = {name: f"Source: {name}" for name in model.sources}
    return names | {name: name for name in model.operators} | {name: f"Sink: {name}" for name in model.sinks}


def configure_network(env: StreamExecutionEnvironment, model: ScenarioModel, problems: Problems) -> None:
    """Gives the environment placement, links, exchange mode and debloating; notes every node that does not exist."""
    settings, names = model.settings, graph_names(model)
    env.configure(exchange=settings.exchange, buffer_debloat=_debloat(settings.buffer_debloat))
    env.configure(links=_links(settings, names, problems))
    if isinstance(settings.task_managers, str):
        env.configure(task_managers=settings.task_managers)
        return
    placed: dict[str, list[str]] = {}
    for manager, places in settings.task_managers.items():
        placed[manager] = []
        for index, place in enumerate(places):
            node, slash, subtasks = place.partition("/")
            if node not in names:
                path = ("settings", "task_managers", manager, index)
                problems.at(path, f"there is no node {node!r}{nearest(node, names)}")
            else:
                placed[manager].append(names[node] + slash + subtasks)
    env.configure(task_managers=placed)


def _links(settings: SettingsModel, names: dict[str, str], problems: Problems) -> list[Link]:
    links = []
    for index, link in enumerate(settings.links):
        ends: list[str | None] = []
        for key, node in (("from", link.source), ("to", link.target)):
            if node is not None and node not in names:
                problems.at(("settings", "links", index, key), f"there is no node {node!r}{nearest(node, names)}")
                return []
            ends.append(None if node is None else names[node])
        links.append(Link(ends[0], ends[1], link.latency, link.bandwidth))
    return links


def _debloat(model: BufferDebloatModel | None) -> BufferDebloatSettings | None:
    if model is None or not model.enabled:
        return None
    return BufferDebloatSettings(
        model.period, model.target, model.threshold, model.samples, model.starting_size, model.minimum_size
    )


def check_network(graph: StreamGraph, model: ScenarioModel, problems: Problems) -> None:
    """Notes what the tasks of the job cannot have: a place, a link, an exchange mode, too little memory."""
    shown = {in_graph: name for name, in_graph in graph_names(model).items()}
    try:
        create_execution_graph(create_job_graph(graph))
    except PlacementError as error:
        path = ("settings", "task_managers", error.task_manager, error.place)
        problems.at(path, _in_words_of_the_file(error.reason, shown))
    except LinkError as error:
        link: Path = ("settings", "links", error.number)
        problems.at((*link, error.end) if error.end else link, _in_words_of_the_file(error.reason, shown))
    except BufferTimeoutError as error:
        name = shown.get(error.operator, error.operator)
        section = "sources" if name in model.sources else "operators"
        problems.at((section, name, "buffer_timeout"), error.reason)
    except BadInput as error:
        problems.at(("settings",), _in_words_of_the_file(str(error), shown))


def _in_words_of_the_file(message: str, shown: dict[str, str]) -> str:
    """Without the prefixes that sources and sinks have in the graph."""
    for in_graph, name in _longest_first(shown.items()):
        message = message.replace(in_graph, name)
    return message


def _longest_first(names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(names, key=lambda pair: (-len(pair[0]), pair[0]))
