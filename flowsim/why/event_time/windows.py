"""The windows of records, as their operator assigns them."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.laws.windows.plan import GLOBAL, WindowPlan
from flowsim.values.java_long import wrapped
from flowsim.why.run_facts import Ints, Row

Window = tuple[int, int]
"""Start and end in ms."""


MOST_WINDOWS: Final = 1000
"""So many windows of one record are computed."""


def windows_of(plan: WindowPlan, intake: Row) -> list[Window]:
    """The newest windows of a record, the newest first; of a session the window before it merges (rules 10.1 to 10.6)."""
    columns = (np.array([intake.get(name, 0)], dtype=np.int64) for name in ("timestamp", "time_ns", "gap"))
    count, start, end = (int(column[0]) for column in newest_windows(plan, *columns))
    return [(start - number * plan.slide_ms, wrapped(end - number * plan.slide_ms)) for number in range(count)]


def newest_windows(plan: WindowPlan, timestamp: Ints, time_ns: Ints, gap: Ints) -> tuple[Ints, Ints, Ints]:
    """Per record the number of its windows, and the start and end of the newest; each older one starts a slide earlier."""
    starts, second = (column.astype(np.int64) for column in plan.assign(timestamp, time_ns, gap))
    one: Ints = np.ones(len(timestamp), dtype=np.int64)
    if plan.shape == "global":
        return one, one * GLOBAL[0], one * GLOBAL[1]
    if plan.merging:
        return one, starts, second
    return np.minimum(second, MOST_WINDOWS), starts, starts + plan.size_ms
