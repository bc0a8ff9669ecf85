"""One timer of one key. Flink: InternalTimer, TimerHeapInternalTimer (rule 9.1)."""

from __future__ import annotations

from typing import Any, Final

from mypy_extensions import mypyc_attr

NOT_IN_QUEUE: Final = -1


@mypyc_attr(acyclic=True)
class InternalTimer:
    """A callback at ``timestamp`` (ms) for a key and a namespace (a window, or None). Flink: InternalTimer.

    ``key_id`` identifies the key (``values.state_key``): 1, True and 1.0 are three keys. Two timers are equal exactly if
    timestamp, key and namespace are equal (rule 9.1). ``index`` is the timer's position in its queue, and ``key_group`` the
    key group of its key: the queue sets both. Nothing in a timer refers to the timer, so Python's search for garbage need
    not know it.
    """

    __slots__ = ("timestamp", "key", "key_id", "namespace", "index", "key_group", "_hash")

    def __init__(self, timestamp: int, key: object, key_id: object, namespace: Any) -> None:
        self.timestamp: int = timestamp
        self.key: object = key
        self.key_id: object = key_id
        self.namespace: Any = namespace
        self.index: int = NOT_IN_QUEUE
        self.key_group: int = 0
        self._hash: int = hash((timestamp, key_id, namespace))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, InternalTimer)
            and self.timestamp == other.timestamp
            and bool(self.key_id == other.key_id)
            and bool(self.namespace == other.namespace)
        )

    def __repr__(self) -> str:
        return f"InternalTimer(timestamp={self.timestamp}, key={self.key!r}, namespace={self.namespace!r})"
