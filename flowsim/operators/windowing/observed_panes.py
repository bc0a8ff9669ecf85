"""Records every change of window contents (table ``state_changes``)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from flowsim.facts.kinds import StateAction
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.windowing.evictors import TimestampedValue
from flowsim.operators.windowing.pane_store import KeyId, PaneStore
from flowsim.operators.windowing.window_contents import Pane
from flowsim.operators.windowing.window_observer import RecordedPane
from flowsim.operators.windowing.windows import Window
from flowsim.state.state_changes import NO_VALUE, StateChanges

_NAME: Final = "window-contents"
"""The name that Flink gives to this state."""


class ObservedPaneStore(PaneStore):
    """Wraps another pane store and records its changes."""

    __slots__ = ("_panes", "_changes", "_operator", "_keeps_records", "_state")

    def __init__(self, panes: PaneStore, changes: StateChanges, operator: KeyedOperator, keeps_records: bool) -> None:
        super().__init__(panes.contents)
        self.by_window = panes.by_window
        self._panes = panes
        self._changes = changes
        self._operator = operator
        self._keeps_records = keeps_records
        self._state = changes.describe(_NAME, "window_records" if keeps_records else "window_value")

    def get(self, window: Window, key_id: KeyId) -> Pane | None:
        return self._panes.get(window, key_id)

    def add(self, window: Window, key_id: KeyId, value: object) -> None:
        before = self._entries(window, key_id)
        self._panes.add(window, key_id, value)
        if not self._keeps_records:
            self._record(window, key_id, StateAction.ADD, self._content(window, key_id))
        elif self._entries(window, key_id) != before:
            self._record(window, key_id, StateAction.ADD, value)

    def remove(self, window: Window, key_id: KeyId) -> Pane | None:
        pane = self._panes.remove(window, key_id)
        if pane is not None:
            self._record(window, key_id, StateAction.CLEAR)
        return pane

    def purge(self, window: Window, key_id: KeyId) -> None:
        before = self._panes.get(window, key_id)
        self._panes.purge(window, key_id)
        if before is not None and self._panes.get(window, key_id) is None:
            self._record(window, key_id, StateAction.CLEAR)

    def replace(self, window: Window, key_id: KeyId, pane: Pane) -> None:
        self._panes.replace(window, key_id, pane)
        self._record(window, key_id, StateAction.PUT, self._content(window, key_id))

    def merge(self, target: Window, sources: Collection[Window], key_id: KeyId) -> None:
        present = [window for window in sources if self._panes.get(window, key_id) is not None]
        self._panes.merge(target, sources, key_id)
        for window in present:
            if window != target:
                self._record(window, key_id, StateAction.CLEAR)
        if present:
            self._record(target, key_id, StateAction.PUT, self._content(target, key_id))

    def _record(self, window: Window, key_id: KeyId, action: StateAction, value: object = NO_VALUE) -> None:
        key, entries = self._operator.current_key, self._entries(window, key_id)
        self._changes.record(self._state, window, key, key_id, action, entries, value)

    def _content(self, window: Window, key_id: KeyId) -> object:
        pane = self._panes.get(window, key_id)
        content = pane.pane if isinstance(pane, RecordedPane) else pane
        if isinstance(content, list) and self._keeps_records:
            return [element.value if isinstance(element, TimestampedValue) else element for element in content]
        return content

    def _entries(self, window: Window, key_id: KeyId) -> int:
        content = self._content(window, key_id)
        if isinstance(content, list) and self._keeps_records:
            return len(content)
        return 0 if content is None else 1
