"""What each kind of fact says in plain words, and the rules of ``docs/flink_rules.md`` that explain it.

One entry per fact table: a function of the names and the row, column by column, that answers a sentence. What differs by
a column with a closed set of values stands in a table of ``trace_phrases``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    AsyncAction,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    LifeEvent,
    MailAction,
    SegmentAction,
    TimeDomain,
    TimerAction,
    WaitKind,
    WindowResult,
)
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.mailbox.mail import MAX_PRIORITY
from flowsim.trace.names import Names, event_time
from flowsim.trace.phrases import ACTIONS, CREDITS, LIFE, RECEIVED, SEGMENTS, SENT, SOFT_BACK_PRESSURE, TIMERS, WAITS
from flowsim.trace.time import duration_text
from flowsim.units import NO_TIMESTAMP


class Sentence(NamedTuple):
    """One fact in words. ``rules``: numbers of the rules that explain it."""

    text: str
    rules: tuple[str, ...] = ()


Tell = Callable[..., Sentence]

_STATUS: Final = {0: "ACTIVE", -1: "IDLE"}
_AFTER_WAITING: Final = {WaitKind.COST: "its batch is paid for", WaitKind.YIELD: "has yielded"}


def sentence(names: Names, table: str, row: tuple[int, ...]) -> Sentence:
    """One fact in words."""
    return SENTENCES[table](names, *row)


def _element(kind: int, timestamp: int) -> str:
    """What follows the kind of an element: its time, its status or its mode."""
    match ElementKind(kind):
        case ElementKind.RECORD:
            return "without timestamp" if event_time(timestamp) == "none" else f"of {event_time(timestamp)}"
        case ElementKind.STATUS:
            return _STATUS.get(timestamp, str(timestamp))
        case ElementKind.END_OF_DATA:
            return "with drain" if timestamp else "without drain"
        case ElementKind.END_OF_PARTITION:
            return ""
        case _:
            return event_time(timestamp)


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)


def _sent(
    names: Names,
    seq: int,
    task: int,
    time_ns: int,
    channel: int,
    position: int,
    kind: int,
    timestamp: int,
    fingerprint: int,
    key_hash: int,
    key: int,
) -> Sentence:
    what, rules = SENT[ElementKind(kind)]
    of_key = f"with key {names.key(key)}" if key else ""
    if kind == ElementKind.RECORD and names.is_keyed(channel):
        rules = ("1.18",)
    return Sentence(_joined(what, _element(kind, timestamp), of_key, f"for {names.target(channel)}"), rules)


def _received(
    names: Names,
    seq: int,
    task: int,
    time_ns: int,
    channel: int,
    position: int,
    kind: int,
    timestamp: int,
    fingerprint: int,
    epoch: int,
) -> Sentence:
    what, rules = RECEIVED[ElementKind(kind)]
    return Sentence(_joined(what, _element(kind, timestamp), f"from {names.source(channel)}"), rules)


def _task_watermark(
    names: Names, seq: int, task: int, time_ns: int, input_index: int, kind: int, timestamp: int
) -> Sentence:
    if kind == ElementKind.WATERMARK:
        return Sentence(f"watermark of input {input_index} is now {event_time(timestamp)}", ("8.9", "8.15"))
    return Sentence(f"input {input_index} is now {_element(kind, timestamp)}", ("8.10", "8.11"))


def _window_intake(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    key_hash: int,
    key: int,
    timestamp: int,
    fingerprint: int,
    watermark: int,
    gap: int,
) -> Sentence:
    text = f"{names.operator(task, operator)} takes in a record of {event_time(timestamp)} with key {names.key(key)}"
    return Sentence(f"{text}, watermark {event_time(watermark)}", ("10.7",))


def _window_fire(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    key_hash: int,
    key: int,
    start: int,
    end: int,
    watermark: int,
    rows: int,
    fingerprint_sum: int,
    fingerprint_xor: int,
    result: int,
    cause: int,
    at: int,
) -> Sentence:
    verb = _OF_WINDOW[WindowResult(result)]
    text = f"{names.operator(task, operator)} {verb} {_window(start, end)} of key {names.key(key)}"
    return Sentence(f"{text} with {_count(rows, 'record')}, watermark {event_time(watermark)}", ("10.11", "10.13"))


def _window_merge(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    key_hash: int,
    key: int,
    start: int,
    end: int,
    into_start: int,
    into_end: int,
    watermark: int,
) -> Sentence:
    text = f"{names.operator(task, operator)} makes {_window(start, end)} of key {names.key(key)}"
    return Sentence(f"{text} part of {_window(into_start, into_end)}", ("10.25", "10.26"))


def _async_element(
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
    what = f"{'watermark' if is_watermark else 'the record'} {_element(kind, timestamp)} (number {entry})"
    given = "" if is_watermark else f" with {_count(rows, 'result')}"
    told = {
        AsyncAction.PUT: f"puts {what} into its queue: {_count(queued, 'element')} now",
        AsyncAction.INVOKE: f"calls the function for {what}, attempt {attempt}",
        AsyncAction.RETRY: f"will ask again for {what}, after attempt {attempt}",
        AsyncAction.COMPLETE: f"has {_count(rows, 'result')} for {what}",
        AsyncAction.FAIL: f"has an error for {what}",
        AsyncAction.TIMEOUT: f"has no answer in time for {what}",
        AsyncAction.EMIT: f"lets {what} out{given}: {_count(queued, 'element')} left",
    }
    return Sentence(f"{names.operator(task, operator)} {told[AsyncAction(action)]}", _OF_ASYNC[AsyncAction(action)])


_OF_ASYNC: Final = {
    AsyncAction.PUT: ("11.1", "11.2"),
    AsyncAction.INVOKE: ("11.1", "11.25"),
    AsyncAction.RETRY: ("11.24",),
    AsyncAction.COMPLETE: ("11.12",),
    AsyncAction.FAIL: ("11.15",),
    AsyncAction.TIMEOUT: ("11.17",),
    AsyncAction.EMIT: ("11.13", "11.14"),
}


def _snapshots(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    requested_ns: int,
    records_in: int,
    elements: int,
    inside: int,
) -> Sentence:
    where = "in the middle of an element" if inside else "between two elements"
    text = f"{names.operator(task, operator)} is asked for its state {where}, after {_count(records_in, 'record')}"
    rules = ("11.37",) if inside else ("3.25", "11.20")
    return Sentence(f"{text}: it keeps {_count(elements, 'element')} back", rules)


def _generated_watermark(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    split: int,
    kind: int,
    timestamp: int,
    records: int,
    max_timestamp: int,
) -> Sentence:
    of_split = "" if split < 0 else f", split {split},"
    what = _element(kind, timestamp)
    return Sentence(
        f"{names.operator(task, operator)}{of_split} makes {what} after {_count(records, 'record')}", ("8.1", "8.5")
    )


def _alignment(
    names: Names, seq: int, task: int, operator: int, time_ns: int, split: int, paused: int, limit: int, watermark: int
) -> Sentence:
    who = names.operator(task, operator) + ("" if split < 0 else f", split {split},")
    ahead = f"its watermark {event_time(watermark)}, {event_time(limit)} allowed"
    return Sentence(f"{who} {'waits for others' if paused else 'reads on'}: {ahead}", ("8.22", "8.23"))


def _late_drop(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    key_hash: int,
    key: int,
    timestamp: int,
    fingerprint: int,
    watermark: int,
    side_output: int,
) -> Sentence:
    where = "sends to the late side output" if side_output else "drops"
    text = (
        f"{names.operator(task, operator)} {where} a late record of {event_time(timestamp)} with key {names.key(key)}"
    )
    return Sentence(f"{text}, watermark {event_time(watermark)}", ("10.9", "10.10"))


def _operator_counts(
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
    return Sentence(f"{names.operator(task, operator)} in all: {records_in:,} in, {records_out:,} out{more}", ("13.4",))


def _lifecycle(names: Names, seq: int, task: int, operator: int, time_ns: int, event: int) -> Sentence:
    text, rules = LIFE[LifeEvent(event)]
    return Sentence(f"{names.operator(task, operator)} {text}", rules)


def _task_times(
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
    return Sentence(f"the task in all: {spent or 'no time'}; {records_in:,} in, {records_out:,} out", ("3.28",))


def _metrics(
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
    queues = f"{input_queue} buffers in ({input_usage / 1e4:.1f} %), {output_queue} out ({output_usage / 1e4:.1f} %)"
    counts = f"records {records_in:,} in, {records_out:,} out"
    marks = f"watermarks {event_time(input_watermark)} in, {event_time(output_watermark)} out"
    return Sentence(f"metrics: {times}; {queues}; {counts}; {marks}", ("13.1", "13.2", "13.6", "13.7"))


def _latencies(
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
        f"{names.operator(task, operator)} sees a latency marker from {source} after {latency} ms", ("8.20",)
    )


def _buffers(
    names: Names,
    seq: int,
    task: int,
    time_ns: int,
    channel: int,
    side: int,
    number: int,
    kind: int,
    size: int,
    backlog: int,
    credits: int,
    whole: int,
) -> Sentence:
    what = "event" if kind == BufferKind.EVENT else "buffer"
    match BufferSide(side):
        case BufferSide.QUEUED:
            text = f"queues {what} {number} for {names.target(channel)}, backlog {backlog}"
            return Sentence(text, ("5.13", "5.18") if kind == BufferKind.EVENT else ("5.11", "5.18"))
        case BufferSide.SENT:
            left = f", {_count(credits, 'credit')} left" if credits >= 0 else ""
            more = "" if whole else ", more of it follows"
            text = f"sends {what} {number} ({size:,} bytes) to {names.target(channel)}, backlog {backlog}{left}{more}"
            return Sentence(text, ("6.11", "6.12"))
        case BufferSide.RECEIVED:
            kept = f", {credits} more reserved" if credits >= 0 else ""
            text = f"receives {what} {number} ({size:,} bytes) from {names.source(channel)}, backlog {backlog}{kept}"
            return Sentence(text, ("6.4", "6.14") if kind == BufferKind.EVENT else ("6.3", "6.4", "6.14"))


def _credits(
    names: Names, seq: int, task: int, time_ns: int, channel: int, kind: int, credits: int, balance: int
) -> Sentence:
    text, rules = CREDITS[CreditKind(kind)]
    end = names.end_of(task, channel)
    return Sentence(text.format(credits=_count(credits, "credit"), channel=end, balance=balance), rules)


def _segments(
    names: Names,
    seq: int,
    task: int,
    time_ns: int,
    pool: int,
    action: int,
    subpartition: int,
    step: int,
    requested: int,
    free: int,
    size: int,
) -> Sentence:
    text, rules = SEGMENTS[SegmentAction(action)]
    whose = f" of subpartition {subpartition}" if subpartition >= 0 else ""
    return Sentence(f"{names.pool(pool)} {text}{whose}: {requested} held, {free} free, size {size}", rules)


def _buffer_sizes(
    names: Names, seq: int, task: int, time_ns: int, edge: int, size: int, throughput: int, in_use: int
) -> Sentence:
    text = f"asks for buffers of {size:,} bytes from {names.edge(edge)}"
    return Sentence(f"{text}: {throughput:,} bytes/s, {in_use} buffers in use", ("6.22",))


def _mails(
    names: Names, seq: int, task: int, time_ns: int, action: int, mail: int, priority: int, urgent: int
) -> Sentence:
    of = {MAX_PRIORITY: "control mail", -1: "mail of the task"}.get(priority, f"mail of priority {priority}")
    if action == MailAction.RUN:
        return Sentence(f"takes {of} #{mail} to run it", ("3.3",))
    return Sentence(f"gets {'urgent ' if urgent else ''}{of} #{mail}", ("3.1", "3.5") if urgent else ("3.1",))


def _actions(
    names: Names, seq: int, task: int, time_ns: int, phase: int, kind: int, action: int, priority: int
) -> Sentence:
    match ActionPhase(phase):
        case ActionPhase.BEGIN:
            text, rules = ACTIONS[ActionKind(kind)]
            return Sentence(f"begins {text} (action {action})", rules)
        case ActionPhase.END:
            return Sentence(f"ends {ACTIONS[ActionKind(kind)][0]} (action {action})")
        case ActionPhase.WAIT:
            text, rules = SOFT_BACK_PRESSURE if priority == OUTPUT_FULL else WAITS[WaitKind(kind)]
            return Sentence(text.format(priority=priority), rules)
        case ActionPhase.RESUME:
            return Sentence(_AFTER_WAITING.get(WaitKind(kind), "goes on"))


def _timers(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    action: int,
    domain: int,
    timestamp: int,
    key_hash: int,
    key: int,
    start: int,
    watermark: int,
    end: int,
    service: int,
) -> Sentence:
    text, rules = TIMERS[TimerAction(action)]
    is_event_time = domain == TimeDomain.EVENT_TIME
    what = "event-time" if is_event_time else "processing-time"
    if action == TimerAction.FIRE and not is_event_time:
        rules = ("9.9",)
    of_key = f" of key {names.key(key)}" if key else ""
    window = f", {_window(start, end)}" if (start, end) != (0, 0) else ""
    at = f", watermark {event_time(watermark)}" if is_event_time else ""
    return Sentence(
        f"{names.operator(task, operator)} {text} the {what} timer {event_time(timestamp)}{of_key}{window}{at}", rules
    )


def _window(start: int, end: int) -> str:
    return "the global window" if start == NO_TIMESTAMP else f"window [{start:,}, {end:,})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_OF_WINDOW: Final = {
    WindowResult.FIRE: "fires",
    WindowResult.PURGE: "purges",
    WindowResult.FIRE_AND_PURGE: "fires and purges",
}

SENTENCES: Final[dict[str, Tell]] = {
    "sent": _sent,
    "received": _received,
    "task_watermark": _task_watermark,
    "generated_watermark": _generated_watermark,
    "alignment": _alignment,
    "window_merge": _window_merge,
    "window_intake": _window_intake,
    "window_fire": _window_fire,
    "late_drop": _late_drop,
    "async_elements": _async_element,
    "snapshots": _snapshots,
    "operator_counts": _operator_counts,
    "lifecycle": _lifecycle,
    "task_times": _task_times,
    "metrics": _metrics,
    "latencies": _latencies,
    "buffers": _buffers,
    "credits": _credits,
    "segments": _segments,
    "buffer_sizes": _buffer_sizes,
    "mails": _mails,
    "actions": _actions,
    "timers": _timers,
}
