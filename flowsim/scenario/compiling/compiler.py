"""Turns a valid scenario into a job of the DataStream API. All that is wrong with it comes in one report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flowsim.cluster.faults import FAULT_KINDS, Fault
from flowsim.cluster.run_actions import CancelJob, RunAction, SnapshotTask, StopJob
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.catalogue import LAW_IDS
from flowsim.scenario.compiling.compiled import CompiledScenario, Recompute, RunSettings
from flowsim.scenario.compiling.context import CompileContext, Failed
from flowsim.scenario.compiling.network import check_network, configure_network, graph_names
from flowsim.scenario.compiling.operators import compile_operator
from flowsim.scenario.compiling.sinks import compile_sink
from flowsim.scenario.compiling.sources import compile_source
from flowsim.scenario.loader import Scenario
from flowsim.scenario.models.actions import ActionModel
from flowsim.scenario.models.scenario import ScenarioModel, SettingsModel
from flowsim.scenario.paths import confined
from flowsim.scenario.problems import Problems
from flowsim.scenario.suggestions import nearest

MAX_SUBTASKS = 100_000
MAX_CHANNELS = 4_000_000


def compile_scenario(
    scenario: Scenario,
    *,
    out_dir: str | Path,
    allow_python: bool = False,
    allow_path: bool = False,
) -> CompiledScenario:
    """The job of a scenario; raises ScenarioError with everything that is wrong. Writes nothing."""
    problems = Problems(scenario.document)
    model = scenario.model
    env = environment_of(model.settings)
    configure_network(env, model, problems)
    context = CompileContext(scenario, env, problems, Path(out_dir), allow_python, allow_path)
    _check_names(model, problems)
    _compile_nodes(context, model)
    faults, actions = _faults(model, problems), _actions(model, problems)
    _check_expectations(model, problems)
    recompute = _recompute(context, model)
    problems.raise_any()
    compiled = CompiledScenario(
        scenario,
        env,
        run_settings_of(model.settings),
        tuple(dict.fromkeys(context.inputs)),
        tuple(context.sinks),
        faults,
        actions,
        model.expect,
        recompute,
    )
    _check_graph(compiled, problems)
    problems.raise_any()
    return compiled


def environment_of(settings: SettingsModel) -> StreamExecutionEnvironment:
    """An empty job under these settings."""
    env = StreamExecutionEnvironment.get_execution_environment().configure(
        parallelism=settings.parallelism,
        buffer_timeout_ms=settings.buffer_timeout,
        segment_size_bytes=settings.segment_size,
        exclusive_buffers_per_channel=settings.exclusive_buffers_per_channel,
        floating_buffers_per_gate=settings.floating_buffers_per_gate,
        max_buffers_per_channel=settings.max_buffers_per_channel,
        overdraft_buffers=settings.overdraft_buffers,
        auto_watermark_interval_ms=settings.auto_watermark_interval,
        watermark_alignment_buffer_size=settings.watermark_alignment_buffer_size,
        interruptible_timers=settings.interruptible_timers,
        metrics_interval_ms=settings.metrics_interval,
        latency_interval_ms=settings.latency_interval,
        operator_chaining=settings.operator_chaining,
        object_reuse=settings.object_reuse,
        cost_ns=settings.cost,
        budget_records=settings.budget_records,
    )
    if settings.network_buffers is not None:
        env.configure(network_buffers=settings.network_buffers)
    if settings.max_parallelism is not None:
        env.set_max_parallelism(settings.max_parallelism)
    return env


def run_settings_of(settings: SettingsModel) -> RunSettings:
    """What a run needs besides the job."""
    return RunSettings(
        seed=settings.seed,
        policy=settings.policy,
        clock=settings.clock,
        until_ns=settings.until,
        record=Level[settings.record.upper()],
    )


def _compile_nodes(context: CompileContext, model: ScenarioModel) -> None:
    """Every node is tried; one that reads from a node that failed says nothing of its own."""
    for name, source in model.sources.items():
        try:
            context.streams[name] = compile_source(context, name, source)
        except Failed:
            context.streams[name] = None
    for name, operator in model.operators.items():
        try:
            compile_operator(context, name, operator)
        except Failed:
            context.streams[name] = None
            context.streams.update({f"{name}.{tag}": None for tag, _ in operator.late_outputs})
            context.streams.update({f"{name}.{tag}": None for tag in operator.side_outputs})
    for name, sink in model.sinks.items():
        try:
            compile_sink(context, name, sink)
        except Failed:
            continue


def _check_names(model: ScenarioModel, problems: Problems) -> None:
    for name in model.operators:
        if name in model.sources:
            problems.at_key(("operators", name), "a source has this name already")
    for name in model.sinks:
        if name in model.sources or name in model.operators:
            problems.at_key(("sinks", name), "a source or operator has this name already")


def _faults(model: ScenarioModel, problems: Problems) -> tuple[Fault, ...]:
    names = graph_names(model)
    faults: list[Fault] = []
    for index, fault in enumerate(model.faults):
        if fault.fault not in FAULT_KINDS:
            hint = nearest(fault.fault, FAULT_KINDS)
            problems.at(("faults", index, "fault"), f"there is no fault {fault.fault!r}{hint}")
        if fault.operator is not None and fault.operator not in names:
            hint = nearest(fault.operator, names)
            problems.at(("faults", index, "operator"), f"there is no node {fault.operator!r}{hint}")
            continue
        operator = None if fault.operator is None else names[fault.operator]
        faults.append(Fault(fault.fault, operator, fault.subtask, fault.channel, fault.at))
    return tuple(faults)


def _actions(model: ScenarioModel, problems: Problems) -> tuple[RunAction, ...]:
    names = graph_names(model)
    actions: list[RunAction] = []
    for index, action in enumerate(model.actions):
        if action.snapshot is not None and action.snapshot.task not in names:
            hint = nearest(action.snapshot.task, names)
            problems.at(("actions", index, "snapshot", "task"), f"there is no node {action.snapshot.task!r}{hint}")
            continue
        actions.append(_action(action, names))
    return tuple(actions)


def _action(model: ActionModel, names: Mapping[str, str]) -> RunAction:
    if model.stop is not None:
        return StopJob(model.stop.at, model.stop.drain)
    if model.cancel is not None:
        return CancelJob(model.cancel.at)
    assert model.snapshot is not None
    return SnapshotTask(model.snapshot.at, names[model.snapshot.task], model.snapshot.subtask)


def _check_expectations(model: ScenarioModel, problems: Problems) -> None:
    for law in model.expect.laws:
        if law not in LAW_IDS:
            problems.at_key(("expect", "laws", law), f"there is no law {law!r}{nearest(law, LAW_IDS)}")
    for sink in model.expect.rows:
        if sink not in model.sinks:
            problems.at_key(("expect", "rows", sink), f"there is no sink {sink!r}{nearest(sink, model.sinks)}")
    for sink in model.expect.results:
        collecting = [name for name, one in model.sinks.items() if one.collect is not None]
        if sink not in collecting:
            problems.at_key(
                ("expect", "results", sink), f"there is no collect sink {sink!r}{nearest(sink, collecting)}"
            )
    nodes = [*model.sources, *model.operators]
    for name in model.expect.back_pressured_at_least:
        if name not in nodes:
            hint = nearest(name, nodes)
            problems.at_key(("expect", "back_pressured_at_least", name), f"there is no node {name!r}{hint}")
    for index, expected in enumerate(model.expect.facts):
        if expected.of is not None and expected.of not in [*nodes, *model.sinks]:
            hint = nearest(expected.of, [*nodes, *model.sinks])
            problems.at(("expect", "facts", index, "of"), f"there is no node {expected.of!r}{hint}")


def _recompute(context: CompileContext, model: ScenarioModel) -> Recompute | None:
    if model.recompute is None:
        return None
    script, _, function = model.recompute.pyspark.partition(":")
    of_files = {name: one.files for name, one in model.sources.items() if one.files is not None}
    read = of_files.get(model.recompute.input)
    if read is None:
        hint = nearest(model.recompute.input, of_files)
        context.problems.at(("recompute", "input"), f"there is no source of files {model.recompute.input!r}{hint}")
        return None
    files = [found for found in context.inputs if found.name == read.path]
    if not isinstance(read.path, str):
        context.problems.at(
            ("recompute", "input"), f"source {model.recompute.input!r} reads several files, expected one"
        )
        return None
    try:
        found = context.attempt(
            ("recompute", "pyspark"),
            lambda: confined(script, context.scenario.folder, allow_path=context.allow_path, what="recomputation"),
        )
    except Failed:
        return None
    if not found.is_file():
        context.problems.at(("recompute", "pyspark"), f"there is no file {script!r} beside the scenario")
        return None
    return Recompute(found, function, files[0].path) if files else None


def _check_graph(compiled: CompiledScenario, problems: Problems) -> None:
    try:
        graph = compiled.stream_graph()
    except BadInput as error:
        problems.bad_input((), error)
        return
    subtasks = sum(node.parallelism for node in graph.nodes.values())
    if subtasks > MAX_SUBTASKS:
        problems.at(("settings",), f"the job has {subtasks} subtasks, expected at most {MAX_SUBTASKS}")
    channels = _channels(graph)
    if channels > MAX_CHANNELS:
        problems.at(("settings",), f"the job has {channels} channels, expected at most {MAX_CHANNELS}")
    _check_subtasks(graph, compiled.scenario.model, problems)
    if not problems.errors:
        check_network(graph, compiled.scenario.model, problems)


def _check_subtasks(graph: StreamGraph, model: ScenarioModel, problems: Problems) -> None:
    """Of snapshots: how many there are is known once the job is made."""
    names = graph_names(model)
    parallelism = {node.name: node.parallelism for node in graph.nodes.values()}
    for index, action in enumerate(model.actions):
        if action.snapshot is not None and action.snapshot.subtask is not None:
            count, subtask = parallelism[names[action.snapshot.task]], action.snapshot.subtask
            if subtask >= count:
                where = ("actions", index, "snapshot", "subtask")
                problems.at(
                    where, f"{action.snapshot.task!r} has {count} subtasks, expected 0 to {count - 1}, got {subtask}"
                )


def _channels(graph: StreamGraph) -> int:
    """An upper bound of physical channels, known before a single one is made."""
    count = 0
    for edge in graph.edges:
        source, target = graph.nodes[edge.source_id].parallelism, graph.nodes[edge.target_id].parallelism
        name = edge.partitioner.name if edge.partitioner is not None else None
        pointwise = name in ("FORWARD", "RESCALE") or (name is None and source == target)
        count += max(source, target) if pointwise else source * target
    return count
