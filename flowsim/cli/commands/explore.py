"""``flowsim explore``: lists the results that a job can have, and searches for a schedule that violates a law."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from flowsim.cli.command import Answer, command
from flowsim.cli.explore_plan import ExplorePlan, laws_every, spaces_of
from flowsim.cli.explored_results import ExploredResults
from flowsim.cli.explored_subjects import JobArguments
from flowsim.cli.explored_variants import ExploredVariants, explored_variants
from flowsim.cli.exploring import Workers, explored_results
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit, Set, Until, Verbose
from flowsim.cli.programs import ScenarioOrFunction
from flowsim.cli.progress import count_progress
from flowsim.cli.topics import Topic
from flowsim.cli.varied import combinations
from flowsim.errors import BadInput
from flowsim.explore.outcome import View
from flowsim.explore.plan import strategies_of
from flowsim.explore.strategies.by_name import STRATEGIES

FirstSeed = Annotated[int, typer.Option("--first-seed", min=0, max=2**62, help="The seed of the first random run.")]
Record = Annotated[
    Literal["elements", "full"],
    typer.Option("--record", help="The recording level of checked runs; it limits what the laws can examine."),
]
Arguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- ARGS]",
        help="The arguments of a program for PyFlink, which is PROGRAM.py in place of a scenario.",
        show_default=False,
    ),
]
Space = Annotated[
    str | None,
    typer.Option(
        "--space",
        metavar="order|runtime",
        help="order: every order of arrivals, timers and answers, to find all results that the job can have. runtime: every "
        "turn, flush, message and credit, with the network of the scenario, and random costs of work. By default half of the "
        "runs are in each space.",
    ),
]
Runs = Annotated[int, typer.Option("--runs", min=1, max=100_000_000, help="How many runs at most.")]
Seconds = Annotated[float, typer.Option("--seconds", min=0.1, max=1e6, help="How long at most.")]
Jobs = Annotated[
    int, typer.Option("--jobs", min=1, max=256, help="How many processes make the runs; the results are the same.")
]
Spark = Annotated[
    bool, typer.Option("--spark", help="Spark makes the runs: on this machine, or on the cluster of --master.")
]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="With --spark: the address of a cluster.")]
Resume = Annotated[
    Path | None,
    typer.Option(
        "--resume", metavar="FILE", help="Keep the exploration in this file, and continue the one that it has."
    ),
]
Smaller = Annotated[
    Path | None,
    typer.Option(
        "--smaller",
        metavar="FILE",
        help="Write the scenario of the first finding to this file, with as few records and settings as still show it.",
    ),
]
OutcomeView = Annotated[
    View,
    typer.Option(
        "--outcome",
        help="Which results differ. exact: the rows of each subtask of a sink, in order; keys: the rows of each key of a sink, "
        "in order; bag: the rows of a sink, in any order.",
    ),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        help=f"How random runs differ: {', '.join(STRATEGIES)}. By default uniform in the order space, where every second "
        "run is one of an exhaustive search, and portfolio in the runtime space. Without --space: the runtime space.",
    ),
]
Laws = Annotated[
    str,
    typer.Option(
        "--laws",
        metavar="all|new|N",
        help="Check the laws on all runs, on those with a new result, or also on every Nth run.",
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY=[VALUE, ...]",
        help="Explore the scenario with each of these values, e.g. settings.seed=[1, 2, 3], in place of those that its key "
        "vary has. The option can be given several times, for all combinations, which share --runs and --seconds.",
    ),
]
Claims = Annotated[
    list[str] | None,
    typer.Option(
        "--claim",
        metavar="MODULE:FUNCTION",
        help="A function that gets the rows of each sink and subtask, and returns False or fails an assertion if they are "
        "wrong; it needs --allow-python. The option can be given several times.",
    ),
]
Require = Annotated[Literal["one-result"] | None, typer.Option("--require", help="More than one result is a finding.")]
UntilFinding = Annotated[bool, typer.Option("--until-finding", help="Stop at the first violated law or expectation.")]

_RUNS: Final = 2_000
_SECONDS: Final = 60.0
_LAWS: Final = "5"


@command
def explore(
    scenario: ScenarioOrFunction,
    arguments: Arguments = None,
    space: Space = None,
    strategy: StrategyName = None,
    runs: Runs = _RUNS,
    seconds: Seconds = _SECONDS,
    jobs: Jobs = 1,
    spark: Spark = False,
    master: Master = None,
    resume: Resume = None,
    smaller: Smaller = None,
    first_seed: FirstSeed = 1,
    outcome: OutcomeView = "exact",
    laws: Laws = _LAWS,
    claim: Claims = None,
    require: Require = None,
    until_finding: UntilFinding = False,
    record: Record = "full",
    until: Until = None,
    set_: Set = None,
    vary: Vary = None,
    topic: Topic = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    verbose: Verbose = False,
    json_output: Json = False,
) -> Answer:
    """Run a job under many schedules in memory: list the results that it can have, and check the laws and expectations."""
    spaces = spaces_of(space, strategy)
    plan = ExplorePlan(
        strategies_of(spaces, strategy),
        runs,
        seconds,
        outcome,
        first_seed,
        laws_every(laws),
        require is not None,
        until_finding,
    )
    job = JobArguments(
        scenario,
        record,
        until,
        tuple(set_ or ()),
        tuple(limit or ()),
        allow_python,
        allow_path,
        tuple(claim or ()),
        tuple(arguments or ()),
        tuple(topic or ()),
    )
    found = _explored(job, plan, Workers(jobs, spark, master), vary, resume, smaller, json_output)
    return Answer(found.data(), lambda console: found.show(console, verbose), found.code)


def _explored(
    job: JobArguments,
    plan: ExplorePlan,
    workers: Workers,
    vary: list[str] | None,
    resume: Path | None,
    smaller: Path | None,
    quiet: bool,
) -> ExploredResults | ExploredVariants:
    varied = combinations(job.loaded_scenario(), vary or ())
    with count_progress("exploring", quiet) as progress:
        if varied == [()]:
            return explored_results(job, plan, workers, progress, resume, smaller)
        if resume is not None:
            what = "--vary" if vary else f"{job.scenario}: vary"
            raise BadInput(f"{what} and --resume cannot be combined: give --set for each key that varies, and a file")
        part = plan.part(len(varied))
        return explored_variants(
            varied,
            lambda overrides, is_first: explored_results(
                job.with_set(overrides), part, workers, progress, smaller=smaller if is_first else None
            ),
        )
