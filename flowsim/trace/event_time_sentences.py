"""Sentences about event time: watermarks, timers, windows and late rows."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import (
    ElementKind,
    TimeDomain,
    TimerAction,
    WindowResult,
)
from flowsim.quantities import count_text
from flowsim.trace.names import Names
from flowsim.trace.phrases import TIMERS
from flowsim.trace.sentence import Sentence, element_text, record_text, window_text
from flowsim.trace.time import event_time


def task_watermark_sentence(
    names: Names, seq: int, task: int, time_ns: int, input_index: int, kind: int, timestamp: int
) -> Sentence:
    if kind == ElementKind.WATERMARK:
        return Sentence(f"watermark of input {input_index} is now {event_time(timestamp)}", ("8.9", "8.15"))
    return Sentence(f"input {input_index} is now {element_text(kind, timestamp)}", ("8.10", "8.11"))


def window_intake_sentence(
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
    side: int,
) -> Sentence:
    record = record_text("record", timestamp, names.value(fingerprint))
    text = f"{names.operator(task, operator)} processes {record}, key {names.key(key)}"
    return Sentence(f"{text}, watermark {event_time(watermark)}", ("10.7",))


def join_pairs_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    key_hash: int,
    key: int,
    left_fingerprint: int,
    right_fingerprint: int,
    timestamp: int,
) -> Sentence:
    left, right = names.value(left_fingerprint), names.value(right_fingerprint)
    pair = f"{left} and {right}" if left and right else "two records"
    text = f"{names.operator(task, operator)} joins {pair}, key {names.key(key)}"
    return Sentence(f"{text}, timestamp {event_time(timestamp)}", ("10.33", "10.34"))


def window_joins_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    key_hash: int,
    key: int,
    start: int,
    end: int,
    left_rows: int,
    right_rows: int,
    left_sum: int,
    right_sum: int,
    calls: int,
    product_sum: int,
) -> Sentence:
    sides = f"{count_text(left_rows, 'left record')} and {count_text(right_rows, 'right record')}"
    text = f"{names.operator(task, operator)} calls its function {count_text(calls, 'time')} for {sides}"
    return Sentence(f"{text} of {window_text(start, end)} of key {names.key(key)}", ("10.37",))


def window_fire_sentence(
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
    text = f"{names.operator(task, operator)} {verb} {window_text(start, end)} of key {names.key(key)}"
    return Sentence(f"{text} with {count_text(rows, 'record')}, watermark {event_time(watermark)}", ("10.11", "10.13"))


def window_merge_sentence(
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
    text = f"{names.operator(task, operator)} merges {window_text(start, end)} of key {names.key(key)}"
    return Sentence(f"{text} into {window_text(into_start, into_end)}", ("10.25", "10.26"))


def generated_watermark_sentence(
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
    of_split = "" if split < 0 else f", {names.split(task, operator, split)},"
    what = element_text(kind, timestamp)
    return Sentence(
        f"{names.operator(task, operator)}{of_split} generates {what} after {count_text(records, 'record')}",
        ("8.1", "8.5"),
    )


def alignment_sentence(
    names: Names, seq: int, task: int, operator: int, time_ns: int, split: int, paused: int, limit: int, watermark: int
) -> Sentence:
    who = names.operator(task, operator) + ("" if split < 0 else f", {names.split(task, operator, split)},")
    ahead = f"watermark {event_time(watermark)}, limit {event_time(limit)}"
    return Sentence(f"{who} is {'paused' if paused else 'resumed'} by watermark alignment: {ahead}", ("8.22", "8.23"))


def late_drop_sentence(
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
    record = record_text("late record", timestamp, names.value(fingerprint))
    text = f"{names.operator(task, operator)} {where} {record}, key {names.key(key)}"
    return Sentence(f"{text}, watermark {event_time(watermark)}", ("10.9", "10.10"))


def timers_sentence(
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
    of_key = f", key {names.key(key)}" if key else ""
    window = f", {window_text(start, end)}" if start < end else ""
    at = f", watermark {event_time(watermark)}" if is_event_time else ""
    return Sentence(
        f"{names.operator(task, operator)} {text} {what} timer {event_time(timestamp)}{of_key}{window}{at}", rules
    )


_OF_WINDOW: Final = {
    WindowResult.FIRE: "fires",
    WindowResult.PURGE: "purges",
    WindowResult.FIRE_AND_PURGE: "fires and purges",
}
