"""What a task does at a moment, and how it spent the run, as text."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.history.task_states import Doing, TaskState, last_of_attempts
from flowsim.history.time_shares import TimeOfTask, spans_of
from flowsim.quantities import count_text, duration_text
from flowsim.why.run_facts import RunFacts

_TEXTS: Final = {
    Doing.NOT_STARTED: "has not started",
    Doing.BUSY: "is busy",
    Doing.IDLE: "waits for input",
    Doing.SOFT: "waits for output between two elements (soft back pressure)",
    Doing.HARD: "waits for a buffer inside an element (hard back pressure)",
    Doing.YIELD: "waits inside an element for a mail of its operator (it yields)",
    Doing.LOCK: "waits inside an element, without the checkpoint lock",
    Doing.RESTORING: "is restored, and waits for the in-flight data of its checkpoint",
    Doing.FINAL_CHECKPOINT: "has reached the end of its input, and waits until it may end",
    Doing.SNAPSHOTS: "has reached the end of its input, and waits until its snapshots are written",
}
_ENDING: Final = (Doing.FINAL_CHECKPOINT, Doing.SNAPSHOTS)
_ENDS: Final = {
    LifeEvent.FINISHED: "has finished", LifeEvent.CANCELED: "was canceled", LifeEvent.FAILED: "has failed",
}  # fmt: skip


def doing_text(state: TaskState) -> str:
    """What the task does, as the predicate of a sentence."""
    if state.doing is Doing.ENDED and state.since is not None:
        return _ENDS[LifeEvent(state.since["event"])]
    return _TEXTS[state.doing]


def state_text(facts: RunFacts, state: TaskState) -> str:
    """The state with the name of the task, without a period."""
    return f"{facts.task(state.task)} {doing_text(state)}"


def shares(facts: RunFacts, task: int) -> str:
    """How the task spent the run, from table ``task_times``; '' if it was not recorded."""
    times = last_of_attempts(facts, "task_times", task)
    if not times:
        return ""
    names = {
        "busy": "busy_ns", "waiting for input": "idle_ns", "soft back pressure": "soft_backpressured_ns",
        "hard back pressure": "hard_backpressured_ns",
    }  # fmt: skip
    parts = {name: sum(row[column] for row in times) for name, column in names.items()}
    ending = _ending_ns(facts, task)
    if ending:
        # Flink counts all as busy that is no wait for input or output (rule 13.1).
        parts["busy"] = max(0, parts["busy"] - ending)
        parts["waiting to end"] = ending
    whole = sum(parts.values())
    if not whole:
        return ""
    return "in the whole run: " + ", ".join(f"{name} {value / whole:.0%}" for name, value in parts.items())


def _ending_ns(facts: RunFacts, task: int) -> int:
    """How long a task waited to end; 0 below the level full, and for a legacy source, which has no busy time (rule 13.1)."""
    if not facts.is_full or facts.operators_of(task)[0].params.get("legacy"):
        return 0
    return sum(span.length_ns for span in spans_of(facts.of_run, task) if span.doing in _ENDING)


def shares_text(time: TimeOfTask) -> str:
    """How a task spent a time, the largest share first."""
    shares = sorted(time.shares.items(), key=lambda each: -each[1])
    shown = [f"{spent.value} {share:.0%}" for spent, share in shares if f"{share:.0%}" != "0%"]
    return ", ".join(shown) or "below 1% in each state"


def work_lines(facts: RunFacts, task: int) -> tuple[str, ...]:
    """What a busy task works on: its operators, the last record that it read, and its mean cost of a record."""
    lines = []
    names = [operator.name for operator in facts.operators_of(task)]
    if len(names) > 1:
        lines.append(f"its chain runs {len(names):,} operators in one thread, one after the other: {', '.join(names)}")
    read = facts.rows("received", task).equal(kind=ElementKind.RECORD)
    if len(read):
        lines.append(f"the last record it read is number {len(read):,}, at {facts.moment(int(read['time_ns'][-1]))}")
    busy_ns = sum(row["busy_ns"] for row in last_of_attempts(facts, "task_times", task))
    records = sum(row["records_in"] for row in last_of_attempts(facts, "operator_counts", task, operator=0))
    restored = _restored_records(facts, task)
    if busy_ns and records > restored:
        cost = duration_text(busy_ns // (records - restored))
        besides = f", besides {restored:,} of restored in-flight data" if restored else ""
        lines.append(
            f"in the whole run it was busy for {cost} per record, for {count_text(records - restored, 'record')}{besides}"
        )
    return tuple(lines)


def _restored_records(facts: RunFacts, task: int) -> int:
    """The records of in-flight data that a task processed before it ran: that time is in no total (rules 3.28, 12.92)."""
    attempts = facts.of_run.rows_of_attempts
    restored = 0
    for received, life in zip(attempts("received", task), attempts("lifecycle", task), strict=True):
        running = life.equal(operator=-1, event=LifeEvent.RUNNING).first()
        records = received.equal(kind=ElementKind.RECORD)
        restored += len(records if running is None else records.before(running["seq"]))
    return restored
