"""Checks the syntax tree of an expression node by node and rebuilds it from a closed table, with static types."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import replace
from typing import Final

from flowsim.errors import BadInput, did_you_mean
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.quantities import count_text
from flowsim.scenario.language.functions import FUNCTIONS, FunctionSpec
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.refused import REFUSED, attribute_refused
from flowsim.scenario.language.terms import (
    INTEGER_ONLY,
    MAX_WEIGHT,
    SizeChecks,
    Term,
    arithmetic_type,
    call,
    comparable,
    joined,
    load,
)
from flowsim.scenario.language.value_bounds import INT64_MAX, INT64_MIN

MAX_NODES: Final = 400
MAX_DEPTH: Final = 60

_NUMBER_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_COMPARISONS: Final = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot)


class ExpressionError(BadInput):
    """An invalid expression; ``offset`` counts characters of its source from 0."""

    def __init__(self, message: str, offset: int, column: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.column = column
        """Name of the output column with the invalid expression, if several columns were compiled together."""

    def inside(self, column: str) -> ExpressionError:
        """Returns the same error with the column's name."""
        return ExpressionError(self.message, self.offset, column)


class Translator:
    """Rebuilds one expression over records of one schema; afterwards lists the fields that the expression reads."""

    def __init__(self, source: str, schema: RecordSchema, limits: Limits = DEFAULT_LIMITS) -> None:
        self.source = source
        self.schema = schema
        self._sizes = SizeChecks(limits)
        self.uses_timestamp = False
        self.fields_read: list[str] = []
        self._nodes = 0
        self._depth = 0
        self._indent = len(source) - len(source.lstrip())

    def translate(self, node: ast.expr) -> Term:
        """Rebuilds ``node``; raises ExpressionError at the first unsupported construct."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._error(node, f"an expression has at most {MAX_NODES} parts")
        if self._depth >= MAX_DEPTH:
            raise self._error(node, f"an expression has at most {MAX_DEPTH} nested levels")
        self._depth += 1
        try:
            return self._dispatch(node)
        finally:
            self._depth -= 1

    def checked(self, term: Term) -> ast.expr:
        """Returns the node of a term, with a size check if the term's result may grow."""
        return self._sizes.checked(term)

    def _dispatch(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                return self._name(node)
            case ast.Attribute(value=ast.Name()) if self.schema.is_of_two:
                return self._field_of_one_side(node)
            case ast.Attribute():
                raise self._error(node, attribute_refused(node, self.schema))
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                terms = [self.translate(value) for value in node.values]
                return Term(ast.BoolOp(node.op, [self.checked(term) for term in terms]), joined(terms))
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self._conditional(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Tuple() | ast.List():
                return self._sequence(node)
            case ast.Call():
                return self._function_call(node)
            case ast.JoinedStr():
                return self._f_string(node)
        raise self._error(node, REFUSED.get(type(node), f"{type(node).__name__} is not part of the language"))

    def _error(self, node: ast.expr, message: str) -> ExpressionError:
        before = self.source.strip().encode()[: node.col_offset].decode(errors="ignore")
        return ExpressionError(message, min(self._indent + len(before), len(self.source)))

    def _constant(self, node: ast.Constant) -> Term:
        value = node.value
        if value is None:
            return Term(ast.Constant(None), FieldType.ANY, is_null=True)
        if type(value) is bool:
            return Term(ast.Constant(value), FieldType.BOOLEAN)
        if type(value) is int:
            if value > INT64_MAX:
                raise self._error(node, "integer does not fit an int64")
            return Term(ast.Constant(value), FieldType.LONG)
        if type(value) is float:
            if not math.isfinite(value):
                raise self._error(node, "number is too large for a double")
            return Term(ast.Constant(value), FieldType.DOUBLE)
        if type(value) is str:
            return Term(ast.Constant(value), FieldType.STRING, weight=0)
        raise self._error(node, f"a literal of type {type(value).__name__} is not part of the language")

    def _name(self, node: ast.Name) -> Term:
        name = self._spelled(node)
        if name in self.schema.names:
            return self._field(name)
        if self.schema.is_of_two:
            is_side = name in ("left", "right")
            hint = f": write {name}.FIELD" if is_side else did_you_mean(name, self.schema.names)
            raise self._error(node, f"unknown name {name!r}{hint}")
        if name == "value":
            return Term(load("v"), FieldType.ANY)
        if name == "timestamp":
            self.uses_timestamp = True
            return Term(load("t"), FieldType.LONG)
        if name in FUNCTIONS:
            raise self._error(node, f"{name!r} is a function: write {name}(...)")
        raise self._error(
            node, f"unknown name {name!r}" + did_you_mean(name, (*self.schema.names, "value", "timestamp"))
        )

    def _field_of_one_side(self, node: ast.Attribute) -> Term:
        """Returns the node of ``left.x`` or ``right.x``, for two joined records."""
        assert isinstance(node.value, ast.Name)
        name = f"{self._spelled(node.value)}.{node.attr}"
        if name not in self.schema.names or name not in self.source.replace(" ", ""):
            raise self._error(node, f"unknown name {name!r}" + did_you_mean(name, self.schema.names))
        return self._field(name)

    def _field(self, name: str) -> Term:
        if name not in self.fields_read:
            self.fields_read.append(name)
        index = self.schema.index(name)
        return Term(ast.Subscript(load("v"), ast.Constant(index), ast.Load()), self.schema.types[index])

    def _spelled(self, node: ast.Name) -> str:
        """Returns the identifier, which must be spelled in ASCII in the source.

        Python normalizes look-alike letters to ASCII.
        """
        if re.search(rf"(?<!\w){re.escape(node.id)}(?!\w)", self.source) is None:
            raise self._error(node, f"the name {node.id!r} contains characters that only look like its letters")
        return node.id

    def _binary(self, node: ast.BinOp) -> Term:
        symbol = _NUMBER_OPERATORS.get(type(node.op))
        if symbol is None:
            raise self._error(node, "this operator is not part of the language")
        left, right = self.translate(node.left), self.translate(node.right)
        kinds = (left.type, right.type)
        if isinstance(node.op, ast.Add) and FieldType.STRING in kinds:
            if kinds == (FieldType.STRING, FieldType.STRING) or FieldType.ANY in kinds:
                left, right = self._sizes.light([left, right])
                weight = left.weight + right.weight
                return Term(ast.BinOp(left.node, ast.Add(), right.node), FieldType.STRING, grows=True, weight=weight)
            raise self._error(node, f"'+' cannot add {kinds[0].value} and {kinds[1].value}, convert with str(...)")
        refused = {FieldType.STRING, FieldType.DOUBLE} if isinstance(node.op, INTEGER_ONLY) else {FieldType.STRING}
        if refused.intersection(kinds):
            raise self._error(node, f"{symbol!r} cannot be used on {kinds[0].value} and {kinds[1].value}")
        kind = arithmetic_type(node.op, kinds)
        if isinstance(node.op, ast.Pow) and isinstance(right.node, ast.Constant) and right.type is FieldType.LONG:
            # Only a negative power of an integer is a fraction, and a negative literal is a constant here.
            kind = FieldType.LONG if left.type.is_integer and right.node.value in range(64) else kind
        if not isinstance(node.op, (ast.Mult, ast.LShift)) and (
            FieldType.ANY not in kinds or not isinstance(node.op, ast.Add)
        ):
            return Term(self._arithmetic(node.op, left, right), kind, grows=True, weight=max(left.weight, right.weight))
        left, right = self._sizes.light([left, right])
        weight = left.weight + right.weight
        return Term(self._arithmetic(node.op, left, right), kind, grows=True, weight=weight)

    def _arithmetic(self, operator: ast.operator, left: Term, right: Term) -> ast.expr:
        if isinstance(operator, ast.Pow):
            return call("_power", left.node, right.node)
        if isinstance(operator, ast.LShift):
            return call("_shift_left", left.node, right.node)
        if isinstance(operator, ast.Mult) and FieldType.ANY in (left.type, right.type):
            return call("_multiply", left.node, right.node)
        if isinstance(operator, ast.Mod) and left.type is FieldType.ANY:
            return call("_modulo", left.node, right.node)
        return ast.BinOp(left.node, operator, right.node)

    def _unary(self, node: ast.UnaryOp) -> Term:
        operand = node.operand
        if isinstance(node.op, ast.USub) and isinstance(operand, ast.Constant) and type(operand.value) is int:
            # The literal -2^63 is valid although 2^63 is not.
            if operand.value > -INT64_MIN:
                raise self._error(node, "integer does not fit an int64")
            return Term(ast.Constant(-operand.value), FieldType.LONG)
        term = self.translate(operand)
        if isinstance(node.op, ast.Not):
            return Term(ast.UnaryOp(ast.Not(), term.node), FieldType.BOOLEAN)
        if term.type is FieldType.STRING or (isinstance(node.op, ast.Invert) and term.type is FieldType.DOUBLE):
            raise self._error(node, f"a sign cannot be used on {term.type.value}")
        kind = FieldType.LONG if term.type in (FieldType.INT, FieldType.BOOLEAN) else term.type
        return Term(ast.UnaryOp(node.op, term.node), kind, grows=True, weight=term.weight)

    def _compare(self, node: ast.Compare) -> Term:
        terms = [self.translate(operand) for operand in (node.left, *node.comparators)]
        for operator, left, right in zip(node.ops, terms, terms[1:], strict=False):
            if not isinstance(operator, _COMPARISONS):
                raise self._error(node, "this comparison is not part of the language")
            if isinstance(operator, (ast.Is, ast.IsNot)) and not (left.is_null or right.is_null):
                raise self._error(node, "'is' compares with None only, use ==")
            if isinstance(operator, (ast.In, ast.NotIn)):
                if right.type not in (FieldType.STRING, FieldType.ANY):
                    raise self._error(node, f"'in' needs a tuple, list or text on its right, got {right.type.value}")
            elif not comparable(left.type, right.type):
                raise self._error(node, f"cannot compare {left.type.value} with {right.type.value}")
        compared = ast.Compare(terms[0].node, node.ops, [term.node for term in terms[1:]])
        return Term(compared, FieldType.BOOLEAN)

    def _conditional(self, node: ast.IfExp) -> Term:
        test, yes, no = self.translate(node.test), self.translate(node.body), self.translate(node.orelse)
        built = ast.IfExp(test.node, self.checked(yes), self.checked(no))
        return Term(built, joined([yes, no]), is_null=yes.is_null and no.is_null)

    def _subscript(self, node: ast.Subscript) -> Term:
        position = _literal_index(node.slice)
        if position is None:
            reason = REFUSED.get(type(node.slice), "an index is a literal integer or text")
            raise self._error(node.slice, reason)
        whole = self.translate(node.value)
        self._check_item(node, whole, position)
        if isinstance(node.value, ast.Name) and node.value.id == "value" and isinstance(position, int):
            kind = self._record_item(node, position)
        elif whole.type is FieldType.ANY:
            kind = whole.item_type
        elif whole.type is FieldType.STRING and isinstance(position, int):
            kind = whole.type
        else:
            raise self._error(node, f"cannot take item {position!r} out of {whole.type.value}")
        item = ast.Subscript(whole.node, ast.Constant(position), ast.Load())
        return Term(item, kind, grows=whole.grows, weight=whole.weight)

    def _check_item(self, node: ast.Subscript, whole: Term, position: int | str) -> None:
        """Raises ExpressionError for an item that the value cannot have, whatever the record is."""
        whole_node = node.value
        if whole.is_null:
            raise self._error(node, "None has no items")
        if isinstance(position, int):
            count = len(whole_node.elts) if isinstance(whole_node, ast.Tuple | ast.List) else None
            if count is not None and not -count <= position < count:
                raise self._error(node.slice, f"a sequence of {count_text(count, 'item')} has no item {position}")
            return
        if position.startswith("__") and position.endswith("__"):
            raise self._error(node.slice, f"{position!r} is not the name of a field")
        if isinstance(whole_node, ast.Tuple | ast.List) or whole.item_type is not FieldType.ANY:
            raise self._error(node.slice, f"the items of a sequence have numbers from 0, not the name {position!r}")
        is_record = isinstance(whole_node, ast.Name) and whole_node.id == "value" and "value" not in self.schema.names
        if is_record and self.schema.names:
            if position in self.schema.names:
                raise self._error(node, f"a field is read by its name alone: write {position}")
            hint = did_you_mean(position, self.schema.names)
            raise self._error(node.slice, f"the record has no field {position!r}{hint}")

    def _record_item(self, node: ast.expr, position: int) -> FieldType:
        if "value" in self.schema.names:
            return self.schema.type_of("value")
        if not -len(self.schema.types) <= position < len(self.schema.types):
            raise self._error(node, f"the record has {count_text(len(self.schema.types), 'field')}, no item {position}")
        return self.schema.types[position]

    def _sequence(self, node: ast.Tuple | ast.List) -> Term:
        terms = self._sizes.light([self.translate(item) for item in node.elts])
        items = [term.node for term in terms]
        built = ast.Tuple(items, ast.Load()) if isinstance(node, ast.Tuple) else ast.List(items, ast.Load())
        is_any = any(term.grows or term.type is FieldType.ANY for term in terms)
        texts = sum(term.weight for term in terms if term.type is FieldType.STRING)
        return Term(built, FieldType.ANY, grows=is_any or texts > 1, weight=sum(term.weight for term in terms))

    def _function_call(self, node: ast.Call) -> Term:
        if not isinstance(node.func, ast.Name):
            if isinstance(node.func, ast.Attribute):
                raise self._error(node.func, attribute_refused(node.func, self.schema, called=True))
            raise self._error(node.func, REFUSED.get(type(node.func), "only the built-in functions can be called"))
        name = self._spelled(node.func)
        spec = FUNCTIONS.get(name)
        if spec is None:
            raise self._error(node.func, f"unknown function {name!r}" + did_you_mean(name, FUNCTIONS))
        if node.keywords:
            raise self._error(node.keywords[0].value, f"{name}() takes no named arguments")
        fewest, most = spec.bounds()
        if not fewest <= len(node.args) <= most:
            expected = f"{fewest} to {most} arguments" if fewest < most else count_text(most, "argument")
            raise self._error(node, f"{name}() takes {expected}, got {len(node.args)}")
        terms = [self.translate(argument) for argument in node.args]
        self._check_arguments(node, name, spec, terms)
        if name == "str":
            return self._sizes.text(terms[0])
        kinds = [term.type for term in terms if not term.is_null] or [FieldType.ANY]
        chooses = name in ("min", "max", "coalesce", "hash")
        if chooses or spec.growth * sum(term.weight for term in terms) > MAX_WEIGHT:
            terms = [replace(term, node=self.checked(term), grows=False, weight=1) for term in terms]
        built = call(f"_f_{name}", *[term.node for term in terms])
        item_type = FieldType.STRING if name == "split" else FieldType.ANY
        grows = spec.growth > 1 or (spec.growth == 1 and any(term.grows for term in terms)) or spec.grows
        weight = max(1, spec.growth * sum(term.weight for term in terms))
        return Term(built, spec.result(kinds), grows, item_type=item_type, weight=weight)

    def _check_arguments(self, node: ast.Call, name: str, spec: FunctionSpec, terms: list[Term]) -> None:
        letters = [c for c in spec.arguments if c.isalpha()]
        for index, term in enumerate(terms):
            letter = letters[min(index, len(letters) - 1)]
            if term.type is FieldType.ANY or letter == "a":
                continue
            accepted = {
                "s": term.type is FieldType.STRING,
                "n": term.type.is_numeric or term.type is FieldType.BOOLEAN,
                "i": term.type.is_integer,
            }
            if not accepted[letter]:
                word = {"s": "a text", "n": "a number", "i": "an integer"}[letter]
                raise self._error(node.args[index], f"{name}() takes {word} here, got {term.type.value}")

    def _f_string(self, node: ast.JoinedStr) -> Term:
        parts: list[ast.expr] = []
        weight = 0
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None or part.conversion != -1:
                    raise self._error(node, "an f-string takes no format ('{x:...}') and no conversion ('{x!r}')")
                term = self._sizes.formatted(self.translate(part.value))
                if weight + term.weight > MAX_WEIGHT:
                    so_far = self.checked(Term(ast.JoinedStr(parts), FieldType.STRING, grows=True))
                    parts, weight = [ast.FormattedValue(so_far, -1)], 1
                    term = replace(term, node=self.checked(term), grows=False, weight=min(term.weight, 1))
                parts.append(ast.FormattedValue(term.node, -1))
                weight += term.weight
            elif isinstance(part, ast.Constant) and type(part.value) is str:
                parts.append(ast.Constant(part.value))
            else:
                raise self._error(node, "not part of an f-string")
        return Term(ast.JoinedStr(parts), FieldType.STRING, grows=True, weight=max(1, weight))


def _literal_index(node: ast.expr) -> int | str | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
        return -inner.value if isinstance(inner, ast.Constant) and type(inner.value) is int else None
    if isinstance(node, ast.Constant) and (type(node.value) is int or type(node.value) is str):
        return node.value
    return None
