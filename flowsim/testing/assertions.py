"""Assertions about a job: the laws hold, and the output does not depend on the schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from flowsim.cluster.run_bounds import RunBounds
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.laws.catalogue import LAWS
from flowsim.laws.law import Outcome, Verdict
from flowsim.laws.law_ids import LAW_IDS
from flowsim.laws.law_names import why_unknown
from flowsim.quantities import count_text
from flowsim.testing.differences import Difference, difference_of
from flowsim.testing.failures import Failure, repeating_lines
from flowsim.testing.runs import Job, JobRun, run_job
from flowsim.testing.schedule import FIFO, Schedule, some_schedules
from flowsim.values.encoding import encode_value

SHOWN_ROWS = 5
"""Number of differing values that an error shows."""

View = Callable[[JobRun], object]
"""A function that returns the property of a run that is compared between runs."""


def assert_laws(
    job: Job | JobRun,
    *,
    schedule: Schedule | None = None,
    must_examine: Sequence[str] = (),
    expect_violated: Sequence[str] = (),
    level: Level = Level.FULL,
    faults: Iterable[Fault] = (),
    bounds: RunBounds | None = None,
) -> JobRun:
    """Runs the job (or uses a given run) and asserts that no law is violated; returns the run for further assertions.

    ``must_examine`` names laws that must be applicable and not vacuous.
    ``expect_violated`` names laws that must be violated, for a test that injects a fault. ``bounds`` as for ``run_job``.

    Raises AssertionError with the law, its sentence, the evidence and the line that reproduces the run. Raises BadInput
    for unknown laws. If no law is violated, raises the error that ended the job (JobFailed, Deadlock,
    RunTooLong).
    """
    __tracebackhide__ = True
    for law in (*must_examine, *expect_violated):
        if why_unknown(law):
            raise BadInput(f"there is no law {law!r}; there are: {', '.join(LAW_IDS)}")
    if isinstance(job, JobRun):
        if schedule is not None:
            raise BadInput("assert_laws: a finished run already has its schedule")
        run = job
    else:
        run = run_job(job, schedule=FIFO if schedule is None else schedule, level=level, faults=faults, bounds=bounds)
    complaints = [one for outcome in run.outcomes if (one := _complaint(outcome, must_examine, expect_violated))]
    if complaints:
        raise AssertionError(_failure(run, complaints))
    if run.result.error is not None:
        for line in repeating_lines(run):
            run.result.error.add_note(line)
        raise run.result.error
    return run


@dataclass(frozen=True, slots=True)
class _Complaint:
    """What one law lets an assertion fail with."""

    outcome: Outcome
    text: str


def _complaint(outcome: Outcome, must_examine: Sequence[str], expect_violated: Sequence[str]) -> _Complaint | None:
    violated, law = outcome.verdict is Verdict.VIOLATED, outcome.law
    if violated and law not in expect_violated:
        return _Complaint(outcome, f"law violated: {law}")
    if not violated and law in expect_violated:
        return _Complaint(outcome, f"law {law} was expected to be violated, but: {_shown(outcome)}")
    if law in must_examine and outcome.verdict in (Verdict.VACUOUS, Verdict.NOT_APPLICABLE):
        return _Complaint(outcome, f"law {law} must examine rows, but: {_shown(outcome)}")
    return None


def _failure(run: JobRun, complaints: Sequence[_Complaint]) -> Failure:
    """The first complaint in full, and the others by their laws."""
    first, *others = complaints
    violated = first.outcome if first.outcome.verdict is Verdict.VIOLATED else None
    lines = [_sentence(first.outcome.law)]
    if violated is not None:
        counts = count_text(violated.violations, "violation"), count_text(violated.rows_examined, "row")
        lines.append(f"{counts[0]}, {counts[1]} examined")
    if others:
        lines.append(f"also: {', '.join(one.text for one in others)}")
    if run.result.error is not None:
        lines.append(f"the job ended with: {str(run.result.error).splitlines()[0]}")
    return Failure(run, first.text, tuple(lines), violated=violated)


def _shown(outcome: Outcome) -> str:
    reason = f" ({outcome.reason})" if outcome.reason else ""
    return f"{outcome.verdict.value}, {count_text(outcome.rows_examined, 'row')} examined{reason}"


def _sentence(law: str) -> str:
    found = next(one for one in LAWS if one.id == law)
    return f"{found.sentence} (rules {', '.join(found.rules)})"


def assert_same_output_for_all_schedules(
    job_factory: Callable[[], Job],
    *,
    schedules: Iterable[Schedule] | None = None,
    view: View | None = None,
    bounds: RunBounds | None = None,
) -> list[JobRun]:
    """Runs a job under each schedule and asserts that all runs have the output of the first run.

    By default the output is how often each value arrived at each end of the job; order and subtask may differ.
    ``view=outputs`` also compares the order in each subtask. ``bounds`` as for ``run_job``. Raises AssertionError.
    """
    __tracebackhide__ = True
    runs: list[JobRun] = []
    for schedule in some_schedules() if schedules is None else schedules:
        run = assert_laws(job_factory(), schedule=schedule, bounds=bounds)
        runs.append(run)
        difference = _difference(runs[0], run, view)
        if difference is not None:
            calls = repeating_lines(run, f"first: {runs[0].reproduce}", f"other: {run.reproduce}")
            raise AssertionError(Failure(run, "the output depends on the schedule:", *difference, repeats=calls))
    if not runs:
        raise BadInput("assert_same_output_for_all_schedules: no schedule was given")
    return runs


def _difference(first: JobRun, other: JobRun, view: View | None) -> tuple[tuple[str, ...], Difference] | None:
    """The lines that show how the outputs of two runs differ, and what differs first."""
    if view is not None:
        before, after = view(first), view(other)
        if before == after:
            return None
        both = difference_of(before, after, ("first", "other"))
        return both.lines(), both
    lines: list[str] = []
    compared: Difference | None = None
    for end in first.ends:
        one, two = _bag(first, end), _bag(other, end)
        for name, rest in (("first", one - two), ("other", two - one)):
            texts = [repr(value) for value in other.values(end) + first.values(end) if encode_value(value) in rest]
            if rest:
                lines.append(f"only in the {name}, at {end!r}: {', '.join(sorted(set(texts))[:SHOWN_ROWS])}")
                compared = compared or Difference(first.values(end), other.values(end))
    return None if compared is None else (tuple(lines), compared)


def _bag(run: JobRun, end: str) -> Counter[bytes]:
    """Counts values by their bytes: 1, 1.0 and True are three values, and NaN equals itself."""
    return Counter(encode_value(value) for value in run.values(end))


def outputs(run: JobRun) -> dict[str, list[list[object]]]:
    """Returns the values of each end of the job and each subtask, in order of arrival."""
    return run.outputs()


def per_key_order(run: JobRun, key: Callable[..., Hashable], end: str | None = None) -> dict[Hashable, list[object]]:
    """Returns the values of each key in order of arrival. Raises BadInput if a key reached several subtasks."""
    return run.per_key(key, end)
