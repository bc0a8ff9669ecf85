"""A CSV file with only a header line has no rows, with or without a line end after the header."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from flowsim.connectors.files.columns import columns_of
from flowsim.connectors.files.csv_file import CsvFile
from flowsim.connectors.lookup_table import read_lookup_table
from tests.unit.cli.conftest import Flowsim

INPUTS = Path(__file__).parent / "inputs"


@pytest.mark.parametrize("header", ["k,n", "k,n\n", "k,n\r\n", "k,n\n\n", '"k","n"', "\ufeffk,n"])
def test_header_without_rows_gives_zero_rows(flowsim: Flowsim, header: str) -> None:
    Path("job.yaml").write_text((INPUTS / "csv_header_only.yaml").read_text())
    Path("in.csv").write_bytes(header.encode())
    assert flowsim("check", "job.yaml").code == 0
    called = flowsim("run", "job.yaml")
    assert called.code == 0
    assert "sink      k: 0 rows" in called.out


def test_input_of_the_case_has_no_line_end() -> None:
    assert (INPUTS / "in.csv").read_bytes() == b"k,n"


def test_every_way_to_read_the_file_gives_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(b"k,n"))
    file = CsvFile(path, columns_of({"k": "string", "n": "long"}, "test"))
    assert [row for block in file.blocks() for row in block] == []
    assert [row for block, _ in file.kept_blocks("k", ["a"]) for row in block] == []
    assert file.distinct("n") == []


def test_lookup_table_without_rows_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"k,v")
    assert len(read_lookup_table(path, {"k": "string", "v": "long"}, "k")) == 0
