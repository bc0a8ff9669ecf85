"""The text of floating-point numbers in Java, which the formats of Flink write."""

from __future__ import annotations

from decimal import Decimal
from math import inf, isnan

import numpy as np

from flowsim.values.types import TypeKind


def float_text(value: float, kind: TypeKind) -> str:
    """Returns the text of a DOUBLE or FLOAT. Java: Double.toString, Float.toString.

    >>> [float_text(value, TypeKind.DOUBLE) for value in (1.0, 1e7, 0.001, 1.5e-5)]
    ['1.0', '1.0E7', '0.001', '1.5E-5']
    >>> float_text(0.1, TypeKind.FLOAT)
    '0.1'
    """
    if isnan(value):
        return "NaN"
    if value in (inf, -inf):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return str(float(value))
    shortest = Decimal(str(np.float32(value)) if kind is TypeKind.FLOAT else repr(float(value)))
    sign, digits, _ = shortest.normalize().as_tuple()
    exponent = shortest.adjusted()
    if -3 <= exponent < 7:
        text = f"{shortest.normalize():f}"
        return text if "." in text else f"{text}.0"
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{exponent}"
