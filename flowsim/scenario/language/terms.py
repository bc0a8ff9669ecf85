"""Rebuilt nodes of an expression with their types, and the checks of their sizes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Final

from flowsim.limits import Limits
from flowsim.scenario.language.functions import join_types
from flowsim.scenario.language.record_schema import FieldType
from flowsim.scenario.language.value_bounds import INT64_MAX, INT64_MIN, small_text

MAX_WEIGHT: Final = 16
"""The maximum size of an intermediate result, in largest values; before a larger result the operands are checked."""

INTEGER_ONLY: Final = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)


@dataclass(frozen=True, slots=True)
class Term:
    """A rebuilt node: its computation, its static type, and whether its result may exceed the limits."""

    node: ast.expr
    type: FieldType
    grows: bool = False
    is_null: bool = False
    item_type: FieldType = FieldType.ANY
    """Type of the items of a sequence, if all have one type."""
    weight: int = 1
    """Upper bound of its unchecked size: in values of the largest size; of an integer, in words of 64 bits."""


class SizeChecks:
    """Adds checks of size to the code of terms, where a result may exceed the limits."""

    def __init__(self, limits: Limits) -> None:
        self._small_text = small_text(limits)

    def checked(self, term: Term) -> ast.expr:
        """Returns the node of a term, with a size check if its result may grow."""
        if not term.grows:
            return term.node
        if term.type.is_integer:
            fits = ast.Compare(
                ast.Constant(INT64_MIN), [ast.LtE(), ast.LtE()], [stored(term.node), ast.Constant(INT64_MAX)]
            )
            return ast.IfExp(fits, load("_1"), call("_beyond_int64", load("_1")))
        if term.type is FieldType.STRING:
            fits = ast.Compare(call("_len", stored(term.node)), [ast.LtE()], [ast.Constant(self._small_text)])
            return ast.IfExp(fits, load("_1"), call("_bounded_text", load("_1")))
        return term.node if term.type is FieldType.DOUBLE else call("_bounded", term.node)

    def light(self, terms: list[Term]) -> list[Term]:
        """Returns the operands of a result that contains them all; checked if together they may be too large."""
        if sum(term.weight for term in terms) <= MAX_WEIGHT:
            return terms
        return [replace(term, node=self.checked(term), grows=False, weight=1) for term in terms]

    def text(self, term: Term) -> Term:
        """Returns the node for ``str`` of a term."""
        if term.type is FieldType.ANY:
            return Term(call("_f_str", term.node), FieldType.STRING)
        if term.type is FieldType.STRING:
            return term
        return Term(call("_str", self.checked(term)), FieldType.STRING, weight=0)

    def formatted(self, term: Term) -> Term:
        """Returns the node for a term in an f-string, which formats numbers without a call."""
        if term.type in (FieldType.ANY, FieldType.STRING):
            return self.text(term)
        return Term(self.checked(term), FieldType.STRING, weight=0)


def joined(terms: list[Term]) -> FieldType:
    """Returns the type of a value that may be any of the terms."""
    return join_types([term.type for term in terms if not term.is_null] or [FieldType.ANY])


def load(name: str) -> ast.Name:
    """Returns the node that reads a name."""
    return ast.Name(name, ast.Load())


def stored(node: ast.expr) -> ast.NamedExpr:
    """Returns the node ``(_1 := node)``, for a check that uses the result twice."""
    return ast.NamedExpr(ast.Name("_1", ast.Store()), node)


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """Returns the node that calls a function of the environment."""
    return ast.Call(load(name), list(arguments), [])


def comparable(left: FieldType, right: FieldType) -> bool:
    """True if values of the types have an order."""
    numbers = (FieldType.INT, FieldType.LONG, FieldType.DOUBLE, FieldType.BOOLEAN)
    return FieldType.ANY in (left, right) or left is right or (left in numbers and right in numbers)


def arithmetic_type(operator: ast.operator, kinds: tuple[FieldType, FieldType]) -> FieldType:
    """Returns the type of the result of an operator on numbers."""
    if isinstance(operator, INTEGER_ONLY):
        return FieldType.LONG
    if isinstance(operator, ast.Div) or FieldType.DOUBLE in kinds:
        return FieldType.DOUBLE
    if FieldType.ANY in kinds:
        return FieldType.ANY
    # A negative power of an integer is a fraction.
    return FieldType.ANY if isinstance(operator, ast.Pow) else FieldType.LONG
