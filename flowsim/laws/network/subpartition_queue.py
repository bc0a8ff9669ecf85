"""The queue of one subpartition, from its sender's facts (rules 5.18, 5.22, 5.23, 5.26)."""

from __future__ import annotations

from collections import deque


class SubpartitionQueue:
    """Which of its entries are data, and whether a flush was requested and not polled yet.

    ``has_barriers``: an event may be a barrier, which blocks the subpartition until the receiver resumes it (rule 5.27).
    """

    __slots__ = ("_data", "_has_barriers", "_is_flushed", "_kinds", "_may_be_blocked", "_queued", "_sent")

    def __init__(self, has_barriers: bool = False) -> None:
        self._has_barriers = has_barriers
        self._may_be_blocked = False
        """From an event until something else is sent; when the receiver resumes the channel is not recorded."""
        self._queued = self._sent = 0
        self._kinds: deque[bool] = deque()
        """Per buffer and event whether it is data."""
        self._data = 0
        """Data buffers in the queue."""
        self._is_flushed = False

    def add(self, number: int, is_data: bool, backlog: int) -> str:
        """A buffer or event is queued; returns the error, or ''."""
        in_order = number == self._queued
        self._queued += 1
        self._kinds.append(is_data)
        self._data += is_data
        if not in_order:
            return "queued out of order"
        return "" if backlog == self._data else "queued with a wrong backlog"

    def flush(self, backlog: int) -> str:
        """A flush takes effect."""
        had_effect = bool(self._kinds) and not self._is_flushed
        self._is_flushed = True
        if not had_effect:
            return "flushed without effect"
        return "" if backlog == self._data else "flushed with a wrong backlog"

    def skip(self, is_data: bool, backlog: int, ends: bool) -> str:
        """An empty rest of a data buffer is polled; with ``ends`` it leaves the queue."""
        if not is_data or not self._poll(is_data, ends):
            return "skipped, but is not the next in the queue"
        return "" if backlog == self._data else "skipped with a wrong backlog"

    def send(self, number: int, is_data: bool, backlog: int, ends: bool) -> str:
        """A buffer, part of one (without ``ends``), or an event is sent."""
        in_order = number == self._sent
        self._sent += 1
        is_next = self._poll(is_data, ends)
        self._may_be_blocked = self._has_barriers and not is_data
        if not in_order:
            return "a buffer leaves the queue in the wrong order"
        if not is_next:
            return "a buffer leaves that is not the next in the queue"
        is_right = backlog == self.reported or (self._may_be_blocked and backlog == 0)
        return "" if is_right else "carries a wrong backlog"

    def _poll(self, is_data: bool, ends: bool) -> bool:
        """Whether the head of the queue matches; a buffer being filled must be the only entry."""
        kinds = self._kinds
        if not kinds or kinds[0] != is_data or not (ends or len(kinds) == 1):
            return False
        if len(kinds) == 1:
            self._is_flushed = False
        if ends:
            kinds.popleft()
            self._data -= is_data
        return True

    @property
    def reported(self) -> int:
        """Rule 5.26: a data buffer at the tail waits for a flush."""
        waits = bool(self._kinds) and self._kinds[-1] and not self._is_flushed
        return self._data - waits

    def is_readable(self, has_credit: bool) -> bool:
        """Whether something can be sent: an event, or with a credit finished or flushed data (rules 5.20, 5.29)."""
        kinds = self._kinds
        if self._may_be_blocked:
            return False
        return bool(kinds) and (not kinds[0] or (has_credit and (self._is_flushed or len(kinds) > 1)))

    @property
    def is_empty(self) -> bool:
        return not self._kinds
