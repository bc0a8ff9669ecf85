"""A Parquet file with a column name that is not UTF-8 is refused by its name, as an input and in a recording."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.hostile.recordings import RESTARTED, record, sign
from tests.unit.cli.conftest import Flowsim

SCENARIO = (
    "flowsim: 1\nname: a\nsources: {rows: {parquet: {path: in.parquet%s}}}\nsinks: {k: {input: rows, collect: {}}}\n"
)


@pytest.mark.parametrize("declared", ["", ", columns: {word: string}"], ids=["all columns", "declared"])
@pytest.mark.parametrize("command", ["check", "run", "graph", "explore"])
def test_input_is_refused(flowsim: Flowsim, tmp_path: Path, declared: str, command: str) -> None:
    pq.write_table(pa.table({"word": ["a"], "number": [1]}), "in.parquet", store_schema=False)
    file = Path("in.parquet")
    file.write_bytes(file.read_bytes().replace(b"number", b"numbe\x8f"))
    Path("s.yaml").write_text(SCENARIO % declared)
    called = flowsim(command, "s.yaml")
    assert called.code == 2
    assert "s.yaml:3:27 sources.rows.parquet: " in called.err
    assert r"in.parquet: the name of column 'numbe\x8f' is not UTF-8" in called.err
    assert not Path("out").exists()


@pytest.mark.parametrize("command", ["validate", "trace", "why late", "report", "replay", "metrics", "checkpoints"])
def test_recording_is_refused(flowsim: Flowsim, tmp_path: Path, command: str) -> None:
    recording = record(tmp_path / "given", RESTARTED)
    part = recording / "restarts/part-00000.parquet"
    part.write_bytes(part.read_bytes().replace(b"time_ns", b"time_n\x8f"))
    sign(recording)
    name, *words = command.split()
    called = flowsim(name, "given", *words)
    assert called.code == 2
    assert r"restarts/part-00000.parquet: the name of column 'time_n\x8f' is not UTF-8" in called.err
