"""Aggregates of a window, compiled to functions that fold a record into a small list in place.

``count()``, ``count(x)``, ``sum(x)``, ``min(x)``, ``max(x)``, ``avg(x)``, ``first(x)``, ``last(x)``: ``x`` is an
expression over the record. None values are ignored, as in SQL; an aggregate of no values is None.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from flowsim.datastream.functions import AggregateFunction
from flowsim.errors import did_you_mean
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.scenario.language.expressions import (
    CHECKED_TOGETHER,
    needs_size_check,
    parse_expression,
    run_definition,
)
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.translator import ExpressionError, Translator


@dataclass(frozen=True, slots=True)
class _Spec:
    """Statements over the accumulator ``a`` and the argument ``x``; ``{i}`` is the aggregate's first slot in ``a``."""

    initial: tuple[object, ...]
    add: str
    merge: str
    result: str = "a[{i}]"
    takes_argument: bool = True


_COUNT: Final = _Spec((0,), "a[{i}] += 1", "a[{i}] += b[{i}]", takes_argument=False)
_SPECS: Final[Mapping[str, _Spec]] = {
    "count": _Spec((0,), "if x is not None: a[{i}] += 1", "a[{i}] += b[{i}]"),
    "sum": _Spec(
        (None,),
        "if x is not None: a[{i}] = x if a[{i}] is None else a[{i}] + x",
        "if b[{i}] is not None: a[{i}] = b[{i}] if a[{i}] is None else a[{i}] + b[{i}]",
        "_bounded(a[{i}])",
    ),
    "min": _Spec(
        (None,),
        "if x is not None and (a[{i}] is None or x < a[{i}]): a[{i}] = x",
        "if b[{i}] is not None and (a[{i}] is None or b[{i}] < a[{i}]): a[{i}] = b[{i}]",
    ),
    "max": _Spec(
        (None,),
        "if x is not None and (a[{i}] is None or x > a[{i}]): a[{i}] = x",
        "if b[{i}] is not None and (a[{i}] is None or b[{i}] > a[{i}]): a[{i}] = b[{i}]",
    ),
    "avg": _Spec(
        (0, 0),
        "if x is not None: a[{i}] += x; a[{j}] += 1",
        "a[{i}] += b[{i}]; a[{j}] += b[{j}]",
        "(a[{i}] / a[{j}] if a[{j}] else None)",
    ),
    "first": _Spec((None,), "if a[{i}] is None: a[{i}] = x", "if a[{i}] is None: a[{i}] = b[{i}]"),
    "last": _Spec((None,), "if x is not None: a[{i}] = x", "if b[{i}] is not None: a[{i}] = b[{i}]"),
}
_SUM_OF_ANY: Final = _Spec(
    (None,),
    "if x is not None: a[{i}] = x if a[{i}] is None else _bounded(a[{i}] + x)",
    "if b[{i}] is not None: a[{i}] = b[{i}] if a[{i}] is None else _bounded(a[{i}] + b[{i}])",
)
"""The sum of values that may not be numbers: the size is checked at each record, because it may grow."""


class CompiledAggregate(AggregateFunction):
    """Aggregates whose functions were generated; the accumulator is a list, changed in place."""

    def __init__(
        self,
        initial: tuple[object, ...],
        add: Callable[[object, object], object],
        get_result: Callable[[object], object],
        merge: Callable[[object, object], object],
    ) -> None:
        self._initial = initial
        self._add = add
        self._get_result = get_result
        self._merge = merge
        # The operator calls the attribute; the generated function itself saves a call per record.
        vars(self)["add"] = add

    def having(self, condition: Callable[[object], object]) -> CompiledAggregate:
        """Returns the aggregates with no result where a condition over the result is not true (rule 10.32)."""

        def get_result(accumulator: object) -> object:
            result = self._get_result(accumulator)
            return result if condition(result) else None

        return CompiledAggregate(self._initial, self._add, get_result, self._merge)

    def create_accumulator(self) -> object:
        return list(self._initial)

    def add(self, value: object, accumulator: object) -> object:
        return self._add(value, accumulator)

    def get_result(self, accumulator: object) -> object:
        return self._get_result(accumulator)

    def merge(self, acc_a: object, acc_b: object) -> object:
        return self._merge(acc_a, acc_b)


@dataclass(slots=True)
class _Parts:
    """The generated code for all aggregates of a window."""

    initial: tuple[object, ...] = ()
    add: tuple[ast.stmt, ...] = ()
    merge: tuple[ast.stmt, ...] = ()
    results: tuple[str, ...] = ()

    def check_size(self) -> None:
        """Checks the size of the accumulator between two aggregates."""
        self.add += tuple(ast.parse("_record_bytes(a)").body)

    def take(self, spec: _Spec, argument: ast.expr | None) -> None:
        slots = {"i": len(self.initial), "j": len(self.initial) + 1}
        if argument is not None:
            self.add += (ast.Assign([ast.Name("x", ast.Store())], argument),)
        self.add += tuple(ast.parse(spec.add.format(**slots)).body)
        self.merge += tuple(ast.parse(spec.merge.format(**slots)).body)
        self.results += (spec.result.format(**slots),)
        self.initial += spec.initial


def compile_aggregates(
    columns: Mapping[str, str], schema: RecordSchema, limits: Limits = DEFAULT_LIMITS
) -> tuple[CompiledAggregate, RecordSchema]:
    """Compiles named aggregates to a function with the schema of its results; ExpressionError names the column."""
    parts = _Parts()
    types: dict[str, FieldType] = {}
    for name, source in columns.items():
        try:
            spec, argument, types[name] = _read(source, schema, limits)
        except ExpressionError as error:
            raise error.inside(name) from None
        parts.take(spec, argument)
        if len(types) % CHECKED_TOGETHER == 0 and needs_size_check(_schema(types), limits):
            parts.check_size()
    result = "return (" + "".join(f"{each}, " for each in parts.results) + ")"
    function = CompiledAggregate(
        parts.initial,
        _define("v", "a", list(parts.add), "a", limits),
        run_definition(_definition(("a",), [_return(result)]), limits),
        _define("a", "b", list(parts.merge), "a", limits),
    )
    return function, _schema(types)


def _schema(types: Mapping[str, FieldType]) -> RecordSchema:
    return RecordSchema(tuple(types), tuple(types.values()))


def _read(source: str, schema: RecordSchema, limits: Limits) -> tuple[_Spec, ast.expr | None, FieldType]:
    node = parse_expression(source)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ExpressionError(f"expected an aggregate such as sum(x), one of {', '.join(_SPECS)}", 0)
    name = node.func.id
    spec = _SPECS.get(name)
    if spec is None:
        raise ExpressionError(f"unknown aggregate {name!r}{did_you_mean(name, _SPECS)}", 0)
    if node.keywords or len(node.args) > 1 or (not node.args and name != "count"):
        raise ExpressionError(f"{name}() takes one expression", 0)
    if not node.args:
        return _COUNT, None, FieldType.LONG
    translator = Translator(source, schema, limits)
    term = translator.translate(node.args[0])
    if translator.uses_timestamp:
        raise ExpressionError("an aggregate cannot read the timestamp: add it as a field in an earlier map", 0)
    if name in ("sum", "avg") and term.type in (FieldType.STRING, FieldType.BOOLEAN):
        raise ExpressionError(f"{name}() takes a number, got {term.type.value}", 0)
    if name == "sum" and term.type is FieldType.ANY:
        spec = _SUM_OF_ANY
    return spec, translator.checked(term), _result_type(name, term.type)


def _result_type(name: str, argument: FieldType) -> FieldType:
    if name == "count":
        return FieldType.LONG
    if name == "avg":
        return FieldType.DOUBLE
    return FieldType.LONG if name == "sum" and argument is FieldType.INT else argument


def _return(text: str) -> ast.stmt:
    parsed = ast.parse(f"def f():\n {text}").body[0]
    assert isinstance(parsed, ast.FunctionDef)
    return parsed.body[0]


def _definition(names: tuple[str, ...], body: list[ast.stmt]) -> ast.FunctionDef:
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.FunctionDef(name="generated", args=arguments, body=body, decorator_list=[])


def _define(first: str, second: str, body: list[ast.stmt], returned: str, limits: Limits) -> Callable[..., object]:
    return run_definition(_definition((first, second), [*body, _return(f"return {returned}")]), limits)
