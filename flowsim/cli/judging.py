"""Checks recordings as the options of a command require: the laws, the engine, the scenarios' recomputations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flowsim.errors import BadInput, MissingExtra
from flowsim.laws.law import Outcome, Verdict
from flowsim.laws.law_ids import LAW_IDS
from flowsim.laws.law_names import why_unknown
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.quantities import count_text
from flowsim.recording.reader import Recording
from flowsim.validation.in_process import InProcess, Progress
from flowsim.validation.java import find_java
from flowsim.validation.judge import SPARK_FROM_FACTS, open_runs, validate
from flowsim.validation.on_spark import OnSpark
from flowsim.validation.recompute import recompute
from flowsim.validation.remote_recording import is_uri, open_remote
from flowsim.validation.spark_session import LOCAL, spark_session
from flowsim.validation.sql_law import SUFFIX, judge_by_sql, read_sql_law
from flowsim.validation.verdict import Line, NotJudged, Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flowsim.scenario.compiled import Recompute

RECOMPUTE = "recompute"
"""The name of the scenario's recomputation in lists of laws."""

EngineName = Literal["auto", "spark", "python"]


def laws_that_begin_with(text: str) -> list[str]:
    """Returns the ids of the laws that complete a word on the command line."""
    return [law for law in LAW_IDS if law.startswith(text)]


@dataclass(frozen=True, slots=True)
class RecomputePlan:
    """A scenario's recomputation for the recording with index ``run``; ``not_run``: why it cannot run."""

    run: int
    script: str
    recompute: Recompute | None
    out: Path
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """The settings of a check; ``laws`` None: all laws."""

    engine: EngineName = "auto"
    master: str | None = None
    remote: str | None = None
    laws: tuple[str, ...] | None = None
    """Ids of laws, ``recompute``, and files of SQL laws; with only files, all other laws are checked as well."""
    allow_sql: bool = False

    def __post_init__(self) -> None:
        if self.engine == "python" and (self.master or self.remote):
            raise BadInput("--master and --remote choose where Spark runs; --engine python uses no Spark")
        for law in self.laws or ():
            if law.endswith(SUFFIX):
                self._check_sql(law)
            elif unknown := why_unknown(law, RECOMPUTE):
                raise BadInput(f"--law: {unknown}")

    def _check_sql(self, law: str) -> None:
        if not self.allow_sql:
            raise BadInput(f"--law {law}: a SQL law is code from a file and runs only with --allow-sql")
        if self.engine == "python":
            raise BadInput(f"--law {law}: a SQL law runs on Spark: leave --engine python out")

    @property
    def requests_spark(self) -> bool:
        """True if the laws are checked on Spark, whatever the size of the recordings."""
        return self.engine == "spark" or self.master is not None or self.remote is not None

    def require(self, recomputes: bool) -> None:
        """Raises MissingExtra or BadInput if a session cannot run; called before a long check starts."""
        if self.engine == "python" or not (self.requests_spark or (recomputes and self._judges_recompute)):
            return
        if find_spec("pyspark") is None:
            raise MissingExtra("spark", "checking laws on Spark (--engine python needs none)")
        if self.remote is None:
            find_java()

    @property
    def _judges_recompute(self) -> bool:
        return self.laws is None or RECOMPUTE in self.laws or all(law.endswith(SUFFIX) for law in self.laws)

    @contextmanager
    def opened(self, paths: Sequence[str], limits: Limits = DEFAULT_LIMITS) -> Iterator[list[Recording]]:
        """Opens recordings at paths and URIs; the Spark session for a URI lasts as long as the block."""
        uris = [path for path in paths if is_uri(path)]
        if uris and self.engine == "python":
            raise BadInput(f"{uris[0]}: only Spark opens URIs: leave --engine python out, or give a path")
        with self._session(bool(uris), for_judge=True) as session:
            yield [
                open_remote(session, path, limits)
                if session is not None and is_uri(path)
                else Recording.open(path, limits=limits)
                for path in paths
            ]

    def judge(
        self,
        paths: Sequence[str | Path],
        opened: Sequence[Recording],
        plans: Sequence[RecomputePlan],
        progress: Progress,
    ) -> Report:
        """Returns one line per law and recording, and the errors; ``paths``: as given by the user.

        A recomputation is a script for Spark: it starts a session, unless the engine is ``python``.
        """
        queries = [read_sql_law(Path(law)) for law in self.laws or () if law.endswith(SUFFIX)]
        only_queries = len(queries) == len(self.laws or ())
        names = (
            None if only_queries else [law for law in self.laws or () if not law.endswith(SUFFIX) and law != RECOMPUTE]
        )
        plans = plans if self._judges_recompute else ()
        runs = open_runs(opened)
        on_spark, why = self._choice(sum(run.rows for run in runs), [path for path in paths if is_uri(str(path))])
        scripts = any(not plan.not_run for plan in plans) and self.engine != "python"
        scripts = scripts or bool(queries)
        with self._session(on_spark or scripts, for_judge=not scripts) as session:
            engine = OnSpark(session) if on_spark and session is not None else InProcess()
            try:
                report = validate(runs, names, engine, progress)
            except NotJudged as error:
                report = error.report
            report = replace(report, recordings=tuple(map(str, paths)), engine=f"{engine.name}: {why}")
            refused = {run for run, _ in report.errors}
            for law, run in product(queries, range(len(opened))):
                if session is not None and run not in refused:
                    report = _with_line(report, run, partial(judge_by_sql, session, law, opened[run]))
            for plan in plans:
                report = _with_line(report, plan.run, partial(_recomputed, session, plan))
        return report

    def _choice(self, facts: int, uris: Sequence[str | Path]) -> tuple[bool, str]:
        """Decides whether Spark checks the laws; also returns the reason."""
        if uris:
            return True, f"it opens {uris[0]}"
        if self.engine == "python":
            return False, "--engine python"
        if self.requests_spark:
            return True, f"--engine spark, {self.remote or self.master or LOCAL}"
        if facts < SPARK_FROM_FACTS:
            return False, f"{count_text(facts, 'fact')}, fewer than {SPARK_FROM_FACTS:,}"
        if find_spec("pyspark") is None:
            return False, f"{count_text(facts, 'fact')}, but the extra 'spark' is not installed"
        return True, f"{count_text(facts, 'fact')}, {SPARK_FROM_FACTS:,} or more"

    def _session(self, needed: bool, for_judge: bool) -> AbstractContextManager[SparkSession | None]:
        return spark_session(self.master, self.remote, for_judge=for_judge) if needed else nullcontext()


def _with_line(report: Report, run: int, judge: Callable[[], Outcome]) -> Report:
    """Returns the report with one more line, or with the reason why there is no such line."""
    try:
        return report.with_lines(Line(run, judge()))
    except BadInput as error:
        return report.with_error(run, error)


def _recomputed(session: SparkSession | None, plan: RecomputePlan) -> Outcome:
    not_run = plan.not_run or ("needs Spark (--engine spark)" if session is None else "")
    if not_run or session is None or plan.recompute is None:
        name = f"{RECOMPUTE}:{Path(plan.script).stem}"
        return Outcome(name, Verdict.NOT_APPLICABLE, 0, 0, reason=f"not run: {not_run}")
    given = plan.recompute
    return recompute(
        session,
        given.script,
        given.input_path,
        plan.out.resolve(),
        allow_python=True,
        function=given.function,
    )
