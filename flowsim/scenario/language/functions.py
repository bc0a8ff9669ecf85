"""The functions that expressions may call, and the guards of generated code; expressions can call nothing else.

Every function has a cost bounded by the size of its arguments, and checks a result that could grow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MethodType
from typing import Final

from flowsim.limits import Limits
from flowsim.scenario.language.record_schema import FieldType
from flowsim.scenario.language.value_bounds import (
    INT64_MAX,
    INT64_MIN,
    ExpressionFailure,
    ValueBounds,
    beyond_int64,
    text_bytes,
)
from flowsim.values.java_hash_code import java_hash


def multiply(a: object, b: object) -> object:
    """Returns ``a * b`` for numbers only: the language has no repetition of text or tuples."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a * b
    raise ExpressionFailure(f"'*' multiplies numbers, got {type(a).__name__} and {type(b).__name__}")


def modulo(a: object, b: object) -> object:
    """Returns ``a % b`` for numbers only: the language has no text formatting."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a % b
    raise ExpressionFailure(f"'%' divides numbers, got {type(a).__name__} and {type(b).__name__}")


def power(a: object, b: object) -> object:
    """Returns ``a ** b`` for numbers, an integer result within int64; checks the size before the computation."""
    if not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
        raise ExpressionFailure(f"'**' needs numbers, got {type(a).__name__} and {type(b).__name__}")
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        if abs(a) > 1 and (abs(a).bit_length() - 1) * b > 63:
            raise ExpressionFailure(f"{a} ** {b} does not fit an int64")
        return a ** (b if abs(a) > 1 else min(b, 2 + b % 2))
    result: object = float(a) ** float(b)
    if isinstance(result, complex):
        raise ExpressionFailure(f"{a} ** {b} is not a real number")
    return result


def shift_left(a: object, b: object) -> object:
    """Returns ``a << b`` for integers, by at most 63."""
    if isinstance(a, int) and isinstance(b, int) and 0 <= b <= 63:
        return a << b
    raise ExpressionFailure("'<<' shifts an integer by 0 to 63")


def _checked_integer(number: int) -> int:
    if not INT64_MIN <= number <= INT64_MAX:
        beyond_int64(number)
    return number


def _to_int(value: object) -> int:
    if isinstance(value, str) and len(value) > 40:
        raise ExpressionFailure("int() of a text of more than 40 characters")
    if isinstance(value, (bool, int, float, str)):
        try:
            if type(value) is str and not is_decimal(value):
                raise ValueError
            return _checked_integer(int(value))
        except (ValueError, OverflowError):
            raise ExpressionFailure(f"int() of {value!r}: expected a whole number of the digits 0 to 9") from None
    raise ExpressionFailure(f"int() of {type(value).__name__}")


def _to_float(value: object) -> float:
    if isinstance(value, (bool, int, float, str)):
        try:
            if type(value) is str and not is_decimal(value):
                raise ValueError
            return float(value)
        except (ValueError, OverflowError):
            raise ExpressionFailure(f"float() of {value!r:.60}: expected a number such as 1.5 or 1e-3") from None
    raise ExpressionFailure(f"float() of {type(value).__name__}")


def is_decimal(text: str) -> bool:
    """Returns True if every digit of the text is 0 to 9 and the text has no ``_``.

    A CSV column of numbers refuses other digits and ``_``, which Python accepts.
    """
    return text.isascii() and "_" not in text


def _round(number: float, digits: int | None = None) -> int | float:
    if digits is not None and not -20 <= digits <= 20:
        raise ExpressionFailure("round() to more than 20 digits")
    rounded = round(number, digits)
    return _checked_integer(rounded) if isinstance(rounded, int) else rounded


def _floor(number: float) -> int:
    return _checked_integer(math.floor(number))


def _ceil(number: float) -> int:
    return _checked_integer(math.ceil(number))


def _sqrt(number: float) -> float:
    return math.sqrt(number)


def _text(value: object, function: str) -> str:
    if type(value) is not str:
        raise ExpressionFailure(f"{function}() needs a text, got {type(value).__name__}")
    return value


def _lower(text: object) -> str:
    return _text(text, "lower").lower()


def _upper(text: object) -> str:
    return _text(text, "upper").upper()


def _strip(text: object) -> str:
    return _text(text, "strip").strip()


def _startswith(text: object, prefix: object) -> bool:
    return _text(text, "startswith").startswith(_text(prefix, "startswith"))


def _endswith(text: object, suffix: object) -> bool:
    return _text(text, "endswith").endswith(_text(suffix, "endswith"))


def _contains(text: object, part: object) -> bool:
    return _text(part, "contains") in _text(text, "contains")


def _replace(bounds: ValueBounds, text: object, old: object, new: object) -> str:
    whole, before, after = _text(text, "replace"), _text(old, "replace"), _text(new, "replace")
    if not before:
        raise ExpressionFailure("replace() of an empty text")
    if len(whole) * (1 + len(after)) <= bounds.small_text:
        return whole.replace(before, after)
    if text_bytes(whole) + whole.count(before) * text_bytes(after) > bounds.value_bytes:
        bounds.too_large()
    return bounds.text(whole.replace(before, after))


def _split(bounds: ValueBounds, text: object, separator: object = None) -> tuple[str, ...]:
    whole = _text(text, "split")
    if separator is not None and _text(separator, "split") == "":
        raise ExpressionFailure("split() by an empty text")
    parts = tuple(whole.split() if separator is None else whole.split(_text(separator, "split")))
    # A text of n characters has at most n + 1 parts.
    return parts if 3 * len(whole) < bounds.small_text else bounds.value(parts)  # type: ignore[return-value]


def _to_text(bounds: ValueBounds, value: object) -> str:
    # Checked before, because the text of a nested value may be much larger than the value.
    return bounds.text(str(bounds.value(value)))


def _substring(text: object, start: object, end: object = None) -> str:
    if not isinstance(start, int) or not (end is None or isinstance(end, int)):
        raise ExpressionFailure("substring() takes integer positions, counted from 0")
    return _text(text, "substring")[start:end]


def _concat(*parts: object) -> str:
    return "".join([_text(part, "concat") for part in parts])


def _coalesce(*values: object) -> object:
    for value in values:
        if value is not None:
            return value
    return None


def _extreme(choose: Callable[..., object], name: str) -> Callable[..., object]:
    def extreme(*values: object) -> object:
        if len(values) == 1 and not isinstance(values[0], (tuple, list)):
            raise ExpressionFailure(f"{name}() of one value needs a tuple or list")
        return choose(*values)

    return extreme


ResultType = Callable[[Sequence[FieldType]], FieldType]


def _always(kind: FieldType) -> ResultType:
    return lambda arguments: kind


def join_types(types: Sequence[FieldType]) -> FieldType:
    """Returns the type of a value that has one of several types: the common type, LONG for mixed integers, else ANY."""
    if all(kind is types[0] for kind in types):
        return types[0]
    return FieldType.LONG if all(kind.is_integer for kind in types) else FieldType.ANY


def _number_type(arguments: Sequence[FieldType]) -> FieldType:
    return FieldType.LONG if arguments[0] is FieldType.INT else arguments[0]


def _round_type(arguments: Sequence[FieldType]) -> FieldType:
    return FieldType.LONG if len(arguments) == 1 or arguments[0].is_integer else arguments[0]


def _extreme_type(arguments: Sequence[FieldType]) -> FieldType:
    return FieldType.ANY if len(arguments) == 1 else join_types(arguments)


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """The entry of one function: the number and kinds of its arguments, and its result type."""

    implementation: Callable[..., object]
    arguments: str
    """One letter per argument: s text, n number, i integer, a anything; then ``?`` optional or ``*`` many."""
    result: ResultType
    grows: bool = False
    """True if the result must be checked."""
    growth: int = 0
    """The maximum ratio of the result's size to the size of the arguments; 0 if the two sizes are independent."""
    takes_bounds: bool = False
    """True if the first argument of the implementation is the bounds of values."""

    def bounds(self) -> tuple[int, int]:
        """Returns the minimum and maximum number of arguments."""
        letters = [c for c in self.arguments if c.isalpha()]
        most = 20 if "*" in self.arguments else len(letters)
        return len(letters) - self.arguments.count("?"), most


_LONG, _DOUBLE, _STRING = _always(FieldType.LONG), _always(FieldType.DOUBLE), _always(FieldType.STRING)
_BOOLEAN, _ANY = _always(FieldType.BOOLEAN), _always(FieldType.ANY)

FUNCTIONS: Final[dict[str, FunctionSpec]] = {
    "len": FunctionSpec(len, "a", _LONG),
    "abs": FunctionSpec(abs, "n", _number_type, grows=True, growth=1),
    "min": FunctionSpec(_extreme(min, "min"), "a*", _extreme_type),
    "max": FunctionSpec(_extreme(max, "max"), "a*", _extreme_type),
    "round": FunctionSpec(_round, "ni?", _round_type),
    "floor": FunctionSpec(_floor, "n", _LONG),
    "ceil": FunctionSpec(_ceil, "n", _LONG),
    "sqrt": FunctionSpec(_sqrt, "n", _DOUBLE),
    "str": FunctionSpec(_to_text, "a", _STRING, takes_bounds=True),
    "int": FunctionSpec(_to_int, "a", _LONG),
    "float": FunctionSpec(_to_float, "a", _DOUBLE),
    "bool": FunctionSpec(bool, "a", _BOOLEAN),
    "lower": FunctionSpec(_lower, "s", _STRING, growth=3),
    "upper": FunctionSpec(_upper, "s", _STRING, growth=3),
    "strip": FunctionSpec(_strip, "s", _STRING, growth=1),
    "startswith": FunctionSpec(_startswith, "ss", _BOOLEAN),
    "endswith": FunctionSpec(_endswith, "ss", _BOOLEAN),
    "contains": FunctionSpec(_contains, "ss", _BOOLEAN),
    "replace": FunctionSpec(_replace, "sss", _STRING, takes_bounds=True),
    "split": FunctionSpec(_split, "ss?", _ANY, takes_bounds=True),
    "substring": FunctionSpec(_substring, "sii?", _STRING, growth=1),
    "concat": FunctionSpec(_concat, "s*", _STRING, grows=True, growth=1),
    "hash": FunctionSpec(java_hash, "a", _LONG),
    "coalesce": FunctionSpec(_coalesce, "a*", join_types),
}


@lru_cache(maxsize=8)
def environment(limits: Limits) -> Mapping[str, object]:
    """Returns the names that generated code can use: the functions of the table as ``_f_NAME``, and guards."""
    bounds = ValueBounds(limits)
    guards: dict[str, object] = {
        "__builtins__": {},
        "_multiply": multiply,
        "_modulo": modulo,
        "_power": power,
        "_shift_left": shift_left,
        "_beyond_int64": beyond_int64,
        "_bounded": bounds.value,
        "_bounded_text": bounds.text,
        "_record_bytes": bounds.record,
        "_str": str,
        "_len": len,
    }
    return guards | {
        f"_f_{name}": MethodType(spec.implementation, bounds) if spec.takes_bounds else spec.implementation
        for name, spec in FUNCTIONS.items()
    }
