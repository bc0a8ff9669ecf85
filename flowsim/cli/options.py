"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML).", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
AllowPython = Annotated[
    bool,
    typer.Option(
        "--allow-python",
        help="Allow the scenario to run the Python code that it names. Use it only for scenarios that you trust.",
    ),
]
AllowPath = Annotated[
    bool,
    typer.Option(
        "--allow-path",
        help="Allow the scenario to read and write files outside of its folder and the output directory.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value of the scenario, or a setting of a program's jobs, e.g. settings.parallelism=2.",
    ),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", metavar="NAME=VALUE", help="Change a limit, e.g. 'scenario_bytes=4 MiB'; docs/limits.md lists them."
    ),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="DURATION", help="Stop the job after this time on its clock, e.g. 10s.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="The seed of every random choice.")]
ClockName = Annotated[
    Literal["virtual", "real"] | None,
    typer.Option("--clock", help="Run in virtual time, which jumps from event to event, or in real time."),
]
PolicyName = Annotated[
    Literal["fifo", "random"] | None,
    typer.Option("--policy", help="How the next task is chosen from the ready tasks on the virtual clock."),
]
RecordLevel = Annotated[
    Literal["off", "elements", "full"] | None, typer.Option("--record", help="The recording level.")
]
RecordValues = Annotated[
    str | None,
    typer.Option(
        "--record-values",
        metavar="SIZE",
        help="Size limit for the recorded values of distinct records, e.g. '64 MiB'; 0: no values.",
    ),
]
RecordState = Annotated[
    bool | None,
    typer.Option(
        "--record-state/--no-record-state",
        help="Also record every change of keyed state and of window contents; needs --record full.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Also list the laws that hold and those that do not apply, with the reasons."),
]
Engine = Annotated[
    Literal["auto", "spark", "python"],
    typer.Option(
        "--engine", help="Check laws on Spark, or in this process without Spark; auto: depends on the number of facts."
    ),
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="The Spark cluster that checks the laws, e.g. spark://host:7077."),
]
Remote = Annotated[
    str | None,
    typer.Option("--remote", metavar="URL", help="The Spark Connect server that checks the laws, e.g. sc://host."),
]


def default_out(scenario: Path) -> Path:
    """Returns the default output directory of a run."""
    return Path("out") / scenario.stem
