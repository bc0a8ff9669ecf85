"""The stored form of windows, their contents, and the windows that may merge. Flink: WindowOperator, TimeWindow.Serializer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Final

from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.operators.windowing.assigners.count_windows import CountWindow
from flowsim.operators.windowing.evictors import TimestampedValue
from flowsim.operators.windowing.merging_windows import MergingWindows, Pairs
from flowsim.operators.windowing.pane_store import PaneStore
from flowsim.operators.windowing.window_contents import Pane
from flowsim.operators.windowing.window_observer import RecordedContents, RecordedPane
from flowsim.operators.windowing.windows import GLOBAL_WINDOW, GlobalWindow, TimeWindow, Window
from flowsim.state.keyed_state import KeyedStateBackend
from flowsim.state.snapshots.deferred_key_groups import CopiedCells
from flowsim.state.snapshots.stored_streams import StoredCell
from flowsim.timers.key_groups import KeyGroups
from flowsim.values.closed_set import checked_copy
from flowsim.values.keys import key_of_state_key, state_key

_CONTENTS: Final = "window-contents"
_MERGING: Final = "merging-window-set"
_SUMMARY: Final = "flowsim-window-summary"
"""The recorded summary of contents (table ``window_fire``); only in checkpoints of recorded runs."""

_Contents = tuple[object, list[object], list[object]]
"""A window in its plain form, the identities of its keys, and the contents of each."""


def stored_namespace(namespace: object) -> object:
    """Returns the plain form of a namespace: a time window is (start, end), a count window (id,), the global window ().

    Raises BadInput for a window class of the user.

    >>> stored_namespace(TimeWindow(0, 10))
    (0, 10)
    """
    if namespace is None or isinstance(namespace, str):
        return namespace
    if type(namespace) is TimeWindow:
        return (namespace.start, namespace.end)
    if isinstance(namespace, CountWindow):
        return (namespace.id,)
    if isinstance(namespace, GlobalWindow):
        return ()
    raise BadInput(
        f"a checkpoint cannot store the namespace {namespace!r:.60} of class {type(namespace).__name__}: use TimeWindow "
        "or GlobalWindow"
    )


def restored_namespace(stored: object) -> Hashable:
    """Returns the namespace of a stored form."""
    if isinstance(stored, tuple):
        windows: dict[int, Callable[..., Hashable]] = {0: lambda: GLOBAL_WINDOW, 1: CountWindow, 2: TimeWindow}
        return windows[len(stored)](*stored)
    return stored  # None or a str


def window_cells(key_groups: KeyGroups, panes: PaneStore, merging: MergingWindows | None) -> CopiedCells:
    """Returns plain copies of all window contents and merging sets. Raises ValueNotAllowed and BadInput."""
    contents: list[_Contents] = []
    summaries: dict[tuple[object, object], object] = {}
    for window, panes_of_window in panes.by_window.items():
        stored = stored_namespace(window)
        plain = [_plain(pane) for pane in panes_of_window.values()]
        contents.append((stored, list(panes_of_window), _checked_copies(plain)))
        if isinstance(panes.contents, RecordedContents):
            for key_id, pane in panes_of_window.items():
                if isinstance(pane, RecordedPane):
                    summaries[stored, key_id] = (pane.rows, pane.fingerprint_sum, pane.fingerprint_xor)
    sets: dict[object, object] = {}
    if merging is not None:
        for key_id, pairs in merging.pairs.items():
            sets[key_id] = [(stored_namespace(window), stored_namespace(of_state)) for window, of_state in pairs]
    used = ((_CONTENTS, contents), (_SUMMARY, summaries), (_MERGING, sets))
    names = [name for name, copies in used if copies]
    return CopiedCells(names, partial(_rows, key_groups, contents, summaries, sets))


def _rows(
    key_groups: KeyGroups,
    contents: list[_Contents],
    summaries: dict[tuple[object, object], object],
    sets: dict[object, object],
) -> Iterator[tuple[int, StoredCell]]:
    keys = _Keys(key_groups)
    for window, key_ids, copies in contents:
        for key_id, content in zip(key_ids, copies, strict=True):
            group, key = keys.of(key_id)
            yield group, StoredCell(_CONTENTS, window, key, content)
            if (window, key_id) in summaries:
                yield group, StoredCell(_SUMMARY, window, key, summaries[window, key_id])
    for key_id, pairs in sets.items():
        group, key = keys.of(key_id)
        yield group, StoredCell(_MERGING, None, key, pairs)


def restore_windows(
    state: KeyedStateBackend,
    panes: PaneStore,
    merging: MergingWindows | None,
    *,
    is_recorded: bool,
    is_evicting: bool,
) -> None:
    """Takes the restored window contents and merging sets from the operator's keyed state."""
    summaries = {(cell.namespace, state_key(cell.key)): cell.content for _, cell in state.claim_restored(_SUMMARY)}
    for _, cell in state.claim_restored(_CONTENTS):
        window: Window = cell.namespace  # type: ignore[assignment]  # as window_cells stored it
        key_id = state_key(cell.key)
        pane: Pane = cell.content
        if is_evicting:
            pane = [TimestampedValue(value, timestamp) for value, timestamp in pane]  # type: ignore[attr-defined]
        elif is_recorded:
            pane = _recorded_pane(pane, summaries.get((window, key_id)))
        panes.by_window.setdefault(window, {})[key_id] = pane
    for _, cell in state.claim_restored(_MERGING):
        if merging is not None:
            pairs: Pairs = [
                (restored_namespace(window), restored_namespace(state_window))  # type: ignore[misc]
                for window, state_window in cell.content  # type: ignore[attr-defined]
            ]
            merging.pairs[state_key(cell.key)] = pairs


def _checked_copies(contents: list[object]) -> list[object]:
    """Returns copies of the contents of a window. Raises ValueNotAllowed."""
    try:
        copies = checked_copy(contents)  # All at once: a call for each would take more time than everything else.
        if isinstance(copies, list):
            return copies
    except ValueNotAllowed:
        pass  # In the list, a content is nested one level deeper.
    try:
        return [checked_copy(content) for content in contents]
    except ValueNotAllowed as refused:
        raise ValueNotAllowed(f"window contents cannot be stored in a checkpoint: {refused}") from None


def _plain(pane: Pane) -> object:
    content = pane.pane if isinstance(pane, RecordedPane) else pane
    if isinstance(content, list) and content and isinstance(content[0], TimestampedValue):
        return [(element.value, element.timestamp) for element in content]
    return content


def _recorded_pane(pane: Pane, summary: object) -> RecordedPane:
    recorded = RecordedPane(pane, 0)
    if summary is not None:
        recorded.rows, recorded.fingerprint_sum, recorded.fingerprint_xor = summary  # type: ignore[misc]
    return recorded


class _Keys:
    """The key and key group of the identity of a key; timers have the keys themselves."""

    __slots__ = ("_key_groups", "_keys")

    def __init__(self, key_groups: KeyGroups) -> None:
        self._key_groups = key_groups
        self._keys: dict[object, tuple[int, object]] = {}

    def of(self, key_id: object) -> tuple[int, object]:
        group_and_key = self._keys.get(key_id)
        if group_and_key is None:
            key = key_of_state_key(key_id)
            group_and_key = self._keys[key_id] = (self._key_groups.of(key), key)
        return group_and_key
