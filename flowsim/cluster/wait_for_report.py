"""The report of a job that deadlocked or was stopped: which task waits for what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flowsim.cluster.deployment import Deployment
from flowsim.cluster.region_schedule import RegionSchedule
from flowsim.operators.async_calls import HasPendingAnswers
from flowsim.quantities import count_text
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_state import TaskState

_SHOWN: Final = 8
_SHOWN_TASKS: Final = 100


def wait_for_report(deployment: Deployment, schedule: RegionSchedule) -> str:
    """Returns one line per unfinished task, with its buffers, credits and mails.

    Then follow one line per finished task with unread data, and one line per link with messages in flight.
    """
    tasks = deployment.tasks
    lines = [_task(task, deployment, schedule) for task in tasks if not task.state.is_terminal]
    lines += [
        f"{task.name} has finished, but holds {_output(task)}{_credit(task)}"
        for task in tasks
        if task.state is TaskState.FINISHED and _holds_data(task)
    ]
    for source, target, what in deployment.network.connections.timed.in_flight():
        lines.append(f"{what} are in flight between {tasks[source].name} and {tasks[target].name}")
    more = len(lines) - _SHOWN_TASKS
    return "\n".join(lines if more <= 0 else [*lines[:_SHOWN_TASKS], f"and {count_text(more, 'more line')}"])


def _task(task: StreamTask, deployment: Deployment, schedule: RegionSchedule) -> str:
    waits_for = schedule.waits_for(task.id)
    if task.state is TaskState.DEPLOYED and waits_for:
        writers = _some(deployment.tasks[number].name for number in waits_for)
        return f"{task.name} waits for {writers} to finish, then reads the result"
    return f"{task.name} waits for {task.waiting_for}; {_queues(task)}{_answers(task)}"


def _answers(task: StreamTask) -> str:
    """Describes the answers for which the operators of a task wait."""
    texts = [
        f"; operator {wrapper.name} waits for {operator.pending_elements_text}"
        for wrapper in task.chain.wrappers
        if isinstance(operator := wrapper.operator, HasPendingAnswers) and operator.pending_elements_text
    ]
    return "".join(texts)


def _queues(task: StreamTask) -> str:
    output = _output(task) or "none"
    mailbox, queued = count_text(len(task.mailbox), "mail"), count_text(task.queued_input, "buffer")
    return f"mailbox {mailbox}, input {queued}, output {output}{_credit(task)}"


def _output(task: StreamTask) -> str:
    return ", ".join(
        f"{count_text(w.partition.queued_buffers, 'buffer')} queued for channels {w.first_channel}.. "
        f"(pool {w.partition.pool.used_segments} of {w.partition.pool.size} used)"
        for w in task.writers
    )


def _holds_data(task: StreamTask) -> bool:
    return any(writer.partition.queued_buffers for writer in task.writers)


def _credit(task: StreamTask) -> str:
    """Describes the channels whose data waits for a credit of the receiver."""
    starved = [
        str(reader.channel_id)
        for reader in task.view_readers
        if reader.credits == 0 and not reader.is_available and reader.view.is_available(True)
    ]
    return f"; no credit for channels {_some(iter(starved))}" if starved else ""


def _some(texts: Iterator[str]) -> str:
    """Lists the first few items, and the number of the remaining items."""
    listed = list(texts)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
