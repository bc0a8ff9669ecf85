"""The windows of records, as their operator assigns them."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.laws.windows.plan import GLOBAL, WindowPlan
from flowsim.values.java_long import wrapped
from flowsim.why.run_facts import Row

Window = tuple[int, int]
"""Start and end in ms."""


MOST_WINDOWS: Final = 1000
"""So many windows of one record are computed."""


def windows_of(plan: WindowPlan, intake: Row) -> list[Window]:
    """The newest windows of a record, the newest first; of a session the window before it merges (rules 10.1 to 10.6)."""
    columns = (np.array([intake.get(name, 0)], dtype=np.int64) for name in ("timestamp", "time_ns", "gap"))
    return windows_from(plan, *(int(column[0]) for column in plan.assign(*columns)))


def windows_from(plan: WindowPlan, start: int, second: int) -> list[Window]:
    """The windows of a record from what ``WindowPlan.assign`` returns for it."""
    if plan.shape == "global":
        return [GLOBAL]
    if plan.merging:
        return [(start, second)]
    starts = (start - number * plan.slide_ms for number in range(min(second, MOST_WINDOWS)))
    return [(one, wrapped(one + plan.size_ms)) for one in starts]
