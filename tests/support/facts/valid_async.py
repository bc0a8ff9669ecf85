"""Two async operators in the chain of the model job's sink: one ordered and with retries, one unordered and without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from random import Random

from flowsim.facts.kinds import AsyncAction, ElementKind, Level, SystemTimer, TimerAction
from flowsim.units import NS_PER_MS
from tests.support.facts.fact_builder import FactBuilder

RECORD, WATERMARK = ElementKind.RECORD, ElementKind.WATERMARK
RETRY_DELAY_MS = 5
ORDERED = {
    "mode": "ordered", "capacity": 3, "timeout_ms": 100, "design": "mailbox",
    "retry": {"kind": "fixed", "max_attempts": 2, "delay_ms": RETRY_DELAY_MS, "result": False, "exception": True},
}  # fmt: skip
UNORDERED = {"mode": "unordered", "capacity": 4, "timeout_ms": 0, "design": "mailbox", "retry": None}


@dataclass(eq=False)
class Waiting:
    """An element in a queue; a watermark is done from the start."""

    entry: int
    kind: ElementKind
    timestamp: int
    fingerprint: int = 0
    attempt: int = 1
    awaits_retry: bool = False
    results: list[int] | None = None
    done_as: int = -1


def mixed(element: Waiting) -> int:
    """The exclusive or of its results."""
    return reduce(xor, element.results or (), 0)


@dataclass
class HonestAsync:
    """One async operator: what it puts, asks, completes and hands to ``output``."""

    facts: FactBuilder
    random: Random
    task: int
    operator: int
    ordered: bool
    capacity: int
    attempts: int
    timeout_ms: int
    count: Callable[[int, int, int], None]
    output: Callable[[ElementKind, int, int], None]
    queue: list[Waiting] = field(default_factory=list)
    entries: int = 0
    completions: int = 0

    def take(self, kind: ElementKind, timestamp: int, fingerprint: int) -> None:
        """An element comes; while there is no place for it, others must go."""
        if kind == RECORD:
            self.count(self.task, self.operator, 0)
        while len(self.queue) >= self.capacity:
            self.step()
        element = Waiting(self.entries, kind, timestamp, fingerprint, results=[] if kind == WATERMARK else None)
        self.entries += 1
        self.queue.append(element)
        self.fact(element, AsyncAction.PUT, fingerprint=fingerprint)
        if kind == RECORD:
            if self.timeout_ms:
                self.timer(element, TimerAction.REGISTER, SystemTimer.TIMEOUT)
            self.give(element, AsyncAction.INVOKE, attempt=1)
        else:
            self.done(element)
            self.emit()

    def step(self) -> None:
        """Something happens to one element, and one that is done may leave."""
        asked = [element for element in self.queue if element.results is None]
        if asked:
            element = self.random.choice(asked)
            if element.awaits_retry:
                element.awaits_retry, element.attempt = False, element.attempt + 1
                self.timer(element, TimerAction.FIRE, SystemTimer.RETRY)
                self.give(element, AsyncAction.INVOKE, attempt=element.attempt)
            elif element.attempt < self.attempts and self.random.random() < 0.3:
                element.awaits_retry = True
                self.give(element, AsyncAction.RETRY, attempt=element.attempt)
                self.timer(element, TimerAction.REGISTER, SystemTimer.RETRY)
            else:
                if self.timeout_ms and self.random.random() < 0.3:
                    self.timer(element, TimerAction.FIRE, SystemTimer.TIMEOUT)
                    self.give(element, AsyncAction.TIMEOUT)
                    # The model has no clock: all else happens within a millisecond.
                    self.facts.facts[-1][1]["time_ns"] = (self.timeout_ms + 1) * NS_PER_MS
                elif self.timeout_ms:
                    self.timer(element, TimerAction.DELETE, SystemTimer.TIMEOUT)
                element.results = [self.random.getrandbits(62) | 1 for _ in range(self.random.choice((0, 1, 1, 1, 2)))]
                self.fact(element, AsyncAction.COMPLETE, mixed(element), rows=len(element.results))
                self.done(element)
        self.emit()

    def done(self, element: Waiting) -> None:
        self.completions += 1
        element.done_as = self.completions

    def emit(self) -> None:
        """One element that may leave leaves."""
        until = next((i for i, e in enumerate(self.queue) if e.kind == WATERMARK), len(self.queue))
        first = self.queue[:1] if self.ordered else self.queue[: max(until, 1)]
        done = sorted((e for e in first if e.done_as >= 0), key=lambda e: e.done_as)
        if not done:
            return
        element = done[0]
        self.queue.remove(element)
        for fingerprint in element.results or ():
            self.count(self.task, self.operator, 1)
            self.output(RECORD, element.timestamp, fingerprint)
        if element.kind == WATERMARK:
            self.output(WATERMARK, element.timestamp, 0)
        self.fact(element, AsyncAction.EMIT, mixed(element), rows=len(element.results or ()))

    def work(self) -> None:
        """Between two elements."""
        while self.queue and self.random.random() < 0.4:
            self.step()

    def drain(self) -> None:
        while self.queue:
            self.step()

    def give(self, element: Waiting, action: AsyncAction, attempt: int = 0) -> None:
        """The function is given the record, or will be."""
        self.fact(element, action, element.fingerprint, attempt)

    def timer(self, element: Waiting, action: TimerAction, kind: SystemTimer) -> None:
        """Fires behind its time, whatever else happens within the first millisecond."""
        if self.facts.level < Level.FULL:
            return
        timestamp = self.timeout_ms if kind == SystemTimer.TIMEOUT else RETRY_DELAY_MS
        self.facts.add("system_timers", task=self.task, operator=self.operator, action=action, kind=kind,
                       entry=element.entry, timestamp=timestamp)  # fmt: skip
        if action == TimerAction.FIRE:
            self.facts.facts[-1][1]["time_ns"] = (timestamp + 1) * NS_PER_MS

    def fact(
        self, element: Waiting, action: AsyncAction, fingerprint: int = 0, attempt: int = 0, rows: int = 0
    ) -> None:
        self.facts.add("async_elements", task=self.task, operator=self.operator, entry=element.entry, action=action,
                       kind=element.kind, timestamp=element.timestamp, fingerprint=fingerprint, attempt=attempt,
                       rows=rows, queued=len(self.queue))  # fmt: skip
