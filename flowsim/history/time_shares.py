"""How the tasks of a run spent their time, span by span, and their order by the share of one state (rule 3.28)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.task_states import Doing, end_of_attempt, last_of_attempts, waits_of


class Spent(Enum):
    """A state in which a task spends time, as a user sees it."""

    BUSY = "busy"
    BACK_PRESSURED = "back-pressured"
    IN_ELEMENT = "waiting inside an element"
    RESTORED = "being restored"
    ENDING = "waiting to end"
    IDLE = "waiting for input"


_SPENT = {
    Doing.BUSY: Spent.BUSY, Doing.SOFT: Spent.BACK_PRESSURED, Doing.HARD: Spent.BACK_PRESSURED,
    Doing.YIELD: Spent.IN_ELEMENT, Doing.LOCK: Spent.IN_ELEMENT, Doing.RESTORING: Spent.RESTORED,
    Doing.FINAL_CHECKPOINT: Spent.ENDING, Doing.SNAPSHOTS: Spent.ENDING, Doing.IDLE: Spent.IDLE,
}  # fmt: skip
_CONSEQUENCES = (Spent.ENDING, Spent.IDLE)
"""States that only follow from what other tasks do: they rank last."""
LEAST_SHARE = 0.01
"""States with a smaller share of the time rank last, too."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a task did one thing."""

    doing: Doing
    begin_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns

    @property
    def middle_ns(self) -> int:
        return (self.begin_ns + self.end_ns) // 2


@dataclass(frozen=True, slots=True)
class TimeOfTask:
    """How long a task was in each state, in all its attempts up to the moment of the facts, and its spans if they are known."""

    task: int
    shares: dict[Spent, float]
    """Of the time from the start of the run to the moment."""
    spans: tuple[Span, ...] = ()

    @property
    def most(self) -> Spent:
        """The state that took most time; one that only follows from what other tasks do, if the task had no other."""
        return max(self.shares, key=lambda spent: (self._counts(spent), self.shares[spent]))

    @property
    def is_loaded(self) -> bool:
        """Whether the task was in a state that does not only follow from what other tasks do, for a share that counts."""
        return self._counts(self.most)

    @property
    def rank(self) -> tuple[bool, float]:
        """Ascending: the task with the least share first."""
        return self.is_loaded, self.shares[self.most]

    def longest(self, spent: Spent) -> Span | None:
        """The longest span in a state."""
        spans = (span for span in self.spans if _SPENT[span.doing] is spent and span.length_ns)
        return max(spans, key=lambda span: span.length_ns, default=None)

    def _counts(self, spent: Spent) -> bool:
        return spent not in _CONSEQUENCES and self.shares[spent] >= LEAST_SHARE


def spans_of(facts: RecordedFacts, task: int) -> list[Span]:
    """What a task did in each attempt from its start on. Needs the level full."""
    attempts = (facts.in_attempt(task, attempt) for attempt in range(facts.attempt_of(task) + 1))
    return [span for of_attempt in attempts for span in _spans_of_attempt(of_attempt, task)]


def _spans_of_attempt(facts: RecordedFacts, task: int) -> Iterable[Span]:
    first = facts.rows("lifecycle", task).first()
    if first is None:
        return ()
    ended_ns = end_of_attempt(facts, task)
    waits = [
        Span(doing, row["time_ns"], until_ns) for doing, rows in waits_of(facts, task).items() for row, until_ns in rows
    ]
    waits.sort(key=lambda span: (span.begin_ns, span.end_ns))
    return _with_work(waits, first["time_ns"], facts.end_ns if ended_ns is None else ended_ns)


def _with_work(waits: Iterable[Span], begin_ns: int, end_ns: int) -> Iterable[Span]:
    """The waits of an attempt, and the work between them."""
    for wait in waits:
        if wait.begin_ns > begin_ns:
            yield Span(Doing.BUSY, begin_ns, wait.begin_ns)
        yield wait
        begin_ns = max(begin_ns, wait.end_ns)
    if end_ns > begin_ns:
        yield Span(Doing.BUSY, begin_ns, end_ns)


def times_of_tasks(facts: RecordedFacts) -> list[TimeOfTask]:
    """The tasks with the largest share of one state first. Below the level full from the totals of tasks, for a whole run."""
    whole_ns = facts.end_ns - facts.start_ns
    times = [
        _of_spans(task, spans_of(facts, task), whole_ns) if facts.is_full else _of_totals(facts, task)
        for task in facts.graph.tasks
    ]
    return sorted(times, key=lambda time: (*time.rank, -time.task), reverse=True)


def time_between(facts: RecordedFacts, task: int, begin_ns: int, end_ns: int) -> TimeOfTask:
    """How a task spent a time in the attempt that it had at its beginning. Needs the level full."""
    spans = [
        Span(span.doing, max(span.begin_ns, begin_ns), min(span.end_ns, end_ns))
        for span in _spans_of_attempt(facts.until(begin_ns).whole, task)
        if span.begin_ns < end_ns and span.end_ns > begin_ns
    ]
    return _of_spans(task, spans, end_ns - begin_ns)


def _of_spans(task: int, spans: Sequence[Span], whole_ns: int) -> TimeOfTask:
    length_ns = dict.fromkeys(Spent, 0)
    for span in spans:
        length_ns[_SPENT[span.doing]] += span.length_ns
    return TimeOfTask(task, _shares(length_ns, whole_ns), tuple(spans))


def _of_totals(facts: RecordedFacts, task: int) -> TimeOfTask:
    length_ns = dict.fromkeys(Spent, 0)
    for row in last_of_attempts(facts, "task_times", task):
        length_ns[Spent.BUSY] += row["busy_ns"]
        length_ns[Spent.BACK_PRESSURED] += row["soft_backpressured_ns"] + row["hard_backpressured_ns"]
        length_ns[Spent.IDLE] += row["idle_ns"]
    return TimeOfTask(task, _shares(length_ns, facts.end_ns - facts.start_ns))


def _shares(length_ns: dict[Spent, int], whole_ns: int) -> dict[Spent, float]:
    return {spent: ns / max(1, whole_ns) for spent, ns in length_ns.items()}
