"""The firings of each window of a key and of each timer, over all attempts of their task."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.history.timers import Fate, TimerLife
from flowsim.history.windows import Window, fires_of
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import last_of
from flowsim.why.about import About, keys_of, window_tasks
from flowsim.why.run_facts import Row, RunFacts
from flowsim.why.timers.question import asked_lives


@dataclass(slots=True)
class WindowFirings:
    """The firings of one window of a key; ``fires``: rows of ``window_fire`` with the attempt that recorded them."""

    task: int
    operator: Operator
    key: int
    window: Window
    fires: list[tuple[int, Row]] = field(default_factory=list)

    @property
    def last_ms(self) -> int:
        return last_of(*self.window)


@dataclass(slots=True)
class TimerFirings:
    """The firings of one timer of a function; each life ended with one."""

    lives: list[TimerLife]

    @property
    def fires(self) -> list[TimerLife]:
        return self.lives


def window_firings(facts: RunFacts, about: About, tasks: frozenset[int] | None) -> list[WindowFirings]:
    """The windows that fired and that a question is about, in the order of their first firings."""
    keys = keys_of(facts, about.key)
    found: dict[tuple[int, ...], WindowFirings] = {}
    for task, operator in window_tasks(facts, about, tasks):
        for attempt, rows in enumerate(facts.rows_of_attempts("window_fire", task)):
            for row in fires_of(rows.equal(operator=operator.operator)):
                window = row["window_start"], row["window_end"]
                if about.window in (None, window) and (keys is None or row["key"] in keys):
                    name = task, operator.operator, row["key"], *window
                    one = found.setdefault(name, WindowFirings(task, operator, row["key"], window))
                    one.fires.append((attempt, row))
    return list(found.values())


def timer_firings(facts: RunFacts, about: About, tasks: frozenset[int] | None) -> list[TimerFirings]:
    """The timers of functions that fired and that a question is about; windows have firings of their own."""
    found: dict[tuple[int, ...], list[TimerLife]] = {}
    for life in asked_lives(facts, about, tasks) if facts.is_full else ():
        if life.operator.kind != "window" and life.fate(facts) is Fate.FIRED:
            found.setdefault((life.task, life.operator.operator, *life.name), []).append(life)
    return [TimerFirings(lives) for lives in found.values()]
