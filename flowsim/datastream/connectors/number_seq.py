"""A sequence of numbers, under the name of PyFlink's module."""

from __future__ import annotations

from flowsim.connectors.number_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
