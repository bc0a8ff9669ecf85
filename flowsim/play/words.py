"""The plain sentences of the page: what an option is, and what happened in a step, from recorded facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from flowsim.facts.kinds import AsyncAction, ElementKind, TimerAction
from flowsim.facts.schema import (
    ASYNC_ELEMENTS,
    CHANNELS,
    LATE_DROP,
    RECEIVED,
    SENT,
    SYSTEM_TIMERS,
    TABLES,
    TASK_WATERMARK,
    TIMERS,
    WINDOW_FIRE,
    WINDOW_MERGE,
)
from flowsim.play.played_run import Moment, PlayedRun
from flowsim.sim.origin import OptionKey
from flowsim.trace.names import Names
from flowsim.trace.sentence import element_text, record_text
from flowsim.trace.sentences import sentence
from flowsim.trace.time import moment_text
from flowsim.values.record_text import value_text

_EFFECTS: Final = (TIMERS, SYSTEM_TIMERS, TASK_WATERMARK, LATE_DROP, ASYNC_ELEMENTS, WINDOW_MERGE, WINDOW_FIRE, SENT)
_QUIET: Final[Mapping[str, frozenset[int]]] = {
    TIMERS.name: frozenset({TimerAction.REGISTER, TimerAction.DELETE}),
    SYSTEM_TIMERS.name: frozenset({TimerAction.REGISTER, TimerAction.DELETE}),
    ASYNC_ELEMENTS.name: frozenset({AsyncAction.PUT}),
}
"""Facts that prepare what happens later."""
_MOST_EFFECTS: Final = 8
_ELEMENTS: Final = {
    ElementKind.WATERMARK: "watermark {}",
    ElementKind.STATUS: "the status {}",
    ElementKind.LATENCY_MARKER: "a latency marker",
    ElementKind.END_OF_DATA: "the end of the data",
    ElementKind.END_OF_PARTITION: "the end of the channel",
    ElementKind.CHECKPOINT_BARRIER: "the barrier {}",
    ElementKind.UNALIGNED_BARRIER: "the unaligned barrier {}",
    ElementKind.CANCEL_CHECKPOINT_MARKER: "the cancellation {}",
    ElementKind.EVENT: "an event",
}
_OTHERS: Final = {
    "flush": "the flusher of {} runs",
    "snapshot": "a snapshot of {} is written",
    "read": "{} reads",
    "answer": "a call of {} is answered",
    "timer": "a timer of {} fires",
    "turn": "{} runs",
    "credit": "credits for {} arrive",
    "master": "a timer of the job manager fires",
    "any_failure": "a task fails",
    "failure": "a failure of the scenario happens",
    "action": "an action of the scenario happens",
}


class Words:
    """The sentences about a run of a job; ``names`` knows the values of the records so far."""

    def __init__(self, names: Names) -> None:
        self._names = names
        rows = names.recording.static_rows(CHANNELS.name)
        self.channels = {(int(row[2]), int(row[4]), int(row[1])): int(row[0]) for row in rows}
        """The channels, by sender, receiver and edge."""

    def option(self, key: OptionKey, before: Moment, run: PlayedRun, after: Moment | None) -> str:
        """Returns what an option is. ``run``: one in which it is chosen at ``before``; ``after``: the next moment there."""
        what, numbers = key[0], [int(number) for number in key[1:]]
        if what == "time":
            return _time_passes(before, after)
        if what == "arrive":
            return self._arrival(numbers, before, run, after)
        if what == "first_channel":
            return f"{self._names.short_task(numbers[0])} begins to send round robin with channel {numbers[1]}"
        if what == "shuffle":
            return f"{self._names.short_task(numbers[0])} sends the record to channel {numbers[1]}, drawn at random"
        if what == "failed_task":
            return f"it is {self._names.short_task(numbers[1])} that fails"
        if what == "report":
            return f"a message from {self._names.short_task(numbers[1])} arrives at the job manager"
        if what == "answer" and (answered := self._answered(numbers[0], before, run, after)):
            return answered
        if what == "timer" and (fired := self._fired(before, run, after)):
            return fired
        task = self._names.short_task(numbers[0]) if numbers and numbers[0] >= 0 else "the job"
        return _OTHERS[str(what)].format(task)

    def effects(self, before: Moment, run: PlayedRun, after: Moment) -> list[str]:
        """Returns what happened between two moments, in the words of ``flowsim trace``, and what the sinks got."""
        found = []
        for order, table in enumerate(_EFFECTS):
            for row in run.rows(table.name, after, before):
                if _value(table.name, row, "action") not in _QUIET.get(table.name, ()):
                    found.append((_value(table.name, row, "task"), row[0], order, table.name, row))
        texts = [
            f"{self._names.short_task(task)} {sentence(self._names, table, row).text}"
            for task, _, _, table, row in sorted(found, key=lambda each: each[:3])
        ]
        if len(texts) > _MOST_EFFECTS:
            texts = [*texts[: _MOST_EFFECTS - 1], f"and {len(texts) - _MOST_EFFECTS + 1} more facts"]
        for sink, parts in run.sinks.items():
            for part, begin, end in zip(parts, before.written[sink], after.written[sink], strict=False):
                texts += [f"sink {sink} gets {value_text(row)}" for row in part[begin:end]]
        return texts

    def waiting(self, end: Moment, run: PlayedRun) -> Iterator[tuple[str, list[str]]]:
        """Yields each channel between tasks, and the elements that were sent and not read, the first one first."""
        for (source, target, _), channel in self.channels.items():
            ends = f"{self._names.short_task(source)} → {self._names.short_task(target)}"
            sent = _of_channel(SENT.name, channel, run.rows(SENT.name, end))
            read = _of_channel(RECEIVED.name, channel, run.rows(RECEIVED.name, end))
            yield ends, [self._element(SENT.name, row) for row in sent[len(read) :]]

    def _arrival(self, numbers: Sequence[int], before: Moment, run: PlayedRun, after: Moment | None) -> str:
        """Returns what arrives: the elements of one buffer, which the task reads at once unless it waits for another input."""
        target, source, edge = numbers
        read = run.rows(RECEIVED.name, after, before)
        elements = [
            self._element(RECEIVED.name, row)
            for row in _of_channel(RECEIVED.name, self.channels[source, target, edge], read)
        ]
        to, by = self._names.short_task(target), self._names.short_task(source)
        if not elements:
            return f"{to} gets the next buffer from {by}, and does not read it yet"
        listed = " and ".join(filter(None, [", ".join(elements[:-1]), elements[-1]]))
        return f"{to} gets {listed} from {by}"

    def _element(self, table: str, row: tuple[int, ...]) -> str:
        kind, timestamp, record = (_value(table, row, name) for name in ("kind", "timestamp", "fingerprint"))
        if kind == ElementKind.RECORD:
            return record_text("record", timestamp, self._names.value(record))
        return _ELEMENTS[ElementKind(kind)].format(element_text(kind, timestamp))

    def _answered(self, task: int, before: Moment, run: PlayedRun, after: Moment | None) -> str:
        """Returns which call the step answers; '' if no element of an async operator is complete after it."""
        of = ASYNC_ELEMENTS.name
        for row in run.rows(of, after, before):
            if _value(of, row, "action") in (AsyncAction.COMPLETE, AsyncAction.FAIL, AsyncAction.RETRY):
                operator = _value(of, row, "operator")
                record = self._record_of(task, operator, _value(of, row, "entry"), run)
                name = self._names.operator(task, operator)
                return f"the call of {name} for {record} is answered"
        return ""

    def _record_of(self, task: int, operator: int, entry: int, run: PlayedRun) -> str:
        of, wanted = ASYNC_ELEMENTS.name, (task, operator, entry, AsyncAction.PUT)
        for row in run.rows(of):
            if tuple(_value(of, row, name) for name in ("task", "operator", "entry", "action")) == wanted:
                timestamp, value = _value(of, row, "timestamp"), _value(of, row, "fingerprint")
                return record_text("record", timestamp, self._names.value(value))
        return f"element {entry}"

    def _fired(self, before: Moment, run: PlayedRun, after: Moment | None) -> str:
        """Returns the first timer that fires in the step; '' if no timer of a key or of a call fires."""
        for table in (SYSTEM_TIMERS.name, TIMERS.name):
            for row in run.rows(table, after, before):
                if _value(table, row, "action") == TimerAction.FIRE:
                    task = self._names.short_task(_value(table, row, "task"))
                    return f"{task}: {sentence(self._names, table, row).text}"
        return ""


def _time_passes(before: Moment, after: Moment | None) -> str:
    if after is None or after.now_ns <= before.now_ns:
        return "time passes"
    return f"time passes from {moment_text(before.now_ns)} to {moment_text(after.now_ns)}"


def _of_channel(table: str, channel: int, rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [row for row in rows if _value(table, row, "channel") == channel]


def _value(table: str, row: Sequence[int], column: str) -> int:
    """Returns a column of a fact; -1 if the table does not have it."""
    names = TABLES[table].names
    return row[names.index(column)] if column in names else -1
