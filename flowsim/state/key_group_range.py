"""A contiguous range of key groups."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KeyGroupRange:
    """The key groups from ``start`` to ``end``, both inclusive; empty when ``end < start``. Flink: KeyGroupRange."""

    start: int
    end: int

    def __contains__(self, key_group: object) -> bool:
        return type(key_group) is int and self.start <= key_group <= self.end

    def __len__(self) -> int:
        return max(0, self.end - self.start + 1)

    def contains(self, key_group: int) -> bool:
        """Returns True if the key group belongs to this range."""
        return self.start <= key_group <= self.end

    @property
    def size(self) -> int:
        """Number of key groups."""
        return len(self)
