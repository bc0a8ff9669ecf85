"""Checks recordings against the laws: opens them, runs an engine over them, and builds a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from flowsim.errors import BadInput
from flowsim.laws.catalogue import LAWS
from flowsim.laws.files import RecordedFiles
from flowsim.laws.graph_check import checked_job_graph
from flowsim.laws.judge import Errand, Judgement, Judging, applicable, judging
from flowsim.laws.law import Law, Outcome
from flowsim.laws.law_names import why_unknown
from flowsim.recording.reader import Recording
from flowsim.validation.in_process import InProcess, Progress
from flowsim.validation.recorded_run import EXPLORED, RecordedRun, Work
from flowsim.validation.verdict import EngineFailed, Line, Report

SPARK_FROM_FACTS: Final = 20_000_000
"""Number of facts from which two cores of Spark compensate for its start-up time (docs/performance.md)."""


class Engine(Protocol):
    """Runs passes over recordings."""

    name: str

    def examine(self, works: Sequence[Work], progress: Progress) -> Iterator[Judgement | BadInput]:
        """Returns the result of each pass of ``works``, in order, or the reason why its recording cannot be checked.

        Raises EngineFailed if none of the remaining recordings can be checked.
        """


def no_progress(done: int, total: int, what: str) -> None:
    """Does nothing, for callers without a progress display."""


def open_runs(paths: Sequence[str | Path | Recording]) -> list[RecordedRun]:
    """Opens all recordings that are not open yet.

    Raises BadInput for an empty list, for a path that is not a recording, and for a duplicate.
    """
    if not paths:
        raise BadInput("no recording given: give the directory that 'flowsim run --out' wrote")
    runs = [_open(path) for path in paths]
    seen: set[str] = set()
    for run in runs:
        if run.files.directory in seen:
            raise BadInput(f"{run.files.directory}: given twice")
        seen.add(run.files.directory)
    return runs


def _open(path: str | Path | Recording) -> RecordedRun:
    recording = path if isinstance(path, Recording) else Recording.open(path)
    files = RecordedFiles(recording.location, recording.markers, recording.limits)
    return RecordedRun(
        files,
        checked_job_graph(recording),
        recording.level,
        recording.status.value,
        recording.manifest.run.policy == EXPLORED,
    )


def validate(
    runs: Sequence[RecordedRun],
    laws: Sequence[str] | None = None,
    engine: Engine | None = None,
    progress: Progress = no_progress,
) -> Report:
    """Checks all recordings against ``laws`` (None: all), in this process or with ``engine``.

    Raises BadInput for an unknown law. Raises NotJudged, with the verdicts so far, for a damaged recording or a failure
    of Spark.
    """
    chosen = chosen_laws(laws)
    engine = engine or InProcess()
    judged: dict[int, Judging] = {}
    pending: dict[int, Errand] = {}
    outcomes: dict[int, dict[str, Outcome]] = {}
    for number, run in enumerate(runs):
        applying, outcomes[number] = applicable(chosen, run.graph, run.level)
        reason = "" if run.whole else f"the run is {run.status}: its recording is checked as a prefix"
        judged[number] = judging(run.graph, applying, run.whole, reason, explored=run.explored)
        pending[number] = next(judged[number])
    errors: dict[int, BadInput] = {}
    while pending:
        works = [(number, runs[number], pending[number]) for number in sorted(pending)]
        try:
            for (number, _, _), judgement in zip(works, engine.examine(works, progress), strict=True):
                if isinstance(judgement, BadInput):
                    del pending[number]
                    errors[number] = judgement
                    continue
                try:
                    pending[number] = judged[number].send(judgement)
                except StopIteration as end:
                    del pending[number]
                    outcomes[number] |= {outcome.law: outcome for outcome in end.value}
        except EngineFailed as error:
            errors |= dict.fromkeys(pending, error)
            break
    done = [number for number in range(len(runs)) if number not in errors]
    lines = [Line(number, outcomes[number][law.id]) for number in done for law in chosen]
    report = Report(tuple(run.files.directory for run in runs), tuple(lines), engine.name)
    for number in sorted(errors):
        report = report.with_error(number, errors[number])
    if report.error is not None:
        raise report.error
    return report


def chosen_laws(laws: Sequence[str] | None) -> list[Law]:
    """Returns the laws by their ids, in catalogue order. Raises BadInput for an unknown law."""
    for given in laws or ():
        if unknown := why_unknown(given):
            raise BadInput(unknown)
    return [law for law in LAWS if laws is None or law.id in laws]
