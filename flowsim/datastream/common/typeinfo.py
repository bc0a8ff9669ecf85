"""Declared types, under the names of PyFlink's module ``pyflink.common.typeinfo``."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.values.types import TypeInformation, Types

__all__ = [
    "BasicTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "PickledBytesTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]


class BasicTypeInfo:
    """The types of single values. PyFlink: BasicTypeInfo."""

    STRING_TYPE_INFO = Types.STRING
    BOOLEAN_TYPE_INFO = Types.BOOLEAN
    BYTE_TYPE_INFO = Types.BYTE
    SHORT_TYPE_INFO = Types.SHORT
    INT_TYPE_INFO = Types.INT
    LONG_TYPE_INFO = Types.LONG
    FLOAT_TYPE_INFO = Types.FLOAT
    DOUBLE_TYPE_INFO = Types.DOUBLE
    CHAR_TYPE_INFO = Types.CHAR
    BIG_INT_TYPE_INFO = Types.BIG_INT
    BIG_DEC_TYPE_INFO = Types.BIG_DEC
    INSTANT_TYPE_INFO = Types.INSTANT


class SqlTimeTypeInfo:
    """The types of SQL's dates and times. PyFlink: SqlTimeTypeInfo."""

    DATE = Types.SQL_DATE
    TIME = Types.SQL_TIME
    TIMESTAMP = Types.SQL_TIMESTAMP


def PickledBytesTypeInfo() -> TypeInformation:
    """The type of any value. PyFlink: PickledBytesTypeInfo."""
    return Types.PICKLED_BYTE_ARRAY()


def RowTypeInfo(field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None) -> TypeInformation:
    """The type of a Row. PyFlink: RowTypeInfo."""
    return Types.ROW(field_types) if field_names is None else Types.ROW_NAMED(field_names, field_types)


def TupleTypeInfo(field_types: Sequence[TypeInformation]) -> TypeInformation:
    """The type of a tuple. PyFlink: TupleTypeInfo."""
    return Types.TUPLE(field_types)


def ListTypeInfo(element_type: TypeInformation) -> TypeInformation:
    """The type of a list. PyFlink: ListTypeInfo."""
    return Types.LIST(element_type)


def MapTypeInfo(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
    """The type of a dict. PyFlink: MapTypeInfo."""
    return Types.MAP(key_type_info, value_type_info)
