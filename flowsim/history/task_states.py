"""What a task does at a moment: works, waits, has not started or has ended (rules 3.11, 3.28)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import numpy as np

from flowsim.facts.kinds import ActionPhase, ElementKind, LifeEvent, MailAction, WaitKind
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.history.buffer_pools import output_pools
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Ints, Mask, Row, Rows


class Doing(Enum):
    """What a task does at a moment."""

    NOT_STARTED = auto()
    ENDED = auto()
    BUSY = auto()
    IDLE = auto()
    SOFT = auto()
    HARD = auto()
    YIELD = auto()
    LOCK = auto()
    RESTORING = auto()
    FINAL_CHECKPOINT = auto()
    SNAPSHOTS = auto()


class Wait(Enum):
    """What one wait of a task is by its fact alone."""

    COST = auto()
    INPUT = auto()
    OUTPUT = auto()
    """Between two elements, soft back pressure."""
    BUFFER = auto()
    """Inside an element, hard back pressure."""
    YIELD = auto()
    """The frame around the mails that a yield runs."""
    MAIL_IN_YIELD = auto()
    LOCK = auto()
    SNAPSHOTS = auto()


_WAITS: Final = {
    WaitKind.COST: Wait.COST,
    WaitKind.MAIL: Wait.INPUT,
    WaitKind.BUFFER: Wait.BUFFER,
    WaitKind.YIELD: Wait.YIELD,
    WaitKind.LOCK: Wait.LOCK,
    WaitKind.CHECKPOINT: Wait.SNAPSHOTS,
}


def wait_of(kind: int, priority: int, is_inside: bool) -> Wait:
    """The wait of a fact of table ``actions``, inside another action or not (rule 3.28).

    A task waits for input only between actions: inside a yield it waits for a mail. Raises ValueError for an unknown kind.
    """
    if priority == OUTPUT_FULL:
        return Wait.OUTPUT
    if kind == WaitKind.MAIL and is_inside:
        return Wait.MAIL_IN_YIELD
    return _WAITS[WaitKind(kind)]


STUCK: Final = (Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK)
"""Waits of a task that may have input."""
WAITS: Final = (Doing.IDLE, *STUCK, Doing.RESTORING, Doing.FINAL_CHECKPOINT, Doing.SNAPSHOTS)
_NEVER: Final = 2**63 - 1
_ENDS: Final = (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)


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


def state_of(facts: RecordedFacts, task: int) -> TaskState:
    """What a task does at the moment of the facts. Needs the level full to know waits."""
    life = facts.rows("lifecycle", task).equal(operator=-1)
    if not len(life):
        return TaskState(task, Doing.NOT_STARTED)
    last = life.row(-1)
    if last["event"] in _ENDS:
        return TaskState(task, Doing.ENDED, last)
    actions = facts.rows("actions", task)
    frames = open_frames(actions)
    wait = _wait_of(facts, task, frames, _Phases.of(facts, task))
    if wait is None:
        return TaskState(task, Doing.BUSY, _open_action(actions, frames))
    # Nothing happens between the two facts that enclose a wait: the one after the last fact ends it.
    begin = actions.row(-1)
    doing, priority = wait
    following = facts.whole.rows("actions", task).after(begin["seq"]).first()
    end_ns = end_of_attempt(facts.whole, task) if following is None else following["time_ns"]
    return TaskState(task, doing, begin, end_ns, priority)


def open_frames(actions: Rows) -> list[Row]:
    """The actions and waits that have begun and not ended, the outermost first; each contains the next one."""
    is_wait = _is_wait(actions)
    is_open: Mask = np.zeros(len(actions), dtype=np.bool_)
    for of_kind, begin, end in (
        (~is_wait, ActionPhase.BEGIN, ActionPhase.END),
        (is_wait, ActionPhase.WAIT, ActionPhase.RESUME),
    ):
        ended = actions["action"][of_kind & (actions["phase"] == end)]
        is_open |= of_kind & (actions["phase"] == begin) & ~np.isin(actions["action"], ended)
    return list(actions.where(is_open))


@dataclass(frozen=True, slots=True)
class _Phases:
    """The numbers of the facts with which the phases of an attempt begin; ``_NEVER`` for those that it has not reached."""

    running: int
    end_of_input: int

    @classmethod
    def of(cls, facts: RecordedFacts, task: int) -> _Phases:
        running = facts.rows("lifecycle", task).equal(operator=-1, event=LifeEvent.RUNNING).first()
        return cls(_NEVER if running is None else running["seq"], _end_of_input(facts, task))


def _end_of_input(facts: RecordedFacts, task: int) -> int:
    """The fact with which the input of a task ends: its channels have ended, or its source has (rules 4.14, 4.20)."""
    channels = facts.received_by(task)
    if channels:
        ends = facts.rows("received", task).equal(kind=ElementKind.END_OF_PARTITION)
        return _NEVER if len(ends) < len(channels) else int(ends["seq"][-1])
    life = facts.rows("lifecycle", task)
    firsts = [
        life.equal(operator=0, event=LifeEvent.FINISH).first(),
        life.equal(event=LifeEvent.RESTORED_AS_FINISHED).first(),
        facts.rows("sent", task).equal(kind=ElementKind.END_OF_DATA).first(),
    ]
    if not facts.operators_of(task)[0].params.get("legacy"):
        # A legacy source only requests its function to return.
        firsts.append(life.equal(event=LifeEvent.STOP_NO_DRAIN).first())
    return min((row["seq"] for row in firsts if row is not None), default=_NEVER)


def is_at_end_of_input(facts: RecordedFacts, task: int) -> bool:
    """Whether a task has no more input at the moment."""
    return _end_of_input(facts, task) < _NEVER


def _wait_of(facts: RecordedFacts, task: int, frames: Sequence[Row], phases: _Phases) -> tuple[Doing, int] | None:
    """The kind of the wait of a task, and the lowest priority of mails that it runs; None: the task works."""
    if not frames or frames[-1]["phase"] != ActionPhase.WAIT:
        return None
    wait, around = frames[-1], frames[:-1]
    is_inside = any(frame["phase"] == ActionPhase.BEGIN for frame in around)
    match wait_of(wait["kind"], wait["priority"], is_inside):
        case Wait.COST | Wait.YIELD:
            return None
        case Wait.BUFFER:
            return Doing.HARD, -1
        case Wait.SNAPSHOTS:
            return Doing.SNAPSHOTS, -1
        case Wait.LOCK if is_inside:
            return Doing.LOCK, -1
        case Wait.MAIL_IN_YIELD:
            return Doing.YIELD, around[-1]["priority"]
        case Wait.LOCK if _is_legacy_output_full(facts, task, wait):
            return Doing.SOFT, -1
        case Wait.OUTPUT:
            return Doing.SOFT, -1
        case Wait.INPUT | Wait.LOCK:
            if wait["seq"] > phases.end_of_input:
                return Doing.FINAL_CHECKPOINT, -1
            return Doing.IDLE if wait["seq"] > phases.running else Doing.RESTORING, -1


def _is_legacy_output_full(facts: RecordedFacts, task: int, wait: Row) -> bool:
    """Whether a loop that waits without the lock does so because its output is full: facts do not say what it waits for."""
    if not wait["suspended"] or facts.operators_of(task)[0].params.get("legacy"):
        return False
    return any(not pool.is_available for pool in output_pools(facts, task, wait["seq"]))


def end_of_attempt(facts: RecordedFacts, task: int) -> int | None:
    """When the attempt of a task ended; None: the facts do not show it."""
    life = facts.rows("lifecycle", task).equal(operator=-1)
    end = life.where(np.isin(life["event"], _ENDS)).first()
    return None if end is None else end["time_ns"]


def _is_wait(actions: Rows) -> Mask:
    return np.isin(actions["phase"], [ActionPhase.WAIT, ActionPhase.RESUME])


def _open_action(actions: Rows, frames: Sequence[Row]) -> Row | None:
    """The innermost action of a busy task; between two actions the last fact."""
    begun = [frame for frame in frames if frame["phase"] == ActionPhase.BEGIN]
    return begun[-1] if begun else actions.last()


def waits_of(facts: RecordedFacts, task: int) -> dict[Doing, list[tuple[Row, int]]]:
    """All waits of a task with their ends in ns, by kind.

    A wait that does not end itself ends with the attempt, if that has ended, otherwise at the moment of the facts.
    """
    ended_ns = end_of_attempt(facts, task)
    last_ns = facts.end_ns if ended_ns is None else ended_ns
    found: dict[Doing, list[tuple[Row, int]]] = {kind: [] for kind in WAITS}
    begun: tuple[Doing, Row] | None = None
    frames: list[Row] = []
    phases = _Phases.of(facts, task)
    for row in facts.rows("actions", task):
        if begun is not None:
            found[begun[0]].append((begun[1], row["time_ns"]))
        if row["phase"] in (ActionPhase.BEGIN, ActionPhase.WAIT):
            frames.append(row)
        elif frames:
            frames.pop()
        wait = _wait_of(facts, task, frames, phases)
        begun = None if wait is None else (wait[0], row)
    if begun is not None:
        found[begun[0]].append((begun[1], last_ns))
    return found


def output_waits(actions: Rows, end_ns: int) -> tuple[Rows, Ints]:
    """The waits of all tasks for output, between and inside elements, with their lengths in ns (rule 3.28).

    ``actions``: of all tasks, task by task. One that has not ended lasts until ``end_ns``; the end of one that its attempt
    did not survive is unknown: it is left out.
    """
    phases, times, tasks = actions["phase"], actions["time_ns"], actions["task"]
    is_last = np.append(tasks[1:] != tasks[:-1], True)[: len(tasks)]
    is_resumed = np.append(phases[1:] == ActionPhase.RESUME, False)[: len(tasks)] & ~is_last
    until = np.where(is_last, end_ns, np.append(times[1:], end_ns)[: len(tasks)])
    of_output = (actions["priority"] == OUTPUT_FULL) | (actions["kind"] == WaitKind.BUFFER)
    found = (phases == ActionPhase.WAIT) & of_output & (is_last | is_resumed)
    return actions.where(found), (until - times)[found]


def waiting_mails(facts: RecordedFacts, task: int) -> list[Row]:
    """The mails that wait in the mailbox."""
    mails = facts.rows("mails", task)
    run = set(mails.equal(action=MailAction.RUN)["mail"].tolist())
    return [row for row in mails.equal(action=MailAction.PUT) if row["mail"] not in run]


def last_of_attempts(facts: RecordedFacts, table: str, task: int, **values: int) -> list[Row]:
    """The last row of a table of totals in each attempt of the run that has one."""
    of_attempts = facts.of_run.rows_of_attempts(table, task)
    return [row for rows in of_attempts if (row := rows.equal(**values).last()) is not None]
