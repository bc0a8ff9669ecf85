"""What each task of a run waited for, and how full the queues of its async operators were, from the facts.

Idle time is time without input (rule 3.28). While an async operator holds elements, idle time is a wait for their
answers. Otherwise a source waits for its data, or for other sources of its alignment group, and any other task for its
senders. Back-pressured time is a wait for a receiver to free buffers. The facts do not contain the moments at which a
task was idle. So time with elements in an async operator counts as idle only as far as it exceeds the task's time that
was not idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.cluster.job_execution import TaskSummary
from flowsim.facts.kinds import ElementKind
from flowsim.history.async_elements import QueueUse, async_operators
from flowsim.history.rows import Rows, recorded_rows
from flowsim.laws.graph_check import checked_job_graph
from flowsim.laws.job_graph import Operator
from flowsim.recording.reader import Recording
from flowsim.units import NO_TIMESTAMP

ANSWERS: Final = "results of async calls"
OWN_DATA: Final = "data from its source"
ALIGNMENT: Final = "watermark alignment"
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class AsyncQueue:
    """The queue of an async operator in one subtask; watermarks count as elements (rule 11.2).

    ``mean`` and ``full_share`` are over the time from the queue's first fact to its last fact, or to the end of the run
    if elements were left.
    """

    task: str
    operator: str
    capacity: int
    peak: int
    mean: float
    full_share: float
    held_ns: int
    """Time in ns during which the queue held an element."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A share of a task's time, between 0 and 1, and the reason of the wait."""

    reason: str
    share: float


@dataclass(frozen=True, slots=True)
class TaskWaits:
    """The waits of every task of a run, in the order of the tasks; per task the longest wait first."""

    queues: tuple[AsyncQueue, ...]
    waits: tuple[tuple[Wait, ...], ...]


def task_waits(recording: Recording, tasks: Sequence[TaskSummary], ended_ns: int) -> TaskWaits:
    """Computes the waits of ``tasks`` (by id); ``ended_ns``: the end of the run on the clock of its facts."""
    names = [task.name for task in tasks]
    queues = _async_queues(recording, names, ended_ns)
    paused_ns = _paused(recording, len(tasks), ended_ns)
    senders: list[list[int]] = [[] for _ in tasks]
    receivers: list[list[int]] = [[] for _ in tasks]
    for row in recording.static_rows("channels"):
        source, target = int(row[2]), int(row[4])
        senders[target].append(source)
        receivers[source].append(target)
    silent_senders = _silent_senders(recording, [task.watermark == NO_TIMESTAMP for task in tasks])
    waits = []
    for number, task in enumerate(tasks):
        held_ns = max((queue.held_ns for queue in queues if queue.task == task.name), default=0)
        working_ns = _total_ns(task) - task.idle_ns
        answers_ns = min(max(held_ns - working_ns, 0), task.idle_ns)
        rest_ns = task.idle_ns - answers_ns
        waited = {ANSWERS: answers_ns}
        if senders[number]:
            silent = silent_senders.get(number, [])
            what = "a first watermark" if silent else "input"
            waited[f"{what} from {_named([names[sender] for sender in silent or senders[number]])}"] = rest_ns
        else:
            waited[ALIGNMENT] = min(paused_ns[number], rest_ns)
            waited[OWN_DATA] = rest_ns - waited[ALIGNMENT]
        if receivers[number]:
            slowest = max(receivers[number], key=lambda receiver: _used_share(tasks[receiver]))
            what = "credits" if task.times_out_of_credit else "buffers"
            waited[f"{what} of {names[slowest]}"] = task.soft_backpressured_ns + task.hard_backpressured_ns
        waits.append(_waits(waited, _total_ns(task)))
    return TaskWaits(tuple(queues), tuple(waits))


def _waits(found: dict[str, int], total_ns: int) -> tuple[Wait, ...]:
    parts = [Wait(reason, round(ns / total_ns, 4)) for reason, ns in found.items() if ns > 0]
    return tuple(sorted(parts, key=lambda wait: -wait.share))


def _total_ns(task: TaskSummary) -> int:
    return task.busy_ns + task.idle_ns + task.soft_backpressured_ns + task.hard_backpressured_ns


def _used_share(task: TaskSummary) -> float:
    """Returns the share of time in which a task was busy or back-pressured, and so delayed its upstream tasks."""
    total_ns = _total_ns(task)
    return (total_ns - task.idle_ns) / total_ns if total_ns else 0.0


def _named(names: Sequence[str]) -> str:
    """Names tasks: all subtasks of a chain by the chain's name, and at most a few names."""
    chains = list(dict.fromkeys(names if len(set(names)) == 1 else (name.rpartition(" (")[0] for name in names)))
    more = f" and {len(chains) - _NAMED} more" if len(chains) > _NAMED else ""
    return ", ".join(chains[:_NAMED]) + more


def _async_queues(recording: Recording, names: Sequence[str], ended_ns: int) -> list[AsyncQueue]:
    operators = list(async_operators(checked_job_graph(recording)))
    if not operators:
        return []
    facts = recorded_rows(recording, "async_elements", ("task", "operator", "time_ns", "queued"))
    return [
        _queue(facts.equal(task=task, operator=operator.operator), names[task], operator, ended_ns)
        for operator, tasks in operators
        for task in tasks
    ]


def _queue(facts: Rows, task: str, operator: Operator, ended_ns: int) -> AsyncQueue:
    capacity = operator.params["capacity"]
    assert isinstance(capacity, int)
    use = QueueUse.of(facts, capacity, ended_ns)
    return AsyncQueue(
        task,
        operator.name,
        capacity,
        use.peak,
        mean=round(use.element_ns / use.span_ns, 4) if use.span_ns else 0.0,
        full_share=round(use.full_ns / use.span_ns, 4) if use.span_ns else 0.0,
        held_ns=use.used_ns,
    )


def _paused(recording: Recording, tasks: int, ended_ns: int) -> list[int]:
    """Returns how long watermark alignment paused each whole source, in ns (rules 8.22 to 8.24)."""
    paused_ns, since_ns = [0] * tasks, [-1] * tasks
    facts = recorded_rows(recording, "alignment", ("task", "time_ns", "split", "paused"))
    for task, time_ns, split, paused in zip(
        *(facts[name].tolist() for name in ("task", "time_ns", "split", "paused")), strict=True
    ):
        if split >= 0:
            continue
        if paused and since_ns[task] < 0:
            since_ns[task] = time_ns
        elif not paused and since_ns[task] >= 0:
            paused_ns[task] += time_ns - since_ns[task]
            since_ns[task] = -1
    return [ns if since < 0 else ns + ended_ns - since for ns, since in zip(paused_ns, since_ns, strict=True)]


def _silent_senders(recording: Recording, without_watermark: Sequence[bool]) -> dict[int, list[int]]:
    """Returns, per task with open windows but no watermark, the senders without a watermark."""
    took_in = (
        set(recorded_rows(recording, "window_intake", ("task",))["task"].tolist()) if any(without_watermark) else set()
    )
    waiting = {task for task in took_in if without_watermark[task]}
    if not waiting:
        return {}
    received = recorded_rows(recording, "received", ("channel", "kind"))
    speaking = set(received["channel"][received["kind"] == ElementKind.WATERMARK].tolist())
    senders_of: dict[int, list[int]] = {}
    for row in recording.static_rows("channels"):
        if row[4] in waiting and row[0] not in speaking:
            senders_of.setdefault(int(row[4]), []).append(int(row[2]))
    return senders_of
