"""A table that returns the row with a key."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from flowsim.connectors.lookup_table import read_lookup_table
from flowsim.errors import BadInput

TEXT = "code,name,seats\nUA,United,180\nAA,,\n"
COLUMNS = {"name": "string", "code": "string", "seats": "long"}


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text)
    return path


def test_lookup_returns_other_columns_of_row_with_key(tmp_path: Path) -> None:
    table = read_lookup_table(written(tmp_path, TEXT), COLUMNS, "code")
    assert table.names == ("name", "seats")
    assert [table.get(key) for key in ("UA", "AA", "B6", None)] == [("United", 180), ("", None), None, None]
    assert len(table) == 2
    assert copy.deepcopy(table) is table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT + "UA,Ubuntu,1\n", ":4:1 column 'code': an earlier row has the key 'UA'"),
        ('n,code\n"a\nb",UA\nc,"UA"\n', ":4:3 column 'code': an earlier row has the key 'UA'"),
        ("code,name\nUA,United\n", ":1:1 no column 'seats'; the header has: code, name"),
        (
            TEXT + "B6,JetBlue,many\n",
            f":4:12 column 'seats': expected a long ({-(2**63)} to {2**63 - 1}) or nothing, got 'many'",
        ),
    ],
)
def test_invalid_table_is_refused_with_position(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    columns = {"n": "string", "code": "string"} if text.startswith("n,") else COLUMNS
    with pytest.raises(BadInput) as error:
        read_lookup_table(path, columns, "code")
    assert str(error.value) == f"{path}{message}"


def test_row_without_key_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "n,name\n1,a\n,b\n")
    with pytest.raises(BadInput) as error:
        read_lookup_table(path, {"n": "long", "name": "string"}, "n")
    assert str(error.value) == f"{path}:3:1 column 'n': expected a key, got nothing"


def test_unknown_key_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="key column 'id' is not one of the columns name, code, seats"):
        read_lookup_table(written(tmp_path, TEXT), COLUMNS, "id")
