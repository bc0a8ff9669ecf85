"""``flowsim check``: checks whether a scenario is valid. Runs nothing and writes nothing."""

from __future__ import annotations

from rich.console import Console

from flowsim.cli.command import Answer, command
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit, ScenarioFile, Set, default_out
from flowsim.cli.scenarios import compiled_scenario
from flowsim.graph.execution_graph import create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.quantities import count_text


@command
def check(
    scenario: ScenarioFile,
    set_: Set = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    json_output: Json = False,
) -> Answer:
    """Check whether a scenario is valid, and report all of its errors."""
    compiled = compiled_scenario(scenario, default_out(scenario), set_, allow_python, allow_path, limit)
    execution = create_execution_graph(create_job_graph(compiled.stream_graph()), compiled.scenario.limits)
    digest = compiled.scenario.digest()
    operators, tasks, channels = len(compiled.stream_graph().nodes), len(execution.subtasks), execution.channel_count
    document = {
        "valid": True,
        "scenario": compiled.scenario.model.name,
        "digest": digest,
        "operators": operators,
        "subtasks": tasks,
        "channels": channels,
        "warnings": list(compiled.warnings),
        "inputs": {file.name: file.sha256() for file in compiled.inputs} if json_output else {},
    }

    def show(console: Console) -> None:
        console.print(
            f"{scenario}: valid: {count_text(operators, 'operator')} in {count_text(tasks, 'subtask')}, "
            f"{count_text(channels, 'channel')}"
        )
        for warning in compiled.warnings:
            console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
        console.print(f"digest {digest}", soft_wrap=True)

    return Answer(document, show)
