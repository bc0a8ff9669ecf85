"""What the rules of chapters 8 to 10 say about a recorded run, computed from its rows without the code that answers questions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, RestartAction
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.oracle.valve_model import ValveModel
from tests.support.truth.recorded_run import RecordedRun, Row
from tests.support.why_truth import Claim, Pattern

_MACROS: Final = {
    "E": r"-?[\d,]+ ms|MAX \(end of event time\)|none",
    "S": r"[\d,]+ ms(?: \([^)]*\))?",
    "W": r"no watermark(?: yet)?|watermark (?:-?[\d,]+ ms|MAX \(end of event time\))",
    "O": r"[^()]+ \(\d+/\d+\)",
    "P": r'split (?:"[^"]*"|\d+)',
}
PENDING: Final = "The record came over"


class AskedRun(RecordedRun):
    """A recording; ``drop`` is the late record that an answer is about."""

    drop: Row | None = None
    asked: str = ""
    """The window that the question is about, as text."""

    @cached_property
    def settings(self) -> dict[str, Any]:
        return dict(self.recording.manifest.run.settings)

    def is_restarted(self) -> bool:
        return bool(self.restarts)


def event_pattern(name: str, text: str, check: Callable[[Claim], object]) -> Pattern:
    """A pattern with groups of event time E, spans S, watermarks W, operators O and splits P as well."""
    return Pattern(name, re.sub(r"\{(\w+):([ESWOP])\}", lambda m: f"(?P<{m[1]}>{_MACROS[m[2]]})", text), check)


def run_of(claim: Claim) -> AskedRun:
    assert isinstance(claim.run, AskedRun)
    return claim.run


def drop_of(claim: Claim) -> Row:
    drop = run_of(claim).drop
    assert drop is not None
    return drop


def past(claim: Claim) -> int:
    """Up to when the facts of a sentence go: to the late record, or to the moment."""
    drop = run_of(claim).drop
    return int(claim.now if drop is None else drop.time_ns)


def ms_of(text: str) -> int:
    """An event time, a span or a watermark in ms."""
    text = text.removeprefix("watermark ")
    if text in ("none", "no watermark", "no watermark yet"):
        return NO_TIMESTAMP
    return MAX_WATERMARK if text.startswith("MAX") else int(text.partition(" ms")[0].replace(",", ""))


def place_of(claim: Claim, group: str) -> tuple[int, Row]:
    """The task and the operator of a text such as ``stamped in Source: one (1/2)``."""
    run, text = run_of(claim), claim[group]
    name, is_in, task_name = text.rpartition(" in ")
    task = run.task(task_name)
    vertex = int(run.tasks[task][1])
    if is_in:
        return task, run.operator(name, task)
    return task, next(one for one in run.operators if one.vertex == vertex and one.operator == 0)


def params(operator: Row) -> dict[str, Any]:
    return dict(json.loads(operator.params or "{}"))


def strategy(operator: Row) -> dict[str, Any]:
    return dict(params(operator).get("watermarks") or {})


def split_index(claim: Claim, task: int, operator: Row, name: str) -> int:
    """The number of a split from its name."""
    given = name.removeprefix("split ")
    if not given.startswith('"'):
        return int(given)
    files = params(operator).get("files")
    about = run_of(claim).tasks[task]
    names = files[int(about[4]) :: int(about[5])] if files else run_of(claim).names.splits(task, operator.operator)
    return list(names).index(json.loads(given))


def generated(run: RecordedRun, task: int, operator: Row, split: int, now: int, *, later: bool = False) -> list[Row]:
    rows = run.after if later else run.until
    return rows("generated_watermark", task, now, operator=operator.operator, split=split)


def records(run: RecordedRun, task: int, now: int, *, later: bool = False) -> list[Row]:
    """The records that a task sent, to the first of the operators that get all of them."""
    rows, sent_by = (run.after if later else run.until), run.sent_by(task)
    edge = min((channel.edge for channel in sent_by), default=None)
    channels = {channel.channel for channel in sent_by if channel.edge == edge}
    return [row for row in rows("sent", task, now, kind=ElementKind.RECORD) if row.channel in channels]


@dataclass
class Valves:
    """The channels of a task before a fact."""

    watermark: dict[int, int]
    is_active: dict[int, bool]
    is_aligned: dict[int, bool]
    outputs: dict[int, int]
    """The watermark of each input."""
    idle_inputs: set[int]
    status: dict[int, Row]
    end: dict[int, Row]


def valves(run: RecordedRun, task: int, now: int, before: int | None = None) -> Valves:
    """Folds what a task received (rules 8.9 to 8.14)."""
    channels = sorted(run.received_by(task), key=lambda one: (one.input, one.input_channel))
    inputs: dict[int, list[int]] = {}
    for channel in channels:
        inputs.setdefault(channel.input, []).append(channel.channel)
    models = {number: ValveModel(number, len(own)) for number, own in inputs.items()}
    outputs, idle = dict.fromkeys(inputs, NO_TIMESTAMP), set[int]()
    status, end = {}, {}
    where = {channel: (number, own.index(channel)) for number, own in inputs.items() for channel in own}
    for row in run.until("received", task, now):
        if before is not None and row.seq >= before:
            break
        if row.kind == ElementKind.END_OF_DATA:
            end[row.channel] = row
        if row.kind not in (ElementKind.WATERMARK, ElementKind.STATUS):
            continue
        if row.kind == ElementKind.STATUS:
            status[row.channel] = row
        number, index = where[row.channel]
        for _, kind, value in models[number].on_element(index, row.kind, row.timestamp):
            if kind == ElementKind.WATERMARK:
                outputs[number] = value
            else:
                (idle.add if value == -1 else idle.discard)(number)
    of = {channel: (models[number], index) for channel, (number, index) in where.items()}
    return Valves(
        {channel: model._watermarks[index] for channel, (model, index) in of.items()},
        {channel: model._active[index] for channel, (model, index) in of.items()},
        {channel: model._active[index] and model._aligned[index] for channel, (model, index) in of.items()},
        outputs, idle, status, end,
    )  # fmt: skip


def last_attempt(run: RecordedRun, task: int) -> int:
    """The last attempt of a task in the run."""
    restarts = [row.attempt for row in run.restarts if row.action == RestartAction.RESTART and row.task_id == task]
    return max(restarts, default=0)


def is_attempt(claim: Claim, task: int, attempt: int) -> bool:
    """Whether a sentence names this attempt of a task, and its last one; none for a task that was never restarted."""
    last = last_attempt(claim.run, task)
    if claim["attempt"] is None:
        return last == 0
    return (claim.number("attempt"), claim.number("attempts")) == (attempt, last)


def is_in_mail(run: RecordedRun, task: int, row: Row) -> bool:
    """Whether a mail is the innermost action around a fact: periodic calls are mails, and a reader is none (rule 8.2)."""
    kinds: list[int] = []
    for action in run.until("actions", task, row.time_ns):
        if action.seq > row.seq:
            break
        if action.phase == ActionPhase.BEGIN:
            kinds.append(action.kind)
        elif action.phase == ActionPhase.END:
            kinds.pop()
    return kinds[-1] == ActionKind.MAIL


def combined(run: RecordedRun, task: int, now: int, before: int | None = None) -> list[tuple[Row, int]]:
    """The watermarks of the first operator of a task, from those of its inputs (rules 8.6, 8.16)."""
    inputs = {channel.input for channel in run.received_by(task)}
    marks: dict[int, int] = {}
    idle: set[int] = set()
    reached, found = NO_TIMESTAMP, []
    for row in run.until("task_watermark", task, now):
        if before is not None and row.seq >= before:
            break
        if row.kind == ElementKind.WATERMARK:
            marks[row.input] = max(row.timestamp, marks.get(row.input, NO_TIMESTAMP))
            idle.discard(row.input)
        else:
            (idle.add if row.timestamp == -1 else idle.discard)(row.input)
        if len(idle) == len(inputs):
            value = max((marks.get(number, NO_TIMESTAMP) for number in inputs), default=NO_TIMESTAMP)
        else:
            value = min(marks.get(number, NO_TIMESTAMP) for number in inputs - idle)
        if value > reached:
            reached = value
            found.append((row, value))
    return found


def watermark_of(run: RecordedRun, task: int, now: int) -> int:
    marks = combined(run, task, now)
    return marks[-1][1] if marks else NO_TIMESTAMP


def windows_of(operator: Row, timestamp: int) -> list[tuple[int, int]]:
    """The event-time windows of a timestamp (rules 10.1, 10.4, 10.5)."""
    of = params(operator)
    size, slide = of.get("size_ms", 0), of.get("slide_ms", 0)
    if "gap_ms" in of:
        return [(timestamp, timestamp + of["gap_ms"])]
    if not size:
        return []
    slide = slide or size
    starts = range(timestamp - (timestamp - of.get("offset_ms", 0)) % slide, timestamp - size, -slide)
    return [(start, start + size) for start in starts if start <= timestamp < start + size]


def limit_of(operator: Row, timestamp: int) -> int:
    """The watermark from which on a record is late (rules 10.8, 10.9, 10.35)."""
    if operator.kind == "interval_join":
        return timestamp + 1
    lateness = params(operator).get("lateness_ms", 0)
    windows = windows_of(operator, timestamp)
    return max((end - 1 + lateness for _, end in windows), default=timestamp + lateness)


def operator_of_row(run: RecordedRun, row: Row) -> Row:
    vertex = int(run.tasks[row.task][1])
    return next(one for one in run.operators if (one.vertex, one.operator) == (vertex, row.operator))


def way(claim: Claim, hops: int | None = None) -> tuple[int, Row, Row]:
    """The task, the arrival and the sending of the late record, after as many tasks as sentences about them came before."""
    run, drop = run_of(claim), drop_of(claim)
    task, before = drop.task, drop.seq
    count = sum(text.startswith(PENDING) for text in claim.before) if hops is None else hops
    for hop in range(count + 1):
        arrival = [
            row for row in run.until("received", task, drop.time_ns, kind=ElementKind.RECORD) if row.seq < before
        ][-1]
        sender = run.channels[arrival.channel].source_task
        rows = run.until("sent", sender, drop.time_ns, channel=arrival.channel)
        sent = next(row for row in rows if row.position == arrival.position)
        if hop == count:
            return task, arrival, sent
        task, before = sender, sent.seq
    raise AssertionError("no way")
