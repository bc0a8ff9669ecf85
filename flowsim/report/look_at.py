"""Where to look first in a run: at most five moments of it, each in a sentence, with a link."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from flowsim.facts.checkpoint_tables import CHECKPOINT_STEPS
from flowsim.facts.kinds import AsyncAction, BufferSide, CheckpointReason, ElementKind, LifeEvent
from flowsim.facts.schema import (
    ACTIONS,
    ASYNC_ELEMENTS,
    BUFFERS,
    LATE_DROP,
    LIFECYCLE,
    RECEIVED,
    WINDOW_FIRE,
    WINDOW_MERGE,
)
from flowsim.history.async_elements import async_elements, async_operators, step_times
from flowsim.history.checkpoints import RecordedCheckpoint, RecordedFailure
from flowsim.history.rows import Row, Rows, first_row, rows_by_task
from flowsim.history.task_states import output_waits
from flowsim.history.windows import fires_of
from flowsim.quantities import count_text, duration_text
from flowsim.trace.links import report_link
from flowsim.trace.time import moment_text, utc_text
from flowsim.units import NO_TIMESTAMP
from flowsim.why.about import window_words
from flowsim.why.run_facts import RunFacts

LEAST: Final = 3
MOST: Final = 5
_LEAST_SHARE: Final = 0.05
"""Of the run: shorter waits of a task are nothing to look at."""
_LEAST_SILENCE: Final = 0.25
_LEAST_BUFFERS: Final = 2
_WIDTH: Final = 70
_ENDS: Final = {LifeEvent.FINISHED: "finishes", LifeEvent.CANCELED: "is canceled"}


@dataclass(frozen=True, slots=True)
class LookAt:
    """``link``: the part of the address of a report after ``#``. ``task`` and ``seq``: of the fact, None: none is recorded.

    ``time_ns``: since the start of the run. ``question``: the words of ``flowsim why`` that ask about it; () without one.
    """

    what: str
    text: str
    link: str
    task: int | None
    seq: int | None
    time_ns: int
    question: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """For a report, which has the answers itself."""
        return {name: value for name, value in asdict(self).items() if name != "question"}


def look_at(facts: RunFacts, laws: Mapping[str, Any] | None = None) -> list[LookAt]:
    """Returns the moments, the most important one first. ``laws``: of a report; None: the run was not judged."""
    found = [*_failures(facts), *_violations(laws)]
    for find in _FINDERS:
        if len(found) >= MOST:
            break
        found.extend(find(facts))
    for find in _OTHER_FINDERS:
        if len(found) < LEAST:
            found.extend(find(facts))
    return found[:MOST]


def _failures(facts: RunFacts) -> Iterator[LookAt]:
    """The first failure of the job, and its restart; or the end of a job that no task can continue."""
    life = facts.by_task(LIFECYCLE.name)
    for failure in facts.checkpoints().failures.values():
        ends = life.equal(task=failure.task, operator=-1, event=LifeEvent.FAILED)
        row = ends.where(ends["time_ns"] >= failure.time_ns).first() or ends.last()
        who = facts.task(failure.task) if failure.task >= 0 else "the job"
        text = f"{who} fails at {facts.moment(failure.time_ns)}{_because(facts, failure)}"
        view = "timeline" if failure.restarted_ns is None else "checkpoints"
        question = ("failed",) if failure.restarted_ns is None else ("restart", str(failure.failure))
        yield _at(facts, "failure", view, text, row, time_ns=failure.time_ns, question=question)
        return
    for event, verb in (
        (LifeEvent.FAILED, "fails"),
        (LifeEvent.DEADLOCKED, "can never continue"),
        (LifeEvent.LIVELOCKED, "takes turns without end"),
    ):
        row = first_row(life.equal(event=event))
        if row is not None:
            failed = facts.recording.manifest.failure
            cause = "" if failed is None or event is not LifeEvent.FAILED else f": {_short(failed.cause)}"
            text = f"{facts.task(row['task'])} {verb}, at {facts.moment(row['time_ns'])}{cause}"
            yield _at(facts, "failure", "timeline", text, row, question=("failed",))
            return


def _because(facts: RunFacts, failure: RecordedFailure) -> str:
    reason = facts.names.reason(failure.failure)
    cause = f" ({_short(reason)})" if reason else ""
    if failure.restarted_ns is None:
        return f"{cause}; no restart follows"
    start = "without state" if failure.restored < 0 else f"from checkpoint {failure.restored}"
    restart = f"a restart of {count_text(failure.restarted, 'subtask')} {start}"
    return f"{cause}; {restart} follows at {facts.moment(failure.restarted_ns)}"


def _violations(laws: Mapping[str, Any] | None) -> Iterator[LookAt]:
    """The earliest evidence of a violation."""
    rows = [(law, row) for law in (laws or {"laws": ()})["laws"] for row in law["evidence"]]
    for law, row in sorted(rows, key=lambda one: (one[1]["time_ns"] is None, one[1]["time_ns"] or 0))[:1]:
        channel = row.get("channel")
        view = "laws" if channel is None else "channel"
        link = report_link(view, task=row["task"], seq=row["seq"], time_ns=row["time_ns"], channel=channel)
        text = f"{law['law']} is violated: {row['what']}"
        yield LookAt("violation", text, link, row["task"], row["seq"], row["time_ns"] or 0)


def _late(facts: RunFacts) -> Iterator[LookAt]:
    drops = facts.by_task(LATE_DROP.name)
    row = first_row(drops)
    if row is None:
        return
    record = _record(facts, row["fingerprint"])
    times = f"timestamp {_event_time(row['timestamp'])}, watermark {_event_time(row['watermark'])}"
    number = f"the first of {count_text(len(drops), 'late record')}" if len(drops) > 1 else "the only late record"
    where = facts.operator_in(row["task"], row["operator"])
    text = f"{record} is late at {where} at {facts.moment(row['time_ns'])}: {times}; {number}"
    yield _at(facts, "late record", "event-time", text, row, question=_question_of_late(facts, drops, row))


def _question_of_late(facts: RunFacts, drops: Rows, row: Row) -> tuple[str, ...]:
    value = facts.names.value(row["fingerprint"])
    same = drops.equal(fingerprint=row["fingerprint"], timestamp=row["timestamp"])
    task = ("--task", facts.task(row["task"])) if len(same) > 1 else ()
    return ("late", f"{value}@{row['timestamp']}", *task) if value else ()


def _back_pressure(facts: RunFacts) -> Iterator[LookAt]:
    """Of the task that waits most for output, its longest wait."""
    names = ("seq", "task", "time_ns", "phase", "kind", "priority")
    waits, lengths = output_waits(rows_by_task(facts.recording, ACTIONS.name, names), facts.end_ns)
    if not len(waits):
        return
    tasks, of = np.unique(waits["task"], return_inverse=True)
    sums = np.bincount(of, lengths)
    task, share = int(tasks[sums.argmax()]), sums.max() / max(1, facts.end_ns - facts.start_ns)
    if share < _LEAST_SHARE:
        return
    at = int(np.where(waits["task"] == task, lengths, -1).argmax())
    row = waits.row(at)
    text = (
        f"{facts.task(task)} waits for output buffers {share:.0%} of the run: the longest wait begins at "
        f"{facts.moment(row['time_ns'])} and takes {duration_text(int(lengths[at]))}"
    ).replace("%", " %")
    begin = moment_text(row["time_ns"] - facts.start_ns)
    yield _at(facts, "back-pressure", "timeline", text, row, question=("waiting", facts.task(task), "--at", begin))


def _queue(facts: RunFacts) -> Iterator[LookAt]:
    """The first moment at which most data buffers waited in one channel."""
    rows = rows_by_task(facts.recording, BUFFERS.name, ("seq", "task", "time_ns", "channel", "side", "backlog"))
    queued = rows.where((rows["side"] == BufferSide.QUEUED) & (rows["backlog"] >= _LEAST_BUFFERS))
    row = first_row(queued.where(queued["backlog"] == queued["backlog"].max(initial=0)))
    if row is None:
        return
    where = facts.names.channel(row["channel"])
    text = f"{count_text(row['backlog'], 'data buffer')} wait in {where} at {facts.moment(row['time_ns'])}"
    yield _at(facts, "fullest queue", "channel", text, row, channel=row["channel"])


def _checkpoint(facts: RunFacts) -> Iterator[LookAt]:
    """The first checkpoint that failed, or else the slowest one."""
    taken = list(facts.checkpoints().checkpoints.values())
    failed = next((one for one in taken if one.status == "failed"), None)
    completed = [one for one in taken if one.status == "completed"]
    chosen = failed or max(completed, key=_duration_ns, default=None)
    if chosen is None or (chosen is not failed and not _duration_ns(chosen)):
        return
    row = first_row(facts.by_task(CHECKPOINT_STEPS.name).equal(checkpoint=chosen.checkpoint))
    link = f"checkpoint={chosen.checkpoint}"
    yield _at(
        facts,
        "checkpoint",
        "checkpoints",
        _checkpoint_text(facts, chosen, len(completed)),
        row,
        chosen.triggered_ns,
        more=link,
        question=("checkpoint", str(chosen.checkpoint)),
    )


def _checkpoint_text(facts: RunFacts, one: RecordedCheckpoint, of: int) -> str:
    if one.status == "failed":
        assert one.ended_ns is not None
        reason = "" if one.reason is CheckpointReason.NONE else f": {one.reason.name.lower().replace('_', ' ')}"
        return f"checkpoint {one.checkpoint} fails at {facts.moment(one.ended_ns)}{reason}"
    slowest = f", the slowest of {of:,}" if of > 1 else ""
    after = f"{duration_text(_duration_ns(one))}, triggered at {facts.moment(one.triggered_ns)}"
    return f"checkpoint {one.checkpoint} completes after {after}{slowest}"


def _duration_ns(one: RecordedCheckpoint) -> int:
    return (one.triggered_ns if one.ended_ns is None else one.ended_ns) - one.triggered_ns


def _silent_channel(facts: RunFacts) -> Iterator[LookAt]:
    yield from _longest_silence(facts, beside_others=True)


def _only_channel(facts: RunFacts) -> Iterator[LookAt]:
    yield from _longest_silence(facts, beside_others=False)


def _longest_silence(facts: RunFacts, *, beside_others: bool) -> Iterator[LookAt]:
    """The channel that delivers no record for the longest time.

    ``beside_others``: while other channels of its receiver deliver some; otherwise of receivers with one channel.
    """
    rows = rows_by_task(facts.recording, RECEIVED.name, ("seq", "task", "time_ns", "channel", "kind"))
    records = rows.where(rows["kind"] == ElementKind.RECORD)
    silences = [
        (*_silence(facts, ours, channel.channel), channel)
        for task in facts.graph.tasks
        if (len(channels := facts.graph.received_by(task)) > 1) is beside_others
        and len(ours := records.equal(task=task))
        for channel in channels
    ]
    if not silences:
        return
    since, until, channel = max(silences, key=lambda one: one[1] - one[0])
    ours = records.equal(task=channel.target_task)
    others = ours.where((ours["channel"] != channel.channel) & (ours["time_ns"] >= since) & (ours["time_ns"] <= until))
    if until - since < _LEAST_SILENCE * (facts.end_ns - facts.start_ns) or (beside_others and not len(others)):
        return
    text = (
        f"{facts.task(channel.target_task)} receives no record from {facts.task(channel.source_task)} between "
        f"{facts.moment(since)} and {facts.moment(until)}"
    )
    if beside_others:
        text += f", but {count_text(len(others), 'record')} from other channels"
    row = others.first() or ours.where(ours["time_ns"] >= until).first() or ours.last()
    yield _at(facts, "silent channel", "event-time" if beside_others else "channel", text, row, channel=channel.channel)


def _silence(facts: RunFacts, records: Rows, channel: int) -> tuple[int, int]:
    """The longest time without a record of a channel, from its begin to its end."""
    times = np.concatenate([[facts.start_ns], records.equal(channel=channel)["time_ns"], [facts.end_ns]])
    at = int(np.diff(times).argmax())
    return int(times[at]), int(times[at + 1])


def _async(facts: RunFacts) -> Iterator[LookAt]:
    """The element of an async operator whose result waits longest to be emitted."""
    longest, found = 0, None
    for operator, tasks in async_operators(facts.graph):
        for task in tasks:
            rows = facts.rows(ASYNC_ELEMENTS.name, task).equal(operator=operator.operator)
            steps = step_times(rows)
            lasts = np.where((steps.done >= 0) & (steps.emitted >= 0), steps.emitted - steps.done, 0)
            if lasts.max(initial=0) > longest:
                longest, found = int(lasts.max()), (task, operator, int(lasts.argmax()))
    if found is None or longest < _LEAST_SHARE * (facts.end_ns - facts.start_ns):
        return
    task, operator, entry = found
    element = async_elements(facts, task, operator.operator)[entry]
    assert element.done is not None
    text = (
        f"{_record(facts, element.put['fingerprint'])} waits {duration_text(longest)} to be emitted by "
        f"{facts.operator_in(task, operator.operator)}: its result is there at {facts.moment(element.done['time_ns'])}"
    )
    yield _at(facts, "async result", "timeline", text, element.done)


def _timeout(facts: RunFacts) -> Iterator[LookAt]:
    rows = facts.by_task(ASYNC_ELEMENTS.name)
    row = first_row(rows.where(np.isin(rows["action"], [AsyncAction.TIMEOUT, AsyncAction.FAIL])))
    if row is not None:
        verb = "times out" if row["action"] == AsyncAction.TIMEOUT else "fails"
        where = facts.operator_in(row["task"], row["operator"])
        text = f"the call for {_record(facts, row['fingerprint'])} {verb} at {where} at {facts.moment(row['time_ns'])}"
        yield _at(facts, "failed call", "timeline", text, row)


def _merge(facts: RunFacts) -> Iterator[LookAt]:
    row = first_row(facts.by_task(WINDOW_MERGE.name))
    if row is not None:
        windows = (
            f"{window_bounds(row, 'window')}{facts.of_key(row['key'])} is merged into {window_bounds(row, 'into')}"
        )
        text = f"{windows} at {facts.operator_in(row['task'], row['operator'])} at {facts.moment(row['time_ns'])}"
        yield _at(facts, "first merge", "event-time", text, row)


def _fire(facts: RunFacts) -> Iterator[LookAt]:
    row = first_row(fires_of(facts.by_task(WINDOW_FIRE.name)))
    if row is not None:
        window = (
            f"{window_bounds(row, 'window')}{facts.of_key(row['key'])} fires with {count_text(row['rows'], 'record')}"
        )
        text = f"{window} at {facts.operator_in(row['task'], row['operator'])} at {facts.moment(row['time_ns'])}"
        yield _at(facts, "first fire", "event-time", text, row, question=("fired", *window_words(facts, row)))


def _arrival(facts: RunFacts) -> Iterator[LookAt]:
    """The first record that crosses a channel: where little else is to be seen."""
    rows = rows_by_task(facts.recording, RECEIVED.name, ("seq", "task", "time_ns", "channel", "kind", "fingerprint"))
    row = first_row(rows.where(rows["kind"] == ElementKind.RECORD))
    if row is not None:
        record = _record(facts, row["fingerprint"])
        where = f"{facts.task(row['task'])} at {facts.moment(row['time_ns'])}"
        text = f"{record} reaches {where}"
        yield _at(facts, "first record", "channel", text, row, channel=row["channel"])


def _begin(facts: RunFacts) -> Iterator[LookAt]:
    row = first_row(facts.by_task(LIFECYCLE.name).equal(operator=-1, event=LifeEvent.RUNNING))
    if row is not None:
        text = f"{facts.task(row['task'])} is running from {facts.moment(row['time_ns'])} on, as the first subtask"
        yield _at(facts, "begin", "timeline", text, row)


def _end(facts: RunFacts) -> Iterator[LookAt]:
    life = facts.by_task(LIFECYCLE.name)
    ends = life.where((life["operator"] == -1) & np.isin(life["event"], list(_ENDS)))
    row = first_row(ends.where(ends["time_ns"] == ends["time_ns"].max(initial=0)))
    if row is not None:
        ends_how = f"{facts.task(row['task'])} {_ENDS[LifeEvent(row['event'])]}"
        text = f"{ends_how} at {facts.moment(row['time_ns'])}; no subtask ends later"
        yield _at(facts, "end", "timeline", text, row)


_FINDERS: Final[Sequence[Callable[[RunFacts], Iterator[LookAt]]]] = (
    _late, _back_pressure, _queue, _checkpoint, _silent_channel, _timeout, _async, _merge, _fire,
)  # fmt: skip
"""In the order of importance."""
_OTHER_FINDERS: Final[Sequence[Callable[[RunFacts], Iterator[LookAt]]]] = (_arrival, _only_channel, _end, _begin)
"""Of runs in which little else is to be seen."""


def _at(
    facts: RunFacts,
    what: str,
    view: str,
    text: str,
    row: Row | None,
    time_ns: int = 0,
    *,
    channel: int | None = None,
    more: str = "",
    question: tuple[str, ...] = (),
) -> LookAt:
    """``time_ns``: on the clock of the facts, without ``row``."""
    since_start = (time_ns if row is None else row["time_ns"]) - facts.start_ns
    task, seq = (None, None) if row is None else (row["task"], row["seq"])
    link = report_link(view, task=task, seq=seq, time_ns=since_start, channel=channel)
    return LookAt(what, text, f"{link}&{more}" if more else link, task, seq, since_start, question)


def _record(facts: RunFacts, fingerprint: int) -> str:
    value = facts.names.value(fingerprint)
    return f"record {_short(value)}" if value else "a record"


def _short(text: str) -> str:
    first = text.strip().split("\n")[0]
    return first if len(first) <= _WIDTH else f"{first[: _WIDTH - 4]} ..."


def _event_time(timestamp: int) -> str:
    return "none" if timestamp == NO_TIMESTAMP else utc_text(timestamp) or f"{timestamp:,} ms"


def window_bounds(row: Row, name: str) -> str:
    """The bounds in the columns ``name_start`` and ``name_end``: numbers of ms, or UTC times."""
    start, end = row[f"{name}_start"], row[f"{name}_end"]
    if start == NO_TIMESTAMP:
        return "the global window"
    first, last = utc_text(start), utc_text(end)
    if not first or not last:
        return f"[{start:,}, {end:,})"
    return f"[{first}, {last.removeprefix(first[:11])})"
