"""Compiles a valid scenario to a job of the DataStream API. All errors are reported together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from flowsim.cluster.run_actions import RunAction
from flowsim.errors import did_you_mean
from flowsim.scenario.compiled import CompiledScenario, Recompute
from flowsim.scenario.context import CompileContext, Failed
from flowsim.scenario.features.actions import compile_actions
from flowsim.scenario.features.checkpointing import compile_checkpointing
from flowsim.scenario.features.expect import RecomputeModel
from flowsim.scenario.features.failures import compile_failures
from flowsim.scenario.features.faults import compile_faults
from flowsim.scenario.features.pauses import compile_pauses
from flowsim.scenario.features.sinks import check_connections, compile_sink
from flowsim.scenario.graph_checks import (
    check_expectations,
    check_generators_end,
    check_graph,
    check_names,
    check_phases,
)
from flowsim.scenario.loader import Scenario
from flowsim.scenario.operators import compile_operator
from flowsim.scenario.paths import confined
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.scenario.settings import configure_network, environment_of, run_settings_of
from flowsim.scenario.sources.sources import compile_source
from flowsim.scenario.timestamps import check_timestamps
from flowsim.scenario.yaml.problems import Problems


def compile_scenario(
    scenario: Scenario,
    *,
    out_dir: str | Path,
    allow_python: bool = False,
    allow_path: bool = False,
    until_ns: int | None = None,
    connections: Mapping[str, str] | None = None,
) -> CompiledScenario:
    """Compiles a scenario to a job. Raises ScenarioError with all errors. Writes nothing.

    ``until_ns`` replaces the time limit ``settings.until``. ``connections`` are the URLs of servers, by the names of
    connections in the scenario; without the URL of a connection the job compiles, and does not run. Phase N of a scenario
    with phases writes into the folder N of ``out_dir``; the result is its first phase.
    """
    phases: list[CompiledScenario] = []
    for number, phase in enumerate(scenario.phases, 1):
        phases.append(_compiled(phase, Path(out_dir) / f"{number}", allow_python, allow_path, until_ns, connections))
    check_phases(scenario, phases)
    if phases:
        return replace(phases[0], scenario=scenario, phases=tuple(phases))
    return _compiled(scenario, Path(out_dir), allow_python, allow_path, until_ns, connections)


def _compiled(
    scenario: Scenario,
    out_dir: Path,
    allow_python: bool,
    allow_path: bool,
    until_ns: int | None,
    connections: Mapping[str, str] | None,
) -> CompiledScenario:
    """Compiles a scenario without phases, or one phase."""
    problems = Problems(scenario.document)
    model = scenario.model
    names = model.graph_names()
    env = environment_of(model.settings)
    configure_network(env, model.settings, names, problems)
    context = CompileContext(
        env,
        problems,
        scenario.folder,
        out_dir,
        allow_python,
        allow_path,
        scenario.limits,
        check_connections(connections or {}, model.sinks),
        model.name,
    )
    check_names(model, problems)
    check_generators_end(model, model.settings.until if until_ns is None else until_ns, problems)
    _compile_nodes(context, model)
    faults = compile_faults(model.faults, names, problems)
    actions: tuple[RunAction, ...] = ()
    with suppress(Failed):
        env.settings.checkpointing = compile_checkpointing(context, model.settings.checkpointing)
        actions = compile_actions(context, model.actions)
    failures = compile_failures(model.failures, names, problems)
    pauses = compile_pauses(model.pauses or (), names, problems)
    check_expectations(model.expect, model, problems)
    check_timestamps(model, problems)
    recompute = None if model.recompute is None else _recompute(context, model, model.recompute)
    problems.raise_any()
    compiled = CompiledScenario(
        scenario,
        env,
        run_settings_of(model.settings),
        tuple({(file.name, file.path): file for file in context.inputs}.values()),
        tuple(context.sinks),
        faults,
        actions,
        failures,
        pauses,
        model.expect,
        recompute,
    )
    check_graph(compiled, problems)
    problems.raise_any()
    return compiled


def _compile_nodes(context: CompileContext, model: ScenarioModel) -> None:
    """Compiles every node; a node that reads a failed node reports no further error."""
    for name, source in model.sources.items():
        try:
            context.streams[name] = compile_source(context, name, source)
        except Failed:
            context.streams[name] = None
            context.streams.update({f"{name}.{tag}": None for tag in source.side_output_names()})
    for name, operator in model.operators.items():
        try:
            compile_operator(context, name, operator)
        except Failed:
            context.streams[name] = None
            context.streams.update({f"{name}.{tag}": None for tag in operator.side_output_names()})
    for name, sink in model.sinks.items():
        try:
            compile_sink(context, name, sink)
        except Failed:
            continue


def _recompute(context: CompileContext, model: ScenarioModel, recompute: RecomputeModel) -> Recompute | None:
    """Compiles ``recompute``. Returns None if it is unusable; the problems contain the reason."""
    script, _, function = recompute.pyspark.partition(":")
    of_files = {name: source.files for name, source in model.sources.items() if source.files is not None}
    read = of_files.get(recompute.input)
    at_input, at_script = ("recompute", "input"), ("recompute", "pyspark")
    if read is None:
        hint = did_you_mean(recompute.input, of_files)
        context.problems.at(at_input, f"there is no source of files {recompute.input!r}{hint}")
        return None
    files = [file for file in context.inputs if file.name == read.path]
    if not isinstance(read.path, str):
        context.problems.at(at_input, f"source {recompute.input!r} reads several files, expected one")
        return None
    try:
        script_path = context.attempt(
            at_script,
            lambda: confined(script, context.folder, allow_path=context.allow_path, what="recomputation"),
        )
    except Failed:
        return None
    if not script_path.is_file():
        context.problems.at(at_script, f"there is no file {script!r} in the folder of the scenario")
        return None
    return Recompute(script_path, function, files[0].path) if files else None
