"""Writes the changes of one operator's state as facts (table ``state_changes``)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Protocol, runtime_checkable

from flowsim.errors import ValueNotAllowed
from flowsim.facts.kinds import StateAction
from flowsim.facts.tracer import TaskTrace

NO_VALUE: Final = object()
"""Of a change that leaves no value to be shown."""


class DescribedKeys(Protocol):
    """Knows keys as fact tables hold them, and describes new ones."""

    def of(self, key: object, key_id: object, /) -> tuple[int, int]: ...


@runtime_checkable
class Interval(Protocol):
    """A namespace with bounds in ms: a window."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


class StateChanges:
    """Writes one row per change; what changes nothing is no fact."""

    __slots__ = ("_trace", "_operator", "_keys", "_numbers")

    def __init__(self, trace: TaskTrace, operator: int, keys: DescribedKeys) -> None:
        self._trace = trace
        self._operator = operator
        self._keys = keys
        self._numbers: dict[str, int] = {}

    def describe(self, name: str, kind: str) -> int:
        """The number of a state, which is described to the recording the first time."""
        return self._trace.state_number(self._operator, name, kind)

    def describe_state(self, name: str, kind: str) -> int:
        """As ``describe``, of a state that has a descriptor."""
        number = self._numbers[name] = self.describe(name, kind)
        return number

    def number_of(self, name: str) -> int:
        """The number of a state that has a descriptor."""
        return self._numbers[name]

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
        """``value``: what the fingerprint is of."""
        key_hash, key_number = self._keys.of(key, key_id)
        window = (namespace.start, namespace.end) if isinstance(namespace, Interval) else (0, 0)
        self._trace.state_change(
            self._operator, key_hash, key_number, state, action, entries, self._fingerprint(value), window
        )

    def _fingerprint(self, value: object) -> int:
        if value is NO_VALUE or value is None:
            return 0
        try:
            return self._trace.fingerprint(None, value)
        except ValueNotAllowed:
            # The accumulator of a window may be any object.
            return 0
