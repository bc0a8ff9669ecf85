"""Rows, under the name of PyFlink's module ``pyflink.common.types``."""

from __future__ import annotations

from flowsim.values.row import Row, RowKind

__all__ = ["Row", "RowKind"]
