"""What takes records out of a window that fires: one evictor per file (rules 10.30, 10.31)."""

from flowsim.operators.windowing.evictors.evictor import Evictor, EvictorContext, TimestampedValue

__all__ = ["Evictor", "EvictorContext", "TimestampedValue"]
