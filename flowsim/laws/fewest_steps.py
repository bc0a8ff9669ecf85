"""The fewest steps that turn one sequence into another: an element is lost, added, changed, or exchanged with the next.

Equal elements cost nothing, so the time is that of a comparison and of the square of the steps (Ukkonen's diagonals).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

import numpy as np

from flowsim.laws.slices import Ints

MOST_STEPS: Final = 64
"""Of one window. Where more were needed, places are compared one by one."""
_WINDOW: Final = 4096
"""Elements in which the fewest steps are searched for, from the first difference."""
_MARGIN: Final = 256
"""Elements at the end of a window that do not decide which steps were made: more elements follow."""


class Ending(Enum):
    """What follows two sequences."""

    NOTHING = "nothing"
    SENT = "elements that were sent and not yet received"
    BOTH = "elements on both sides"


class Change(Enum):
    """What happened to an element."""

    LOST = "lost"
    ADDED = "added"
    CHANGED = "changed"
    EXCHANGED = "exchanged with the next"


class Step(NamedTuple):
    """A change at these places of both sequences."""

    change: Change
    sent: int
    received: int


class _Reached(NamedTuple):
    """The place in the sent sequence to which a number of steps leads on a diagonal, and the last of these steps."""

    sent: int
    step: Step | None
    diagonal: int
    """Of the step before."""


class Alignment:
    """The steps between two sequences of numbers; ``sent`` and ``received`` are the places up to which it has come."""

    def __init__(self, sent: Ints, received: Ints, ending: Ending) -> None:
        self.sent = self.received = 0
        self._sides = sent, received
        self._ending = ending

    def steps(self) -> Iterator[Step]:
        """The steps in their order. If more elements follow on both sides, it stops before it needs them."""
        while True:
            self.sent, self.received = self._behind_equals(self.sent, self.received)
            sent, received = self._sides[0][self.sent :], self._sides[1][self.received :]
            is_last = min(len(sent), len(received)) < _WINDOW
            if is_last and (self._ending is Ending.BOTH or not (len(sent) or len(received))):
                return
            if not is_last:
                sent, received = sent[:_WINDOW], received[:_WINDOW]
            elif self._ending is Ending.SENT:
                sent = sent[: len(received) + MOST_STEPS]
            at = self.sent, self.received
            found = fewest_steps(sent, received, self._ending if is_last else Ending.BOTH)
            places = len(sent), len(received)
            if found is None:
                found = list(_place_by_place(sent, received, self._ending if is_last else Ending.BOTH))
                places = (len(sent), len(received)) if is_last else (min(places), min(places))
            elif not is_last:
                found, places = _decided(found, places)
            self.sent, self.received = at[0] + places[0], at[1] + places[1]
            for change, of_sent, of_received in found:
                yield Step(change, at[0] + of_sent, at[1] + of_received)
            if is_last:
                return

    def _behind_equals(self, sent: int, received: int) -> tuple[int, int]:
        equal = _equal(*self._sides, sent, received)
        return sent + equal, received + equal


def _decided(steps: list[Step], places: tuple[int, int]) -> tuple[list[Step], tuple[int, int]]:
    """The steps of a window that its last elements did not decide, and the places before the next step."""
    last = min(places) - _MARGIN
    for number, (_, sent, received) in enumerate(steps):
        if max(sent, received) >= last:
            return steps[:number], (sent, received)
    _, sent, received = behind(steps[-1])
    return steps, (sent, received)


def behind(step: Step) -> Step:
    """The same step, with the places behind it."""
    return step._replace(
        sent=step.sent + {Change.ADDED: 0, Change.EXCHANGED: 2}.get(step.change, 1),
        received=step.received + {Change.LOST: 0, Change.EXCHANGED: 2}.get(step.change, 1),
    )


def fewest_steps(sent: Ints, received: Ints, ending: Ending) -> list[Step] | None:
    """The fewest steps, in their order; None if there are more than ``MOST_STEPS``."""
    if ending is Ending.NOTHING and abs(len(sent) - len(received)) > MOST_STEPS:
        return None
    levels = [{0: _Reached(_equal(sent, received, 0, 0), None, 0)}]
    while (diagonal := _end(levels[-1], len(sent), len(received), ending)) is None:
        if len(levels) > MOST_STEPS:
            return None
        levels.append(_next_level(levels[-1], sent, received))
    steps = []
    for level in reversed(levels[1:]):
        _, step, diagonal = level[diagonal]
        assert step is not None
        steps.append(step)
    return steps[::-1]


def _next_level(level: dict[int, _Reached], sent: Ints, received: Ints) -> dict[int, _Reached]:
    """What is reached with one more step, on each diagonal: the received place less the sent place."""
    reached: dict[int, _Reached] = {}
    for diagonal in range(min(level) - 1, max(level) + 2):
        best: tuple[int, int, Step, int] | None = None
        for rank, (change, before) in enumerate(
            ((Change.CHANGED, 0), (Change.ADDED, -1), (Change.LOST, 1), (Change.EXCHANGED, 0))
        ):
            start = level.get(diagonal + before)
            if start is None:
                continue
            step = Step(change, start.sent, start.sent + diagonal + before)
            _, of_sent, of_received = behind(step)
            if of_sent > len(sent) or of_received > len(received):
                continue
            if change is Change.EXCHANGED and not _are_exchanged(sent, received, step):
                continue
            # Of equally far ones, a step that keeps elements is more likely than a change.
            if best is None or (of_sent, rank) > best[:2]:
                best = of_sent, rank, step, diagonal + before
        if best is not None:
            place = best[0] + _equal(sent, received, best[0], best[0] + diagonal)
            reached[diagonal] = _Reached(place, best[2], best[3])
    return reached


def _are_exchanged(sent: Ints, received: Ints, step: Step) -> bool:
    of_sent, of_received = sent[step.sent : step.sent + 2], received[step.received : step.received + 2]
    return bool(of_sent[0] == of_received[1] and of_sent[1] == of_received[0])


def _end(level: dict[int, _Reached], sent: int, received: int, ending: Ending) -> int | None:
    """The diagonal on which the end is reached, the furthest if there are several."""
    ends = [
        (reached.sent, diagonal)
        for diagonal, reached in level.items()
        if (reached.sent == sent and (ending is Ending.BOTH or reached.sent + diagonal == received))
        or (reached.sent + diagonal == received and ending is not Ending.NOTHING)
    ]
    return max(ends)[1] if ends else None


def _place_by_place(sent: Ints, received: Ints, ending: Ending) -> Iterator[Step]:
    both = min(len(sent), len(received))
    for place in np.flatnonzero(sent[:both] != received[:both]).tolist():
        yield Step(Change.CHANGED, place, place)
    if ending is not Ending.BOTH:
        for place in range(both, len(received)):
            yield Step(Change.ADDED, both, place)
    if ending is Ending.NOTHING:
        for place in range(both, len(sent)):
            yield Step(Change.LOST, place, both)


def _equal(sent: Ints, received: Ints, of_sent: int, of_received: int) -> int:
    """How many elements from these places on are equal."""
    most = min(len(sent) - of_sent, len(received) - of_received)
    equal, size = 0, 32
    while equal < most:
        end = min(equal + size, most)
        differ = sent[of_sent + equal : of_sent + end] != received[of_received + equal : of_received + end]
        first = int(differ.argmax())
        if differ[first]:
            return equal + first
        equal, size = end, size * 4
    return equal
