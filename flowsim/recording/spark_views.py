"""The tables of a recording as DataFrames and views of a Spark session, with the columns of ``docs/recording.md``."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from flowsim.facts.schema import FACT_TABLES, GRAPH_TABLES, TABLES, TEXT_TABLES, Table
from flowsim.recording.recorded_file import part_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES: Final = {"q": "bigint", "i": "int", "h": "smallint", "b": "tinyint", "s": "string"}
_PATTERN: Final = re.compile(r"[\\{}\[\]*?]")


def register_views(
    session: SparkSession,
    directory: str,
    epochs: Sequence[Mapping[str, int]],
    graph: Mapping[str, Sequence[tuple[int | str, ...]]],
    tables: Container[str] = TABLES,
) -> dict[str, DataFrame]:
    """Returns one DataFrame per table of ``tables``, and registers each as a temporary view with the table's name.

    ``directory``: any path that Spark reads.
    """
    frames = {
        table.name: session.createDataFrame(list(graph[table.name]), ddl(table))
        for table in GRAPH_TABLES
        if table.name in tables
    }
    for table in (*FACT_TABLES, *TEXT_TABLES):
        if table.name not in tables:
            continue
        parts = [
            f"{directory}/{table.name}/{part_name(epoch)}" for epoch, rows in enumerate(epochs) if table.name in rows
        ]
        paths = list(map(plain_path, parts))
        read = session.read.schema(ddl(table))
        frames[table.name] = read.parquet(*paths) if paths else session.createDataFrame([], ddl(table))
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    return frames


def plain_path(path: str) -> str:
    """Escapes a path: Spark treats paths as patterns, for example a folder named [x]."""
    return _PATTERN.sub(r"\\\g<0>", path)


def ddl(table: Table) -> str:
    """Returns the columns of a table as Spark DDL."""
    return ", ".join(f"`{column.name}` {_TYPES[column.code]}" for column in table.stored_columns)
