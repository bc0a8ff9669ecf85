"""``reduce:``: combines two records of a key field by field, compiled to one function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from flowsim.scenario.language.expressions import run_definition
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.translator import ExpressionError
from flowsim.scenario.suggestions import nearest

_COMBINE = {
    "sum": "_bounded(a[{i}] + b[{i}])",
    "min": "(b[{i}] if b[{i}] < a[{i}] else a[{i}])",
    "max": "(b[{i}] if b[{i}] > a[{i}] else a[{i}])",
    "first": "a[{i}]",
    "last": "b[{i}]",
}


def compile_reduce(combine: Mapping[str, str], schema: RecordSchema) -> Callable[[object, object], object]:
    """A function of the reduction so far and a record; fields that are not named keep their first value."""
    for name, how in combine.items():
        if name not in schema.names:
            raise ExpressionError(f"there is no field {name!r}{nearest(name, schema.names)}", 0, name)
        kind = schema.type_of(name)
        if how == "sum" and not (kind.is_numeric or kind is FieldType.ANY):
            raise ExpressionError(f"sum takes a number, {name} is {kind.value}", 0, name)
    items = [_COMBINE[combine.get(name, "first")].format(i=index) for index, name in enumerate(schema.names)]
    definition = ast.parse(f"def reduce(a, b):\n return ({', '.join(items)},)").body[0]
    assert isinstance(definition, ast.FunctionDef)
    return run_definition(definition)
