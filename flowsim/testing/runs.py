"""Runs a job inside a test and keeps its outputs and its recording."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Literal, Unpack
from weakref import finalize

import pyarrow as pa

from flowsim.cluster.failures import RunFailure
from flowsim.cluster.mini_cluster import JobExecutionResult, MiniCluster, RunOptions
from flowsim.cluster.recorded_run import RUN_STATUS, failure_report, recorded_reasons, rows_of, run_description
from flowsim.cluster.run_actions import RunAction
from flowsim.cluster.run_bounds import RunBounds
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.explore.job_digest import job_digest
from flowsim.explore.observed_graph import observe
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FACT_TABLES
from flowsim.faults.catalogue import Fault
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.notebook_html import html_block, html_table
from flowsim.recording.manifest import RunDescription
from flowsim.recording.memory import MemoryRecorder
from flowsim.recording.writer import RecordingWriter
from flowsim.report.inline import RecordingReport, report_of
from flowsim.testing.bounds import default_bounds
from flowsim.testing.differences import difference_of
from flowsim.testing.differences import shown as shown_value
from flowsim.testing.drawing.drawn_scenario import DrawnScenario
from flowsim.testing.failures import Failure
from flowsim.testing.last_run import LAST_RUN
from flowsim.testing.schedule import FIFO, Schedule
from flowsim.trace.run_trace import Trace, TraceOptions
from flowsim.units import NS_PER_MS
from flowsim.why.asked_recording import Recording
from flowsim.why.explanation import Explanation

if TYPE_CHECKING:
    import pandas as pd

_MOST_DATA = 2_000
"""Characters of the data that a message shows."""

Job = StreamExecutionEnvironment | StreamGraph | DrawnScenario
"""A job to run: an environment with streams, its stream graph, or a drawn scenario."""


@dataclass(frozen=True)
class JobRun:
    """The result of one run; the same job, schedule and faults give the same run again."""

    schedule: Schedule
    faults: tuple[Fault, ...]
    actions: tuple[RunAction, ...]
    result: JobExecutionResult
    facts: MemoryRecorder = field(repr=False)
    ends: dict[str, CollectSink] = field(repr=False)
    """The input of every sink, and the output of every operator without a reader, by operator name."""
    bounds: RunBounds | None = None
    """None: the default."""
    limits: Limits = DEFAULT_LIMITS
    description: RunDescription = field(default_factory=RunDescription, repr=False)
    """What a recording of the run says about its job and schedule."""
    sources: tuple[object, ...] = field(default=(), repr=False)

    @property
    def reproduce(self) -> str:
        """Returns the line that reproduces this run."""
        faults = f", faults={list(self.faults)!r}" if self.faults else ""
        actions = f", actions={list(self.actions)!r}" if self.actions else ""
        bounds = "" if self.bounds is None else f", bounds={self.bounds!r}"
        limits = "" if self.limits == DEFAULT_LIMITS else f", limits={self.limits!r}"
        return f"run_job(job, schedule={self.schedule!r}{faults}{actions}{bounds}{limits})"

    @property
    def data(self) -> str:
        """Returns the data of the job as code, source by source; '' if a source has them elsewhere, or has many."""
        texts = [repr(source) for source in self.sources if type(source).__repr__ is not object.__repr__]
        text = ", ".join(texts)
        return text if len(texts) == len(self.sources) and len(text) <= _MOST_DATA else ""

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Returns the verdict of each law; an unfinished run is checked as the beginning of a run."""
        explored = self.schedule.asks_for_choices
        return tuple(check_all(self.facts, RUN_STATUS[self.result.status].value, explored=explored))

    def save(self, path: str | Path) -> Recording:
        """Writes the recording of the run below the directory ``path``, as ``flowsim run --out`` does, and opens it.

        An earlier recording there is replaced. Raises BadInput.
        """
        return self._recorded(Path(path) / "recording")

    def report(self, path: str | Path) -> RecordingReport:
        """Writes the report of the run to the HTML file ``path``, as ``flowsim report`` does; raises BadInput."""
        report = report_of(self.recording, self.recording.name)
        report.write(path)
        return report

    def why(self, question: str, *about: object, at: str | None = None, task: str | None = None) -> Explanation:
        """Explains what happened, or why it did not, with the arguments of ``flowsim why``; see ``Recording.why``.

        ``run.why("late")``, ``run.why("order", ("a", 1), ("a", 2))``, ``run.why("no-output", "[0, 500)")``. Raises BadInput.
        """
        return self.recording.why(question, *about, at=at, task=task)

    def trace(self, **options: Unpack[TraceOptions]) -> Trace:
        """Returns facts as text, with the options of ``flowsim trace``, such as ``kinds="windows"``; raises BadInput."""
        return self.recording.trace(**options)

    @cached_property
    def recording(self) -> Recording:
        """The recording of the run, in a temporary directory that exists as long as this object."""
        directory = mkdtemp(prefix="flowsim-run-")
        recording = self._recorded(Path(directory))
        # Without slashes: a report calls a recording by the last part of its path.
        recording.name = f"{self.result.job_name}, schedule {self.schedule.token.replace('/', '-')}"
        finalize(recording, rmtree, directory, ignore_errors=True)
        return recording

    def _recorded(self, directory: Path) -> Recording:
        if self.facts.level is Level.OFF:
            raise BadInput("the run has no facts: run_job(..., level=Level.FULL) records them")
        writer = RecordingWriter(directory, self.facts.level, self.description, records_state=self.facts.records_state)
        writer.add_recorded(self.facts)
        result = self.result
        writer.finish(
            RUN_STATUS[result.status],
            failure_report(result),
            failures=recorded_reasons(result),
            results=rows_of({name.removeprefix("Sink: "): sink for name, sink in self.ends.items()}),
        )
        return Recording.open(directory)

    def to_arrow(self, table: str, *, readable: bool = True, keys: bool = False, values: bool = False) -> pa.Table:
        """Returns all rows of a table of facts; see ``Recording.to_arrow``."""
        return self.facts.to_arrow(table, readable=readable, keys=keys, values=values)

    def to_pandas(self, table: str, *, readable: bool = True, keys: bool = False, values: bool = False) -> pd.DataFrame:
        """Returns all rows of a table of facts as a data frame; see ``Recording.to_pandas``."""
        return self.facts.to_pandas(table, readable=readable, keys=keys, values=values)

    def _repr_html_(self) -> str:
        """Shows, in notebooks, how the job ended, the output at its ends, and the number of facts per table.

        Checks no law.
        """
        ends = [(name, end.parallelism, len(end.values())) for name, end in self.ends.items()]
        facts = [(table.name, len(self.facts.rows(table.name)), table.meaning) for table in FACT_TABLES]
        return html_block(
            "JobRun",
            f"{self.result.summary}; {self.reproduce}",
            html_table(("end", "subtasks", "values"), ends),
            html_table(("table", "rows", "one row is"), [row for row in facts if row[1]]),
        )

    def values(self, end: str | None = None, subtask: int | None = None) -> list[object]:
        """Returns the values at one end of the job in order of arrival: of one subtask, or of all in index order.

        ``end`` is the name of the sink or last operator; optional if there is only one. A sink of a scenario has its
        name there. Raises BadInput.
        """
        return self._end(end).values(subtask)

    def per_key(self, key: Callable[..., Hashable], end: str | None = None) -> dict[Hashable, list[object]]:
        """Returns the values of each key in order of arrival; keys are in order of first appearance.

        Raises BadInput if a key reached several subtasks: there is no order between subtasks.
        """
        owner: dict[Hashable, int] = {}
        found: dict[Hashable, list[object]] = {}
        for subtask, values in enumerate(self._subtasks(self._end(end))):
            for value in values:
                its_key = key(value)
                if owner.setdefault(its_key, subtask) != subtask:
                    raise BadInput(
                        f"key {its_key!r} arrived at subtasks {owner[its_key]} and {subtask}: their values "
                        "have no common order; use an end after key_by, or an end with parallelism 1"
                    )
                found.setdefault(its_key, []).append(value)
        return found

    def claim(
        self,
        sentence: str,
        holds: bool | None = None,
        *evidence: object,
        expected: object = ...,
        found: object = ...,
    ) -> None:
        """Asserts a condition about this run: that ``holds`` is true, or else that ``found`` equals ``expected``.

        The AssertionError has the sentence, what was expected beside what was found or the ``evidence``, and how to repeat
        the run. Of two lists, or of mappings to lists, such as ``per_key`` and ``outputs`` return, it explains two records
        that changed their order, a record that was late, and a result that is missing.
        Raises BadInput if nothing is claimed.
        """
        __tracebackhide__ = True
        pair = None if expected is ... or found is ... else (expected, found)
        if holds is None and pair is None:
            raise BadInput(f"claim {sentence!r}: give a condition, or both expected=... and found=...")
        if holds or (holds is None and expected == found):
            return
        difference = None if pair is None else difference_of(*pair)
        lines = difference.lines() if difference is not None else ()
        alone = [value for value in (expected, found) if value is not ... and pair is None]
        shown = (*lines, *map(shown_value, (*alone, *evidence)))
        raise AssertionError(Failure(self, f"claim is false: {sentence}", shown, difference))

    def outputs(self) -> dict[str, list[list[object]]]:
        """Returns the values in order of arrival, per end of the job and per subtask."""
        return {name: self._subtasks(end) for name, end in self.ends.items()}

    def _end(self, name: str | None) -> CollectSink:
        if name is None and len(self.ends) == 1:
            return next(iter(self.ends.values()))
        name = f"Sink: {name}" if f"Sink: {name}" in self.ends else name
        if name is None or name not in self.ends:
            there_are = ", ".join(map(repr, self.ends))
            problem = "the job has several ends, name one of them;" if name is None else f"the job has no end {name!r};"
            raise BadInput(f"{problem} there are: {there_are} (operators are named with .name(...))")
        return self.ends[name]

    @staticmethod
    def _subtasks(end: CollectSink) -> list[list[object]]:
        return [end.values(subtask) for subtask in range(end.parallelism)]


def run_job(
    job: Job,
    *,
    schedule: Schedule = FIFO,
    level: Level = Level.FULL,
    faults: Iterable[Fault] = (),
    until_ms: int | None = None,
    actions: Iterable[RunAction] = (),
    bounds: RunBounds | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> JobRun:
    """Runs a job in this process on the virtual clock and keeps its facts in memory; raises BadInput.

    ``result`` reports a failure or deadlock of the job. ``until_ms`` limits endless jobs, in virtual time; ``actions``
    stop or cancel the job. A run that reaches its ``bounds`` (None: 200,000 steps and 366 days of virtual time) or one of
    the ``limits`` fails, and ``result.error`` is RunTooLong, which names what each task waits for. The job's
    ``flowsim_settings`` are ignored. A drawn scenario has its own actions and failures besides; of its phases the first
    one runs. The job is unchanged and can run again.
    """
    own_actions: tuple[RunAction, ...] = ()
    failures: tuple[RunFailure, ...] = ()
    if isinstance(job, DrawnScenario):
        compiled = job.compiled()
        job, own_actions, failures = compiled.stream_graph(), compiled.actions, compiled.failures
    observed = observe(job)
    recorder = MemoryRecorder(level, records_state=level is Level.FULL)
    chosen, done = tuple(faults), tuple(actions)
    digest = job_digest(observed.graph)
    choices = schedule.choices_for(digest)
    options = RunOptions(
        seed=schedule.seed,
        policy=choices.policy() if choices is not None else _policy(schedule),
        budget_records=schedule.budget_records if choices is None else None,
        recorder=None if level is Level.OFF else recorder,
        until_ns=None if until_ms is None else until_ms * NS_PER_MS,
        actions=(*own_actions, *done),
        failures=failures,
        bounds=default_bounds() if bounds is None else bounds,
        limits=limits,
    )
    result = MiniCluster(observed.graph, with_faults(options, chosen)).run()
    if choices is not None:
        choices.check_end()
        schedule = Schedule.of(str(choices.token(digest)))
    described = run_description(observed.graph.settings, options)
    described.settings["record_state"] = recorder.records_state
    run = JobRun(schedule, chosen, done, result, recorder, observed.ends, bounds, limits, described, observed.sources)
    LAST_RUN.see(run)
    return run


def _policy(schedule: Schedule) -> Literal["fifo", "random"]:
    return "random" if schedule.policy == "random" else "fifo"
