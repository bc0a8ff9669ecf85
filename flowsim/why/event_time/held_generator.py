"""Why a source or a watermark strategy has not emitted a watermark: its records, splits, idleness and alignment."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.facts.kinds import ElementKind
from flowsim.history.splits import Split, splits_of
from flowsim.history.task_states import Doing, state_of
from flowsim.history.watermark_strategies import delay_of, is_highest_less_bound, seen_records, strategy_of
from flowsim.laws.job_graph import Channel, Operator
from flowsim.quantities import count_text, duration_text
from flowsim.trace.places import Place
from flowsim.trace.time import event_time
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.event_time.generators import formula
from flowsim.why.event_time.idleness import idleness_cause
from flowsim.why.event_time.split_texts import merged, split_lines, split_name
from flowsim.why.run_facts import Row, Rows, RunFacts, place_of
from flowsim.why.sentence import capital, watermark_text
from flowsim.why.waiting import wait_and_causes
from flowsim.why.waits.alignment import alignment_causes, paused_row
from flowsim.why.waits.source import source_causes


def source_watermark_causes(facts: RunFacts, channel: Channel) -> list[Cause]:
    """A source without a strategy: it emits its own watermarks, or none. ``channel``: one of its channels."""
    task = channel.source_task
    last = facts.rows("sent", task).equal(channel=channel.channel, kind=ElementKind.WATERMARK).last()
    if last is None:
        text = f"{facts.task(task)} has sent no watermark, and no watermark strategy is set for its records."
        return [Cause(text, ("8.8", "8.18"), _last_place(facts, task)), *source_causes(facts, task)]
    text = (
        f"{facts.task(task)} emits its own watermarks. The last one was {event_time(last['timestamp'])}, "
        f"at {facts.moment(last['time_ns'])}."
    )
    return [Cause(text, ("8.18",), place_of(last)), *source_causes(facts, task)]


def generator_causes(facts: RunFacts, task: int, operator: Operator, needed: int) -> list[Cause]:
    """Why a watermark strategy has not emitted the watermark."""
    seen = seen_records(facts, task, operator)
    splits = splits_of(facts, task, operator)
    split, causes = None, list[Cause]()
    if splits:
        cause, split = _split_cause(facts, task, operator, splits)
        causes.append(cause)
    causes.append(_last_watermark(facts, task, operator, split, seen))
    if delay_of(operator) is not None and needed != MAX_WATERMARK:
        causes.append(_reached(facts, task, operator, split, needed, causes[-1].place))
    causes.append(idleness_cause(facts, task, operator, split, causes[-1].place))
    if not facts.graph.tasks[task].inputs:
        paused = paused_row(facts, task)
        causes += alignment_causes(facts, task, paused) if paused is not None else _why_no_record(facts, task)
    return causes


def _name(facts: RunFacts, task: int, operator: Operator, split: Split | None) -> str:
    name = facts.operator_in(task, operator.operator)
    return name if split is None else f"{capital(split_name(facts, task, operator, split.index))} of {name}"


def _last_watermark(facts: RunFacts, task: int, operator: Operator, split: Split | None, seen: Rows | None) -> Cause:
    """The last watermark of a strategy or of a split, and how it came about."""
    name = _name(facts, task, operator, split)
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator, kind=ElementKind.WATERMARK)
    last = rows.equal(split=-1).last() if split is None else split.row
    of_records = seen if split is None else None
    if last is None:
        if of_records is not None and not len(of_records) and delay_of(operator) is not None:
            text = f"{name} has generated no watermark: it makes its watermark from records, and none has come so far."
            return Cause(text, ("8.1",), _last_place(facts, task))
        text, row = f"{name} has generated no watermark so far.", None if of_records is None else of_records.last()
        place = _last_place(facts, task) if row is None else place_of(row)
        return Cause(text + _last_seen_text(facts, of_records), ("8.1", "8.2"), place)
    if last["timestamp"] == MAX_WATERMARK:
        return Cause(f"{name} generated its last watermark, MAX, at the end of its input.", ("4.10",), place_of(last))
    text = f"{name} generated watermark {event_time(last['timestamp'])} after {count_text(last['records'], 'record')}"
    how = f": {formula(operator, last)}" if is_highest_less_bound(operator, last) else ""
    return Cause(f"{text}{how}.{_last_seen_text(facts, of_records)}", ("8.1",), place_of(last))


def _reached(
    facts: RunFacts, task: int, operator: Operator, split: Split | None, needed: int, place: Place | None
) -> Cause:
    """Which record makes the watermark, whether it has come, and when the recording shows the watermark."""
    record_ms = needed + (delay_of(operator) or 0)
    name = _name(facts, task, operator, split)
    text = (
        f"To generate watermark {event_time(needed)}, {name[0].lower() if split else name[0]}{name[1:]} needs a record of "
        f"timestamp {event_time(record_ms)} or later"
    )
    seen = seen_records(facts, task, operator) if split is None else None
    row = None if seen is None else seen.where(seen["timestamp"] >= record_ms).first()
    if row is not None:
        came = facts.moment(row["time_ns"])
        text += f". One of timestamp {event_time(row['timestamp'])} came at {came}; {_calls(facts, operator)}"
    elif seen is not None:
        text += ", and none has come so far"
    made = _later_watermark(facts, task, operator, -1 if split is None else split.index, needed)
    if made is not None:
        mark, at = event_time(made["timestamp"]), facts.moment(made["time_ns"])
        text += f". The recording shows the first such watermark, {mark}, at {at}."
    else:
        text += "." if facts.until_ns is None else f". The recording shows no such watermark of it{_end(facts, task)}."
    of_source = None if split is None else _later_watermark(facts, task, operator, -1, needed)
    if of_source is not None and (made is None or of_source["seq"] < made["seq"]):
        mark, at = event_time(of_source["timestamp"]), facts.moment(of_source["time_ns"])
        text += (
            f" {facts.operator_in(task, operator.operator)} has watermark {mark} from {at} on, because of other splits."
        )
    return Cause(text, ("8.1", "8.2"), place if row is None else place_of(row))


def _later_watermark(facts: RunFacts, task: int, operator: Operator, split: int, needed: int) -> Row | None:
    """The first watermark after the moment that is high enough, of a split or, with -1, of the whole operator."""
    later = facts.later_rows("generated_watermark", task)
    later = later.equal(operator=operator.operator, split=split, kind=ElementKind.WATERMARK)
    return later.where(later["timestamp"] >= needed).first()


def _end(facts: RunFacts, task: int) -> str:
    """Whether the recording shows that a source ends event time after the moment (rule 4.10)."""
    sent = facts.whole.rows("sent", task).equal(kind=ElementKind.WATERMARK, timestamp=MAX_WATERMARK).first()
    if facts.graph.tasks[task].inputs or sent is None:
        return ""
    return f"; at the end of its data, at {facts.moment(sent['time_ns'])}, it sends MAX"


def _why_no_record(facts: RunFacts, task: int) -> list[Cause]:
    if facts.is_full:
        state = state_of(facts, task)
        if state.doing in (Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK):
            return wait_and_causes(facts, state)
        if state.doing is not Doing.IDLE:
            return []
    return source_causes(facts, task)


def _calls(facts: RunFacts, operator: Operator) -> str:
    """When a strategy emits watermarks."""
    if (strategy_of(operator) or {}).get("per_record"):
        return "it emits watermarks with its records"
    interval_ms = facts.recording.manifest.run.settings.get("auto_watermark_interval")
    if interval_ms == 0:
        return "it emits no watermarks, because auto_watermark_interval is 0"
    every = f", every {duration_text(interval_ms * NS_PER_MS)}" if isinstance(interval_ms, int) else ""
    return f"it emits watermarks at its periodic calls{every}"


def _split_cause(facts: RunFacts, task: int, operator: Operator, splits: Sequence[Split]) -> tuple[Cause, Split]:
    """The split that holds back the watermark, or whose watermark counts while all are idle."""
    counted = [split for split in splits if not split.is_idle and not split.is_over]
    if counted:
        chosen = min(counted, key=lambda split: split.watermark)
    else:
        idle = [split for split in splits if split.is_idle]
        chosen = max(idle or splits, key=lambda split: split.watermark)
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator, split=-1)
    mark = rows.equal(kind=ElementKind.WATERMARK).last()
    own = NO_TIMESTAMP if mark is None else mark["timestamp"]
    text, lowest = f"{operator.name} has {watermark_text(own)}", split_name(facts, task, operator, chosen.index)
    how = merged(facts, task, operator, splits, own)
    if how:
        text += f": {how}."
    elif counted and chosen.watermark < own:
        text += f": it does not decrease, and {lowest}, the lowest split that it waits for, is behind it."
    elif counted:
        text += f"; {lowest} is the lowest split that it waits for."
    else:
        text += ": it waits for none of its splits."
    place = None if chosen.row is None else place_of(chosen.row)
    return Cause(text, ("8.6",), place, split_lines(facts, task, operator, splits)), chosen


def _last_place(facts: RunFacts, task: int) -> Place | None:
    life = facts.rows("lifecycle", task).last()
    return None if life is None else place_of(life)


def _last_seen_text(facts: RunFacts, seen: Rows | None) -> str:
    """The last record of a strategy as a sentence; '' if none is shown."""
    row = None if seen is None else seen.last()
    if row is None:
        return ""
    return f" Its last record came at {facts.moment(row['time_ns'])}, with timestamp {event_time(row['timestamp'])}."
