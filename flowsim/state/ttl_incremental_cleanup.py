"""Removes expired values a few keys at a time. Flink: TtlIncrementalCleanup."""

from __future__ import annotations

from functools import partial
from typing import Any

from flowsim.state.copy_on_write_state_map import StateMapEntry
from flowsim.state.state_observer import StateObserver
from flowsim.state.state_table import IncrementalVisitor, StateTable
from flowsim.state.state_ttl_config import IncrementalCleanupStrategy
from flowsim.state.ttl_decorator import Clean


class TtlIncrementalCleanup:
    """Checks the next few keys at every access and removes expired values. Flink: TtlIncrementalCleanup."""

    __slots__ = ("_clean", "_name", "_observer", "_size", "_table", "_visitor")

    def __init__(
        self,
        name: str,
        table: StateTable,
        strategy: IncrementalCleanupStrategy,
        clean: Clean,
        observer: StateObserver[Any] | None,
    ) -> None:
        self._name = name
        self._table = table
        self._size = strategy.cleanup_size
        self._clean = clean
        self._observer = observer
        self._visitor: IncrementalVisitor | None = None

    def state_accessed(self) -> None:
        if self._visitor is None or not self._visitor.has_next():
            self._visitor = self._table.visitor(self._name, self._size)
        looked_at = 0
        while looked_at < self._size and self._visitor.has_next() and (entries := self._visitor.next_entries()):
            for entry in entries:
                content = self._visitor.content_of(entry)
                left = None if content is None else self._clean(content)
                if left is not None and left is content:
                    continue
                if self._observer is None:
                    _keep(self._visitor, entry, left)
                else:
                    change = partial(_keep, self._visitor, entry, left)
                    self._observer.clean_up(change, entry.key, (entry.key_id, entry.namespace))
            looked_at += len(entries)


def _keep(visitor: IncrementalVisitor, entry: StateMapEntry, left: object) -> None:
    """Keeps what is left of a cell; None removes it."""
    if left is None:
        visitor.remove(entry)
    else:
        visitor.update(entry, left)
