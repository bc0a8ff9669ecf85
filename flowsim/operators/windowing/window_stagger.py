"""How far the windows of a subtask are shifted, so that not all subtasks fire at once. Flink: WindowStagger (rule 10.3)."""

from __future__ import annotations

from enum import Enum
from random import Random

from flowsim.operators.windowing.time_window import window_start_with_offset
from flowsim.values.java_long import wrapped


class WindowStagger(Enum):
    """The value is what descriptions call it. Flink: WindowStagger."""

    ALIGNED = "aligned"
    """Not at all."""
    RANDOM = "random"
    """By chance, anything below the size."""
    NATURAL = "natural"
    """So that a window begins at the processing time of the subtask's first record."""

    def stagger_offset(self, current_processing_time_ms: int, size_ms: int, random: Random) -> int:
        """The shift in ms, from 0 to below the size; chance is asked only by RANDOM."""
        match self:
            case WindowStagger.ALIGNED:
                return 0
            case WindowStagger.RANDOM:
                return int(random.random() * size_ms)
            case WindowStagger.NATURAL:
                start = window_start_with_offset(current_processing_time_ms, 0, size_ms)
                return max(0, wrapped(current_processing_time_ms - start))
