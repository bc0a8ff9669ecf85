from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from flowsim.connectors.files.columns import columns_of
from flowsim.connectors.files.json_lines_file import BLOCK_CHARS, JsonLinesFile
from flowsim.errors import BadInput

FIELDS = {"name": "string", "number": "long", "ratio": "double", "flag": "boolean", "small": "int"}


def rows_of(path: Path, **declared: str) -> list[tuple[object, ...]]:
    file = JsonLinesFile(path, columns_of(declared or FIELDS, "test"))
    return [row for block in file.blocks() for row in block]


def written(folder: Path, text: str) -> Path:
    path = folder / "rows.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_keys_are_columns_in_declared_order_and_missing_keys_are_none(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"ratio": 1, "name": "ä", "more": [1], "number": -9223372036854775808}\n\n  \n{"flag": true, "name": null}\n',
    )
    rows = rows_of(path)
    assert rows == [("ä", -(2**63), 1.0, None, None), (None, None, None, True, None)]
    assert type(rows[0][2]) is float


def test_place_of_a_row_counts_blank_lines(tmp_path: Path) -> None:
    file = JsonLinesFile(written(tmp_path, '\n{"number": 1}\n \n\n{"number": 2}\n'), columns_of(FIELDS, "test"))
    assert [file.place_of_row(row) for row in range(3)] == ["rows.jsonl:2", "rows.jsonl:5", None]


def test_compressed_file_gives_same_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"number": 1}\n{"number": 2}'))
    assert rows_of(path, number="long") == [(1,), (2,)]


def test_long_file_is_read_in_several_blocks(tmp_path: Path) -> None:
    lines = [f'{{"number": {n}}}\n' for n in range(30_000)]
    path = written(tmp_path, "".join(lines))
    blocks = list(JsonLinesFile(path, columns_of({"number": "long"}, "test")).blocks())
    assert len(blocks) == len("".join(lines)) // BLOCK_CHARS + 1
    assert [row for block in blocks for row in block] == [(n,) for n in range(30_000)]


@pytest.mark.parametrize(
    ("line", "where", "message"),
    [
        ('{"name": "a"', "2:13", "invalid JSON: Expecting ',' delimiter"),
        ("[1]", "2:1", 'expected an object such as {"name": ...}, got [1]'),
        ('{"number": "7"}', "2:12", "key 'number': expected a long"),
        ('{"number": 7.0}', "2:12", "or null, got 7.0"),
        ('{"number": true}', "2:12", "or null, got true"),
        ('{"name": "a\\ud800"}', "2:10", "key 'name': expected text or null"),
        ('{"number": 9223372036854775808}', "2:12", "got 9223372036854775808"),
        ('{"name": "a",  "small":  2147483648}', "2:26", "expected an int"),
        ('{"ratio": NaN}', "2:1", "invalid JSON: JSON has no NaN"),
        ('{"ratio": 1e400}', "2:11", "key 'ratio': expected a double or null"),
        ('{"ratio": -1e400}', "2:11", "key 'ratio': expected a double or null"),
        ('{"ratio": 1' + "0" * 400 + "}", "2:11", "expected a double or null"),
        ('{"ratio": 1' + "0" * 5000 + "}", "2:1", "invalid JSON"),
        ('{"flag": 0}', "2:10", "expected a boolean"),
    ],
)
def test_bad_line_is_refused_with_position(tmp_path: Path, line: str, where: str, message: str) -> None:
    path = written(tmp_path, f"{{}}\n{line}\n")
    with pytest.raises(BadInput, match=rf"rows\.jsonl:{where} .*{re.escape(message)}"):
        rows_of(path)


def test_line_numbers_continue_in_later_block(tmp_path: Path) -> None:
    path = written(tmp_path, f'{{"x": "{"y" * 1000}"}}\n' * (BLOCK_CHARS // 1000) + "x\n")
    with pytest.raises(BadInput, match=rf"rows\.jsonl:{BLOCK_CHARS // 1000 + 1}:1 invalid JSON"):
        rows_of(path)


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none.jsonl: cannot be read: No such file"):
        JsonLinesFile(tmp_path / "none.jsonl", columns_of(FIELDS, "test")).check()
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"name": "a"}\n{"name": "\xff"}\n')
    with pytest.raises(BadInput, match=r"rows\.jsonl:2:11 expected UTF-8 text, .*: convert the file to UTF-8"):
        rows_of(path)
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 100_000)[:200])
    with pytest.raises(BadInput, match=r"cut\.jsonl\.gz: the \.gz file is damaged in or after line "):
        rows_of(tmp_path / "cut.jsonl.gz")
