"""The functions of ``import flowsim``: run a scenario, open a recording, judge it by the laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Literal

from flowsim.errors import BadInput, InvariantViolation, did_you_mean
from flowsim.facts.kinds import Level
from flowsim.laws.catalogue import LAW_IDS, LAWS
from flowsim.laws.job_graph import job_graph
from flowsim.laws.judge import WHOLE, check
from flowsim.recording.reader import Recording
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import Scenario, load_scenario, load_text
from flowsim.scenario.runner import PolicyName, ScenarioRun, broken_invariant, run_compiled
from flowsim.sim.policy import SchedulingPolicy
from flowsim.validation.judge import validate
from flowsim.validation.spark_session import spark_session
from flowsim.validation.verdict import Line, Report

Progress = Callable[[int, int, str], None]
"""Called with how many laws are done, how many there are, and which one is next."""


def run_scenario(
    scenario: str | Path,
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    policy: PolicyName | SchedulingPolicy | None = None,
    clock: Literal["virtual", "real"] | None = None,
    record: Literal["off", "elements", "full"] | None = None,
    until_ns: int | None = None,
    overrides: Sequence[str] = (),
    allow_python: bool = False,
    allow_path: bool = False,
) -> ScenarioRun:
    """Runs a scenario: the path of a YAML file, or, if it has a line break, the text of one.

    ``out`` receives the recording and the files of sinks; an earlier run there is replaced. Without it the facts stay
    in memory. What is None is as in the scenario; ``overrides`` are ``"KEY=VALUE"`` as for ``flowsim run --set``, and
    ``until_ns`` counts from the start of the job. A scenario runs Python code or leaves its folder only if allowed to.

    The result has ``result.status`` and ``result.error`` of the job, ``sinks``, ``expectations``, ``recording`` and
    ``digest``: a job that fails is no exception here. Raises ScenarioError or BadInput for what cannot be run.

    >>> words = '''
    ... flowsim: 1
    ... name: words
    ... sources: {lines: {collection: {fields: {word: string}, rows: [[to], [be]]}}}
    ... sinks: {all: {input: lines, collect: {}}}
    ... '''
    >>> run = run_scenario(words)
    >>> run.result.status.value, run.sinks[0].rows
    ('finished', 2)
    """
    loaded = _loaded(scenario, overrides)
    name = loaded.model.name
    folder = Path("out", name) if out is None else Path(out)
    compiled = compile_scenario(loaded, out_dir=folder, allow_python=allow_python, allow_path=allow_path)
    writing = [sink.name for sink in compiled.sinks if sink.directory is not None]
    if out is None and writing:
        raise BadInput(f"scenario {name!r}: sink {writing[0]!r} writes files: give their directory with out=")
    level = None if record is None else Level[record.upper()]
    run = run_compiled(compiled, out=out, seed=seed, policy=policy, clock=clock, record=level, until_ns=until_ns)
    if broken_invariant(run.result.error) is not None and not compiled.faults:
        raise InvariantViolation(str(run.result.error))
    return run


def open_recording(path: str | Path) -> Recording:
    """Opens a recording, or the directory of a run that has one; raises BadInput for what is missing or damaged."""
    return Recording.open(path)


def validate_recording(
    path: str | Path,
    *,
    laws: Sequence[str] | None = None,
    engine: Literal["spark", "python"] = "spark",
    master: str | None = None,
    remote: str | None = None,
    audit: bool = False,
) -> Report:
    """Judges a recording by ``laws``, or by all; ``passed`` of the report says whether each of them holds.

    On Spark (the extra ``spark``): local, on a cluster (``master``), or on a Spark Connect server (``remote``); with
    ``audit`` each law is judged a second time by its slow form. The engine ``python`` judges in this process and holds
    the recording in memory. Raises MissingExtra, and BadInput for an unknown law or what is no readable recording.
    """
    for law in laws or ():
        if law not in LAW_IDS:
            raise BadInput(f"there is no law {law!r}{did_you_mean(law, LAW_IDS)}")
    if engine == "python":
        if master is not None or remote is not None or audit:
            raise BadInput("master, remote and audit are for Spark: the engine 'python' does not use it")
        return judge_in_process([Path(path)], laws)
    with spark_session(master, remote) as session:
        return validate(session, [path], laws, audit=audit)


def judge_in_process(
    paths: Sequence[Path], laws: Sequence[str] | None, progress: Progress = lambda done, total, law: None
) -> Report:
    """The same report as Spark's, from the checks that explorations use; holds a recording in memory."""
    chosen = [law for law in LAWS if laws is None or law.id in laws]
    recordings = [Recording.open(path) for path in paths]
    lines: list[Line] = []
    for run, recording in enumerate(recordings):
        graph = job_graph(recording)
        for number, law in enumerate(chosen):
            progress(run * len(chosen) + number, len(recordings) * len(chosen), law.id)
            started_s = perf_counter()
            outcome = check(law, recording, graph, recording.status.value == WHOLE)
            lines.append(Line(run, outcome, perf_counter() - started_s))
    return Report(tuple(str(recording.directory) for recording in recordings), tuple(lines))


def _loaded(scenario: str | Path, overrides: Sequence[str]) -> Scenario:
    if isinstance(scenario, str) and "\n" in scenario:
        return load_text(scenario, "<text>", Path.cwd(), overrides)
    return load_scenario(scenario, overrides)
