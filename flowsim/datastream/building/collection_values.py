"""The values of a collection, as its declared type has them: what ``to_internal_type`` of PyFlink makes of them."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.datastream.building.java_text import java_text
from flowsim.datastream.pyflink_way import is_pyflink_way
from flowsim.errors import BadInput
from flowsim.quantities import count_text
from flowsim.values.keys import infer_type
from flowsim.values.row import Row, RowKind
from flowsim.values.types import TypeInformation, TypeKind


def as_declared(value: object, declared: TypeInformation) -> object:
    """Returns what a value is in a stream of its declared type.

    A ROW takes its fields from a tuple, list or Row by position, and by name from a dict, a Row with names or the attributes
    of an object; one that a dict or an object does not have is None. A MAP takes the attributes of an object, with its class.
    In a program for PyFlink a STRING takes Java's text of a number or bool.

    Raises BadInput for another number of fields, and for a Row without one of the names.
    """
    if declared.kind is TypeKind.ROW:
        return _row(value, declared)
    if declared.kind is TypeKind.TUPLE and isinstance(value, tuple | list) and len(value) == len(declared.arguments):
        return type(value)(map(as_declared, value, declared.arguments))
    if declared.kind is TypeKind.MAP and (entries := _entries(value)) is not None:
        of_key, of_value = declared.arguments
        return {as_declared(key, of_key): as_declared(item, of_value) for key, item in entries.items()}
    if declared.kind is TypeKind.STRING and isinstance(value, bool | int | float) and is_pyflink_way():
        return java_text(value, infer_type(value))
    return value


def _row(value: object, declared: TypeInformation) -> object:
    names = declared.get_field_names()
    kind = RowKind.INSERT
    if isinstance(value, Row):
        missing = [name for name in names if value.field_names is not None and name not in value]
        if missing:
            raise BadInput(f"from_collection: expected a field {missing[0]!r} of {declared}, got {value!r}")
        fields = value.get_fields_by_names(names)
        kind = value.get_row_kind()
    elif isinstance(value, tuple | list):
        fields = list(value)
    elif (named := value if isinstance(value, Mapping) else _attributes(value)) is not None:
        fields = [named.get(name) for name in names]
    else:
        return value
    if len(fields) != len(names):
        raise BadInput(f"from_collection: expected {count_text(len(names), 'field')} of {declared}, got {value!r}")
    return Row.of(tuple(map(as_declared, fields, declared.arguments)), names, kind)


def _entries(value: object) -> Mapping[str, object] | None:
    attributes = _attributes(value)
    if attributes is None:
        return value if isinstance(value, dict) else None
    return {**attributes, "__class__": f"{type(value).__module__}.{type(value).__name__}"}


def _attributes(value: object) -> Mapping[str, object] | None:
    return None if isinstance(value, Row) else getattr(value, "__dict__", None)
