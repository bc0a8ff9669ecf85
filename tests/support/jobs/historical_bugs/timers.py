"""Bugs of timers and of session windows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from flowsim.operators.windowing.merging_window_set import MergingWindowSet
from flowsim.operators.windowing.merging_windows import MergingWindows
from flowsim.operators.windowing.windows import Window
from tests.support.faults import Fault
from tests.support.jobs.historical_bugs.bug import Bug, replaced


def _add_late_records(self: MergingWindows, windows: Collection[Window], value: Any, timestamp: int | None) -> bool:
    operator = self._operator
    windows_of_key = MergingWindowSet(self._assigner, self)
    for window in windows:
        actual = windows_of_key.add_window(window, self._merge)
        operator.add_to_window(actual, windows_of_key.state_window(actual), value, timestamp)
    windows_of_key.persist()
    return False


def _add_and_keep_late_windows(
    self: MergingWindows, windows: Collection[Window], value: Any, timestamp: int | None
) -> bool:
    operator = self._operator
    windows_of_key = MergingWindowSet(self._assigner, self)
    all_late = True
    for window in windows:
        actual = windows_of_key.add_window(window, self._merge)
        if not operator.lifetime.is_window_late(actual, operator.timers.current_watermark):
            all_late = False
            operator.add_to_window(actual, windows_of_key.state_window(actual), value, timestamp)
    windows_of_key.persist()
    return all_late


BUGS_OF_TIMERS = (
    Bug(
        "FLINK-5713",
        "A session that is late after its merge is kept among the windows of its key.",
        replaced(MergingWindows, "add", _add_and_keep_late_windows),
    ),
    Bug(
        "FLINK-4134",
        "A late record makes a session, which fires and is never cleaned up.",
        replaced(MergingWindows, "add", _add_late_records),
    ),
    Bug(
        "FLINK-4651",
        "Restored processing-time timers are not registered: they fire when another timer is registered.",
        Fault("timers_not_armed_at_restore"),
    ),
    Bug("FLINK-19300", "A timer is lost at a restore.", Fault("timer_lost_at_restore")),
    Bug("FLINK-26063", "A timer fires under the key of another one.", Fault("timer_under_wrong_key"), is_cheap=True),
)
