"""The contents of a window operator, by window and key. Flink: WindowOperator's windowState."""

from __future__ import annotations

from collections.abc import Collection

from mypy_extensions import mypyc_attr

from flowsim.operators.windowing.window_contents import Pane, WindowContents
from flowsim.operators.windowing.windows import Window, check_window

KeyId = object
"""The identity of a key: ``values.state_key`` of the key."""


@mypyc_attr(allow_interpreted_subclasses=True)
class PaneStore:
    """The panes (contents of a window and key) of one operator; ``contents`` creates, extends and merges them.

    With merging windows, a pane is stored under the state window (rule 10.27).
    """

    __slots__ = ("contents", "by_window")

    by_window: dict[Window, dict[KeyId, Pane]]
    """The panes by window; contains only windows that have panes."""

    def __init__(self, contents: WindowContents) -> None:
        self.contents = contents
        self.by_window = {}

    def get(self, window: Window, key_id: KeyId) -> Pane | None:
        panes = self.by_window.get(window)
        return None if panes is None else panes.get(key_id)

    def add(self, window: Window, key_id: KeyId, value: object) -> None:
        """Adds a record to the pane, and creates it with the first record."""
        panes = self.by_window.get(window)
        if panes is None:
            panes = self.by_window[window] = {}
        pane = panes.get(key_id)
        if pane is None:
            check_window(window)
            panes[key_id] = self.contents.create(value)
        else:
            panes[key_id] = self.contents.add(value, pane)

    def remove(self, window: Window, key_id: KeyId) -> Pane | None:
        """Removes and returns the pane, or returns None if there is none."""
        panes = self.by_window.get(window)
        if panes is None:
            return None
        pane = panes.pop(key_id, None)
        if not panes:
            del self.by_window[window]
        return pane

    def purge(self, window: Window, key_id: KeyId) -> None:
        """Removes the contents of a window that stays active."""
        self.remove(window, key_id)

    def replace(self, window: Window, key_id: KeyId, pane: Pane) -> None:
        """Stores a changed pane again."""
        self.by_window[window][key_id] = pane

    def merge(self, target: Window, sources: Collection[Window], key_id: KeyId) -> None:
        """Moves the panes of the sources into the pane of the target (rule 10.26)."""
        merged: Pane | None = None
        for source in sources:
            pane = self.remove(source, key_id)
            if pane is not None:
                merged = pane if merged is None else self.contents.merge(merged, pane)
        if merged is not None:
            panes = self.by_window.setdefault(target, {})
            present = panes.get(key_id)
            panes[key_id] = merged if present is None else self.contents.merge(present, merged)
