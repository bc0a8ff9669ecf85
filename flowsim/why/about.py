"""What a question is about: an operator, a window, a key and a time, as the user gives them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from flowsim.errors import BadInput, did_you_mean
from flowsim.history.rows import Row
from flowsim.history.windows import Window
from flowsim.laws.job_graph import Operator
from flowsim.why.run_facts import RunFacts

_TIME: Final = r"-?\d[\d,]*|\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?"
_WINDOW: Final = re.compile(rf"\[?\s*({_TIME})\s*(?:,\s|\.\.|;|,)\s*({_TIME})\s*\)?")
_TIMESTAMP: Final = re.compile(rf"@({_TIME})")


@dataclass(frozen=True, slots=True)
class OperatorAt:
    """An operator, in one of its subtasks or in all."""

    operator: Operator
    subtask: int | None = None

    @property
    def name(self) -> str:
        if self.subtask is None:
            return self.operator.name
        return f"{self.operator.name}, subtask {self.subtask + 1},"

    def tasks(self, facts: RunFacts) -> list[int]:
        """The tasks that run it."""
        tasks = facts.graph.tasks_of(self.operator.vertex)
        return [task.task for task in tasks if self.subtask in (None, task.subtask)]


@dataclass(frozen=True, slots=True)
class About:
    """What the user asks about. Empty fields: not given."""

    window: Window | None = None
    key: str = ""
    operators: tuple[OperatorAt, ...] = ()
    timestamp: int | None = None
    """Of a timer, in ms."""

    def has(self, operator: Operator) -> bool:
        """Whether it is about an operator, or about one in the same chain."""
        return not self.operators or operator.vertex in {one.operator.vertex for one in self.operators}


def window_words(facts: RunFacts, row: Row) -> list[str]:
    """Returns the words for the window and the key of a fact."""
    key = facts.names.key(row["key"]).strip('"')
    return [f"[{row['window_start']}, {row['window_end']})", *filter(None, [key])]


def about_of(facts: RunFacts, words: Sequence[str], *, takes_timestamp: bool = False) -> About:
    """Reads the words after a question. ``takes_timestamp``: a word such as ``@500`` is the time of a timer."""
    window, key, operators, timestamp = None, "", tuple[OperatorAt, ...](), None
    for word in words:
        found = _WINDOW.fullmatch(word.strip())
        at = _TIMESTAMP.fullmatch(word.strip()) if takes_timestamp else None
        if found is not None and word.strip()[0] == "[":
            window = _time(found[1]), _time(found[2])
        elif at is not None:
            timestamp = _time(at[1])
        elif named := _named(facts, word):
            operators = named
        else:
            key = word
    return About(window, key, operators, timestamp)


def _time(text: str) -> int:
    """Event time in ms: a number, or a date and time in UTC."""
    if re.fullmatch(r"-?\d[\d,]*", text):
        return int(text.replace(",", ""))
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def _named(facts: RunFacts, word: str) -> tuple[OperatorAt, ...]:
    """The operators with a name; of ``counts (2/4)`` in that subtask only."""
    name, subtask = word, None
    found = re.fullmatch(r"(.+) \((\d+)/\d+\)", word)
    if found is not None:
        name, subtask = found[1], int(found[2]) - 1
    return tuple(
        OperatorAt(operator, subtask)
        for operator in facts.graph.operators
        if name in (operator.name, operator.name.partition(": ")[2])
    )


def keys_of(facts: RunFacts, text: str) -> frozenset[int] | None:
    """The fingerprints of a key, given as JSON or as plain text; None without one. Raises BadInput."""
    if not text:
        return None
    rows = facts.recording.static_rows("keys")
    found = {int(row[1]) for row in rows if str(row[4]) in (text, f'"{text}"')}
    if not found:
        known = list(dict.fromkeys(str(row[4]).strip('"') for row in rows))
        names = [operator.name for operator in facts.graph.operators]
        raise BadInput(
            f"{text!r} is no operator, window or key of this recording{did_you_mean(text, [*names, *known])}; "
            "a window is written as '[0, 500)'"
        )
    return frozenset(found)


def window_tasks(facts: RunFacts, about: About, tasks: frozenset[int] | None) -> list[tuple[int, Operator]]:
    """The window operators that a question is about, in each task."""
    return [
        (task, operator)
        for task in facts.graph.tasks
        for operator in facts.operators_of(task)
        if operator.kind == "window" and (tasks is None or task in tasks) and about.has(operator)
    ]
