"""The active windows of a key and the location of their contents. Flink: MergingWindowSet (rule 10.25)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.windowing.assigners.window_assigner import AnyMergingWindowAssigner
from flowsim.operators.windowing.windows import Window
from flowsim.values.java_hash_map import JavaHashMap


class MergingSetState(Protocol):
    """Stores the window set of one key between records, as pairs (window, state window).

    A Protocol, because the merging windows, which implement it, own the sets. Flink: ListState.
    """

    def get(self) -> Iterable[tuple[Window, Window]] | None: ...

    def update(self, pairs: list[tuple[Window, Window]], /) -> None: ...


class MergeFunction(Protocol):
    """A function that is called for a merge, before the set is used again. Flink: MergingWindowSet.MergeFunction."""

    def __call__(
        self,
        merge_result: Window,
        merged_windows: Collection[Window],
        state_window_result: Window,
        merged_state_windows: Collection[Window],
        /,
    ) -> None: ...


class MergingWindowSet:
    """The windows of one key, each with its *state window*: the window under which its contents are stored.

    The contents stay under the state window when a window grows; only merged contents move. The order of Java's hash
    sets decides which of several merged windows keeps its contents. Flink: MergingWindowSet.
    """

    __slots__ = ("_assigner", "_state", "_mapping", "_initial_mapping")

    def __init__(self, assigner: AnyMergingWindowAssigner, state: MergingSetState) -> None:
        self._assigner = assigner
        self._state = state
        self._mapping: JavaHashMap[Window, Window] = JavaHashMap(_java_hash)
        for window, state_window in state.get() or ():
            self._mapping.put(window, state_window)
        self._initial_mapping = self._mapping.as_dict()

    def persist(self) -> None:
        """Writes the set to its state if the set has changed."""
        if self._mapping.as_dict() != self._initial_mapping:
            self._state.update(self._mapping.items())

    def windows(self) -> list[Window]:
        """Returns the active windows, in the order of Java's hash set."""
        return list(self._mapping)

    def state_window(self, window: Window) -> Window | None:
        """Returns the state window of ``window``; None if ``window`` is not active."""
        return self._mapping.get(window)

    def retire_window(self, window: Window) -> None:
        """Removes ``window``. Raises InvariantViolation if it is not active."""
        if self._mapping.remove(window) is None:
            raise InvariantViolation(f"{window} is not in the set of windows in flight")

    def add_window(self, new_window: Window, merge_function: MergeFunction) -> Window:
        """Adds a window and returns its current window: itself, or the result of a merge.

        A window equal to an active one counts as new: from then on its contents are looked up under the window itself,
        even if they are stored under another window, and are not found (rule 10.25). Raises BadInput if the assigner
        merges windows that are not active.
        """
        merges = _Merges()
        self._assigner.merge_windows([*self._mapping, new_window], merges)
        result = new_window
        merged_new_window = False
        for merge_result, merged in merges.by_result.items():
            if new_window in merged:
                merged.remove(new_window)
                merged_new_window = True
                result = merge_result
            self._merge(merge_result, merged, merge_function)
        if not merges.by_result or (result == new_window and not merged_new_window):
            self._mapping.put(result, result)
        return result

    def _merge(self, merge_result: Window, merged: list[Window], merge_function: MergeFunction) -> None:
        state_window = self._mapping.get(merged[0]) if merged else None
        if state_window is None:
            raise BadInput(
                f"{type(self._assigner).__name__}.merge_windows: expected windows in flight to be merged into "
                f"{merge_result}, got {merged}"
            )
        state_windows = [state for window in merged if (state := self._mapping.remove(window)) is not None]
        self._mapping.put(merge_result, state_window)
        state_windows.remove(state_window)
        # A new window inside an old one has no effect.
        if merged != [merge_result]:
            merge_function(merge_result, merged, state_window, state_windows)


class _Merges:
    """Collects the merges of an assigner."""

    __slots__ = ("by_result",)

    def __init__(self) -> None:
        self.by_result: JavaHashMap[Window, list[Window]] = JavaHashMap(_java_hash)

    def merge(self, to_be_merged: Collection[Window], merge_result: Window) -> None:
        self.by_result.put(merge_result, list(to_be_merged))


def _java_hash(window: Window) -> int:
    return window.java_hash()
