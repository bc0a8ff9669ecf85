"""The functions of ``import flowsim``: run a scenario, open a recording, judge it by the laws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from flowsim.errors import BadInput, InvariantViolation
from flowsim.facts.kinds import Level
from flowsim.recording.reader import Recording
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import Scenario, load_scenario, load_text
from flowsim.scenario.runner import PolicyName, ScenarioRun, broken_invariant, run_compiled
from flowsim.sim.policy import SchedulingPolicy
from flowsim.validation.judge import SPARK_FROM_FACTS, chosen_laws, open_runs, validate
from flowsim.validation.on_spark import OnSpark
from flowsim.validation.spark_session import spark_session
from flowsim.validation.verdict import Report


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
    engine: Literal["auto", "spark", "python"] = "auto",
    master: str | None = None,
    remote: str | None = None,
) -> Report:
    """Judges a recording by ``laws``, or by all; ``passed`` of the report says whether each of them holds.

    On Spark (the extra ``spark``) it is judged locally, on a cluster (``master``), or on a Spark Connect server
    (``remote``); ``python`` judges in this process; ``auto`` does so below 20 million facts, unless ``master`` or
    ``remote`` is given. Raises MissingExtra, and BadInput for an unknown law or what is no readable recording.
    """
    chosen_laws(laws)
    if engine == "python" and (master is not None or remote is not None):
        raise BadInput("master and remote are for Spark: the engine 'python' does not use it")
    runs = open_runs([path])
    asked = engine == "spark" or master is not None or remote is not None
    if not asked and (engine == "python" or runs[0].rows < SPARK_FROM_FACTS):
        return validate(runs, laws)
    with spark_session(master, remote, for_judge=True) as session:
        return validate(runs, laws, OnSpark(session))


def _loaded(scenario: str | Path, overrides: Sequence[str]) -> Scenario:
    if isinstance(scenario, str) and "\n" in scenario:
        return load_text(scenario, "<text>", Path.cwd(), overrides)
    return load_scenario(scenario, overrides)
