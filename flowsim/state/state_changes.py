"""Writes the changes of one operator's state as facts (table ``state_changes``)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Protocol, runtime_checkable

from flowsim.errors import ValueNotAllowed
from flowsim.facts.kinds import StateAction
from flowsim.facts.tracer import TaskTrace

NO_VALUE: Final = object()
"""The value of a change without a value; its fingerprint is 0."""


class DescribedKeys(Protocol):
    """Returns the ``(key_hash, key)`` of fact tables for a key, and describes new keys."""

    def of(self, key: object, key_id: object, /) -> tuple[int, int]: ...


class NoKeys:
    """The keys of a state without keys."""

    __slots__ = ()

    def of(self, key: object, key_id: object) -> tuple[int, int]:
        return 0, 0


@runtime_checkable
class Interval(Protocol):
    """A namespace with bounds in ms: a window."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


class StateChanges:
    """Writes one row per change; calls without a change are not recorded.

    For states without keys, ``keys`` is a ``NoKeys``.
    """

    __slots__ = ("_trace", "_operator", "_keys")

    def __init__(self, trace: TaskTrace, operator: int, keys: DescribedKeys) -> None:
        self._trace = trace
        self._operator = operator
        self._keys = keys

    def describe(self, name: str, kind: str) -> int:
        """Returns the number of a state; adds the state to table ``states`` on first use."""
        return self._trace.state_number(self._operator, name, kind)

    def record(
        self,
        state: int,
        namespace: Hashable,
        key: object,
        key_id: object,
        action: StateAction,
        entries: int,
        value: object = NO_VALUE,
    ) -> None:
        """Records one change; the fingerprint is computed from ``value``."""
        key_hash, key_number = self._keys.of(key, key_id)
        # Without the first test, the check of the protocol takes most of the time of a record without a window.
        window = (0, 0)
        if namespace is not None and isinstance(namespace, Interval):
            window = namespace.start, namespace.end
        self._trace.state_change(
            self._operator, key_hash, key_number, state, action, entries, self._fingerprint(value), window
        )

    def _fingerprint(self, value: object) -> int:
        if value is NO_VALUE or value is None:
            return 0
        try:
            return self._trace.fingerprint(None, value)
        except ValueNotAllowed:
            # The accumulator of a window may be no record value.
            return 0
