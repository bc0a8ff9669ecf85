"""``flowsim explore``: searches for a schedule that violates a law."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, Literal

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command, duration_argument
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.explored_results import ExplorePlan, explore_results, laws_every
from flowsim.cli.explored_subjects import ProgramSubject, ScenarioSubject, Subject
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit, Set, Until, Verbose, default_out
from flowsim.cli.programs import ScenarioOrFunction, environment_of, is_function
from flowsim.cli.progress import count_progress
from flowsim.cli.scenarios import compiled_scenario, write_warnings
from flowsim.cli.tables import Column, show_table
from flowsim.cli.verdicts import LISTED, show_evidence, show_line
from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import BadInput
from flowsim.explore.explore import Exploration, Step
from flowsim.explore.explore import explore as explore_seeds
from flowsim.explore.seeded_schedules import Strategy, strategy_of, strategy_of_token
from flowsim.explore.strategies.by_name import DEFAULT_STRATEGIES, STRATEGIES
from flowsim.explore.token import Token
from flowsim.facts.kinds import Level
from flowsim.laws.law import Verdict
from flowsim.quantities import count_text
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.runner import broken_invariant
from flowsim.sim.choice_token import is_choice_token
from flowsim.trace.links import evidence_link, report_command, report_link

Seeds = Annotated[int, typer.Option("--seeds", min=1, max=10_000_000, help="How many seeds to run.")]
FirstSeed = Annotated[int, typer.Option("--first-seed", min=0, max=2**62, help="The first seed.")]
Policy = Annotated[Literal["random", "fifo"], typer.Option("--policy", help="The scheduling policy of every run.")]
Record = Annotated[
    Literal["elements", "full"],
    typer.Option("--record", help="The recording level of every run; it limits what the laws can examine."),
]
Budget = Annotated[
    int,
    typer.Option(
        "--budget-records",
        min=0,
        max=1_000_000,
        help="Elements that a task processes between two scheduling choices; 0: the value of the scenario.",
    ),
]
UntilViolation = Annotated[
    bool, typer.Option("--until-violation/--all-seeds", help="Stop at the first violated law, or run all seeds.")
]
TokenText = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="Repeat only the run with this token from an earlier exploration."),
]
Space = Annotated[
    Literal["order", "runtime", "seeds"],
    typer.Option(
        "--space",
        help="order: every order of arrivals, timers and answers, to find all results that the job can have. runtime: every "
        "turn, flush, message and credit, with the network of the scenario. seeds: the costs of work at random.",
    ),
]
Runs = Annotated[
    int, typer.Option("--runs", min=1, max=100_000_000, help="Order and runtime space: how many runs at most.")
]
Seconds = Annotated[
    float, typer.Option("--seconds", min=0.1, max=1e6, help="Order and runtime space: how long at most.")
]
OutcomeView = Annotated[
    Literal["exact", "bag"],
    typer.Option(
        "--outcome",
        help="Order and runtime space: which results differ. exact: the rows of each subtask of a sink, in order; bag: the "
        "rows of a sink, in any order.",
    ),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        help=f"Order and runtime space: how runs differ: {', '.join(STRATEGIES)}. In the order space every second run is one of "
        "an exhaustive search, and the others are uniform by default; the default of the runtime space is portfolio.",
    ),
]
Laws = Annotated[
    str,
    typer.Option(
        "--laws",
        metavar="all|new|N",
        help="Order and runtime space: check the laws on all runs, on those with a new result, or also on every Nth run.",
    ),
]
Require = Annotated[
    Literal["one-result"] | None,
    typer.Option("--require", help="Order and runtime space: more than one result is a finding."),
]

_SEEDS: Final = 20
_RUNS: Final = 2_000
_SECONDS: Final = 60.0
_LAWS: Final = "5"


@command
def explore(
    scenario: ScenarioOrFunction,
    seeds: Seeds = _SEEDS,
    first_seed: FirstSeed = 1,
    policy: Policy = "random",
    record: Record = "full",
    budget_records: Budget = 1,
    until_violation: UntilViolation = True,
    space: Space = "seeds",
    strategy: StrategyName = None,
    runs: Runs = _RUNS,
    seconds: Seconds = _SECONDS,
    outcome: OutcomeView = "exact",
    laws: Laws = _LAWS,
    require: Require = None,
    token: TokenText = None,
    until: Until = None,
    set_: Set = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    verbose: Verbose = False,
    json_output: Json = False,
) -> Answer:
    """Run a scenario under many schedules in memory and check the laws, or list all results that it can have.

    With --space seeds every run is checked, and the first violation ends the exploration (--all-seeds: it does not).
    """
    job = _Job(scenario, record, until, set_ or (), limit or (), allow_python, allow_path)
    if token is not None and is_choice_token(token):
        raise BadInput(f"--token: it repeats one run: flowsim run {shlex.quote(scenario)} --token")
    of_seeds = {"--seeds": seeds != _SEEDS, "--policy": policy != "random", "--budget-records": budget_records != 1}
    of_seeds |= {"--all-seeds": not until_violation, "--token": token is not None}
    of_results = {"--runs": runs != _RUNS, "--seconds": seconds != _SECONDS, "--outcome": outcome != "exact"}
    of_results |= {"--laws": laws != _LAWS, "--require": require is not None, "--strategy": strategy is not None}
    if space == "seeds":
        _check_options(of_results, "--space order and --space runtime")
        if is_function(scenario):
            raise BadInput(f"{scenario} is a function: it is explored with --space order or --space runtime only")
        plan = _plan(policy, seeds, first_seed, budget_records, token)
        return _explore_seeds(job, plan, until_violation, json_output, verbose)
    _check_options(of_seeds, "--space seeds")
    chosen = strategy or DEFAULT_STRATEGIES[space]
    explored = ExplorePlan(space, chosen, runs, seconds, outcome, first_seed, laws_every(laws), require is not None)
    return _explore_results(job, explored, json_output, verbose)


@dataclass(frozen=True, slots=True)
class _Job:
    """The scenario, and the options that decide its runs besides the schedule."""

    scenario: str
    record: str
    until: str | None
    overrides: Sequence[str]
    limits: Sequence[str]
    allow_python: bool
    allow_path: bool

    def compiled(self, out: str) -> CompiledScenario:
        until_ns = duration_argument("--until", self.until)
        overrides, limits = list(self.overrides), list(self.limits)
        allowed = self.allow_python, self.allow_path
        return compiled_scenario(Path(self.scenario), Path(out), overrides, *allowed, limits, until_ns)

    @property
    def options(self) -> list[str]:
        """The options of a command that decide the job."""
        options = [word for override in self.overrides for word in ("--set", override)]
        options += [word for limit in self.limits for word in ("--limit", limit)]
        return options + ["--allow-python"] * self.allow_python + ["--allow-path"] * self.allow_path


def _check_options(of_others: Mapping[str, bool], where: str) -> None:
    """Raises BadInput if an option that applies elsewhere was given a value of its own."""
    for option, is_given in of_others.items():
        if is_given:
            raise BadInput(f"{option}: applies to {where} only")


def _explore_results(job: _Job, plan: ExplorePlan, json_output: bool, verbose: bool) -> Answer:
    """Lists the results of a space."""
    with TemporaryDirectory(prefix="flowsim-explore-") as out, count_progress("exploring", json_output) as progress:
        subject: Subject
        env = environment_of(job.scenario, job.overrides, job.limits, allow_python=job.allow_python)
        if env is None:
            compiled = job.compiled(out)
            write_warnings(compiled)
            until = [] if job.until is None else ["--until", job.until]
            again = ["flowsim", "run", job.scenario, *until, *job.options]
            subject = ScenarioSubject(compiled, again, job.record, duration_argument("--until", job.until), plan.space)
        else:
            if job.until is not None:
                raise BadInput(f"{job.scenario}: --until applies to scenarios only")
            subject = ProgramSubject(env, job.scenario, job.record, plan.space)
        explored = explore_results(subject, plan, progress)
    return Answer(explored.data(), lambda console: explored.show(console, verbose), explored.code)


def _explore_seeds(job: _Job, plan: _Plan, until_violation: bool, json_output: bool, verbose: bool) -> Answer:
    """Runs one schedule per seed."""
    with TemporaryDirectory(prefix="flowsim-explore-") as out, count_progress("exploring", json_output) as progress:

        def on_step(step: Step, so_far: Exploration) -> None:
            progress(so_far.runs, len(plan.seeds), f"seed {step.seed}, {so_far.distinct} distinct")

        compiled = job.compiled(out)
        if plan.token is not None:
            plan.token.check_scenario(compiled.scenario.digest())
        write_warnings(compiled)
        progress(0, len(plan.seeds))
        exploration = explore_seeds(
            compiled,
            plan.strategy,
            plan.seeds,
            record=Level[job.record.upper()],
            budget_records=plan.budget_records or None,
            until_ns=duration_argument("--until", job.until),
            until_violation=until_violation,
            on_step=on_step,
        )
    options = _run_options(plan, job)

    def again(step: Step) -> str:
        return shlex.join(["flowsim", "run", job.scenario, "--seed", str(step.seed), *options])

    code = exit_code(exploration, bool(compiled.faults))
    first = exploration.first_finding
    see = None if first is None else report_command(str(default_out(Path(job.scenario))), _link(first))
    document = exploration_data(exploration, None if first is None else again(first)) | {"exit_code": int(code)}
    if see is not None:
        document["first_finding"]["report"] = see
    return Answer(document, lambda console: _show(console, exploration, again, see, verbose), code)


def _link(finding: Step) -> str:
    """To the first evidence of a violation, or to the verdicts."""
    rows = [row for outcome in finding.violated for row in outcome.evidence]
    for row in rows:
        task, seq = row.get("task"), row.get("seq")
        if isinstance(task, int) and isinstance(seq, int):
            return evidence_link(row, task, seq, None)
    return report_link("laws" if rows else "graph")


@dataclass(frozen=True, slots=True)
class _Plan:
    """The schedules to run. ``budget_records`` 0 keeps the budget of the scenario."""

    strategy: Strategy
    seeds: range
    budget_records: int
    token: Token | None


def _plan(
    policy: Literal["random", "fifo"], seeds: int, first_seed: int, budget_records: int, text: str | None
) -> _Plan:
    """Creates the plan from the options; a token selects exactly one schedule. Raises BadInput for an invalid token."""
    if text is None:
        return _Plan(strategy_of(policy), range(first_seed, first_seed + seeds), budget_records, None)
    token = Token.parse(text)
    return _Plan(strategy_of_token(token), range(token.seed, token.seed + 1), token.budget_records or 0, token)


def _run_options(plan: _Plan, job: _Job) -> list[str]:
    """Returns the options of ``flowsim run``, besides ``--seed``, that repeat one run of the exploration."""
    budget = [f"settings.budget_records={plan.budget_records}"] if plan.budget_records else []
    options = ["--policy", plan.strategy.name, "--record", job.record, "--clock", "virtual"]
    options += [] if job.until is None else ["--until", job.until]
    options += replace(job, overrides=[*job.overrides, *budget]).options
    return [*options, "--validate", "--engine", "python"]


def exit_code(found: Exploration, has_faults: bool) -> ExitCode:
    """Returns the exit code of the first finding. Without findings, a law that no run examined also gives a failure."""
    step = found.first_finding
    if step is None:
        return ExitCode.BROKEN if found.never_examined else ExitCode.FINE
    if broken_invariant(step.error) is not None and not has_faults:
        return ExitCode.OUR_BUG
    failed = step.status in (JobStatus.FAILED, JobStatus.DEADLOCKED)
    unexpectedly = any(outcome.what == "job" for outcome in step.unmet)
    return ExitCode.JOB_FAILED if failed and unexpectedly and not step.violated else ExitCode.BROKEN


def exploration_data(found: Exploration, again: str | None) -> dict[str, Any]:
    """Returns an exploration as JSON values."""
    step = found.first_finding
    return {
        "verdict": found.line,
        "runs": found.runs,
        "distinct_recordings": found.distinct,
        "findings": len(found.findings),
        "laws": {
            law: {
                "rows_examined": found.rows_examined[law],
                **{verdict.value: counts[verdict] for verdict in Verdict if verdict in counts},
            }
            for law, counts in found.verdicts.items()
        },
        "never_examined": list(found.never_examined),
        "unmet": [
            {
                "what": what,
                "runs": unmet.runs,
                "expected": unmet.first.expected,
                "found": unmet.first.found,
                "seed": unmet.step.seed,
                "token": str(unmet.step.token),
            }
            for what, unmet in found.unmet.items()
        ],
        "first_finding": None
        if step is None
        else {
            "seed": step.seed,
            "token": str(step.token),
            "status": step.status.value,
            "digest": step.digest,
            "violated": [
                {"law": o.law, "violations": o.violations, "evidence": list(o.evidence)} for o in step.violated
            ],
            "unmet": [{"what": e.what, "expected": e.expected, "found": e.found} for e in step.unmet],
            "error": None if step.error is None else str(step.error),
            "replay": again,
        },
    }


def _show_laws(console: Console, found: Exploration) -> None:
    columns = [Column("rows examined"), *(Column(verdict.value) for verdict in Verdict)]
    rows = [
        (law, f"{found.rows_examined[law]:,}", *(str(counts.get(verdict, 0)) for verdict in Verdict))
        for law, counts in found.verdicts.items()
    ]
    show_table(console, ["law"], columns, rows)


def _show(console: Console, found: Exploration, again: Callable[[Step], str], see: str | None, verbose: bool) -> None:
    show_line(console, found.line, not found.findings and not found.never_examined)
    console.print(
        f"{count_text(found.distinct, 'distinct recording')}, {len(found.findings)} with findings"
        f"{'' if verbose else LISTED}",
        soft_wrap=True,
    )
    if verbose:
        _show_laws(console, found)
    for law in found.never_examined:
        console.print(f"{law}: it examined no row in any run", style="yellow")
    for what, one in found.unmet.items():
        console.print(
            f"expected {what}: {one.first.expected}, not met in {one.runs:,} of {count_text(found.runs, 'run')}; "
            f"seed {one.step.seed} found: {one.first.found}",
            style="red",
            soft_wrap=True,
        )
    step = found.first_finding
    if step is None:
        return
    console.print(
        f"\nseed {step.seed}: the job {step.status.value}, token {step.token}", style="bold red", soft_wrap=True
    )
    if step.error is not None:
        console.print(f"  {step.error}", soft_wrap=True)
    for unmet in step.unmet:
        console.print(f"  expected {unmet.what}: {unmet.expected}, found: {unmet.found}", soft_wrap=True)
    for outcome in step.violated:
        console.print(f"  {outcome.law}: {count_text(outcome.violations, 'violation')}", style="red")
        show_evidence(console, outcome.evidence, "    ")
    console.print(f"  reproduce: {again(step)}", soft_wrap=True)
    console.print(f"  then see it: {see}", soft_wrap=True, markup=False, highlight=False)
