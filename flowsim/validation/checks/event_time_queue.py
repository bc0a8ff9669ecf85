"""What leaves an operator that keeps watermarks back, row after row (rules 11.2, 11.3). Runs in Python workers."""

from __future__ import annotations

_WATERMARK, _STATUS = 1, 2
_MAX, _IDLE, _ACTIVE = 2**63 - 1, -1, 0

Told = tuple[int, int]
"""Kind and timestamp, or status."""
Wrong = tuple[str, int, int, int]
"""What is wrong, the row's number, the channel or operator, and the timestamp."""


class Reader:
    """A channel, or the queue of another operator: the rows that it got since the last cause."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.rows: list[tuple[int, int, int]] = []

    def settle(self, cause: int, told: list[Told], perhaps: list[Told], is_over: bool) -> list[Wrong]:
        """Holds the rows against what their cause told; ``perhaps``: what need not be there."""
        left, more, wrong = list(told), list(perhaps), list[Wrong]()
        for seq, kind, value in self.rows:
            if left and left[0] == (kind, value):
                left.pop(0)
            elif not left and more and more[0] == (kind, value):
                more.pop(0)
            else:
                wrong.append(("nothing calls for it", seq, self.place, value))
        self.rows = []
        if left and is_over:
            wrong.append(("not sent", cause, self.place, left[0][1]))
        return wrong


class Queue:
    """Cause by cause what it tells: a watermark that leaves belongs to the cause before the row that says so."""

    def __init__(self) -> None:
        self.status = _ACTIVE
        self.cause = -1
        self.told: list[Told] = []
        self.channels: list[Reader] = []
        self.queues: list[Reader] = []
        """Of operators behind it, which are told no status."""
        self.end_at: int | None = None
        """The first cause that tells the end of event time."""

    def emitted(self, seq: int, kind: int, value: int) -> list[Wrong]:
        """One element left, and was a fact after what it told."""
        if kind == _WATERMARK and self.status != _IDLE:
            self._tell(value)
        return self._next(seq)

    def changed(self, seq: int, status: int, is_owed: bool) -> list[Wrong]:
        """A status overtakes what is in the queue."""
        wrong = self._next(seq)
        if status != self.status and is_owed:
            self.told.append((_STATUS, status))
        self.status = status
        return wrong

    def end(self, whole: bool, next_mark: int | None) -> list[Wrong]:
        """``next_mark``: the watermark at the head of the queue, which may have left without a word."""
        perhaps = [] if whole or next_mark is None or self.status == _IDLE else [(_WATERMARK, next_mark)]
        if perhaps == [(_WATERMARK, _MAX)] and self.end_at is None:
            self.end_at = max(self.cause, 0)
        return self._settle(perhaps, whole)

    def _tell(self, watermark: int) -> None:
        self.told.append((_WATERMARK, watermark))
        if watermark == _MAX and self.end_at is None:
            self.end_at = max(self.cause, 0)

    def _next(self, seq: int) -> list[Wrong]:
        wrong = self._settle([], True)
        self.cause, self.told = seq, []
        return wrong

    def _settle(self, perhaps: list[Told], is_over: bool) -> list[Wrong]:
        marks = [one for one in self.told if one[0] == _WATERMARK]
        wrong = [w for reader in self.channels for w in reader.settle(self.cause, self.told, perhaps, is_over)]
        return wrong + [w for reader in self.queues for w in reader.settle(self.cause, marks, perhaps, is_over)]
