"""Why a source or a watermark strategy has not emitted a watermark: its records, splits, idleness and alignment."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import number_of
from flowsim.quantities import count_text, duration_text
from flowsim.trace.places import Place
from flowsim.trace.time import event_time
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.event_time.alignment import alignment_causes, paused_row
from flowsim.why.event_time.generators import formula, strategy_of
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waiting import chain
from flowsim.why.waits.source import source_causes
from flowsim.why.waits.task_state import Doing, state_of


def watermark_text(timestamp: int) -> str:
    return "no watermark yet" if timestamp == NO_TIMESTAMP else f"watermark {event_time(timestamp)}"


def source_watermark_causes(facts: RunFacts, task: int) -> list[Cause]:
    """A source without a strategy: it emits its own watermarks, or none."""
    marks = facts.rows("sent", task).equal(kind=ElementKind.WATERMARK)
    last = marks.last()
    if last is None:
        text = f"{facts.task(task)} has emitted no watermark, and no watermark strategy is set for its records."
        return [Cause(text, ("8.8", "8.18"), _last_place(facts, task)), *source_causes(facts, task)]
    text = (
        f"{facts.task(task)} emits its own watermarks. The last one was {event_time(last['timestamp'])}, "
        f"at {facts.moment(last['time_ns'])}."
    )
    return [Cause(text, ("8.18",), place_of(last)), *source_causes(facts, task)]


def generator_causes(facts: RunFacts, task: int, operator: Operator, needed: int) -> list[Cause]:
    """Why a watermark strategy has not emitted the watermark."""
    strategy, name = strategy_of(operator) or {}, facts.operator_in(task, operator.operator)
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator, split=-1)
    last, seen, of = rows.equal(kind=ElementKind.WATERMARK).last(), _last_record(facts, task), ""
    causes: list[Cause] = []
    if splits := _splits(facts, task, operator):
        cause, split = _split_cause(operator, splits)
        causes.append(cause)
        last, name, of = split.row, f"{split.name[0].upper()}{split.name[1:]} of {name}", f" of {split.name}"
    bound = number_of(strategy, "bound_ms")
    if last is None:
        if seen is None or of:
            text = f"{name} has generated no watermark, because no record has come: a generator makes its watermark from records."
            causes.append(Cause(text, ("8.1", "8.6"), _last_place(facts, task)))
        else:
            at, when = facts.moment(seen["time_ns"]), _when(facts, strategy)
            text = f"{name} has generated no watermark yet. Its last record came at {at}; {when}."
            causes.append(Cause(text, ("8.1", "8.2"), place_of(seen)))
    else:
        text = (
            f"{name} generated watermark {event_time(last['timestamp'])} after {count_text(last['records'], 'record')}"
        )
        if last["max_timestamp"] != NO_TIMESTAMP and strategy.get("kind") == "bounded":
            text += f": {formula(last, bound)}"
        text += "."
        if seen is not None and not of:
            text += f" Its last record came at {facts.moment(seen['time_ns'])}, with timestamp {event_time(seen['timestamp'])}."
        causes.append(Cause(text, ("8.1",), place_of(last)))
    if strategy.get("kind") == "bounded" and needed != MAX_WATERMARK:
        record = f"a record{of} of timestamp {event_time(needed + bound + 1)} or later"
        causes.append(Cause(f"The watermark reaches {event_time(needed)} with {record}.", ("8.1",), causes[-1].place))
    causes.append(_idleness(facts, task, operator, seen))
    if not facts.graph.tasks[task].inputs:
        paused = paused_row(facts, task)
        causes += alignment_causes(facts, task, paused) if paused is not None else _why_no_record(facts, task)
    return causes


def _why_no_record(facts: RunFacts, task: int) -> list[Cause]:
    if facts.is_full:
        state = state_of(facts, task)
        if state.doing in (Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK):
            text = f"{state.sentence(facts)}."
            return [
                Cause(text, ("3.28",), None if state.since is None else place_of(state.since)),
                *chain(facts, state),
            ]
        if state.doing is not Doing.IDLE:
            return []
    return source_causes(facts, task)


def _when(facts: RunFacts, strategy: object) -> str:
    interval = facts.recording.manifest.run.settings.get("auto_watermark_interval")
    if isinstance(interval, int) and not (isinstance(strategy, dict) and strategy.get("per_record")):
        return f"it emits watermarks every {duration_text(interval * NS_PER_MS)}"
    return "it emits watermarks with its records"


def _idleness(facts: RunFacts, task: int, operator: Operator, seen: Row | None) -> Cause:
    """Whether the strategy is idle, and why not."""
    strategy, place = strategy_of(operator) or {}, _last_place(facts, task) if seen is None else place_of(seen)
    idle_ms = number_of(strategy, "idle_ms")
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator, split=-1)
    status = rows.equal(kind=ElementKind.STATUS).last()
    now_ns = facts.until_ns or facts.end_ns
    timeout = duration_text(idle_ms * NS_PER_MS)
    if status is not None and status["timestamp"] == -1:
        by = (
            f", after its idle timeout of {timeout}"
            if idle_ms
            else ": its reader or its watermark generator declared this"
        )
        text = (
            f"{operator.name} is idle since {facts.moment(status['time_ns'])}{by}. Other channels need not wait for it, but "
            "idleness creates no watermark."
        )
        return Cause(text, ("8.4" if idle_ms else "8.6",), place_of(status))
    if not idle_ms:
        text = f"{operator.name} is not idle, because no idle timeout is set: the watermark waits for it for ever."
        return Cause(text, ("8.4",), place)
    since = "" if seen is None else f", and its last record came {duration_text(max(0, now_ns - seen['time_ns']))} ago"
    text = (
        f"{operator.name} is not idle: its idle timeout is {timeout}{since}. The timeout does not run while the task waits "
        "for output or for watermark alignment."
    )
    return Cause(text, ("8.4",), place)


@dataclass(frozen=True, slots=True)
class _Split:
    """A split of a source at the moment. ``row``: its last watermark, of table ``generated_watermark``."""

    name: str
    row: Row | None
    is_idle: bool

    @property
    def watermark(self) -> int:
        return NO_TIMESTAMP if self.row is None else self.row["timestamp"]


def _splits(facts: RunFacts, task: int, operator: Operator) -> list[_Split]:
    """The splits of a source whose watermarks are merged; empty if it has fewer than two."""
    rows: dict[int, Row] = {}
    idle: dict[int, bool] = {}
    for row in facts.rows("generated_watermark", task).equal(operator=operator.operator):
        if row["split"] >= 0:
            idle[row["split"]] = row["kind"] == ElementKind.STATUS and row["timestamp"] == -1
            if row["kind"] == ElementKind.WATERMARK:
                rows[row["split"]] = row
    count = max(len(facts.names.splits(task, operator.operator)), len(rows))
    if count < 2:
        return []
    return [
        _Split(facts.names.split(task, operator.operator, split), rows.get(split), idle.get(split, False))
        for split in range(count)
    ]


def _split_cause(operator: Operator, splits: list[_Split]) -> tuple[Cause, _Split]:
    """The split that holds back the watermark."""
    lowest = min([split for split in splits if not split.is_idle] or splits, key=lambda split: split.watermark)
    lines = tuple(
        f"{split.name}: {watermark_text(split.watermark)}{', idle' if split.is_idle else ''}" for split in splits
    )
    holds = f"{lowest.name} has {watermark_text(lowest.watermark)}"
    text = f"The watermark of {operator.name} is the minimum over its splits: {holds}."
    return Cause(text, ("8.6",), None if lowest.row is None else place_of(lowest.row), lines), lowest


def _last_record(facts: RunFacts, task: int) -> Row | None:
    """The last record that the generator of a task saw: received, or of a source sent."""
    table = "received" if facts.graph.tasks[task].inputs else "sent"
    return facts.rows(table, task).equal(kind=ElementKind.RECORD).last()


def _last_place(facts: RunFacts, task: int) -> Place | None:
    life = facts.rows("lifecycle", task).last()
    return None if life is None else place_of(life)
