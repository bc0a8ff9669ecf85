"""Checks of a whole scenario: names, endless generators, expectations, and the size and network of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowsim.cluster.run_actions import CancelJob, SnapshotAction, StopWithSavepoint, TriggerSavepoint
from flowsim.errors import BadInput, did_you_mean
from flowsim.faults.catalogue import FAULT_KINDS
from flowsim.faults.fault_checks import FaultError, check_faults
from flowsim.graph.edge_links import LinkError
from flowsim.graph.execution_graph import ExecutionGraph, create_execution_graph
from flowsim.graph.job_graph import BufferTimeoutError, create_job_graph
from flowsim.graph.placement import PlacementError, unknown_task_manager
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.law_names import why_unknown
from flowsim.quantities import count_text
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.features.expect import ExpectModel, RunExpectationsModel
from flowsim.scenario.loader import Scenario
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.scenario.yaml.positions import Path
from flowsim.scenario.yaml.problems import Problems


def check_names(model: ScenarioModel, problems: Problems) -> None:
    """Reports nodes that have the same name."""
    for name in model.operators:
        if name in model.sources:
            problems.at_key(("operators", name), "a source has this name already")
    for name in model.sinks:
        if name in model.sources or name in model.operators:
            problems.at_key(("sinks", name), "a source or operator has this name already")


def check_generators_end(model: ScenarioModel, until_ns: int | None, problems: Problems) -> None:
    """Reports endless generators if nothing else ends the job; ``until_ns``: when the run stops the job."""
    if until_ns is not None or any(action.ends_the_job for action in model.actions):
        return
    for name, source in model.sources.items():
        if source.generator is not None and source.generator.count is None:
            message = (
                "an endless generator needs settings.until or --until, or an action that ends the job "
                "(or give it a count)"
            )
            problems.at(("sources", name, "generator"), message)


def check_expectations(expect: ExpectModel, model: ScenarioModel, problems: Problems, at: Path = ("expect",)) -> None:
    """Reports unknown laws, sinks and nodes in expectations, which are the value at path ``at`` of the document."""
    for law in expect.laws:
        if unknown := why_unknown(law):
            problems.at_key((*at, "laws", law), unknown)
    for within, block in expect.blocks:
        _check_block(block, model, problems, (*at, *within))


def _check_block(expect: RunExpectationsModel, model: ScenarioModel, problems: Problems, at: Path) -> None:
    """Reports unknown sinks and nodes of one block of expectations."""
    for sink in expect.rows:
        if sink not in model.sinks:
            problems.at_key((*at, "rows", sink), f"there is no sink {sink!r}{did_you_mean(sink, model.sinks)}")
    collecting = [name for name, one in model.sinks.items() if one.collect is not None]
    for sink in expect.results:
        if sink not in collecting:
            hint = did_you_mean(sink, collecting)
            problems.at_key((*at, "results", sink), f"there is no collect sink {sink!r}{hint}")
    nodes = [*model.sources, *model.operators]
    for name in expect.back_pressured_at_least:
        if name not in nodes:
            hint = did_you_mean(name, nodes)
            problems.at_key((*at, "back_pressured_at_least", name), f"there is no node {name!r}{hint}")
    nodes += model.sinks
    for index, expected in enumerate(expect.facts):
        if expected.of is not None and expected.of not in nodes:
            hint = did_you_mean(expected.of, nodes)
            problems.at((*at, "facts", index, "of"), f"there is no node {expected.of!r}{hint}")


def check_phases(scenario: Scenario, phases: Sequence[CompiledScenario]) -> None:
    """Raises ScenarioError for phases that cannot start from the phase before them."""
    problems = Problems(scenario.document)
    if phases and scenario.model.recompute is not None:
        problems.at_key(
            ("recompute",), "a scenario with phases has no single result to compute again: remove recompute"
        )
    for index, before in enumerate(phases[:-1]):
        if not _leaves_a_snapshot(before):
            message = (
                f"no savepoint or retained checkpoint of phase {index + 1} to start from: end that phase with the action "
                "stop and its savepoint, with savepoint and cancel, or with cancel and "
                "settings.checkpointing.retention: retain_on_cancellation"
            )
            problems.at(("phases", index), message)
        elif not before.checkpoint_folders:
            message = (
                f"the savepoint of phase {index + 1} needs a folder: its directory, or settings.checkpointing.directory"
            )
            problems.at(("phases", index), message)
    problems.raise_any()


def _leaves_a_snapshot(phase: CompiledScenario) -> bool:
    checkpointing = phase.env.settings.checkpointing
    is_retained = checkpointing is not None and checkpointing.retention == "RETAIN_ON_CANCELLATION"
    savepoints = (TriggerSavepoint, StopWithSavepoint, *((CancelJob,) if is_retained else ()))
    return any(isinstance(action, savepoints) for action in phase.actions)


def check_graph(compiled: CompiledScenario, problems: Problems) -> None:
    """Reports invalid parts of the graph: its size, its network, and what failures and faults name."""
    model = compiled.scenario.model
    try:
        graph = compiled.stream_graph()
    except BadInput as error:
        problems.bad_input((), error)
        return
    _check_subtasks(graph, model, problems)
    if problems.errors:
        return
    execution = _execution_graph(graph, compiled.scenario, problems)
    if execution is not None:
        _check_task_managers(execution, model, problems)
        _check_snapshots(graph, compiled, problems)
        _check_faults(execution, compiled, problems)


def _check_subtasks(graph: StreamGraph, model: ScenarioModel, problems: Problems) -> None:
    """Reports unknown subtasks of failures and pauses: the number of subtasks is known only for the finished graph."""
    names = model.graph_names()
    parallelism = {node.name: node.parallelism for node in graph.nodes.values()}
    for index, failure in enumerate(model.failures):
        failing = failure.fail_task
        if failing is not None and failing.subtask >= (count := parallelism[names[failing.task]]):
            where = ("failures", index, "fail_task", "subtask")
            problems.at(where, _no_subtask(failing.task, count, failing.subtask))
    for index, pause in enumerate(model.pauses or ()):
        if pause.subtask is not None and pause.subtask >= (count := parallelism[names[pause.task]]):
            problems.at(("pauses", index, "subtask"), _no_subtask(pause.task, count, pause.subtask))


def _no_subtask(task: str, count: int, subtask: int) -> str:
    return f"{task!r} has {count_text(count, 'subtask')}, expected 0 to {count - 1}, got {subtask}"


def _check_task_managers(execution: ExecutionGraph, model: ScenarioModel, problems: Problems) -> None:
    """Reports unknown task managers of failures."""
    for index, failure in enumerate(model.failures):
        lost = failure.lose_task_manager
        if lost is not None and (message := unknown_task_manager(lost.name, execution.placement)):
            problems.at(("failures", index, "lose_task_manager", "name"), message)


def _check_snapshots(graph: StreamGraph, compiled: CompiledScenario, problems: Problems) -> None:
    """Reports failures in a checkpoint, and faults of checkpoints, in a job that takes none."""
    checkpointing = graph.settings.checkpointing
    requests = any(isinstance(action, SnapshotAction) for action in compiled.actions)
    if requests or (checkpointing is not None and checkpointing.is_enabled):
        return
    missing = "the job takes no checkpoint: set settings.checkpointing.interval, or request one with an action"
    for index, failure in enumerate(compiled.scenario.model.failures):
        for place in ("in_snapshot", "in_notification"):
            if failure.fail_task is not None and getattr(failure.fail_task, place) is not None:
                problems.at(("failures", index, "fail_task", place), missing)
    for index, fault in enumerate(compiled.scenario.model.faults):
        if FAULT_KINDS[fault.fault].needs_checkpoints:
            problems.at(("faults", index, "fault"), missing)


def _check_faults(execution: ExecutionGraph, compiled: CompiledScenario, problems: Problems) -> None:
    """Reports unknown subtasks and channels of faults."""
    shown = _names_in_the_file(compiled.scenario.model)
    for index, fault in enumerate(compiled.faults):
        try:
            check_faults([fault], execution)
        except FaultError as error:
            problems.at(("faults", index, error.place), _in_words_of_the_file(error.reason, shown))


def _execution_graph(graph: StreamGraph, scenario: Scenario, problems: Problems) -> ExecutionGraph | None:
    """Returns the graph; reports a job beyond the limits, and network settings that it cannot use.

    The settings are placement, links, exchange mode and network memory.
    """
    model = scenario.model
    shown = _names_in_the_file(model)
    try:
        return create_execution_graph(create_job_graph(graph), scenario.limits)
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
    return None


def _names_in_the_file(model: ScenarioModel) -> dict[str, str]:
    """Returns the names of nodes in the scenario, by their names in the graph."""
    return {in_graph: name for name, in_graph in model.graph_names().items()}


def _in_words_of_the_file(message: str, shown: dict[str, str]) -> str:
    """Removes the prefixes that sources and sinks have in the graph from a message."""
    for in_graph, name in _longest_first(shown.items()):
        message = message.replace(in_graph, name)
    return message


def _longest_first(names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(names, key=lambda pair: (-len(pair[0]), pair[0]))
