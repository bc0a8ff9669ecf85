"""``expect`` and ``recompute``: the expected properties of a run. ``expectations.py`` checks them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flowsim.errors import did_you_mean
from flowsim.facts.schema import FACT_TABLES, TABLES, Column
from flowsim.scenario.types import Name, Row, Strict

RowCount = Annotated[int, Field(ge=0, le=10**12)]
Number = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
VerdictName = Literal["holds", "violated", "vacuous", "not applicable"]


class SelectionModel(Strict):
    """Selects rows of a fact table."""

    table: Annotated[str, Field(max_length=60)] = Field(description="A fact table of the recording.")
    of: Name | None = Field(default=None, description="Only facts of the tasks of this source, operator or sink.")
    where: dict[Annotated[str, Field(max_length=60)], Number | Annotated[str, Field(max_length=60)]] = Field(
        default_factory=dict,
        description="The required values of columns; for a column with named values, such as `kind: RECORD`, you can "
        "use the name.",
    )

    @model_validator(mode="after")
    def _fits_the_schema(self) -> Self:
        tables = [table.name for table in FACT_TABLES]
        if self.table not in tables:
            raise ValueError(f"there is no fact table {self.table!r}{did_you_mean(self.table, tables)}")
        columns = {column.name: column for column in TABLES[self.table].columns}
        for name, value in self.where.items():
            number_of(self.column_of(name), value)
        if self.of is not None and "task" not in columns:
            raise ValueError(f"rows of table {self.table} belong to no task, remove of")
        return self

    def column_of(self, name: str) -> Column:
        """Returns a column of the table. Raises ValueError that names similar columns."""
        columns = {column.name: column for column in TABLES[self.table].columns}
        if name not in columns:
            raise ValueError(f"table {self.table} has no column {name!r}{did_you_mean(name, columns)}")
        return columns[name]


class MeasureModel(SelectionModel):
    """A number from the recording: how many rows of a table match, or an aggregate of a column over these rows."""

    take: Literal["rows", "sum", "max", "min"] = Field(
        default="rows",
        description="Which number is compared: the count of the rows, or the sum, maximum or minimum of `column`.",
    )
    column: Annotated[str, Field(max_length=60)] | None = Field(
        default=None, description="The column of sum, max and min."
    )

    @model_validator(mode="after")
    def _column_fits_take(self) -> Self:
        if self.column is not None:
            self.column_of(self.column)
        if (self.column is None) is (self.take != "rows"):
            raise ValueError(f"take: {self.take} {'takes no' if self.take == 'rows' else 'needs a'} column")
        return self


class FactsModel(MeasureModel):
    """An expected number from the recording."""

    says: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="The meaning of the number, for readers."
    )
    exactly: Number | None = Field(default=None, description="The exact value.")
    at_least: Number | None = Field(
        default=None, description="The smallest allowed value; alone or with `at_most`, not with `exactly`."
    )
    at_most: Number | None = Field(
        default=None, description="The largest allowed value; alone or with `at_least`, not with `exactly`."
    )

    @model_validator(mode="after")
    def _has_bounds(self) -> Self:
        if self.exactly is None and self.at_least is None and self.at_most is None:
            raise ValueError("expected one of exactly, at_least and at_most, got none of them")
        if self.exactly is not None and (self.at_least is not None or self.at_most is not None):
            raise ValueError("exactly cannot be combined with at_least and at_most")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"no number is at least {self.at_least} and at most {self.at_most}")
        return self


def number_of(column: Column, value: int | str) -> int:
    """Returns the number of a scenario's value for a column. Raises ValueError that names the valid words."""
    if isinstance(value, int):
        return value
    names = [] if column.values is None else [member.name for member in column.values]
    if column.values is None or value not in names:
        there_are = f"; there are: {', '.join(names)}" if names else "; it has numbers only"
        raise ValueError(f"column {column.name} has no value {value!r}{there_are}")
    return int(column.values[value])


class ExpectedCheckpointsModel(Strict):
    """The expected numbers of checkpoints and savepoints, over all attempts; only those that are given are compared."""

    completed: RowCount | None = Field(
        default=None, description="Completed ones, with savepoints and those at the end of the input."
    )
    failed: RowCount | None = Field(
        default=None, description="Failed ones: rejected, declined, expired or aborted by a failure."
    )
    restored: RowCount | None = Field(
        default=None, description="Restores after failures, and of a start from a savepoint."
    )

    @property
    def numbers(self) -> dict[str, int]:
        """The given numbers, by name."""
        return {name: number for name, number in self if number is not None}

    @model_validator(mode="after")
    def _has_numbers(self) -> Self:
        if not self.numbers:
            raise ValueError(f"expected one of {', '.join(type(self).model_fields)}, got none of them")
        return self


class RunExpectationsModel(Strict):
    """Expected properties of a run that depend on its schedule, unless the job is written so that they do not."""

    job: Literal["finished", "failed", "stopped", "canceled", "deadlocked"] = Field(
        default="finished",
        description="How the job ends. If this key is missing, `stopped` is also accepted with `until`, and "
        "`canceled` with a `cancel` action.",
    )
    rows: dict[Name, RowCount] = Field(default_factory=dict, description="Number of rows that each sink receives.")
    results: Annotated[dict[Name, Annotated[list[Row], Field(max_length=10_000)]], Field(max_length=100)] = Field(
        default_factory=dict,
        description="The records of a collect sink: those of its first subtask in order of arrival, then those of "
        "the next.",
    )
    back_pressured_at_least: dict[Name, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict,
        description="Minimum share of their time that the tasks of a source or operator wait for output. On the real "
        "clock, costs take no time, so a smaller share is not checked.",
    )
    checkpoints: ExpectedCheckpointsModel | None = Field(
        default=None, description="Numbers of completed, failed and restored checkpoints."
    )
    restarts: RowCount | None = Field(
        default=None, description="Number of restarts after failures, as `flowsim run --json` shows it."
    )
    facts: Annotated[list[FactsModel], Field(max_length=100)] = Field(
        default_factory=list, description="Numbers that the recording must contain."
    )


class ExpectModel(RunExpectationsModel):
    """The expected properties of a run; if one does not hold, the exit code is 1.

    Those outside ``every_schedule`` describe the run with the scenario's own seed, policy and batches.
    """

    laws: dict[Annotated[str, Field(max_length=60)], VerdictName] = Field(
        default_factory=dict,
        description="The expected verdict of each law. A law that is not named must be neither violated nor vacuous.",
    )
    every_schedule: RunExpectationsModel = Field(
        default_factory=RunExpectationsModel,
        description="Properties that every run has, with any seed, policy and batches; `flowsim explore` checks them.",
    )

    @property
    def blocks(self) -> tuple[tuple[tuple[str, ...], RunExpectationsModel], ...]:
        """Both blocks of expectations, each with its path below ``expect``."""
        return ((), self), (("every_schedule",), self.every_schedule)

    @property
    def declares_job(self) -> bool:
        """True if one of the blocks names the status of the job."""
        return any("job" in block.model_fields_set for _, block in self.blocks)

    @model_validator(mode="after")
    def _one_status(self) -> Self:
        if all("job" in block.model_fields_set for _, block in self.blocks):
            raise ValueError("job and every_schedule.job cannot be combined: keep one of them")
        return self


class RecomputeModel(Strict):
    """A plain PySpark script of the scenario that recomputes the results from the input; only with --allow-python."""

    pyspark: Annotated[str, Field(pattern=r"^[A-Za-z0-9_./-]+\.py:[A-Za-z_][A-Za-z0-9_]*$", max_length=300)] = Field(
        description="`FILE.py:FUNCTION`, called as `function(spark, input_path, out_dir)`; returns a mapping with "
        "`rows_examined`, `violations` and `evidence`."
    )
    input: Name = Field(
        description="The name of the source whose file the function receives: `csv`, `parquet` or `jsonl`, with one "
        "file."
    )
