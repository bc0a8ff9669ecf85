"""The queue of one subpartition, from its sender's facts (rules 5.18, 5.22, 5.23, 5.26, 5.28)."""

from __future__ import annotations

from collections import deque
from typing import Final

from flowsim.facts.kinds import BufferKind

_DATA: Final = int(BufferKind.DATA)
_EVENT: Final = int(BufferKind.EVENT)
_PRIORITY: Final = int(BufferKind.PRIORITY_EVENT)


class SubpartitionQueue:
    """The kinds of its entries, and whether a flush was requested and not polled yet.

    ``has_barriers``: an event may be a barrier, which blocks the subpartition until the receiver resumes it (rule 5.27).
    """

    __slots__ = (
        "_data",
        "_entries",
        "_has_barriers",
        "_is_flushed",
        "_may_be_blocked",
        "_priority",
        "_queued",
        "_sent",
    )

    def __init__(self, has_barriers: bool = False) -> None:
        self._has_barriers = has_barriers
        self._may_be_blocked = False
        """From an event until the receiver resumes the channel, or data or another event is sent. A priority event neither
        blocks nor resumes.
        """
        self._queued = self._sent = 0
        self._entries: deque[tuple[int, int]] = deque()
        """Kind and number of each buffer and event."""
        self._priority = 0
        """The number of priority events, which are the first entries."""
        self._data = 0
        """Data buffers in the queue."""
        self._is_flushed = False

    def add(self, number: int, kind: int, backlog: int) -> str:
        """A buffer or event is queued; returns the error, or ''."""
        in_order = number == self._queued
        self._queued += 1
        if kind == _PRIORITY:
            self._entries.insert(self._priority, (kind, number))
            self._priority += 1
        else:
            self._entries.append((kind, number))
        self._data += kind == _DATA
        if not in_order:
            return "queued out of order"
        return "" if backlog == self._data else "queued with a wrong backlog"

    def prioritize(self, number: int, backlog: int) -> str:
        """A queued event overtakes the data before it."""
        if (_EVENT, number) not in self._entries:
            return "prioritized, but is no event in the queue"
        self._entries.remove((_EVENT, number))
        self._entries.insert(self._priority, (_PRIORITY, number))
        self._priority += 1
        return "" if backlog == self._data else "prioritized with a wrong backlog"

    def flush(self, backlog: int) -> str:
        """A flush takes effect."""
        had_effect = bool(self._entries) and not self._is_flushed
        self._is_flushed = True
        if not had_effect:
            return "flushed without effect"
        return "" if backlog == self._data else "flushed with a wrong backlog"

    def skip(self, kind: int, backlog: int, ends: bool) -> str:
        """An empty rest of a data buffer is polled; with ``ends`` it leaves the queue."""
        if kind != _DATA or not self._poll(kind, ends):
            return "skipped, but is not the next in the queue"
        return "" if backlog == self._data else "skipped with a wrong backlog"

    def send(self, number: int, kind: int, backlog: int, ends: bool) -> str:
        """A buffer, part of one (without ``ends``), or an event is sent."""
        in_order = number == self._sent
        self._sent += 1
        is_next = self._poll(kind, ends)
        if kind != _PRIORITY:
            self._may_be_blocked = self._has_barriers and kind == _EVENT
        if not in_order:
            return "a buffer leaves the queue in the wrong order"
        if not is_next:
            return "a buffer leaves that is not the next in the queue"
        is_right = backlog == self.reported or (self._may_be_blocked and backlog == 0)
        return "" if is_right else "carries a wrong backlog"

    def resume(self) -> None:
        """The receiver resumes the channel after a barrier."""
        self._may_be_blocked = False

    def _poll(self, kind: int, ends: bool) -> bool:
        """Whether the head of the queue matches; a buffer being filled must be the only entry."""
        entries = self._entries
        if not entries or entries[0][0] != kind or not (ends or len(entries) == 1):
            return False
        if len(entries) == 1:
            self._is_flushed = False
        if ends:
            entries.popleft()
            self._data -= kind == _DATA
            self._priority -= kind == _PRIORITY
        return True

    @property
    def reported(self) -> int:
        """Rule 5.26: a data buffer at the tail waits for a flush."""
        waits = bool(self._entries) and self._entries[-1][0] == _DATA and not self._is_flushed
        return self._data - waits

    def is_readable(self, has_credit: bool) -> bool:
        """Whether something can be sent: an event, or with a credit finished or flushed data (rules 5.20, 5.29)."""
        entries = self._entries
        if self._may_be_blocked:
            return False
        return bool(entries) and (entries[0][0] != _DATA or (has_credit and (self._is_flushed or len(entries) > 1)))

    @property
    def is_empty(self) -> bool:
        return not self._entries
