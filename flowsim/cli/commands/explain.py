"""``flowsim explain``: the choices of an explored run as sentences."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command, duration_argument
from flowsim.cli.explored_subjects import ScenarioSubject
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit, ScenarioFile, Set, Until, Verbose
from flowsim.cli.scenarios import compiled_scenario, write_warnings
from flowsim.cli.varied import overrides_of
from flowsim.errors import BadInput
from flowsim.explore.checked_run import check_token
from flowsim.quantities import count_text
from flowsim.sim.choice_token import ChoiceToken

TokenText = Annotated[
    str, typer.Option("--token", metavar="TOKEN", help="The token of a run that flowsim explore or play printed.")
]


@command
def explain(
    scenario: ScenarioFile,
    token: TokenText,
    until: Until = None,
    set_: Set = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    verbose: Verbose = False,
    json_output: Json = False,
) -> Answer:
    """Explain the choices of an explored run: what happened, and what the default was. -v prints every step."""
    run = ChoiceToken.parse(token)
    if not run.asks_for_choices:
        again = shlex.join(["flowsim", "run", str(scenario), "--token", str(run)])
        raise BadInput(
            f"--token {run}: strategy costs makes no choices to explain, the costs of work are random; repeat the run with "
            f"'{again}' and ask 'flowsim why' about it"
        )
    until_ns = duration_argument("--until", until)
    with TemporaryDirectory(prefix="flowsim-explain-") as folder:
        out = Path(folder) / "out"
        chosen = overrides_of(token, scenario, set_, limit)
        compiled = compiled_scenario(scenario, out, chosen, allow_python, allow_path, limit, until_ns)
        write_warnings(compiled)
        check_token(run, compiled.scenario)
        subject = ScenarioSubject(compiled, ["flowsim", "run", str(scenario)], "full", until_ns, run.space)
        run = subject.job.with_choices(run)
        end = {**subject.explained(run), "token": str(run)}
    document = {name: end[name] for name in ("log", "ended", "sinks", "findings", "token")}
    return Answer(document, lambda console: _show(console, end, run, verbose))


def _show(console: Console, end: Mapping[str, Any], run: ChoiceToken, verbose: bool) -> None:
    turns = ", by which the task that ran last waits for the others" if run.turns == "fair" else ""
    console.print(
        f"{count_text(len(run.deviations), 'choice')} other than the default{turns}", style="bold", soft_wrap=True
    )
    for step in end["log"]:
        default = step["default"]
        if default is None and not verbose:
            continue
        number = "" if step["choice"] is None else f"choice {step['choice']}: "
        console.print(f"{number}{step['text']}", soft_wrap=True, markup=False, highlight=False)
        if default is not None:
            console.print(f"  by default: {default}", style="yellow", soft_wrap=True, markup=False, highlight=False)
        for effect in step["effects"]:
            console.print(f"  {effect}", soft_wrap=True, markup=False, highlight=False)
    ended = end["ended"]
    console.print(
        f"the job {ended['status']}{': ' if ended['cause'] else ''}{ended['cause']}", soft_wrap=True, markup=False
    )
    for sink in end["sinks"]:
        console.print(f"  sink {sink['name']}: {' '.join(sink['rows']) or '-'}", soft_wrap=True, markup=False)
    for finding in end["findings"]:
        console.print(f"  {finding}", style="red", soft_wrap=True, markup=False)
