"""One timer of one key. Flink: InternalTimer, TimerHeapInternalTimer (rule 9.1)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

N = TypeVar("N", bound=Hashable)

NOT_IN_QUEUE: Final = -1


class InternalTimer(Generic[N]):
    """A callback at ``timestamp`` (ms) for a key and a namespace (a window, or None). Flink: InternalTimer.

    ``key_id`` identifies the key (``values.state_key``): 1, True and 1.0 are three keys. Two timers are the same timer
    exactly if their ``identity`` is equal (rule 9.1). ``index`` is the timer's position in its queue, maintained by the
    queue.
    """

    __slots__ = ("timestamp", "key", "key_id", "namespace", "identity", "index")

    def __init__(self, timestamp: int, key: object, key_id: object, namespace: N) -> None:
        self.timestamp: int = timestamp
        self.key: object = key
        self.key_id: object = key_id
        self.namespace: N = namespace
        self.identity: tuple[int, object, N] = (timestamp, key_id, namespace)
        self.index: int = NOT_IN_QUEUE

    def __repr__(self) -> str:
        return f"InternalTimer(timestamp={self.timestamp}, key={self.key!r}, namespace={self.namespace!r})"
