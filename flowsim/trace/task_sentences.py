"""Sentences about tasks and operators: life cycle, mails, actions, async elements, metrics."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    AsyncAction,
    ElementKind,
    LifeEvent,
    MailAction,
    SystemTimer,
    TimerAction,
    WaitKind,
)
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.mailbox.mail import MAX_PRIORITY
from flowsim.quantities import count_text, duration_text
from flowsim.trace.names import Names
from flowsim.trace.phrases import ACTIONS, LIFE, MAIL_IN_YIELD, MAIL_OR_INPUT, SOFT_BACK_PRESSURE, WAITS
from flowsim.trace.sentence import Sentence, record_text
from flowsim.trace.time import event_time

_AFTER_WAITING: Final = {WaitKind.COST: "ends its batch", WaitKind.YIELD: "ends the yield"}


def async_element_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    entry: int,
    action: int,
    kind: int,
    timestamp: int,
    fingerprint: int,
    attempt: int,
    rows: int,
    queued: int,
) -> Sentence:
    is_watermark = kind == ElementKind.WATERMARK
    if is_watermark:
        what = f"element {entry} (watermark {event_time(timestamp)})"
    elif action == AsyncAction.PUT:
        what = f"element {entry}, {record_text('record', timestamp, names.value(fingerprint))}"
    else:
        what = record_text("element", timestamp, str(entry))
    given = "" if is_watermark else f" with {count_text(rows, 'result')}"
    text = {
        AsyncAction.PUT: f"queues {what}: {count_text(queued, 'element')} in the queue",
        AsyncAction.INVOKE: f"calls the function for {what}: attempt {attempt}",
        AsyncAction.RETRY: f"schedules a retry of {what} after attempt {attempt}",
        AsyncAction.COMPLETE: f"receives {count_text(rows, 'result')} for {what}",
        AsyncAction.FAIL: f"receives an error for {what}",
        AsyncAction.TIMEOUT: f"times out {what}",
        AsyncAction.EMIT: f"emits {what}{given}: {count_text(queued, 'element')} left in the queue",
    }
    return Sentence(f"{names.operator(task, operator)} {text[AsyncAction(action)]}", _OF_ASYNC[AsyncAction(action)])


_OF_ASYNC: Final = {
    AsyncAction.PUT: ("11.1", "11.2"),
    AsyncAction.INVOKE: ("11.1", "11.25"),
    AsyncAction.RETRY: ("11.24",),
    AsyncAction.COMPLETE: ("11.12",),
    AsyncAction.FAIL: ("11.15",),
    AsyncAction.TIMEOUT: ("11.17",),
    AsyncAction.EMIT: ("11.13", "11.14"),
}


def system_timers_sentence(
    names: Names, seq: int, task: int, operator: int, time_ns: int, action: int, kind: int, entry: int, timestamp: int
) -> Sentence:
    what, rule = {
        SystemTimer.TIMEOUT: ("timeout", "11.17"),
        SystemTimer.RETRY: ("retry", "11.24"),
    }[SystemTimer(kind)]
    text = {
        TimerAction.REGISTER: f"registers the {what} timer of element {entry} for {event_time(timestamp)}",
        TimerAction.DELETE: f"cancels the {what} timer of element {entry}",
        TimerAction.FIRE: f"fires the {what} timer of element {entry}",
    }
    return Sentence(f"{names.operator(task, operator)} {text[TimerAction(action)]}", (rule,))


def snapshots_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    requested_ns: int,
    checkpoint: int,
    records_in: int,
    elements: int,
    inside: int,
) -> Sentence:
    where = "inside an element" if inside else "between two elements"
    text = f"{names.operator(task, operator)} snapshots its state {where}, after {count_text(records_in, 'record')}"
    rules = ("11.37",) if inside else ("3.25", "11.20")
    return Sentence(f"{text}: {count_text(elements, 'element')} in the snapshot", rules)


def operator_counts_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    records_in: int,
    records_out: int,
    side: int,
    dropped: int,
) -> Sentence:
    more = f", {side:,} to side outputs" if side else ""
    more += f", {dropped:,} dropped" if dropped else ""
    return Sentence(
        f"{names.operator(task, operator)} in total: {count_text(records_in, 'record')} in, {records_out:,} out{more}",
        ("13.4",),
    )


def lifecycle_sentence(names: Names, seq: int, task: int, operator: int, time_ns: int, event: int) -> Sentence:
    text, rules = LIFE[LifeEvent(event)]
    return Sentence(f"{names.operator(task, operator)} {text}", rules)


def task_times_sentence(
    names: Names,
    seq: int,
    task: int,
    time_ns: int,
    busy: int,
    idle: int,
    soft: int,
    hard: int,
    records_in: int,
    records_out: int,
) -> Sentence:
    parts = (("busy", busy), ("idle", idle), ("soft back-pressured", soft), ("hard back-pressured", hard))
    spent = ", ".join(f"{duration_text(ns)} {name}" for name, ns in parts if ns)
    return Sentence(
        f"the task in total: {spent or 'no time'}; {count_text(records_in, 'record')} in, {records_out:,} out",
        ("3.28",),
    )


def metrics_sentence(
    names: Names,
    seq: int,
    task: int,
    time_ns: int,
    busy: int,
    idle: int,
    soft: int,
    hard: int,
    records_in: int,
    records_out: int,
    buffers_out: int,
    bytes_out: int,
    input_queue: int,
    output_queue: int,
    input_usage: int,
    output_usage: int,
    input_watermark: int,
    output_watermark: int,
    mailbox: int,
    buffer_size: int,
) -> Sentence:
    times = f"idle {idle}, soft {soft}, hard {hard} ms/s"
    times = times if busy < 0 else f"busy {busy}, {times}"
    queues = f"{count_text(input_queue, 'buffer')} in ({input_usage / 1e4:.1f} %), "
    queues += f"{output_queue} out ({output_usage / 1e4:.1f} %)"
    counts = f"records {records_in:,} in, {records_out:,} out"
    marks = f"watermarks {event_time(input_watermark)} in, {event_time(output_watermark)} out"
    return Sentence(f"metrics: {times}; {queues}; {counts}; {marks}", ("13.1", "13.2", "13.6", "13.7"))


def latencies_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    vertex: int,
    subtask: int,
    marked_ms: int,
    latency: int,
) -> Sentence:
    source = f"subtask {subtask} of {names.vertex(vertex)}"
    return Sentence(
        f"{names.operator(task, operator)} receives a latency marker from {source}: latency {latency} ms", ("8.20",)
    )


def mails_sentence(
    names: Names, seq: int, task: int, time_ns: int, action: int, mail: int, priority: int, urgent: int
) -> Sentence:
    of = {MAX_PRIORITY: "control mail", -1: "task mail"}.get(priority, f"mail of priority {priority}")
    if action == MailAction.RUN:
        return Sentence(f"runs {of} #{mail}", ("3.3",))
    return Sentence(f"receives {'urgent ' if urgent else ''}{of} #{mail}", ("3.1", "3.5") if urgent else ("3.1",))


def actions_sentence(
    names: Names,
    seq: int,
    task: int,
    time_ns: int,
    phase: int,
    kind: int,
    action: int,
    priority: int,
    suspended: int,
    depth: int | None = None,
) -> Sentence:
    """Returns the sentence of an action.

    ``depth`` is the number of actions and waits that contain this action; None if unknown.
    """
    match ActionPhase(phase):
        case ActionPhase.BEGIN:
            text, rules = ACTIONS[ActionKind(kind)]
            return Sentence(f"begins {text} (action {action})", rules)
        case ActionPhase.END:
            return Sentence(f"ends {ACTIONS[ActionKind(kind)][0]} (action {action})")
        case ActionPhase.WAIT:
            text, rules = _wait_text(WaitKind(kind), priority, depth)
            return Sentence(text.format(priority=priority), rules)
        case ActionPhase.RESUME:
            return Sentence(_AFTER_WAITING.get(WaitKind(kind), "continues"))


def _wait_text(kind: WaitKind, priority: int, depth: int | None) -> tuple[str, tuple[str, ...]]:
    """Returns the text of a wait.

    A task is idle only between actions; in a yield, the wait for a mail counts as busy time (rule 3.28).
    """
    if priority == OUTPUT_FULL:
        return SOFT_BACK_PRESSURE
    if kind is WaitKind.MAIL and depth != 0:
        return MAIL_OR_INPUT if depth is None else MAIL_IN_YIELD
    return WAITS[kind]
