"""What takes records out of a window that fires: one evictor per file (rules 10.30, 10.31)."""

from flowsim.operators.windowing.evictors.count_evictor import CountEvictor
from flowsim.operators.windowing.evictors.delta_evictor import DeltaEvictor
from flowsim.operators.windowing.evictors.evictor import Evictor, EvictorContext, TimestampedValue
from flowsim.operators.windowing.evictors.time_evictor import TimeEvictor

__all__ = [
    "CountEvictor",
    "DeltaEvictor",
    "Evictor",
    "EvictorContext",
    "TimeEvictor",
    "TimestampedValue",
]
