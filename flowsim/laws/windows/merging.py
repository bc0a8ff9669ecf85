"""The windows of a merging assigner (rules 10.25, 10.26)."""

from __future__ import annotations

from collections.abc import Collection

from flowsim.laws.windows.panes import PaneId


class MergingWindows:
    """The windows of each key; no two of them overlap or touch."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[int, dict[PaneId, bool]] = {}
        """Whether the contents of each window are its own, not those of windows merged into it."""

    def __contains__(self, pane: PaneId) -> bool:
        return pane in self._of.get(pane[0], ())

    def of(self, key: int) -> Collection[PaneId]:
        return self._of.get(key, ())

    def unite(self, new: PaneId) -> tuple[PaneId, list[PaneId], bool]:
        """Adds a window and merges it with all windows that overlap or touch it.

        Returns the result, the merged windows, and whether the contents start empty: Flink treats an assigned window
        that equals a merged one as new, and abandons the contents of its members.
        """
        key, start, end = new
        known = self._of.setdefault(key, {})
        met = [pane for pane in known if pane[1] <= end and start <= pane[2]]
        if not met:
            known[new] = True
            return new, met, False
        whole = (key, min(start, *(pane[1] for pane in met)), max(end, *(pane[2] for pane in met)))
        if met == [whole]:
            anew = new == whole and not known[whole]
            if anew:
                known[whole] = True
            return whole, [], anew
        for pane in met:
            del known[pane]
        known[whole] = False
        return whole, sorted(met), False

    def forget(self, pane: PaneId) -> None:
        known = self._of.get(pane[0])
        if known is not None:
            known.pop(pane, None)
            if not known:
                del self._of[pane[0]]
