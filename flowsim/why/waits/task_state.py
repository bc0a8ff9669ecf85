"""What a task does at a moment: works, waits, has not started or has ended (rules 3.11, 3.28)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from flowsim.facts.kinds import ActionPhase, ElementKind, LifeEvent, MailAction, WaitKind
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.quantities import count_text, duration_text
from flowsim.why.run_facts import Mask, Row, Rows, RunFacts


class Doing(Enum):
    """What a task does; the value is its text."""

    NOT_STARTED = "has not started"
    ENDED = "has ended"
    BUSY = "is busy"
    IDLE = "waits for input"
    SOFT = "waits for output between two elements (soft back pressure)"
    HARD = "waits for a buffer inside an element (hard back pressure)"
    YIELD = "waits inside an element for a mail of its operator (it yields)"
    LOCK = "waits inside an element, without the checkpoint lock"


WAITS: Final = (Doing.IDLE, Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK)
_ENDS: Final = {
    LifeEvent.FINISHED: "has finished", LifeEvent.CANCELED: "was canceled", LifeEvent.FAILED: "has failed",
}  # fmt: skip


_INSIDE: Final = "inside"
"""Added to the row of a wait: 1 if it is inside an action."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """What a task does, since when and until when; ``until_ns`` None: the recording does not show the end."""

    task: int
    doing: Doing
    since: Row | None = None
    """The fact with which it began."""
    until_ns: int | None = None
    priority: int = -1
    """Of a yield: the lowest priority of mails that it runs."""
    text: str = ""

    def sentence(self, facts: RunFacts) -> str:
        """The state with the name of the task, without a period."""
        return f"{facts.task(self.task)} {self.text or self.doing.value}"


def state_of(facts: RunFacts, task: int) -> TaskState:
    """What a task does at the moment of the facts. Needs the level full to know waits."""
    life = facts.rows("lifecycle", task).equal(operator=-1)
    if not len(life):
        return TaskState(task, Doing.NOT_STARTED)
    last = life.row(-1)
    if last["event"] in _ENDS:
        return TaskState(task, Doing.ENDED, last, text=_ENDS[LifeEvent(last["event"])])
    wait = _open_wait(facts, task)
    if wait is None:
        return TaskState(task, Doing.BUSY, _open_action(facts, task))
    until = facts.whole.rows("actions", task).after(wait["seq"])
    ended = until.equal(phase=ActionPhase.RESUME, action=wait["action"]).first()
    return TaskState(
        task, kind_of(wait, bool(wait[_INSIDE])), wait, None if ended is None else ended["time_ns"], wait["priority"]
    )


def kind_of(wait: Row, is_inside: bool) -> Doing:
    """The kind of a wait of table ``actions``. The legacy design waits for its lock also between two actions."""
    match WaitKind(wait["kind"]):
        case WaitKind.BUFFER:
            return Doing.HARD
        case WaitKind.YIELD:
            return Doing.YIELD
        case WaitKind.LOCK:
            return Doing.LOCK if is_inside else Doing.IDLE
        case WaitKind.MAIL:
            return Doing.SOFT if wait["priority"] == OUTPUT_FULL else Doing.IDLE
        case WaitKind.CHECKPOINT:
            return Doing.IDLE
        case WaitKind.COST:
            return Doing.BUSY


def _open_wait(facts: RunFacts, task: int) -> Row | None:
    """The outermost wait for input, output, mail or lock that has begun and not ended; None while the task works."""
    outer = [(row, is_inside) for row, is_inside, end in _outer_waits(facts, task) if end is None]
    if not outer:
        return None
    row, is_inside = outer[0]
    inner = facts.rows("actions", task).after(row["seq"])
    begun, ended = (len(inner.equal(phase=phase)) for phase in (ActionPhase.BEGIN, ActionPhase.END))
    return None if begun > ended else {**row, _INSIDE: int(is_inside)}


def _outer_waits(facts: RunFacts, task: int) -> Iterator[tuple[Row, bool, Row | None]]:
    """Each wait that no other wait encloses: its begin, whether it is inside an action, and its end if it has one."""
    actions = facts.rows("actions", task)
    depth, outer, is_inside = 0, None, False
    for row in actions.where(~(_is_wait(actions) & (actions["kind"] == WaitKind.COST))):
        if row["phase"] in (ActionPhase.BEGIN, ActionPhase.END):
            depth += 1 if row["phase"] == ActionPhase.BEGIN else -1
        elif outer is None:
            outer, is_inside = row, depth > 0
        elif row["phase"] == ActionPhase.RESUME and row["action"] == outer["action"]:
            yield outer, is_inside, row
            outer = None
    if outer is not None:
        yield outer, is_inside, None


def _is_wait(actions: Rows) -> Mask:
    return np.isin(actions["phase"], [ActionPhase.WAIT, ActionPhase.RESUME])


def _open_action(facts: RunFacts, task: int) -> Row | None:
    actions = facts.rows("actions", task)
    begun = actions.equal(phase=ActionPhase.BEGIN).last()
    ended = None if begun is None else actions.equal(phase=ActionPhase.END, action=begun["action"]).first()
    return begun if ended is None else actions.row(-1)


def waits_of(facts: RunFacts, task: int) -> dict[Doing, list[tuple[Row, int]]]:
    """All waits of a task with their ends in ns, by kind; a mail wait inside a yield belongs to the yield.

    A wait that does not end itself ends with the attempt, if that has ended, otherwise at the moment of the facts.
    """
    life = facts.rows("lifecycle", task).equal(operator=-1)
    ended = life.where(np.isin(life["event"], list(_ENDS))).first()
    last_ns = facts.end_ns if ended is None else ended["time_ns"]
    found: dict[Doing, list[tuple[Row, int]]] = {kind: [] for kind in WAITS}
    for begin, is_inside, end in _outer_waits(facts, task):
        found[kind_of(begin, is_inside)].append((begin, last_ns if end is None else end["time_ns"]))
    return found


def shares(facts: RunFacts, task: int) -> str:
    """How the task spent the run, from table ``task_times``; '' if it was not recorded."""
    times = _last_of_attempts(facts, "task_times", task)
    if not times:
        return ""
    names = {
        "busy": "busy_ns", "waiting for input": "idle_ns", "soft back pressure": "soft_backpressured_ns",
        "hard back pressure": "hard_backpressured_ns",
    }  # fmt: skip
    parts = {name: sum(row[column] for row in times) for name, column in names.items()}
    whole = sum(parts.values())
    if not whole:
        return ""
    return "in the whole run: " + ", ".join(f"{name} {value / whole:.0%}" for name, value in parts.items())


def _last_of_attempts(facts: RunFacts, table: str, task: int, **values: int) -> list[Row]:
    """The last row of a table of totals in each attempt of the run that has one."""
    of_attempts = facts.of_run.rows_of_attempts(table, task)
    return [row for rows in of_attempts if (row := rows.equal(**values).last()) is not None]


def waiting_mails(facts: RunFacts, task: int) -> list[Row]:
    """The mails that wait in the mailbox."""
    mails = facts.rows("mails", task)
    run = set(mails.equal(action=MailAction.RUN)["mail"].tolist())
    return [row for row in mails.equal(action=MailAction.PUT) if row["mail"] not in run]


def work_lines(facts: RunFacts, task: int) -> tuple[str, ...]:
    """What a busy task works on: its operators, the last record that it read, and its mean cost of a record."""
    lines = []
    names = [operator.name for operator in facts.operators_of(task)]
    if len(names) > 1:
        lines.append(f"its chain runs {len(names):,} operators in one thread, one after the other: {', '.join(names)}")
    read = facts.rows("received", task).equal(kind=ElementKind.RECORD)
    if len(read):
        lines.append(f"the last record it read is number {len(read):,}, at {facts.moment(int(read['time_ns'][-1]))}")
    busy_ns = sum(row["busy_ns"] for row in _last_of_attempts(facts, "task_times", task))
    records = sum(row["records_in"] for row in _last_of_attempts(facts, "operator_counts", task, operator=0))
    if busy_ns and records:
        cost = duration_text(busy_ns // records)
        lines.append(f"in the whole run it was busy for {cost} per record, for {count_text(records, 'record')}")
    return tuple(lines)
