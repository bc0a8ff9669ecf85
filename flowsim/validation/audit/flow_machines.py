"""The books of a sender, of a receiver, of a buffer pool and of a task manager. Runs in Python workers."""

from __future__ import annotations

CREDIT_COLUMNS = ("what", "amount", "told")
POOL_COLUMNS = ("action", "requested", "free", "size", "required", "maximum", "overdraft")
STEP_COLUMNS = ("action", "step", "pool", "seq", "limit")

_GRANTED_AT_FIRST, _GOT_AT_FIRST, _ANNOUNCED, _GOT = range(4)
_DATA_SENT, _DATA_RECEIVED, _EVENT_SENT = 10, 11, 20
_TAKEN, _RETURNED, _HANDED_OUT, _RECYCLED, _RESIZED = range(5)


class CreditMachine:
    """Both ends of one remote channel."""

    def __init__(self) -> None:
        self.sums = dict.fromkeys((0, 1, 2, 3, 10, 11, 20, 21), 0)
        self.purse = 0

    def take(self, row: tuple[int, ...]) -> str:
        what, amount, told = row
        self.sums[what] += amount
        if what in (_GOT_AT_FIRST, _GOT):
            self.purse += amount
        elif what == _DATA_SENT:
            self.purse -= 1
        elif what != _EVENT_SENT:
            return ""
        if self.purse < 0:
            return "nothing left to pay with"
        return "" if told == self.purse else "another balance"

    def end(self, whole: bool) -> str:
        pairs = ((_GRANTED_AT_FIRST, _GOT_AT_FIRST), (_ANNOUNCED, _GOT), (_DATA_SENT, _DATA_RECEIVED))
        unequal = [self.sums[effect] - self.sums[cause] for cause, effect in pairs]
        wrong = any(unequal) if whole else any(more > 0 for more in unequal)
        return "what was given is not what was got" if wrong else ""


class ReceiverMachine:
    """The receiver of one remote channel."""

    def __init__(self) -> None:
        self.given = self.used = 0

    def take(self, row: tuple[int, ...]) -> str:
        what, amount, told = row
        if what < _DATA_SENT:
            self.given += amount
            return ""
        self.used += what == _DATA_RECEIVED
        if what == _DATA_RECEIVED and self.used > self.given:
            return "data beyond the credits given"
        return "credits beyond the buffers reserved" if self.given - self.used > told else ""

    def end(self, whole: bool) -> str:
        return ""


class PoolMachine:
    """One local buffer pool."""

    def __init__(self) -> None:
        self.free = self.out = 0
        self.size: int | None = None

    def take(self, row: tuple[int, ...]) -> str:
        action, requested, free, size, required, maximum, overdraft = row
        if action == _TAKEN:
            self.free += 1
        elif action == _RETURNED:
            self.free -= 1
        elif action == _HANDED_OUT:
            self.free, self.out = self.free - 1, self.out + 1
        elif action == _RECYCLED:
            self.free, self.out = self.free + 1, self.out - 1
        elif action != _RESIZED:
            return "an unknown action"
        before, self.size = self.size, size
        if self.free < 0 or self.out < 0:
            return "a segment that was not there"
        if (requested, free) != (self.free + self.out, self.free):
            return "other books than the movements make"
        top = size + overdraft
        if (action == _TAKEN and self.free + self.out > top) or (action == _HANDED_OUT and self.out > top):
            return "beyond the overdraft"
        resized = before is not None and before != size and action != _RESIZED
        return "a size that it cannot have" if resized or not required <= size <= maximum else ""

    def end(self, whole: bool) -> str:
        return "segments kept for ever" if whole and (self.free or self.out) else ""


class StepMachine:
    """One task manager: its steps are counted without a gap, and in the order in which each pool took them."""

    def __init__(self) -> None:
        self.steps = self.held = 0
        self.latest: dict[int, int] = {}

    def take(self, row: tuple[int, ...]) -> str:
        action, step, pool, seq, limit = row
        expected, self.steps = self.steps, self.steps + 1
        in_order, self.latest[pool] = self.latest.get(pool, -1) < seq, seq
        self.held += 1 if action == _TAKEN else -1
        if not 0 <= self.held <= limit:
            return "more segments than there are"
        return "" if step == expected and in_order else "steps out of order"

    def end(self, whole: bool) -> str:
        return ""
