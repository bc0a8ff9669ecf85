"""Errors of part files that every restart would meet again fail the job."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.part_files import FileSink, PartFolder
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.errors import SuppressRestarts
from flowsim.operators.sink import InitContext

CONTEXT = InitContext("Sink: out", 0, 1)


@pytest.mark.parametrize("kind", [CsvSink, JsonLinesSink, ParquetSink])
@pytest.mark.parametrize("occupied", ["out", "out/.part-0-1.{kind}.inprogress/x", "out/part-0-1.{kind}/x"])
def test_name_that_something_else_has_is_a_permanent_error(tmp_path: Path, kind: type[FileSink], occupied: str) -> None:
    sink = kind(tmp_path / "out", {"n": "long"})
    other = tmp_path / occupied.format(kind=sink.kind)

    def write() -> None:
        writer = sink.create_writer(CONTEXT)
        other.parent.mkdir(parents=True, exist_ok=True)
        other.touch()
        writer.write((1,), None)
        requests = [CommitRequest(committable) for committable in writer.prepare_commit()]
        sink.create_committer(CONTEXT).commit(requests)

    if occupied == "out":
        other.touch()
    with pytest.raises(OSError) as error:
        write()
    assert isinstance(error.value.__cause__, SuppressRestarts)


def test_full_disk_is_no_permanent_error(tmp_path: Path) -> None:
    def open_part(path: Path) -> object:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with pytest.raises(OSError) as error:
        PartFolder(tmp_path, "csv").open(open_part, "part-0.csv")  # type: ignore[arg-type]
    assert error.value.__cause__ is None
