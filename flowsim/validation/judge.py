"""Judges recordings by the laws, on Spark: counters for every law, evidence only where a law is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from flowsim.errors import BadInput
from flowsim.laws.catalogue import LAWS
from flowsim.laws.law import EVIDENCE_ROWS, Law, Outcome, Verdict
from flowsim.validation.recordings import Recording, Recordings, open_recordings
from flowsim.validation.verdict import Audited, Line, Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from flowsim.validation.checks.base import Check, Graph

Progress = Callable[[str, int, int], None]
"""Told (law, how many laws are done, how many there are) before each law, and once more with ('', n, n) at the end."""


def validate(
    spark: SparkSession,
    paths: Sequence[str | Path],
    laws: Sequence[str] | None = None,
    progress: Progress | None = None,
    audit: bool = False,
) -> Report:
    """Judges all recordings by ``laws`` (all, when None); raises BadInput for an unknown law or a bad recording.

    ``audit``: each law is judged a second time by its slow form, which trusts no column that the recorder derived.
    """
    chosen = _chosen(laws)
    facts = open_recordings(spark, paths)
    try:
        lines: list[Line] = []
        with _spark_errors("the graph"):
            graphs = _graphs(facts)
        for done, law in enumerate(chosen):
            if progress is not None:
                progress(law.id, done, len(chosen))
            with _spark_errors(f"law {law.id}"):
                lines += _judge(facts, law, graphs, audit)
        if progress is not None:
            progress("", len(chosen), len(chosen))
    finally:
        facts.release()
    return Report(tuple(str(r.path) for r in facts.runs), tuple(sorted(lines, key=lambda line: line.run)))


def _chosen(laws: Sequence[str] | None) -> list[Law]:
    known = {law.id: law for law in LAWS}
    for given in laws or ():
        if given not in known:
            raise BadInput(f"unknown law {given!r}; known are {', '.join(known)}")
    return [law for law in LAWS if laws is None or law.id in laws]


def _graphs(facts: Recordings) -> dict[int, Graph]:
    from flowsim.validation.checks.base import graphs

    return graphs(facts)


@contextmanager
def _spark_errors(what: str) -> Iterator[None]:
    """Tells what Spark could not do in one line; the whole story stays attached."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        # What Python says of a failure in Java names the call, not what went wrong there.
        told = getattr(error, "java_exception", None) or error
        first = (str(told).strip() or type(error).__name__).splitlines()[0]
        raise BadInput(f"{what} cannot be judged: Spark failed: {first}") from error


def _judge(facts: Recordings, law: Law, graphs: dict[int, Graph], audit: bool) -> list[Line]:
    from flowsim.validation.checks.registry import CHECKS

    check = CHECKS[law.id]
    started = perf_counter()
    reasons = {r.run: _not_applicable(r, law, check, graphs[r.run]) for r in facts.runs}
    judged = facts.only([run for run, reason in reasons.items() if not reason])
    counters = _counters(check, judged) if judged.runs else {}
    broken = [run for run, (_, violations) in counters.items() if violations]
    evidence = _evidence(check, judged.only(broken)) if broken else {}
    unjudged = check.unjudged(judged) if check.unjudged is not None and judged.runs else {}
    seconds = perf_counter() - started
    audited = _audited(judged, law) if audit and judged.runs else {}
    lines = []
    for recording in facts.runs:
        rows, violations = counters.get(recording.run, (0, 0))
        missing = reasons[recording.run]
        found = evidence.get(recording.run, ())
        outcome = _outcome(law, recording, missing, rows, violations, found, unjudged.get(recording.run, ""))
        lines.append(Line(recording.run, outcome, seconds, audited.get(recording.run)))
    return lines


def _audited(judged: Recordings, law: Law) -> dict[int, Audited]:
    """What the slow form says of each run."""
    from flowsim.validation.audit.base import examine
    from flowsim.validation.audit.registry import AUDITS

    started = perf_counter()
    found = examine(AUDITS[law.id], judged)
    seconds = perf_counter() - started
    return {run: Audited(_verdict(rows, len(broken)), rows, broken, seconds) for run, (rows, broken) in found.items()}


def _not_applicable(recording: Recording, law: Law, check: Check, graph: Graph) -> str:
    if recording.level < law.level:
        needed = law.level.name.lower()
        return f"needs recording level {needed}, the run was recorded at level {recording.level.name.lower()}"
    return "" if recording.empty else check.missing(graph)


def _counters(check: Check, facts: Recordings) -> dict[int, tuple[int, int]]:
    """(rows examined, violations) per run."""
    found = {row["run"]: (row["rows_examined"], row["violations"]) for row in check.counts(facts).collect()}
    suspects = [run for run, (_, violations) in found.items() if violations]
    if check.exact is None or not suspects:
        return found
    exact = {row["run"]: row["violations"] for row in check.exact(facts.only(suspects)).collect()}
    return {run: (rows, exact.get(run, 0)) for run, (rows, _) in found.items()}


def _evidence(check: Check, facts: Recordings) -> dict[int, tuple[dict[str, object], ...]]:
    """The first violations of each run."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    rows = check.evidence(facts)
    order = Window.partitionBy("run").orderBy(*(c for c in rows.columns if c != "run"))
    first: DataFrame = rows.withColumn("nth", F.row_number().over(order)).where(F.col("nth") <= EVIDENCE_ROWS)
    found: dict[int, list[dict[str, object]]] = {}
    for row in first.orderBy("run", "nth").collect():
        columns = row.asDict(recursive=True)
        run = columns.pop("run")
        del columns["nth"]
        found.setdefault(run, []).append({name: value for name, value in columns.items() if value is not None})
    return {run: tuple(rows) for run, rows in found.items()}


def _outcome(
    law: Law,
    recording: Recording,
    missing: str,
    rows: int,
    violations: int,
    evidence: tuple[dict[str, object], ...],
    unjudged: str,
) -> Outcome:
    if missing:
        return Outcome(law.id, Verdict.NOT_APPLICABLE, 0, 0, reason=missing)
    prefix = "" if recording.complete else f"the run is {recording.status}: its recording is judged as a prefix"
    seen = "; ".join(filter(None, (prefix, unjudged)))
    if recording.empty:
        seen = "the run ended before anything was kept"
    return Outcome(law.id, _verdict(rows, violations), rows, violations, evidence, seen)


def _verdict(rows: int, violations: int) -> Verdict:
    if violations:
        return Verdict.VIOLATED
    return Verdict.HOLDS if rows else Verdict.VACUOUS
