from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import pytest

from flowsim.connectors.files.columns import Column, columns_of
from flowsim.connectors.files.csv_diagnosis import find_cell
from flowsim.connectors.files.csv_file import _SCANNED_BYTES, CsvFile
from flowsim.connectors.files.input_file import InputFile
from flowsim.errors import BadInput
from flowsim.limits import Limits

TYPES = {"name": "string", "count": "int", "at": "long", "share": "double", "ok": "boolean"}
COLUMNS = columns_of(TYPES, "test")


def written(folder: Path, text: str, name: str = "in.csv") -> str:
    path = folder / name
    data = text.encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    return str(path)


def rows(path: str, columns: tuple[Column, ...] = COLUMNS) -> list[tuple[object, ...]]:
    return [row for block in CsvFile(path, columns).blocks() for row in block]


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz"])
def test_rows_have_file_order_and_declared_types(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, "name,count,at,share,ok\na,1,2,0.5,true\nb,-1,9223372036854775807,1e3,false\n", name)
    read = rows(path)
    assert read == [("a", 1, 2, 0.5, True), ("b", -1, 2**63 - 1, 1000.0, False)]
    assert [list(map(type, row)) for row in read] == [[str, int, int, float, bool]] * 2


def test_empty_field_is_none_except_in_string_column(tmp_path: Path) -> None:
    assert rows(written(tmp_path, "name,count,at,share,ok\n,,,,\n")) == [("", None, None, None, None)]


def test_only_empty_field_is_none(tmp_path: Path) -> None:
    assert rows(written(tmp_path, "name\nNA\nnull\n"), columns_of({"name": "string"}, "t")) == [("NA",), ("null",)]


def test_columns_are_selected_by_name_in_declared_order(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,c\n1,2,3\n")
    assert rows(path, columns_of({"c": "long", "a": "long"}, "t")) == [(3, 1)]


def test_quoted_fields_may_span_lines_and_blocks(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n" + '"x,""y""\nz",1\n' * 40)
    file = CsvFile(InputFile(path, limits=Limits(row_bytes=64)), columns_of({"a": "string", "b": "long"}, "t"))
    assert [row for block in file.blocks() for row in block] == [('x,"y"\nz', 1)] * 40


def test_byte_order_mark_is_not_part_of_first_name(tmp_path: Path) -> None:
    assert rows(written(tmp_path, "\ufeffa\n1\n"), columns_of({"a": "long"}, "t")) == [(1,)]


def test_kept_values_select_rows_and_none_matches_empty_field(tmp_path: Path) -> None:
    path = written(tmp_path, "k,v\n1,a\n2,b\n,c\n1,d\n")
    file = CsvFile(path, columns_of({"k": "long", "v": "string"}, "t"))
    ((kept, positions),) = file.kept_blocks("k", [1, None])
    assert kept == [(1, "a"), (None, "c"), (1, "d")]
    assert list(positions) == [0, 2, 3]
    assert file.distinct("k") == [None, 1, 2]


@pytest.mark.parametrize(
    ("column_type", "text", "expected"),
    [
        ("int", "abc", "an int (-2147483648 to 2147483647) or nothing"),
        ("int", "2147483648", "an int (-2147483648 to 2147483647) or nothing"),
        ("long", "1.5", "a long (-9223372036854775808 to 9223372036854775807) or nothing"),
        ("int", "0x1f", "an int (-2147483648 to 2147483647) or nothing"),
        ("long", "0X1F", "a long (-9223372036854775808 to 9223372036854775807) or nothing"),
        ("double", "1,5", "a double or nothing"),
        ("double", "0x1f", "a double or nothing"),
        ("double", "1e400", "a double or nothing"),
        ("double", "-2.5E309", "a double or nothing"),
        ("boolean", "maybe", "a boolean (true or false) or nothing"),
    ],
)
def test_field_of_wrong_type_is_refused_with_file_line_and_column(
    tmp_path: Path, column_type: str, text: str, expected: str
) -> None:
    path = written(tmp_path, f'name,v\n"two\nlines",\n\n"a,b","{text}"\n')
    with pytest.raises(BadInput) as refused:
        rows(path, columns_of({"v": column_type}, "t"))
    assert str(refused.value) == f"{path}:5:7 column 'v': expected {expected}, got {text!r}"


def test_hexadecimal_texts_and_rows_that_are_not_read_are_no_errors(tmp_path: Path) -> None:
    path = written(tmp_path, "v,w\n0x1f,1\n0x20,2\nc,0x3\n")
    columns = columns_of({"v": "string", "w": "long"}, "t")
    assert [row for block in CsvFile(path, columns, rows=2).blocks() for row in block] == [("0x1f", 1), ("0x20", 2)]
    with pytest.raises(BadInput, match=r":4:3 column 'w': .* got '0x3'$"):
        rows(path, columns)


def test_hexadecimal_integer_between_two_scanned_blocks_is_found(tmp_path: Path) -> None:
    before = "v,w\n1," + "y" * 600_000 + "\n2,"
    filled = before + "y" * (_SCANNED_BYTES - len(before) - 2) + "\n0"
    assert len(filled) == _SCANNED_BYTES
    with pytest.raises(BadInput, match=r":4:1 column 'v': .* got '0x1f'$"):
        rows(written(tmp_path, filled + "x1f,z\n"), columns_of({"v": "int"}, "t"))


def test_infinity_is_written_as_a_word(tmp_path: Path) -> None:
    path = written(tmp_path, "v\ninf\n-inf\n1e308\n1e-400\n")
    assert rows(path, columns_of({"v": "double"}, "t")) == [(math.inf,), (-math.inf,), (1e308,), (0.0,)]


def test_column_position_counts_characters_before_unquoted_field(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,c\nxyz,7,8\nxy,q,8\n")
    with pytest.raises(BadInput, match=r":3:4 column 'b': expected a long .* got 'q'$"):
        rows(path, columns_of({"a": "string", "b": "long"}, "t"))


def test_convertible_field_is_not_reported_for_later_bad_field(tmp_path: Path) -> None:
    path = written(tmp_path, "a\n 7 \n1e5\nx\n")
    with pytest.raises(BadInput, match=r":4:1 column 'a': expected a double or nothing, got 'x'$"):
        rows(path, columns_of({"a": "double"}, "t"))


def test_invalid_utf8_is_refused_with_line_and_column(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\nfine,x\n1,\udcff\n")
    with pytest.raises(BadInput, match=r":3:3 column 'b': expected UTF-8 text"):
        rows(path, columns_of({"b": "string"}, "t"))


def test_row_of_wrong_length_is_refused_with_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,2\n3\n")
    with pytest.raises(BadInput, match=r":3:1 expected 2 fields as in the header, got 1: correct the row"):
        rows(path, columns_of({"a": "long"}, "t"))


def test_missing_columns_are_refused_with_nearest_names(tmp_path: Path) -> None:
    path = written(tmp_path, "origin,dest\nA,B\n")
    with pytest.raises(BadInput) as refused:
        rows(path, columns_of({"orgin": "string", "dest": "string", "zzz": "long"}, "t"))
    assert (
        str(refused.value)
        == f"{path}:1:1 no column 'orgin' (did you mean 'origin'?), 'zzz'; the header has: origin, dest"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", ":1:1 the file is empty"), (b"a,a\n1,2\n", ":1:1 the header has column 'a' more than once")],
)
def test_invalid_header_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        rows(str(path), columns_of({"a": "long"}, "t"))


def test_missing_file_and_truncated_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        rows(str(tmp_path / "none.csv"))
    whole = gzip.compress(b"a\n" + b"".join(b"%d\n" % (i * i * 7919) for i in range(5000)), mtime=0)
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"cut\.csv\.gz: the \.gz file is damaged in or after line 2576 "):
        rows(str(path), columns_of({"a": "long"}, "t"))


def test_header_without_rows_gives_no_rows(tmp_path: Path) -> None:
    assert rows(written(tmp_path, "a\n"), columns_of({"a": "long"}, "t")) == []


def test_unknown_column_type_is_refused_with_nearest_type() -> None:
    with pytest.raises(BadInput) as refused:
        columns_of({"a": "boolan"}, "csv source 'x'")
    assert str(refused.value) == (
        "csv source 'x': column 'a': expected a type of string, int, long, double, boolean, got 'boolan' "
        "(did you mean 'boolean'?)"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'a,b\n1,"x\n2,y\n', ":2:1 the row has a quote that is never closed: close it, or double it"),
        (b'a,b\n"1,x\n2,y\n', ":2:1 the row has a quote that is never closed: close it, or double it"),
        (
            b"a,b\n1,x\n" + b"2," + b"y" * 300,
            ":3:1 expected a line of at most 100 bytes (--limit row_bytes=N raises the limit)",
        ),
        (
            b'a,b\n1,"' + b"y\n" * 300,
            ":2:1 expected a row of at most 100 bytes (--limit row_bytes=N raises the limit); is one of its ",
        ),
        (b"a" * 300, ":1:1 expected a line of at most 100 bytes (--limit row_bytes=N raises the limit)"),
        (b"a,b,c,d,e,f\n", ":1:1 expected at most 5 fields (--limit columns=N raises the limit)"),
        ("a,b\n1,x\n".encode("utf-16"), ":1:1 expected a header line with column names, got UTF-16: convert the file"),
        (b"a,\xe9\n", ":1:3 expected a header line with column names, got bytes that are not UTF-8, '\\udce9': "),
        (b"\0\0\0\0", r":1:1 expected a header line with column names, got NUL bytes, '\x00\x00\x00\x00': "),
        (
            b"a;b\n1;x\n",
            ":1:1 no column 'a', 'b'; the header has: a;b; if ';' separates the fields, set it as delimiter",
        ),
    ],
)
def test_content_beyond_a_limit_or_that_is_no_csv_is_named_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    limits = Limits(row_bytes=100, columns=5)
    with pytest.raises(BadInput) as refused:
        for _ in CsvFile(InputFile(path, limits=limits), columns_of({"a": "long", "b": "string"}, "t")).blocks():
            """Reads the file."""
    assert str(refused.value).startswith(f"{path}{message}")


def test_a_row_of_almost_the_limit_is_read(tmp_path: Path) -> None:
    text = "x" * 900_000
    assert rows(written(tmp_path, f"a,b\n1,{text}\n2,y\n"), columns_of({"b": "string"}, "t")) == [(text,), ("y",)]


def test_a_quote_inside_an_unquoted_field_does_not_open_a_quoted_field(tmp_path: Path) -> None:
    path = written(tmp_path, 'a,b\n5,12" pipe\n6,"x"y\n7,z\n')
    assert rows(path, columns_of({"a": "long", "b": "string"}, "t")) == [(5, '12" pipe'), (6, "xy"), (7, "z")]
    with pytest.raises(BadInput, match=r":2:3 column 'b': expected a long .* got '12\" pipe'$"):
        rows(path, columns_of({"b": "long"}, "t"))


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('"b"""\n', ['b"']),
        ('a"b,"c"d",e"\n', ['a"b', 'cd"', 'e"']),
        ('x"",y\n', ['x""', "y"]),
        ('a,"b\nc",d\n', ["a", "b\nc", "d"]),
        ('a,"b\nc"",d\n"\n', ["a", 'b\nc",d\n']),
        ('a,"b\n', None),
        ('"b""\n', None),
        ('a,"b\nc","d\n', None),
    ],
)
def test_a_quoted_field_ends_where_a_quote_is_not_doubled(tmp_path: Path, text: str, row: list[str] | None) -> None:
    """Arrow and the search for errors read the same fields."""
    names = [f"c{index}" for index in range(2 if row is None else len(row))]
    path = written(tmp_path, ",".join(names) + "\n" + text)
    read = CsvFile(path, columns_of(dict.fromkeys(names, "string"), "t"))
    if row is None:
        with pytest.raises(BadInput, match=r":2:1 the row has a quote that is never closed"):
            list(read.blocks())
    else:
        assert list(read.blocks()) == [[tuple(row)]]
        for name, field in zip(names, row, strict=True):
            assert find_cell(InputFile(path), ",", name, field).line > 1, (
                "the header's line is the answer for no such field"
            )


def test_delimiters_in_quotes_do_not_count_as_columns(tmp_path: Path) -> None:
    path = written(tmp_path, 'a,b\n"1,2,3,4",5\nx,no\n')
    file = InputFile(path, limits=Limits(columns=3))
    with pytest.raises(BadInput, match=r":3:3 column 'b': expected a long .* got 'no'$"):
        list(CsvFile(file, columns_of({"b": "long"}, "t")).blocks())


def test_position_of_a_field_counts_quotes_and_lines_before_it(tmp_path: Path) -> None:
    path = written(tmp_path, 'a,b,c\n"x,""y\nz",12,"no"\n')
    assert str(find_cell(InputFile(path), ",", "b", "12")) == f"{path}:3:4"
    assert str(find_cell(InputFile(path), ",", "c", "no")) == f"{path}:3:7"


def test_limit_of_the_csv_module_for_a_field_is_the_same_afterwards(tmp_path: Path) -> None:
    path = written(tmp_path, f"a,b\n1,{'x' * 900_000}\n2,no\n")
    before = csv.field_size_limit()
    with pytest.raises(BadInput, match=r":2:3 column 'b': expected a long .* got 'xxx"):
        rows(path, columns_of({"a": "long", "b": "long"}, "t"))
    assert csv.field_size_limit() == before
