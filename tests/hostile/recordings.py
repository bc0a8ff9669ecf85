"""A small recording, and changes of it that keep its chain of hashes intact, as someone would who knows the format."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.api import run_scenario
from flowsim.facts.schema import TABLES
from flowsim.recording.canonical import canonical_json, sha256
from flowsim.recording.parquet_part import arrow_schema
from tests.hostile.case import Call, Make
from tests.support.facts.signed_manifest import signed
from tests.support.json_values import replaced

RECORDING: Final = "given"
"""The directory of the recording in the folder of a case."""

TEXT: Final = """\
flowsim: 1
name: small
settings: {record: full, parallelism: 2, metrics_interval: 1ms, latency_interval: 2 ms}
sources:
  rows:
    collection: {fields: {word: string, n: long, t: long}, rows: [[a, 1, 0], [b, 2, 5], [a, 3, 12], [c, 4, 30]]}
    watermarks: {timestamp: t, max_out_of_orderness: 5ms}
operators:
  asks:
    input: rows
    partition: rebalance
    async: {mode: ordered, latency: 1ms, capacity: 2, timeout: 1s, select: {word: word, n: n, t: t}}
  sums:
    input: asks
    key_by: [word]
    parallelism: 2
    window: {tumbling: 10ms, allowed_lateness: 5ms, late_output: late}
    aggregate: {total: sum(n)}
sinks: {kept: {input: sums, collect: {}}}
"""

RESTARTED: Final = """\
flowsim: 1
name: restarted
settings: {record: full, checkpointing: {interval: 1 h, min_pause: 1 h}, restart_strategy: {fixed_delay: {delay: 10 ms}}}
sources:
  numbers: {generator: {count: 8, pace: 10 ms, fields: {n: {sequence: {}}}}}
sinks: {kept: {input: numbers, collect: {}}}
actions: [{checkpoint: {at: 25 ms}}]
failures: [{fail_task: {task: numbers, at_record: 5}}]
"""
"""A job with two checkpoints and a restart."""

Change = Callable[[Path], object]
"""Changes the files of a recording."""


def record(folder: Path, text: str = TEXT) -> Path:
    """Records a small job below ``folder``; returns the directory of the recording."""
    run_scenario(text, out=folder)
    return folder / "recording"


def reads(*changes: Change, commands: Sequence[str] = ("validate", "--engine", "python"), text: str = TEXT) -> Make:
    """A command on the recording of a small job after some changes."""

    def make(folder: Path) -> Call:
        directory = record(folder / RECORDING, text)
        for change in changes:
            change(directory)
        name, *options = commands
        return (name, RECORDING, *options)

    return make


def json_file(name: str, change: Callable[[Any], object]) -> Change:
    """Changes the content of ``manifest.json``, ``graph.json``, ``wall.json`` or an epoch, and signs the recording."""

    def apply(directory: Path) -> None:
        path = directory / name
        given = json.loads(path.read_bytes())
        found = change(given)
        path.write_bytes(canonical_json(given if found is None else found) + b"\n")
        if name != "manifest.json":
            sign(directory)

    return apply


def leaf(name: str, path: Sequence[str | int], value: object) -> Change:
    """Replaces one value of a JSON file."""
    return json_file(name, lambda given: replaced(given, path, value))


def signed_leaf(path: Sequence[str | int], value: object) -> Change:
    """Replaces one value of the manifest, and signs the recording."""

    def apply(directory: Path) -> None:
        leaf("manifest.json", path, value)(directory)
        sign(directory)

    return apply


def param(operator: str, name: str, value: object) -> Change:
    """Replaces a setting of the operators of a kind."""

    def change(given: Any) -> None:
        for row in given["operators"]["rows"]:
            if row[3] == operator:
                row[4] = json.dumps({**json.loads(row[4]), name: value}, sort_keys=True)

    return json_file("graph.json", change)


def raw(name: str, content: bytes | Callable[[], bytes], *, signs: bool = True) -> Change:
    """Replaces the bytes of a file."""

    def apply(directory: Path) -> None:
        (directory / name).write_bytes(content() if callable(content) else content)
        if signs:
            sign(directory)

    return apply


def link(name: str, target: str) -> Change:
    """Replaces a file or folder by a link."""

    def apply(directory: Path) -> None:
        path = directory / name
        os.replace(path, directory.with_name("kept"))
        path.symlink_to(directory.with_name("kept") if target == "itself" else target)

    return apply


def pipe(name: str) -> Change:
    """Replaces a file by a pipe that nothing writes to."""

    def apply(directory: Path) -> None:
        (directory / name).unlink()
        os.mkfifo(directory / name)

    return apply


def sparse(name: str, size: int) -> Change:
    """Replaces a file by one of this size that takes no space on the disk."""

    def apply(directory: Path) -> None:
        with (directory / name).open("wb") as file:
            file.truncate(size)

    return apply


def part(table: str, written: Callable[[pa.Table], pa.Table], rows: int | None = None, **options: object) -> Change:
    """Writes the part of a table again, from changed columns and with other options of Parquet; signs the recording."""

    def apply(directory: Path) -> None:
        path = directory / table / "part-00000.parquet"
        changed = written(pq.read_table(path))
        pq.write_table(changed, path, **options)
        sign(directory, table, changed.num_rows if rows is None else rows)

    return apply


def repeated(table: str, column: str, value: object, rows: int) -> Callable[[pa.Table], pa.Table]:
    """``rows`` times the first row, with this value in one column: compresses to nearly nothing."""

    def change(given: pa.Table) -> pa.Table:
        schema = arrow_schema(TABLES[table])
        columns: list[pa.Array] = []
        for field in schema:
            one = value if field.name == column else given[field.name][0].as_py()
            if pa.types.is_string(field.type):
                indexes = pa.repeat(pa.scalar(0, pa.int32()), rows)
                columns.append(pa.DictionaryArray.from_arrays(indexes, pa.array([one], field.type)))
            else:
                columns.append(pa.repeat(pa.scalar(one, field.type), rows))
        fields = [pa.field(f.name, array.type, nullable=False) for f, array in zip(schema, columns, strict=True)]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    return change


def sign(directory: Path, table: str | None = None, rows: int | None = None) -> None:
    """Computes the hashes of a recording again: those of its parts, its graph, its epochs and its manifest."""
    graph, before = sha256((directory / "graph.json").read_bytes()), ""
    for path in sorted((directory / "epochs").iterdir()):
        try:
            marker = json.loads(path.read_bytes())
            marker |= {"graph": graph, "before": before}
            for name, about in marker["parts"].items():
                content = directory / name / f"part-{path.stem}.parquet"
                about["sha256"] = hashlib.sha256(content.read_bytes()).hexdigest()
                if name == table and rows is not None:
                    about["tasks"] = [[about["tasks"][0][0], rows]] if about["tasks"] else []
                    about["rows"] = rows
            path.write_bytes(canonical_json(marker) + b"\n")
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
        finally:
            before = sha256(path.read_bytes())
    manifest = directory / "manifest.json"
    given = json.loads(manifest.read_bytes())
    given["last_marker"] = before
    if table is not None and rows is not None:
        given["rows"][table] = rows
    with suppress(ValueError, KeyError):
        given = signed(given)
    manifest.write_bytes(json.dumps(given).encode())


@cache
def nested(depth: int) -> bytes:
    """A JSON list of lists."""
    return b"[" * depth + b"]" * depth
