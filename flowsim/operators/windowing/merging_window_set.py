"""Which windows of a key are in flight and where their contents are. Flink: MergingWindowSet (rule 10.25)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from flowsim.errors import InvariantViolation
from flowsim.operators.windowing.assigners.window_assigner import MergingWindowAssigner
from flowsim.operators.windowing.window import Window


class MergingSetState(Protocol):
    """Where the set of one key is kept between records, as pairs (window, state window). Flink: ListState."""

    def get(self) -> Iterable[tuple[Window, Window]] | None: ...

    def update(self, pairs: list[tuple[Window, Window]], /) -> None: ...


class MergeFunction(Protocol):
    """Told of a merge, before the set is used again. Flink: MergingWindowSet.MergeFunction."""

    def __call__(
        self,
        merge_result: Window,
        merged_windows: Collection[Window],
        state_window_result: Window,
        merged_state_windows: Collection[Window],
        /,
    ) -> None: ...


class _Merges:
    """Collects what an assigner wants to merge."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: dict[Window, list[Window]] = {}

    def merge(self, to_be_merged: Collection[Window], merge_result: Window) -> None:
        self.found[merge_result] = list(to_be_merged)


class MergingWindowSet:
    """The windows of one key, each with its *state window*: the window under which its contents are kept.

    The contents stay where they are when a window grows; only what is merged into it moves. Flink: MergingWindowSet.
    """

    __slots__ = ("_assigner", "_state", "_mapping", "_initial_mapping")

    def __init__(self, assigner: MergingWindowAssigner, state: MergingSetState) -> None:
        self._assigner = assigner
        self._state = state
        self._mapping: dict[Window, Window] = dict(state.get() or ())
        self._initial_mapping = dict(self._mapping)

    def persist(self) -> None:
        """Writes the set back if it has changed."""
        if self._mapping != self._initial_mapping:
            self._state.update(list(self._mapping.items()))

    def state_window(self, window: Window) -> Window | None:
        """Where the contents of ``window`` are; None when it is not in flight (any more)."""
        return self._mapping.get(window)

    def retire_window(self, window: Window) -> None:
        """Forgets ``window``; raises InvariantViolation when it is not in flight."""
        if self._mapping.pop(window, None) is None:
            raise InvariantViolation(f"{window} is not in the set of windows in flight")

    def add_window(self, new_window: Window, merge_function: MergeFunction) -> Window:
        """Takes a window in and answers the one it ended up in: itself, or what it was merged into."""
        merges = _Merges()
        self._assigner.merge_windows([*self._mapping, new_window], merges)
        result = new_window
        merged_new_window = False
        for merge_result, merged in merges.found.items():
            if new_window in merged:
                merged.remove(new_window)
                merged_new_window = True
                result = merge_result
            state_window = self._mapping[merged[0]]
            state_windows = [self._mapping.pop(window) for window in merged if window in self._mapping]
            self._mapping[merge_result] = state_window
            state_windows.remove(state_window)
            # A new window inside an old one changes nothing.
            if merged != [merge_result]:
                merge_function(merge_result, merged, state_window, state_windows)
        if not merges.found or (result == new_window and not merged_new_window):
            self._mapping[result] = result
        return result
