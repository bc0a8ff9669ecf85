"""Declared types: each has one stable name, which parses back."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.values.types import TypeInformation, Types, parse_type

ALL = [
    (Types.STRING(), "STRING"),
    (Types.BYTE(), "BYTE"),
    (Types.BOOLEAN(), "BOOLEAN"),
    (Types.SHORT(), "SHORT"),
    (Types.INT(), "INT"),
    (Types.LONG(), "LONG"),
    (Types.FLOAT(), "FLOAT"),
    (Types.DOUBLE(), "DOUBLE"),
    (Types.CHAR(), "CHAR"),
    (Types.PICKLED_BYTE_ARRAY(), "PICKLED_BYTE_ARRAY"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "PRIMITIVE_ARRAY<BYTE>"),
    (Types.BASIC_ARRAY(Types.LONG()), "BASIC_ARRAY<LONG>"),
    (Types.OBJECT_ARRAY(Types.TUPLE([])), "OBJECT_ARRAY<TUPLE<>>"),
    (Types.LIST(Types.STRING()), "LIST<STRING>"),
    (Types.MAP(Types.STRING(), Types.LIST(Types.INT())), "MAP<STRING,LIST<INT>>"),
    (Types.TUPLE([Types.INT(), Types.TUPLE([Types.STRING()])]), "TUPLE<INT,TUPLE<STRING>>"),
    (Types.ROW([Types.INT(), Types.STRING()]), "ROW<INT,STRING>"),
    (Types.ROW_NAMED(["id", "full name"], [Types.INT(), Types.STRING()]), 'ROW<id:INT,"full name":STRING>'),
    (Types.ROW_NAMED(['"q\\', "INT"], [Types.INT(), Types.LONG()]), 'ROW<"\\"q\\\\":INT,INT:LONG>'),
    (Types.ROW_NAMED([], []), "ROW<>"),
]


@pytest.mark.parametrize(("declared", "name"), ALL, ids=[name for _, name in ALL])
def test_every_type_name_is_stable_and_parses_back(declared: TypeInformation, name: str) -> None:
    assert declared.name == name == str(declared)
    assert parse_type(name) == declared


def test_spaces_in_type_name_are_ignored() -> None:
    assert parse_type(" ROW < a : INT , b:TUPLE<STRING> > ") == parse_type("ROW<a:INT,b:TUPLE<STRING>>")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "expected a type"),
        ("INTEGER", "expected one of STRING, BYTE"),
        ("int", "expected one of"),
        ("LIST", "LIST takes 1 type argument, got 0"),
        ("MAP<INT>", "MAP takes 2 type arguments, got 1"),
        ("INT<INT>", "INT takes 0 type arguments, got 1"),
        ("TUPLE<INT", "expected ',' or '>'"),
        ("TUPLE<INT STRING>", "expected ',' or '>'"),
        ("TUPLE<INT>>", "expected the end"),
        ("TUPLE<a:INT>", "expected one of"),
        ("ROW<a:INT,a:INT>", "distinct field names"),
        ("ROW<a:INT,LONG>", "distinct field names"),
        ('ROW<"\\x":INT>', "as a JSON string"),
        ("INT;", "expected the end"),
        ("TUPLE<" * 150, "nested 100 deep"),
    ],
)
def test_invalid_type_name_is_refused_with_expectation(name: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        parse_type(name)


def test_field_names_and_types_are_listed_as_in_pyflink() -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert (row.get_field_names(), row.get_field_types()) == (["a", "b"], [Types.INT(), Types.STRING()])
    assert Types.TUPLE([Types.INT(), Types.INT()]).get_field_names() == ["f0", "f1"]
    with pytest.raises(BadInput, match="expected 1 distinct field names"):
        Types.ROW_NAMED(["a", "b"], [Types.INT()])
