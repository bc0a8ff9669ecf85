"""``flowsim graph``: the tasks of a job, with chains, parallelism and partitioners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flowsim.cli.command import Answer, command
from flowsim.cli.compiling import compiled_scenario
from flowsim.cli.options import AllowPath, AllowPython, Json, ScenarioFile, Set, default_out

if TYPE_CHECKING:
    from flowsim.graph.job_graph import JobEdge, JobGraph, JobVertex

Format = Annotated[Literal["text", "mermaid"], typer.Option("--format", help="For a terminal, or for Mermaid.")]


@command
def graph(
    scenario: ScenarioFile,
    form: Format = "text",
    set_: Set = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    json_output: Json = False,
) -> Answer:
    """Draw the job of a scenario: one task per chain, with its parallelism, and the edges between them."""
    from rich.console import Console

    from flowsim.graph.job_graph import create_job_graph

    compiled = compiled_scenario(scenario, default_out(scenario), set_, allow_python, allow_path)
    job = create_job_graph(compiled.stream_graph())
    text = mermaid(job) if form == "mermaid" else drawn(job)

    def show(console: Console) -> None:
        console.file.write(text)

    return Answer(as_data(job), show)


def drawn(job: JobGraph) -> str:
    """One paragraph per task, and a line per edge that leaves it."""
    lines = [f"{job.graph.name}: {len(job.vertices)} tasks, {sum(v.parallelism for v in job.vertices)} subtasks"]
    for vertex in job.vertices:
        keys = f"parallelism {vertex.parallelism}, max parallelism {vertex.max_parallelism}"
        lines += ["", f"[{vertex.id}] {vertex.name}", f"    {keys}"]
        lines += [f"    --{_label(edge)}--> [{edge.target.id}] {edge.target.name}" for edge in job.out_edges(vertex)]
    return "\n".join(lines) + "\n"


def mermaid(job: JobGraph) -> str:
    """A Mermaid flowchart: a box per task, around the chain of its operators."""
    lines = ["flowchart LR"]
    for vertex in job.vertices:
        lines.append(f'  subgraph t{vertex.id}["task {vertex.id}, parallelism {vertex.parallelism}"]')
        for operator in vertex.operators:
            lines.append(f'    {_id(vertex, operator.index)}["{_quoted(operator.node.name)}"]')
        for operator in vertex.operators:
            if operator.input_operator >= 0:
                tag = f'|"{_quoted(operator.input_tag)}"|' if operator.input_tag else ""
                lines.append(f"    {_id(vertex, operator.input_operator)} -->{tag} {_id(vertex, operator.index)}")
        lines.append("  end")
    for edge in job.edges:
        source, target = _id(edge.source, edge.source_operator), _id(edge.target, 0)
        lines.append(f'  {source} ==>|"{_quoted(_label(edge))}"| {target}')
    return "\n".join(lines) + "\n"


def as_data(job: JobGraph) -> dict[str, Any]:
    """The same as JSON-able data."""
    return {
        "job": job.graph.name,
        "tasks": [
            {
                "id": vertex.id,
                "operators": [
                    {"name": o.node.name, "kind": o.node.description.kind, "input_operator": o.input_operator}
                    for o in vertex.operators
                ],
                "parallelism": vertex.parallelism,
                "max_parallelism": vertex.max_parallelism,
            }
            for vertex in job.vertices
        ],
        "edges": [
            {
                "source": edge.source.id,
                "source_operator": edge.source_operator,
                "target": edge.target.id,
                "partitioner": edge.partitioner.name,
                "side_output": edge.side_output,
            }
            for edge in job.edges
        ],
    }


def _label(edge: JobEdge) -> str:
    return edge.partitioner.name + (f" ({edge.side_output})" if edge.side_output else "")


def _id(vertex: JobVertex, operator: int) -> str:
    return f"t{vertex.id}o{operator}"


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;")
