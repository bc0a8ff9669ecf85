"""Sentences about channels: elements, buffers, credits and segments."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import (
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    SegmentAction,
)
from flowsim.graph.alignment import FORCED_RULE
from flowsim.quantities import count_text
from flowsim.trace.names import Names
from flowsim.trace.phrases import CREDITS, RECEIVED, SEGMENTS, SENT
from flowsim.trace.sentence import Sentence, element_text, joined

_BARRIER: Final = ElementKind.CHECKPOINT_BARRIER


def sent_sentence(
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
    of_key = f", key {names.key(key)}," if key else ""
    if kind == ElementKind.RECORD and names.is_keyed(channel):
        rules = ("1.18",)
    text = joined(what, element_text(kind, timestamp, names.value(fingerprint))) + of_key
    text = joined(text, f"to {names.target(channel)}")
    return _barrier(names, channel, timestamp, text, rules) if kind == _BARRIER else Sentence(text, rules)


def received_sentence(
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
    element = element_text(kind, timestamp, names.value(fingerprint))
    text = joined(what, element, f"from {names.source(channel)}")
    return _barrier(names, channel, timestamp, text, rules) if kind == _BARRIER else Sentence(text, rules)


def _barrier(names: Names, channel: int, checkpoint: int, text: str, rules: tuple[str, ...]) -> Sentence:
    """Adds why the barrier does not overtake, if the checkpoint is unaligned."""
    forced = names.forced_barrier(channel, checkpoint)
    return Sentence(text, rules) if forced is None else Sentence(f"{text}, {forced.short}", (*rules, FORCED_RULE))


def buffers_sentence(
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
    is_event = kind != BufferKind.DATA
    what = {BufferKind.DATA: "buffer", BufferKind.EVENT: "event"}.get(BufferKind(kind), "priority event")
    match BufferSide(side):
        case BufferSide.QUEUED:
            text = f"queues {what} {number} for {names.target(channel)}, backlog {backlog}"
            return Sentence(text, ("5.13", "5.18") if is_event else ("5.11", "5.18"))
        case BufferSide.SENT:
            left = f", {count_text(credits, 'credit')} left" if credits >= 0 else ""
            more = "" if whole else ", more of it follows"
            text = f"sends {what} {number} ({size:,} bytes) to {names.target(channel)}, backlog {backlog}{left}{more}"
            return Sentence(text, ("6.11", "6.12"))
        case BufferSide.RECEIVED:
            kept = f", {credits} more reserved" if credits >= 0 else ""
            text = f"receives {what} {number} ({size:,} bytes) from {names.source(channel)}, backlog {backlog}{kept}"
            return Sentence(text, ("6.4", "6.14") if is_event else ("6.3", "6.4", "6.14"))
        case BufferSide.FLUSHED:
            return Sentence(f"flushes the queue for {names.target(channel)}, backlog {backlog}", ("5.22",))
        case BufferSide.SKIPPED:
            text = f"skips a buffer without unread bytes for {names.target(channel)}, backlog {backlog}"
            return Sentence(text, ("5.23",))
        case BufferSide.PRIORITIZED:
            return Sentence(f"lets event {number} for {names.target(channel)} overtake, backlog {backlog}", ("5.32",))
        case BufferSide.RECYCLED:
            return Sentence(f"recycles buffer {number} from {names.source(channel)}", ("6.5",))


def credits_sentence(
    names: Names, seq: int, task: int, time_ns: int, channel: int, kind: int, credits: int, balance: int
) -> Sentence:
    text, rules = CREDITS[CreditKind(kind)]
    end = names.end_of(task, channel)
    return Sentence(text.format(credits=count_text(credits, "credit"), channel=end, balance=balance), rules)


def segments_sentence(
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


def buffer_sizes_sentence(
    names: Names, seq: int, task: int, time_ns: int, edge: int, size: int, throughput: int, in_use: int
) -> Sentence:
    text = f"announces a buffer size of {size:,} bytes to {names.edge(edge)}"
    return Sentence(f"{text}: {throughput:,} bytes/s, {count_text(in_use, 'buffer')} in use", ("6.22",))
