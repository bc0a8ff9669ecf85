"""``flowsim graph``: the tasks of a job, with chains, parallelism and partitioners."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command, print_json
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit, ScenarioFile, Set, default_out
from flowsim.cli.scenarios import compiled_scenario
from flowsim.conform.printed_plan import printed_plan
from flowsim.facts.kinds import SnapshotKind
from flowsim.graph.alignment import (
    FORCED_RULE,
    AlignmentSettings,
    CheckpointAlignment,
    ForcedAlignment,
    checkpoint_alignment,
)
from flowsim.graph.execution_graph import ExecutionGraph, create_execution_graph
from flowsim.graph.job_graph import JobEdge, JobGraph, JobVertex, create_job_graph
from flowsim.quantities import count_text

Format = Annotated[
    Literal["text", "mermaid", "dot", "plan"],
    typer.Option("--format", help="For a terminal, for Mermaid or for Graphviz; plan: the compiled job as JSON."),
]


@command
def graph(
    scenario: ScenarioFile,
    form: Format = "text",
    set_: Set = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    json_output: Json = False,
) -> Answer:
    """Draw the job of a scenario: its tasks (operator chains) with their parallelism, and the edges between tasks."""
    compiled = compiled_scenario(scenario, default_out(scenario), set_, allow_python, allow_path, limit)
    if form == "plan":
        plan = printed_plan(compiled.stream_graph())
        return Answer(plan, lambda console: print_json(plan))
    execution = create_execution_graph(create_job_graph(compiled.stream_graph()), compiled.scenario.limits)

    def show(console: Console) -> None:
        match form:
            case "text":
                sys.stdout.write(drawn(execution))
            case "mermaid":
                sys.stdout.write(mermaid(execution.job))
            case _:
                sys.stdout.write(dot(execution.job))

    return Answer(as_data(execution), show)


def drawn(execution: ExecutionGraph) -> str:
    """Draws the job as text: one paragraph per task, with one line per outgoing edge.

    Adds the placement, unless each subtask has its own task manager, and slot sharing groups, if one is not `default`.
    """
    job = execution.job
    slots = job.slots()
    subtasks = sum(vertex.parallelism for vertex in job.vertices)
    lines = [f"{job.graph.name}: {count_text(len(job.vertices), 'task')}, {count_text(subtasks, 'subtask')}"]
    if job.has_slot_sharing_groups:
        groups = ", ".join(f"{group} {count}" for group, count in slots.items())
        lines.append(f"slots in Flink: {sum(slots.values())} (by slot sharing group: {groups})")
    for vertex in job.vertices:
        keys = f"parallelism {vertex.parallelism}, max parallelism {vertex.max_parallelism}"
        lines += ["", f"[{vertex.id}] {vertex.name}", f"    {keys}"]
        if job.has_slot_sharing_groups:
            lines.append(f"    slot sharing group {vertex.slot_sharing_group}")
        if job.graph.settings.task_managers != "each":
            lines.append(f"    on {_placed(execution, vertex)}")
        lines += [
            f"    --{_label(job, edge)}--> [{edge.target.id}] {edge.target.name}" for edge in job.out_edges(vertex)
        ]
    reasons = _alignment_lines(job)
    return "\n".join([*lines, *([""] if reasons else []), *reasons]) + "\n"


def mermaid(job: JobGraph) -> str:
    """Returns the job as a Mermaid flowchart: a box per task, around the chain of its operators."""
    lines = ["flowchart LR"]
    for vertex in job.vertices:
        lines.append(f'  subgraph t{vertex.id}["{_title(job, vertex)}"]')
        for operator in vertex.operators:
            lines.append(f'    {_id(vertex, operator.index)}["{_quoted(operator.node.name)}"]')
        for operator in vertex.operators:
            if operator.input_operator >= 0:
                tag = f'|"{_quoted(operator.input_tag)}"|' if operator.input_tag else ""
                lines.append(f"    {_id(vertex, operator.input_operator)} -->{tag} {_id(vertex, operator.index)}")
        lines.append("  end")
    for edge in job.edges:
        source, target = _id(edge.source, edge.source_operator), _id(edge.target, 0)
        lines.append(f'  {source} ==>|"{_quoted(_label(job, edge))}"| {target}')
    return "\n".join(lines) + "\n"


def dot(job: JobGraph) -> str:
    """Returns the job in the DOT language of Graphviz: a cluster per task, around the chain of its operators."""
    lines = [f"digraph {_dot_text(job.graph.name)} {{", "  rankdir=LR;", "  node [shape=box];"]
    for vertex in job.vertices:
        lines += [f"  subgraph cluster_t{vertex.id} {{", f"    label={_dot_text(_title(job, vertex))};"]
        for operator in vertex.operators:
            lines.append(f"    {_id(vertex, operator.index)} [label={_dot_text(operator.node.name)}];")
        for operator in vertex.operators:
            if operator.input_operator >= 0:
                tag = f" [label={_dot_text(operator.input_tag)}]" if operator.input_tag else ""
                lines.append(f"    {_id(vertex, operator.input_operator)} -> {_id(vertex, operator.index)}{tag};")
        lines.append("  }")
    for edge in job.edges:
        source, target = _id(edge.source, edge.source_operator), _id(edge.target, 0)
        lines.append(f"  {source} -> {target} [label={_dot_text(_label(job, edge))}, style=bold];")
    return "\n".join([*lines, "}"]) + "\n"


def as_data(execution: ExecutionGraph) -> dict[str, Any]:
    """Returns the tasks and edges of the job as JSON values."""
    job = execution.job
    of_all = _of_checkpoints(job)
    forced = {edge.id: job.forced_alignment(edge) for edge in job.edges}
    return {
        "job": job.graph.name,
        "slots": job.slots(),
        "tasks": [
            {
                "id": vertex.id,
                "operators": [
                    {"name": o.node.name, "kind": o.node.description.kind, "input_operator": o.input_operator}
                    for o in vertex.operators
                ],
                "parallelism": vertex.parallelism,
                "max_parallelism": vertex.max_parallelism,
                "slot_sharing_group": vertex.slot_sharing_group,
                "task_managers": _task_managers(execution, vertex),
            }
            for vertex in job.vertices
        ],
        "edges": [
            {
                "source": edge.source.id,
                "source_operator": edge.source_operator,
                "target": edge.target.id,
                "partitioner": edge.partitioner_text,
                "side_output": edge.side_output,
                "exchange": edge.exchange.value,
                "supports_unaligned_checkpoints": forced[edge.id] is None,
                "aligned": None if (alignment := forced[edge.id]) is None else alignment.data(),
            }
            for edge in job.edges
        ],
        "checkpoints_aligned": None if of_all is None else of_all.data(),
    }


def _title(job: JobGraph, vertex: JobVertex) -> str:
    """Returns the number and parallelism of a task, and its slot sharing group, if the job has groups."""
    group = f", slot sharing group {vertex.slot_sharing_group}" if job.has_slot_sharing_groups else ""
    return f"task {vertex.id}, parallelism {vertex.parallelism}{group}"


def _label(job: JobGraph, edge: JobEdge) -> str:
    side = f" ({edge.side_output})" if edge.side_output else ""
    exchange = "" if edge.exchange.is_bounded else f" {edge.exchange}"
    forced = _forced(job).get(edge.id)
    return edge.partitioner_text + side + exchange + ("" if forced is None else f", {forced.label}")


def _forced(job: JobGraph) -> dict[int, ForcedAlignment]:
    """Returns the exchanges that stay aligned although the job has unaligned checkpoints, by their edges."""
    settings = job.graph.settings.checkpointing
    alignments = (
        [job.forced_alignment(edge) for edge in job.edges] if settings is not None and settings.unaligned else []
    )
    return {each.exchange.edge: each for each in alignments if each is not None}


def _of_checkpoints(job: JobGraph) -> CheckpointAlignment | None:
    """Returns why no checkpoint of the job is unaligned from its trigger on; None if they are, or if it has none."""
    if job.graph.settings.checkpointing is None:
        return None
    settings = AlignmentSettings.of(job.graph.settings.checkpointing)
    return checkpoint_alignment(settings.of_checkpoints, SnapshotKind.CHECKPOINT, settings)


def _alignment_lines(job: JobGraph) -> list[str]:
    """Returns why barriers are aligned: those of all checkpoints, and those of single exchanges."""
    of_all = _of_checkpoints(job)
    lines = [] if of_all is None else [f"checkpoints: {of_all.sentence} [{', '.join(of_all.rules)}]"]
    return [*lines, *(f"{forced.sentence} [{FORCED_RULE}]" for forced in _forced(job).values())]


def _task_managers(execution: ExecutionGraph, vertex: JobVertex) -> list[str]:
    """Returns the name of the task manager of each subtask."""
    placement = execution.placement
    return [placement.names[placement.task_manager_of[s.id]] for s in execution.subtasks_of(vertex)]


def _placed(execution: ExecutionGraph, vertex: JobVertex) -> str:
    """Returns the placement of a task, such as ``left: 0-1, right: 2``.

    Subtasks with their own task manager are listed together.
    """
    task_managers = execution.job.graph.settings.task_managers
    subtasks_of: dict[str, list[int]] = {}
    for index, name in enumerate(_task_managers(execution, vertex)):
        alone = not isinstance(task_managers, str) and name not in task_managers
        subtasks_of.setdefault("one task manager each" if alone else name, []).append(index)
    return ", ".join(f"{name}: {_ranges(indexes)}" for name, indexes in subtasks_of.items())


def _ranges(indexes: list[int]) -> str:
    """Writes 0, 1, 2 and 5 as ``0-2 5``."""
    texts, first = [], 0
    for position, index in enumerate(indexes):
        if position + 1 == len(indexes) or indexes[position + 1] != index + 1:
            start = indexes[first]
            texts.append(str(index) if start == index else f"{start}-{index}")
            first = position + 1
    return " ".join(texts)


def _id(vertex: JobVertex, operator: int) -> str:
    return f"t{vertex.id}o{operator}"


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;")


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
