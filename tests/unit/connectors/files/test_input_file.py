from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

import pytest

from flowsim.connectors.files.columns import columns_of
from flowsim.connectors.files.csv_file import CsvFile
from flowsim.connectors.files.input_file import InputFile
from flowsim.errors import BadInput
from flowsim.limits import Limits

ROWS = b"n\n" + b"".join(b"%d\n" % n for n in range(50_000))


def rows_of(file: InputFile) -> int:
    return sum(len(block) for block in CsvFile(file, columns_of({"n": "long"}, "test")).blocks())


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz"])
def test_file_is_hashed_while_it_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = gzip.compress(ROWS) if name.endswith(".gz") else ROWS
    path.write_bytes(content)
    file = InputFile(path)
    assert rows_of(file) == 50_000
    assert file.is_hashed
    path.write_bytes(b"another file")
    assert file.sha256() == hashlib.sha256(content).hexdigest()


def test_file_that_was_read_in_part_is_hashed_on_request(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(ROWS)
    file = InputFile(path)
    with file.open() as content:
        assert content.read(4) == b"n\n0\n"
    assert not file.is_hashed
    assert file.sha256() == hashlib.sha256(ROWS).hexdigest()


def test_file_beyond_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    with path.open("wb") as written:
        written.truncate(20 << 30)
    with pytest.raises(BadInput, match=r"in\.csv: expected a file of at most 1073741824 bytes \(--limit file_bytes=N "):
        InputFile(path).open()
    with pytest.raises(BadInput, match="--limit file_bytes=N"):
        InputFile(path).sha256()


def test_content_of_archive_beyond_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(ROWS))
    with pytest.raises(BadInput, match=r"in\.csv\.gz: expected content of at most 200000 bytes"):
        rows_of(InputFile(path, limits=Limits(file_bytes=200_000)))


def test_archive_that_expands_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    packer = zlib.compressobj(9, wbits=31)
    path.write_bytes(packer.compress(b"n\n" + b"1\n" * (4 << 20)) + packer.flush())
    with pytest.raises(BadInput, match=r"in\.csv\.gz: expected content at most 250 times as large as the \.gz file"):
        rows_of(InputFile(path))
    assert rows_of(InputFile(path, limits=Limits(gzip_ratio=2000))) == 4 << 20


def test_archive_of_several_members_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(ROWS) + gzip.compress(b"7\n8\n"))
    assert rows_of(InputFile(path)) == 50_002


def test_line_beyond_limit_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"n\n1\n2\n" + b"x" * 5000)
    with pytest.raises(BadInput, match=r"in\.csv:4:1 expected a line of at most 4000 bytes \(--limit row_bytes=N "):
        rows_of(InputFile(path, limits=Limits(row_bytes=4000)))
