"""Declared types, under the name of PyFlink's module ``pyflink.common.typeinfo``."""

from __future__ import annotations

from flowsim.values.types import TypeInformation, Types

__all__ = ["TypeInformation", "Types"]
