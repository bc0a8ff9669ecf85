"""What a task does at a moment: works, waits, has not started or has ended (rules 3.11, 3.28)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from flowsim.facts.kinds import ActionPhase, ElementKind, LifeEvent, MailAction, WaitKind
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.quantities import count_text, duration_text
from flowsim.why.run_facts import Mask, Row, Rows, RunFacts
from flowsim.why.waits.channel_flow import output_pools


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
    RESTORING = "is restored, and waits for the in-flight data of its checkpoint"
    FINAL_CHECKPOINT = "has reached the end of its input, and waits until it may end"
    SNAPSHOTS = "has reached the end of its input, and waits until its snapshots are written"


STUCK: Final = (Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK)
"""Waits of a task that may have input."""
WAITS: Final = (Doing.IDLE, *STUCK, Doing.RESTORING, Doing.FINAL_CHECKPOINT, Doing.SNAPSHOTS)
_NEVER: Final = 2**63 - 1
_ENDS: Final = {
    LifeEvent.FINISHED: "has finished", LifeEvent.CANCELED: "was canceled", LifeEvent.FAILED: "has failed",
}  # fmt: skip


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
    actions = facts.rows("actions", task)
    frames = open_frames(actions)
    wait = _wait_of(facts, task, frames, _Phases.of(facts, task))
    if wait is None:
        return TaskState(task, Doing.BUSY, _open_action(actions, frames))
    # Nothing happens between the two facts that enclose a wait: the one after the last fact ends it.
    begin = actions.row(-1)
    doing, priority = wait
    following = facts.whole.rows("actions", task).after(begin["seq"]).first()
    end_ns = _end_ns(facts.whole, task) if following is None else following["time_ns"]
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
    def of(cls, facts: RunFacts, task: int) -> _Phases:
        running = facts.rows("lifecycle", task).equal(operator=-1, event=LifeEvent.RUNNING).first()
        return cls(_NEVER if running is None else running["seq"], _end_of_input(facts, task))


def _end_of_input(facts: RunFacts, task: int) -> int:
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


def is_at_end_of_input(facts: RunFacts, task: int) -> bool:
    """Whether a task has no more input at the moment."""
    return _end_of_input(facts, task) < _NEVER


def _wait_of(facts: RunFacts, task: int, frames: Sequence[Row], phases: _Phases) -> tuple[Doing, int] | None:
    """The kind of the wait of a task, and the lowest priority of mails that it runs; None: the task works."""
    if not frames or frames[-1]["phase"] != ActionPhase.WAIT:
        return None
    wait, around = frames[-1], frames[:-1]
    is_inside = any(frame["phase"] == ActionPhase.BEGIN for frame in around)
    match WaitKind(wait["kind"]):
        case WaitKind.COST | WaitKind.YIELD:
            return None
        case WaitKind.BUFFER:
            return Doing.HARD, -1
        case WaitKind.CHECKPOINT:
            return Doing.SNAPSHOTS, -1
        case WaitKind.LOCK if is_inside:
            return Doing.LOCK, -1
        case WaitKind.MAIL if is_inside:
            return Doing.YIELD, around[-1]["priority"]
        case WaitKind.LOCK if _is_legacy_output_full(facts, task, wait):
            return Doing.SOFT, -1
        case WaitKind.MAIL if wait["priority"] == OUTPUT_FULL:
            return Doing.SOFT, -1
        case WaitKind.MAIL | WaitKind.LOCK:
            if wait["seq"] > phases.end_of_input:
                return Doing.FINAL_CHECKPOINT, -1
            return Doing.IDLE if wait["seq"] > phases.running else Doing.RESTORING, -1


def _is_legacy_output_full(facts: RunFacts, task: int, wait: Row) -> bool:
    """Whether a loop that waits without the lock does so because its output is full: facts do not say what it waits for."""
    if not wait["suspended"] or facts.operators_of(task)[0].params.get("legacy"):
        return False
    return any(not pool.is_available for pool in output_pools(facts, task, wait["seq"]))


def _end_ns(facts: RunFacts, task: int) -> int | None:
    """When the attempt of a task ended; None: the facts do not show it."""
    life = facts.rows("lifecycle", task).equal(operator=-1)
    end = life.where(np.isin(life["event"], list(_ENDS))).first()
    return None if end is None else end["time_ns"]


def _is_wait(actions: Rows) -> Mask:
    return np.isin(actions["phase"], [ActionPhase.WAIT, ActionPhase.RESUME])


def _open_action(actions: Rows, frames: Sequence[Row]) -> Row | None:
    """The innermost action of a busy task; between two actions the last fact."""
    begun = [frame for frame in frames if frame["phase"] == ActionPhase.BEGIN]
    return begun[-1] if begun else actions.last()


def waits_of(facts: RunFacts, task: int) -> dict[Doing, list[tuple[Row, int]]]:
    """All waits of a task with their ends in ns, by kind.

    A wait that does not end itself ends with the attempt, if that has ended, otherwise at the moment of the facts.
    """
    ended_ns = _end_ns(facts, task)
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
