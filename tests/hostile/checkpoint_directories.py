"""A small checkpoint directory, and changes of it that keep its digests intact, as someone would who knows the format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.checkpoints.storage.directory.tables import STATE_TABLES
from flowsim.checkpoints.storage.job_checkpoint_storage import storage_for
from flowsim.recording.canonical import canonical_json, sha256
from tests.hostile.case import Call, Make
from tests.support.checkpoints.stored_job import written
from tests.support.json_values import replaced

CHECKPOINT: Final = "chk-3"
"""The directory of the checkpoint in the folder of a case."""

Change = Callable[[Path], object]
"""Changes the files of a checkpoint."""


def shows(*changes: Change) -> Make:
    """``flowsim checkpoints`` on the small checkpoint after some changes; it shows all entries."""

    def make(folder: Path) -> Call:
        storage = storage_for(folder)
        storage.initialize_location_for_checkpoint(3).write_metadata(written(storage))
        for change in changes:
            change(folder / CHECKPOINT)
        return ("checkpoints", CHECKPOINT, "--entries", "9")

    return make


def manifest(change: Callable[[Any], object]) -> Change:
    """Changes the content of the manifest, and signs it."""

    def apply(directory: Path) -> None:
        path = directory / "manifest.json"
        given = json.loads(path.read_bytes())
        found = change(given)
        path.write_bytes(json.dumps(given if found is None else found).encode())
        sign(directory)

    return apply


def leaf(path: Sequence[str | int], value: object) -> Change:
    """Replaces one value of the manifest."""
    return manifest(lambda given: replaced(given, path, value))


def part(table: str, change: Callable[[pa.Table], pa.Table], rows: int | None = None, **options: object) -> Change:
    """Writes the file of a table again, from changed columns and with other options of Parquet; signs the checkpoint."""

    def apply(directory: Path) -> None:
        path = directory / table / "part-00000.parquet"
        changed = change(pq.read_table(path))
        pq.write_table(
            changed, path, store_schema=False, **{"use_dictionary": STATE_TABLES[table].names("s"), **options}
        )
        _describe(directory, table, changed.num_rows if rows is None else rows)

    return apply


def column(name: str, values: Sequence[object], kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    """Replaces a column."""

    def change(given: pa.Table) -> pa.Table:
        field = pa.field(name, kind, nullable=False)
        return given.set_column(given.schema.names.index(name), field, pa.array(values, kind))

    return change


def many_rows(count: int, **values: object) -> Callable[[pa.Table], pa.Table]:
    """``count`` times the first row with these values; compresses to nearly nothing."""

    def change(given: pa.Table) -> pa.Table:
        fields, columns = [], []
        for field in given.schema:
            one = pa.scalar(values.get(field.name, given[field.name][0].as_py()), field.type)
            indexes = pa.repeat(pa.scalar(0, pa.int32()), count)
            array = pa.DictionaryArray.from_arrays(indexes, pa.array([one.as_py()], field.type))
            is_long = field.name in values
            columns.append(array if is_long else pa.repeat(one, count))
            fields.append(pa.field(field.name, columns[-1].type, nullable=False))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    return change


def _describe(directory: Path, table: str, rows: int) -> None:
    """Writes the rows, size and digest of a file to the manifest."""
    content = (directory / table / "part-00000.parquet").read_bytes()

    def change(given: Any) -> None:
        about = {"rows": rows, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        given["tables"][table] = [about]
        for stream in given["streams"]:
            if stream["table"] == table and stream["rows"]:
                stream |= {"first_row": 0, "rows": rows}

    manifest(change)(directory)


def sign(directory: Path) -> None:
    """Computes the digest of the manifest again."""
    path = directory / "manifest.json"
    try:
        given = json.loads(path.read_bytes())
        given.pop("digest", None)
        given["digest"] = sha256(canonical_json(given))
        path.write_bytes(msgspec.json.encode(given))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return
