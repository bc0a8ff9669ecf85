"""Which vertex held up others in each part of the time: a task of it was busy while a task before it was back-pressured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.task_states import Doing
from flowsim.history.time_shares import Span, TimeOfTask

_PARTS: Final = 10
"""The number of equal parts of the time that are compared."""
_LEAST_SHARE: Final = 0.5
"""A vertex that holds up others for a smaller share of a part is not its bottleneck."""

Piece = tuple[int, int]
"""A time in ns, from its begin to its end."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive parts of the time with the same bottleneck."""

    task: int
    """The task of the vertex that held up others longest in the first of these parts."""
    begin_ns: int
    end_ns: int
    longest: Piece
    """The longest time without a break in which this task held up others, in these parts."""


def bottlenecks(facts: RecordedFacts, times: Iterable[TimeOfTask], begin_ns: int, end_ns: int) -> list[Stretch]:
    """The bottlenecks one after another; parts without one end a stretch. ``times``: of all tasks, with their spans."""
    spans = {time.task: time.spans for time in times}
    held = {task: _held_up(facts, task, spans) for task in spans}
    found: list[Stretch] = []
    for part in range(_PARTS):
        begin, end = (begin_ns + (end_ns - begin_ns) * bound // _PARTS for bound in (part, part + 1))
        in_part = {task: _intersection(pieces, [(begin, end)]) for task, pieces in held.items()}
        task = max(in_part, key=lambda one: (_length(in_part[one]), -one))
        if _length(in_part[task]) < _LEAST_SHARE * (end - begin):
            continue
        last = found[-1] if found else None
        if last is not None and last.end_ns == begin and _vertex(facts, last.task) == _vertex(facts, task):
            longest = max(last.longest, *in_part[last.task], key=lambda piece: piece[1] - piece[0])
            found[-1] = Stretch(last.task, last.begin_ns, end, longest)
        else:
            longest = max(in_part[task], key=lambda piece: piece[1] - piece[0])
            found.append(Stretch(task, begin, end, longest))
    return found


def _vertex(facts: RecordedFacts, task: int) -> int:
    return facts.graph.tasks[task].vertex


def _held_up(facts: RecordedFacts, task: int, spans: Mapping[int, Sequence[Span]]) -> list[Piece]:
    """When a task was busy while a task that sends to it was back-pressured."""
    senders = {channel.source_task for channel in facts.received_by(task)}
    waits = _union(_pieces([span for sender in senders for span in spans[sender]], Doing.SOFT, Doing.HARD))
    return _intersection(_union(_pieces(spans[task], Doing.BUSY)), waits)


def _pieces(spans: Iterable[Span], *doing: Doing) -> list[Piece]:
    return sorted((span.begin_ns, span.end_ns) for span in spans if span.doing in doing and span.length_ns)


def _union(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces in order without overlaps. ``pieces``: by their begin."""
    found: list[Piece] = []
    for begin, end in pieces:
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def _intersection(some: Sequence[Piece], others: Sequence[Piece]) -> list[Piece]:
    """What two lists of pieces without overlaps have in common."""
    found, at, of = [], 0, 0
    while at < len(some) and of < len(others):
        begin, end = max(some[at][0], others[of][0]), min(some[at][1], others[of][1])
        if begin < end:
            found.append((begin, end))
        if some[at][1] < others[of][1]:
            at += 1
        else:
            of += 1
    return found


def _length(pieces: Iterable[Piece]) -> int:
    return sum(end - begin for begin, end in pieces)
