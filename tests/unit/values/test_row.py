"""Row as PyFlink users know it."""

from __future__ import annotations

import copy
import pickle

import pytest

from flowsim.values.closed_set import checked_copy, copy_value
from flowsim.values.encoding import decode_value, encode_value
from flowsim.values.row import Row, RowKind


def test_fields_are_read_by_position_name_and_attribute() -> None:
    row = Row(name="ada", age=36)
    assert (row[0], row["age"], row.name) == ("ada", 36, "ada")
    assert (len(row), list(row), 36 in row, "age" in row) == (2, ["ada", 36], False, True)
    assert (36 in Row("ada", 36), "age" in Row("ada", 36)) == (True, False)
    assert row.get_fields_by_names(["age", "name"]) == [36, "ada"]
    assert Row("ada", 36).get_fields_by_names(["age", "name"]) == ["ada", 36]
    assert row.as_dict() == {"name": "ada", "age": 36}


def test_row_of_strings_creates_rows_with_these_names() -> None:
    person = Row("name", "age")
    assert person("ada", 36) == Row.of(["ada", 36], ["name", "age"])
    with pytest.raises(ValueError, match="a Row of 1 value takes as many field names, got 2"):
        person("ada")


def test_names_are_part_of_equality_but_not_of_hash() -> None:
    assert Row(1, 2) != Row(a=1, b=2)
    assert Row(a=1, b=2) != Row(b=1, a=2)
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert Row(a=1, b=2) != Row(b=2, c=1)
    assert Row(1, 2) != (1, 2)
    assert hash(Row(1, 2)) == hash(Row(a=1, b=2))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Row([]))


def test_fields_are_assigned_by_position_name_and_slice() -> None:
    row = Row(a=1, b=2, c=3)
    row[0], row["b"] = "x", [2]
    assert row == Row(a="x", b=[2], c=3)
    row[1:] = (4, 5)
    assert (row[:2], row[-1]) == (["x", 4], 5)
    with pytest.raises(AttributeError, match=r"use row\['a'\] = value"):
        row.a = 2
    with pytest.raises(AttributeError, match="no attributes to delete"):
        del row._values
    with pytest.raises(KeyError, match="no field 'd'"):
        row["d"] = 1


def test_kind_is_part_of_equality_and_of_copies() -> None:
    row = Row.of_kind(RowKind.DELETE, 1)
    assert row.get_row_kind() is RowKind.DELETE
    assert row != Row(1)
    for same in (decode_value(encode_value(row)), checked_copy(row), copy_value(row), copy.copy(row)):
        assert same == row
    row.set_row_kind(RowKind.INSERT)
    assert row == Row(1)
    assert Row(1).get_row_kind() is RowKind.INSERT


def test_field_names_can_be_set() -> None:
    row = Row(1, 2)
    row.set_field_names(["a", "b"])
    assert row == Row(a=1, b=2)
    with pytest.raises(ValueError, match="a Row of 2 values takes as many field names, got 1"):
        row.set_field_names(["a"])


def test_missing_field_is_named() -> None:
    with pytest.raises(KeyError, match="no field 'b'"):
        Row(a=1)["b"]
    with pytest.raises(AttributeError, match="no field 'b'"):
        _ = Row(a=1).b
    with pytest.raises(TypeError, match="without field names"):
        Row(1).as_dict()


def test_values_by_position_and_name_together_are_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)
    with pytest.raises(ValueError, match="distinct strings"):
        Row.of([1, 2], ["a", "a"])
    with pytest.raises(ValueError, match="a Row of 2 values takes as many field names, got 1"):
        Row.of([1, 2], ["a"])


def test_recursive_as_dict_converts_nested_named_rows() -> None:
    row = Row(a=Row(b=1), c=[Row(d=2)], e=(Row(3),), f={"g": Row(h=4)})
    assert row.as_dict(recursive=True) == {"a": {"b": 1}, "c": [{"d": 2}], "e": (Row(3),), "f": {"g": {"h": 4}}}


def test_repr_is_that_of_pyflink() -> None:
    assert repr(Row(1, "a")) == "<Row(1, 'a')>"
    assert repr(Row(b=Row(), a=1)) == "Row(b=<Row()>, a=1)"


def test_pickled_and_copied_rows_are_equal() -> None:
    for row in (Row(1, [2]), Row(a=1, b=[2])):
        assert pickle.loads(pickle.dumps(row)) == row
        assert copy.deepcopy(row) == row
        assert copy.copy(row) == row
