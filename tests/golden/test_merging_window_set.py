"""Windows in flight, their state windows and every merge equal those of the real MergingWindowSet (rule 10.25)."""

from __future__ import annotations

from collections.abc import Collection

from flowsim.operators.windowing.assigners.session_windows import EventTimeSessionWindows
from flowsim.operators.windowing.merging_window_set import MergingWindowSet
from flowsim.operators.windowing.windows import TimeWindow, Window
from tests.support.flink.golden import cases


class NothingKept:
    """The state of a key that has no windows yet."""

    def get(self) -> None:
        return None

    def update(self, pairs: list[tuple[Window, Window]]) -> None:
        raise AssertionError("nobody asked for the set to be written")


class RecordedMerges:
    """Notes every merge."""

    def __init__(self) -> None:
        self.merges: list[dict[str, object]] = []

    def __call__(self, result: Window, merged: Collection[Window], state: Window, states: Collection[Window]) -> None:
        recorded = {"result": listed(result), "merged": all_listed(merged), "state": listed(state)}
        self.merges.append({**recorded, "merged_states": all_listed(states)})


def listed(window: Window | None) -> list[int]:
    assert window is not None
    return [window.start, window.end]


def all_listed(windows: Collection[Window]) -> list[list[int]]:
    return sorted(map(listed, windows))


def test_every_command_equals_flinks() -> None:
    commands = merges = 0
    for case in cases("component/merging_window_set"):
        windows = MergingWindowSet(EventTimeSessionWindows(case["gap"]), NothingKept())
        for (name, bounds), expected in zip(case["cmds"], case["out"], strict=True):
            recorded = RecordedMerges()
            if name == "retire":
                windows.retire_window(TimeWindow(*bounds))
                answer: dict[str, object] = {}
            else:
                actual = windows.add_window(TimeWindow(*bounds), recorded)
                state_window = listed(windows.state_window(actual))
                answer = {"actual": listed(actual), "state_window": state_window, "merge": recorded.merges}
            assert answer == expected, case["seed"]
            commands += 1
            merges += len(recorded.merges)
        final = sorted([listed(window), listed(windows.state_window(window))] for window in windows.windows())
        assert final == case["final"], case["seed"]
    assert (commands, merges) == (6705, 2087)
