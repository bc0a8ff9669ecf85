"""Checks recordings against a user-defined law: a SQL query over the tables of a recording that returns violations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flowsim.errors import BadInput
from flowsim.facts.schema import FACT_TABLES, TABLES
from flowsim.laws.findings import EVIDENCE_ROWS
from flowsim.laws.law import Outcome, Verdict
from flowsim.named_pipe import file_bytes
from flowsim.recording.reader import Recording
from flowsim.validation.on_spark import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUFFIX: Final = ".sql"
_WORD: Final = re.compile(r"\w+")
_COMMENT: Final = re.compile(r"--[^\n]*|/\*.*?\*/", re.S)


@dataclass(frozen=True, slots=True)
class SqlLaw:
    """A SQL query.

    ``name`` is the name of its file; ``tables`` are the tables of recordings that the query names. Rows of fact tables
    are examined.
    """

    path: Path
    query: str
    tables: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"sql:{self.path.stem}"


def read_sql_law(path: Path) -> SqlLaw:
    """Reads the file; raises BadInput if it cannot be read, or uses no table of recordings."""
    try:
        text = file_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--law {path}: cannot be read: {error}") from None
    words = set(_WORD.findall(_COMMENT.sub(" ", text).lower()))
    tables = tuple(name for name in TABLES if name in words)
    if not any(table.name in tables for table in FACT_TABLES):
        raise BadInput(
            f"--law {path}: expected a SQL query that returns violations, over tables of recordings such as sent or "
            "window_fire (docs/recording.md lists them)"
        )
    return SqlLaw(path, text.rstrip().rstrip(";"), tables)


def judge_by_sql(session: SparkSession, law: SqlLaw, recording: Recording) -> Outcome:
    """Runs the query: each result row is one violation; the first twenty rows are the evidence.

    Raises BadInput if the query fails.
    """
    needed = max((table for table in FACT_TABLES if table.name in law.tables), key=lambda table: table.level)
    if recording.level < needed.level:
        levels = f"level {needed.level.name.lower()}, the run was recorded at level {recording.level.name.lower()}"
        return Outcome(law.id, Verdict.NOT_APPLICABLE, 0, 0, reason=f"reads {needed.name}: needs recording {levels}")
    examined = sum(recording.row_count(table.name) for table in FACT_TABLES if table.name in law.tables)
    if not recording.is_remote:
        recording.verify(law.tables)
    with spark_errors(f"--law {law.path}"):
        recording.spark(session, law.tables)
        rows_found = session.sql(law.query)
        violations = rows_found.count()
        rows = rows_found.orderBy(*rows_found.columns).limit(EVIDENCE_ROWS).collect() if violations else []
    evidence = tuple(row.asDict(recursive=True) for row in rows)
    verdict = Verdict.VIOLATED if violations else Verdict.HOLDS if examined else Verdict.VACUOUS
    return Outcome(law.id, verdict, examined, violations, evidence)
