"""Assertions about a job: the laws hold, and the output does not depend on the schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from flowsim.cluster.run_bounds import RunBounds
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.laws.catalogue import LAWS
from flowsim.laws.law import Outcome, Verdict
from flowsim.laws.law_ids import LAW_IDS
from flowsim.laws.law_names import why_unknown
from flowsim.quantities import count_text
from flowsim.testing.runs import Job, JobRun, run_job
from flowsim.testing.schedule import FIFO, Schedule, some_schedules
from flowsim.values.encoding import encode_value

SHOWN_ROWS = 5
"""Number of rows of evidence, or of differing values, that an error shows."""

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
    complaints = [text for outcome in run.outcomes for text in _complaints(outcome, must_examine, expect_violated)]
    if complaints:
        ended = "" if run.result.error is None else f"\n  the job ended with: {run.result.error}"
        raise AssertionError("\n".join(complaints) + f"{ended}\n  reproduce: {run.reproduce}")
    if run.result.error is not None:
        run.result.error.add_note(f"reproduce: {run.reproduce}")
        raise run.result.error
    return run


def _complaints(outcome: Outcome, must_examine: Sequence[str], expect_violated: Sequence[str]) -> list[str]:
    violated = outcome.verdict is Verdict.VIOLATED
    if violated and outcome.law not in expect_violated:
        return [_violation(outcome)]
    if not violated and outcome.law in expect_violated:
        return [f"law {outcome.law} was expected to be violated, but: {_shown(outcome)}\n  {_sentence(outcome.law)}"]
    if outcome.law in must_examine and outcome.verdict in (Verdict.VACUOUS, Verdict.NOT_APPLICABLE):
        return [f"law {outcome.law} must examine rows, but: {_shown(outcome)}\n  {_sentence(outcome.law)}"]
    return []


def _violation(outcome: Outcome) -> str:
    lines = [f"law violated: {outcome.law}", f"  {_sentence(outcome.law)}"]
    lines.append(
        f"  {count_text(outcome.violations, 'violation')}, {count_text(outcome.rows_examined, 'row')} examined"
    )
    for row in outcome.evidence[:SHOWN_ROWS]:
        where = ", ".join(f"{name}={value!r}" for name, value in row.items() if name != "what")
        lines.append(f"    {row.get('what', 'broken')}: {where}")
    if outcome.violations > SHOWN_ROWS:
        lines.append(f"    ... and {outcome.violations - SHOWN_ROWS} more")
    return "\n".join(lines)


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
        if difference:
            raise AssertionError(
                f"the output depends on the schedule:\n{difference}\n"
                f"  first: {runs[0].reproduce}\n  other: {run.reproduce}"
            )
    if not runs:
        raise BadInput("assert_same_output_for_all_schedules: no schedule was given")
    return runs


def _difference(first: JobRun, other: JobRun, view: View | None) -> str:
    if view is not None:
        seen, now = view(first), view(other)
        return "" if seen == now else f"  first: {seen!r}\n  other: {now!r}"
    lines = []
    for end in first.ends:
        before, after = _bag(first, end), _bag(other, end)
        for name, rest in (("first", before - after), ("other", after - before)):
            shown = [repr(value) for value in other.values(end) + first.values(end) if encode_value(value) in rest]
            if rest:
                lines.append(f"  only in the {name}, at {end!r}: {', '.join(sorted(set(shown))[:SHOWN_ROWS])}")
    return "\n".join(lines)


def _bag(run: JobRun, end: str) -> Counter[bytes]:
    """Counts values by their bytes: 1, 1.0 and True are three values, and NaN equals itself."""
    return Counter(encode_value(value) for value in run.values(end))


def outputs(run: JobRun) -> dict[str, list[list[object]]]:
    """Returns the values of each end of the job and each subtask, in order of arrival."""
    return run.outputs()


def per_key_order(run: JobRun, key: Callable[..., Hashable], end: str | None = None) -> dict[Hashable, list[object]]:
    """Returns the values of each key in order of arrival. Raises BadInput if a key reached several subtasks."""
    return run.per_key(key, end)
