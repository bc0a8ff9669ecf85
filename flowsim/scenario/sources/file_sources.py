"""Sources that read files: ``csv``, ``parquet``, ``jsonl``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flowsim.connectors.files.csv import CsvSource
from flowsim.connectors.files.file_sources import JsonLinesSource, ParquetSource
from flowsim.connectors.source import Source
from flowsim.connectors.split_assignment import Assignment
from flowsim.scenario.context import CompileContext, declared
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.types import FieldName, FieldTypes, FilePath, Scalar, Strict
from flowsim.scenario.yaml.positions import Path


class FilesModel(Strict):
    """One or more files; each is a split."""

    path: FilePath | Annotated[list[FilePath], Field(min_length=1, max_length=10_000)] = Field(
        description="Files, relative to the scenario's folder; outside it only with `--allow-path`. `*` and `?` are "
        "wildcards ([several files](#several-files))."
    )
    assignment: Assignment = Field(
        default="fixed",
        description="`fixed`: file i belongs to subtask i modulo parallelism; `dynamic`: a subtask requests its next "
        "file when it has none ([several files](#several-files)).",
    )


class ParquetModel(FilesModel):
    """Rows of Parquet files, in file order."""

    columns: FieldTypes | None = Field(
        default=None,
        description="The columns to read, in this order, with their types; without it all, as the first file has "
        "them. A timestamp column is a `long`: milliseconds since 1970 (UTC).",
    )


class JsonLinesModel(FilesModel):
    """Objects of files with one JSON object per line (``.gz`` too), in file order."""

    fields: FieldTypes = Field(
        description="The keys to read, in this order, with their types; a missing key or `null` is null. A whole "
        "number is allowed for a declared double, a number beyond the doubles (`1e400`) is not."
    )


class CsvModel(FilesModel):
    """Rows of CSV files (``.gz`` too) with a header line, in file order."""

    columns: FieldTypes = Field(description="The columns to read, in this order, with their types.")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = Field(
        default=",", description="The character between two fields."
    )
    rows: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Reads only this number of rows of each file, from its beginning; without it all."
    )
    split_by: FieldName | None = Field(
        default=None,
        description="For one file with more than one subtask: each subtask reads the whole file and keeps its values "
        "of this column.",
    )
    groups: Annotated[list[Scalar | list[Scalar]], Field(min_length=1)] | None = Field(
        default=None,
        description="The values of `split_by`, one entry per group; group i belongs to subtask i modulo parallelism. "
        "Without it, every value is a group, in sorted order.",
    )


def compile_csv(context: CompileContext, path: Path, model: CsvModel, parallelism: int) -> tuple[Source, RecordSchema]:
    """Compiles a source of rows of CSV files; raises Failed."""
    files = context.input_files((*path, "path"), model.path)
    source = context.attempt(
        path,
        lambda: CsvSource(
            files,
            model.columns,
            split_by=model.split_by,
            groups=model.groups,
            delimiter=model.delimiter,
            rows=model.rows,
            assignment=model.assignment,
        ),
    )
    if model.split_by is not None:
        groups = context.attempt((*path, "split_by"), source.groups)
        if len(groups) < parallelism:
            message = f"too few groups ({len(groups)}) for parallelism {parallelism}: some subtasks would be empty"
            raise context.fail((*path, "split_by"), message)
    return source, declared(model.columns)


def compile_parquet(
    context: CompileContext, path: Path, model: ParquetModel, parallelism: int
) -> tuple[Source, RecordSchema]:
    """Compiles a source of rows of Parquet files; raises Failed."""
    files = context.input_files((*path, "path"), model.path)
    source = context.attempt(path, lambda: ParquetSource(files, model.columns, assignment=model.assignment))
    return source, declared({column.name: column.type.value for column in source.columns})


def compile_json_lines(
    context: CompileContext, path: Path, model: JsonLinesModel, parallelism: int
) -> tuple[Source, RecordSchema]:
    """Compiles a source of objects of files with one JSON object per line; raises Failed."""
    files = context.input_files((*path, "path"), model.path)
    source = context.attempt(path, lambda: JsonLinesSource(files, model.fields, assignment=model.assignment))
    return source, declared(model.fields)
