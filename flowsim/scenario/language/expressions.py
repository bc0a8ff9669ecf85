"""The expression language of scenarios: a whitelist of Python expression syntax, compiled once to a Python function.

User text is parsed, never run: ``Translator`` checks every node and rebuilds it from a closed table, so the compiled
code contains only nodes that flowsim created. Field names become index access (``dep_delay_min > 15`` is ``lambda v:
v[7] > 15``), the function has no builtins, and only results that could grow are checked.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.operators.null_fields import declare_reads
from flowsim.scenario.language.functions import environment
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.translator import ExpressionError as ExpressionError
from flowsim.scenario.language.translator import Translator

MAX_SOURCE_CHARS: Final = 2000
MAX_BRACKET_DEPTH: Final = 50

RecordFunction = Callable[..., Any]
"""A function of the record, and with ``uses_timestamp`` also of its timestamp in ms (or None)."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. ``function(record)``, or ``function(record, timestamp)`` when ``uses_timestamp``."""

    source: str
    function: RecordFunction
    type: FieldType
    uses_timestamp: bool
    fields: tuple[str, ...]
    """Names of the fields that the expression reads, in order of first use."""
    item_type: FieldType = FieldType.ANY
    """Type of the items of the result, if it is a sequence of one known type."""


def parse_expression(source: str) -> ast.expr:
    """Parses an expression of one line to a syntax tree, without checking the tree; raises ExpressionError."""
    if len(source) > MAX_SOURCE_CHARS:
        raise ExpressionError(f"an expression has at most {MAX_SOURCE_CHARS} characters, this one has {len(source)}", 0)
    text = source.strip()
    if not text:
        raise ExpressionError("expected an expression, got nothing", 0)
    for index, char in enumerate(source.rstrip()):
        if char in "\r\n\f\v\0":
            raise ExpressionError("an expression is one line without control characters", index)
    _check_nesting(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        offset = (error.offset or len(text) + 1) - 1 + len(source) - len(source.lstrip())
        raise ExpressionError(f"not an expression: {error.msg}", min(offset, len(source))) from None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise ExpressionError(f"not an expression: {type(error).__name__}", 0) from None


def _check_nesting(source: str) -> None:
    """Counts brackets before parsing, so that deep nesting costs nothing."""
    depth = 0
    for index, char in enumerate(source):
        if char in "([{":
            depth += 1
            if depth > MAX_BRACKET_DEPTH:
                raise ExpressionError(f"brackets are nested deeper than {MAX_BRACKET_DEPTH}", index)
        elif char in ")]}":
            depth -= 1


def compile_expression(
    source: str,
    schema: RecordSchema,
    *,
    takes_timestamp: bool = False,
    null_if_missing: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Expression:
    """Compiles an expression over records of a schema; with ``takes_timestamp`` the function has both arguments.

    With ``null_if_missing`` it returns None where it fails and a field that it reads is null.

    >>> late = compile_expression("delay > 15", RecordSchema(("origin", "delay"), (FieldType.STRING, FieldType.LONG)))
    >>> late.function(("EWR", 16)), late.type.value
    (True, 'boolean')
    """
    translator = Translator(source, schema, limits)
    term = translator.translate(parse_expression(source))
    both = takes_timestamp or translator.uses_timestamp
    body, places = translator.checked(term), {name: schema.index(name) for name in translator.fields_read}
    if null_if_missing and places and not isinstance(body, ast.Subscript):
        function = run_definition(_null_if_missing(body, both, places), limits)
    else:
        function = function_of(body, both, "<expression>", limits)
    declare_reads(function, places)
    return Expression(source, function, term.type, both, tuple(translator.fields_read), term.item_type)


def _null_if_missing(body: ast.expr, both: bool, places: Mapping[str, int]) -> ast.FunctionDef:
    """Puts the expression in a ``try``, which costs nothing if the expression does not fail."""
    nulls: list[ast.expr] = [
        ast.Compare(field_access(place), [ast.Is()], [ast.Constant(None)]) for place in places.values()
    ]
    is_missing = ast.BoolOp(ast.Or(), nulls) if len(nulls) > 1 else nulls[0]
    handler = ast.ExceptHandler(None, None, [ast.If(is_missing, [ast.Return(ast.Constant(None))], []), ast.Raise()])
    attempt = ast.Try([ast.Return(body)], [handler], [], [])
    return ast.FunctionDef("expression", _arguments(both), [attempt], [])


def _arguments(both: bool) -> ast.arguments:
    """``v``, or ``v, t``."""
    names = [ast.arg("v")] + ([ast.arg("t")] if both else [])
    return ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])


@dataclass(frozen=True, slots=True)
class CompiledRecord:
    """A function that builds an output record (a tuple), and its schema."""

    function: RecordFunction
    schema: RecordSchema
    uses_timestamp: bool


def compile_record(
    columns: Sequence[tuple[str, str]], schema: RecordSchema, *, keep: bool, limits: Limits = DEFAULT_LIMITS
) -> CompiledRecord:
    """Compiles named expressions to one function that builds the output tuple; errors name the column.

    With ``keep`` the input's fields stay in place, and a column of the same name replaces its field; otherwise the
    output has only the columns. Every expression reads the input record.
    """
    uses_timestamp = False
    places: dict[str, int] = {}
    terms: dict[str, ast.expr] = {}
    types: dict[str, FieldType] = {}
    for name, source in columns:
        translator = Translator(source, schema, limits)
        try:
            term = translator.translate(parse_expression(source))
        except ExpressionError as error:
            raise error.inside(name) from None
        terms[name], types[name] = translator.checked(term), term.type
        places |= {field: schema.index(field) for field in translator.fields_read}
        uses_timestamp = uses_timestamp or translator.uses_timestamp
    output = RecordSchema(tuple(types), tuple(types.values()))
    if keep:
        output = schema.with_fields(output.names, output.types)
    body = _record_body(terms, schema, output, keep, limits)
    function = function_of(body, uses_timestamp, "<record>", limits)
    declare_reads(function, places)
    return CompiledRecord(function, output, uses_timestamp)


def _record_body(
    terms: dict[str, ast.expr], schema: RecordSchema, output: RecordSchema, keep: bool, limits: Limits
) -> ast.expr:
    if needs_size_check(output, limits):
        return _checked_record([terms.get(name) or field_access(schema.index(name)) for name in output.names])
    if keep and not any(name in schema.names for name in terms):
        # Concatenation is twice as fast as listing every field.
        added = ast.Tuple(list(terms.values()), ast.Load())
        return ast.BinOp(ast.Name("v", ast.Load()), ast.Add(), added)
    items = [terms[name] if name in terms else field_access(schema.index(name)) for name in output.names]
    return ast.Tuple(items, ast.Load())


def needs_size_check(schema: RecordSchema, limits: Limits) -> bool:
    """True if a record of checked values may be too large; otherwise its size needs no check."""
    sized = sum(kind in (FieldType.STRING, FieldType.ANY) for kind in schema.types)
    return sized * limits.value_bytes > limits.record_bytes


CHECKED_TOGETHER: Final = 16
"""The number of values that are computed before their size is checked."""


def _checked_record(items: list[ast.expr]) -> ast.expr:
    """Returns the tuple of the items with size checks: ``(_2 := (a, ...), _3 := _record_bytes(_2), ...)``."""
    parts: list[ast.expr] = []
    size: ast.expr = ast.Constant(0)
    checks: list[ast.expr] = []
    for index in range(0, len(items), CHECKED_TOGETHER):
        part = ast.Tuple(items[index : index + CHECKED_TOGETHER], ast.Load())
        name = f"_p{index}"
        checks.append(ast.NamedExpr(ast.Name(name, ast.Store()), part))
        size = ast.Call(ast.Name("_record_bytes", ast.Load()), [ast.Name(name, ast.Load()), size], [])
        checks.append(ast.NamedExpr(ast.Name("_size", ast.Store()), size))
        size = ast.Name("_size", ast.Load())
        parts.append(ast.Starred(ast.Name(name, ast.Load()), ast.Load()))
    # The checks are a tuple, which is never empty: the record is its right-hand side of `and`.
    return ast.BoolOp(ast.And(), [ast.Tuple(checks, ast.Load()), ast.Tuple(parts, ast.Load())])


def field_access(index: int) -> ast.expr:
    """Returns the code ``v[index]``."""
    return ast.Subscript(ast.Name("v", ast.Load()), ast.Constant(index), ast.Load())


def function_of(body: ast.expr, uses_timestamp: bool, name: str, limits: Limits) -> RecordFunction:
    """Compiles ``lambda v: body`` or ``lambda v, t: body`` without builtins."""
    return evaluate(ast.Expression(ast.Lambda(_arguments(uses_timestamp), body)), name, limits)


def evaluate(tree: ast.Expression, name: str, limits: Limits) -> RecordFunction:
    """Evaluates a tree that was built here, in an environment with only guards and table functions."""
    code: CodeType = compile(ast.fix_missing_locations(tree), name, "eval")
    return _callable(eval(code, dict(environment(limits))))  # the tree contains only nodes created by Translator


def run_definition(definition: ast.FunctionDef, limits: Limits) -> RecordFunction:
    """Creates the function of a definition built here, in the same environment."""
    module = ast.fix_missing_locations(ast.Module([definition], []))
    namespace = dict(environment(limits))
    exec(
        compile(module, "<generated>", "exec"), namespace
    )  # the tree contains only nodes created by Translator and fixed templates
    return _callable(namespace[definition.name])


def _callable(function: object) -> RecordFunction:
    if not callable(function):
        raise TypeError("a record function must be callable")
    return function
