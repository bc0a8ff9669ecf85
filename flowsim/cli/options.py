"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML).", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
AllowPython = Annotated[
    bool, typer.Option("--allow-python", help="Let the scenario run Python code that it names. Only if you trust it.")
]
AllowPath = Annotated[
    bool,
    typer.Option(
        "--allow-path", help="Let the scenario read and write files anywhere, not only below its folder and the output."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the scenario, e.g. settings.parallelism=2."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="DURATION", help="Stop after this much of the job's time, e.g. 10s.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="The seed of every random choice.")]
ClockName = Annotated[
    Literal["virtual", "real"] | None,
    typer.Option("--clock", help="Virtual time, which jumps from event to event, or real time."),
]
PolicyName = Annotated[
    Literal["fifo", "random"] | None, typer.Option("--policy", help="Which ready task runs next on the virtual clock.")
]
RecordLevel = Annotated[
    Literal["off", "elements", "full"] | None, typer.Option("--record", help="How much is recorded.")
]
RecordValues = Annotated[
    str | None,
    typer.Option(
        "--record-values",
        metavar="SIZE",
        help="How much of the records' distinct values is recorded, e.g. '64 MiB'; 0: none.",
    ),
]
RecordState = Annotated[
    bool | None,
    typer.Option(
        "--record-state/--no-record-state", help="Record every change of keyed state too; at --record full only."
    ),
]
Engine = Annotated[
    Literal["auto", "spark", "python"],
    typer.Option("--engine", help="Judge on Spark, or in this process without it; auto: by the number of facts."),
]
Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="The Spark cluster that judges, e.g. spark://host:7077.")
]
Remote = Annotated[
    str | None, typer.Option("--remote", metavar="URL", help="The Spark Connect server that judges, e.g. sc://host.")
]


def default_out(scenario: Path) -> Path:
    """Where a run goes that names no directory."""
    return Path("out") / scenario.stem
