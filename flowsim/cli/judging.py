"""Judges recordings by the options of a command: which laws, on Spark or in this process, with the scenarios' checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flowsim.api import judge_in_process
from flowsim.errors import BadInput, MissingExtra, did_you_mean
from flowsim.laws.catalogue import LAW_IDS
from flowsim.laws.law import Outcome, Verdict
from flowsim.scenario.compiled import Recompute
from flowsim.validation.java import find_java
from flowsim.validation.judge import validate
from flowsim.validation.recompute import recompute
from flowsim.validation.spark_session import spark_session
from flowsim.validation.verdict import Line, Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECOMPUTE = "recompute"
"""Stands for the scenario's own recomputation where laws are named."""

Progress = Callable[[int, int, str], None]
"""Called with the number of laws done, the number of laws, and the next one."""


@dataclass(frozen=True, slots=True)
class RecomputePlan:
    """A scenario's own recomputation for the recording number ``run``; ``not_run`` says why it cannot be done."""

    run: int
    script: str
    recompute: Recompute | None
    out: Path
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """How recordings are judged. ``laws`` None: by all."""

    engine: Literal["spark", "python"] = "spark"
    master: str | None = None
    remote: str | None = None
    laws: tuple[str, ...] | None = None
    audit: bool = False
    """Every law a second time, by its slow form."""

    def __post_init__(self) -> None:
        if self.engine == "python" and (self.master or self.remote):
            raise BadInput("--master and --remote choose where Spark runs; --engine python uses no Spark")
        if self.engine == "python" and self.audit:
            raise BadInput("--audit judges by the slow forms, which run on Spark: leave --engine python out")
        for law in self.laws or ():
            if law not in LAW_IDS and law != RECOMPUTE:
                raise BadInput(f"--law: there is no law {law!r}{did_you_mean(law, [*LAW_IDS, RECOMPUTE])}")

    def require(self) -> None:
        """Raises MissingExtra or BadInput for what a session would miss, before hours of work have been spent."""
        if self.engine == "python":
            return
        if find_spec("pyspark") is None:
            raise MissingExtra("spark", "judging on Spark (--engine python needs none)")
        if self.remote is None:
            find_java()

    def session(self) -> AbstractContextManager[SparkSession | None]:
        """The Spark session to judge in; None where none is needed. Raises MissingExtra, BadInput."""
        if self.engine == "python":
            return nullcontext()
        return spark_session(self.master, self.remote)

    def judge(
        self, session: SparkSession | None, paths: Sequence[Path], plans: Sequence[RecomputePlan], progress: Progress
    ) -> Report:
        """One line per law and recording; raises BadInput for what is no recording."""
        names = None if self.laws is None else [law for law in self.laws if law != RECOMPUTE]
        if session is None:
            report = judge_in_process(paths, names, progress)
        else:
            report = validate(session, paths, names, lambda law, done, total: progress(done, total, law), self.audit)
        report = Report(tuple(str(path) for path in paths), report.lines)  # as they were given
        if self.laws is not None and RECOMPUTE not in self.laws:
            return report
        return report.with_lines(*[_recomputed(session, plan) for plan in plans])


def _recomputed(session: SparkSession | None, plan: RecomputePlan) -> Line:
    not_run = plan.not_run or ("needs Spark (--engine spark)" if session is None else "")
    if not_run or session is None or plan.recompute is None:
        name = f"{RECOMPUTE}:{Path(plan.script).stem}"
        return Line(plan.run, Outcome(name, Verdict.NOT_APPLICABLE, 0, 0, reason=f"not run: {not_run}"), 0.0)
    given = plan.recompute
    return recompute(
        session,
        given.script,
        given.input_path,
        plan.out.resolve(),
        allow_python=True,
        run=plan.run,
        function=given.function,
    )
