"""Windows that merge beside the real MergingWindowSet and TimeWindow.mergeWindows, in the order of Java's sets (rule 10.25)."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import InvariantViolation
from flowsim.operators.windowing.assigners.session_windows import EventTimeSessionWindows
from flowsim.operators.windowing.merging_window_set import MergingWindowSet
from flowsim.operators.windowing.windows import TimeWindow, Window
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.flink.machine import Differential
from tests.support.operators.scripted_context import written

starts = st.one_of(st.integers(0, 60), st.integers(0, 400), st.integers(-30, 30), st.integers(-(2**40), 2**40))
lengths = st.one_of(st.integers(1, 6), st.integers(1, 6), st.integers(1, 60))
windows = st.builds(lambda start, length: TimeWindow(start, start + length), starts, lengths)
odd_windows = st.builds(TimeWindow, st.sampled_from([NO_TIMESTAMP, -1, 0, MAX_WATERMARK]), st.integers(-9, 9))


class Kept:
    """The list of one key, which outlives the set."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Window, Window]] = []
        self.written = 0

    def get(self) -> list[tuple[Window, Window]]:
        return self.pairs

    def update(self, pairs: list[tuple[Window, Window]]) -> None:
        self.pairs = list(pairs)
        self.written += 1


def all_written(windows: Collection[Window]) -> str:
    return f"[{','.join(map(written, windows))}]"


class Played:
    """Our set under commands; ``script`` is what the real one is to hear."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.set = MergingWindowSet(EventTimeSessionWindows(1), self.kept)
        self.script: list[str] = []
        self.answers: list[str] = []
        self.said = ""

    def play(self, name: str, window: TimeWindow, other: TimeWindow, place: int) -> None:
        in_flight = self.set.windows()
        if name in ("retire", "where", "equal") and in_flight and place < 60:
            chosen = in_flight[place % len(in_flight)]
            assert isinstance(chosen, TimeWindow)
            window = chosen
        name = "add" if name == "equal" else name
        line = {"keep": f"keep {written(window)} {written(other)}", "again": "again", "persist": "persist"}
        self.script.append(line.get(name, f"{name} {written(window)}"))
        self.said = ""
        match name:
            case "keep":
                self.kept.pairs.append((window, other))
            case "again":
                self.set = MergingWindowSet(EventTimeSessionWindows(1), self.kept)
            case "persist":
                self.set.persist()
                pairs = "".join(f" {written(window)}>{written(state)}" for window, state in self.kept.pairs)
                self.said = f"{self.kept.written}{pairs}"
            case "retire":
                self.retire(window)
            case "where":
                found = self.set.state_window(window)
                self.said = "none" if found is None else written(found)
            case _:
                actual = self.set.add_window(window, self.merged)
                state_window = self.set.state_window(actual)
                assert state_window is not None
                self.said += f"{written(actual)} {written(state_window)}"
        self.answers.append(self.said)

    def retire(self, window: TimeWindow) -> None:
        try:
            self.set.retire_window(window)
        except InvariantViolation:
            self.said = "!IllegalStateException"

    def merged(self, result: Window, merged: Collection[Window], state: Window, states: Collection[Window]) -> None:
        self.said += f"{written(result)}{all_written(merged)}{written(state)}{all_written(states)} "


commands = st.tuples(
    st.sampled_from(["add"] * 8 + ["retire", "where", "equal", "persist", "again"]),
    windows,
    windows,
    st.integers(0, 70),
)


def test_merging_and_state_windows_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.MergingSets

    @differential.settings(60)
    @given(st.lists(st.tuples(windows, windows), max_size=20), st.lists(commands, min_size=10, max_size=60))
    def compare(
        kept: list[tuple[TimeWindow, TimeWindow]], script: list[tuple[str, TimeWindow, TimeWindow, int]]
    ) -> None:
        played = Played()
        for window, state_window in kept:
            played.play("keep", window, state_window, 0)
        played.play("again", *kept[0] if kept else (TimeWindow(0, 1), TimeWindow(0, 1)), 0)
        for command in script:
            played.play(*command)
        theirs = real.run("\n".join(played.script)).split("\n")
        with differential.comparing("MergingWindowSet", commands=len(played.script)):
            assert played.answers == theirs

    compare()


def test_merged_time_windows_equal_flinks_in_order(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.MergingSets
    some = st.lists(st.one_of(windows, windows, windows, odd_windows), min_size=1, max_size=60)

    @differential.settings(60)
    @given(st.lists(some, min_size=1, max_size=12))
    def compare(lines: list[list[TimeWindow]]) -> None:
        theirs = real.merges("\n".join(" ".join(map(written, line)) for line in lines)).split("\n")
        with differential.comparing("TimeWindow.mergeWindows", commands=len(lines)):
            for line, answer in zip(lines, theirs, strict=True):
                recorded = RecordedMerges()
                TimeWindow.merge_windows(line, recorded)
                assert " ".join(recorded.merges) == answer

    compare()


class RecordedMerges:
    """Notes every merge."""

    def __init__(self) -> None:
        self.merges: list[str] = []

    def merge(self, to_be_merged: Collection[Window], merge_result: Window) -> None:
        self.merges.append(f"{written(merge_result)}{all_written(to_be_merged)}")
