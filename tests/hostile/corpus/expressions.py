"""Expressions: ways out of the language, and results that grow."""

from __future__ import annotations

from tests.hostile.case import FAILED, REFUSED, Case
from tests.hostile.inputs import compiled, evaluated

CASES = [
    Case("attribute", compiled("word.__class__"), REFUSED, "s.yaml:6:", "attribute access"),
    Case("import", compiled("__import__('os')"), REFUSED, "s.yaml:6:", "unknown function"),
    Case("division by zero", evaluated("str(n // (n - 7))"), FAILED, "operator step0", "ZeroDivisionError"),
]  # fmt: skip
