"""Why a window fired, firing by firing: its trigger, a late record, a merge, or a restored snapshot (section 10.D)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.history.windows import fires_of, windows_of
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.windows.plan import last_of, number_of, trigger_parts, window_plan
from flowsim.quantities import count_text
from flowsim.trace.sentence import record_text, window_text
from flowsim.trace.time import event_time, span_text
from flowsim.units import MAX_WATERMARK
from flowsim.why.answer import Cause
from flowsim.why.firings.firings import WindowFirings
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import capital

_BY_WATERMARK: Final = ("event_time", "continuous_event_time", "end_of_stream")
_CONTINUOUS: Final = ("continuous_event_time", "continuous_processing_time")


def firing_causes(facts: RunFacts, one: WindowFirings) -> list[Cause]:
    """One sentence per firing, in order, with what lies between two of them."""
    causes: list[Cause] = merged_causes(facts, one)
    for number, (attempt, row) in enumerate(one.fires):
        before = one.fires[number - 1] if number else None
        if before is not None:
            causes += _between(facts, one, before, (attempt, row))
        text, rules = _trigger(facts, one, row)
        ordinal = f"Firing {number + 1}, " if len(one.fires) > 1 else ""
        at = f"at {facts.moment(row['time_ns'])}"
        text = f"{ordinal}{at}: {text}" if ordinal else f"{capital(at)}: {text}"
        text += f" It passed {count_text(row['rows'], 'record')} to the window function"
        text += " and purged them." if row["result"] == WindowResult.FIRE_AND_PURGE else "."
        causes.append(Cause(text, rules, place_of(row)))
    return causes


def _trigger(facts: RunFacts, one: WindowFirings, row: Row) -> tuple[str, tuple[str, ...]]:
    """What the trigger was called for, and why it fired."""
    kinds = dict(trigger_parts(one.operator.params.get("trigger")))
    match FireCause(row["cause"]):
        case FireCause.ELEMENT:
            return _by_record(facts, one, row)
        case FireCause.EVENT_TIME_TIMER:
            return _by_watermark(facts, one, row)
        case FireCause.PROCESSING_TIME_TIMER:
            if "timeout" in kinds:
                return f"its timer of {row['at']:,} ms ran, and a trigger with a time-out fires for any timer.", (
                    "10.23",
                )
            if row["at"] == one.last_ms:
                return f"the clock passed {row['at']:,} ms, its last millisecond.", ("10.18", "9.10")
            continuous = _continuous(facts, one, row, "continuous_processing_time")
            if continuous:
                return f"the clock passed {row['at']:,} ms; {continuous} of the clock.", ("10.22", "9.10")
            return f"its processing-time timer of {row['at']:,} ms ran.", ("10.13", "9.10")


def _by_watermark(facts: RunFacts, one: WindowFirings, row: Row) -> tuple[str, tuple[str, ...]]:
    kinds = dict(trigger_parts(one.operator.params.get("trigger")))
    watermark = event_time(row["watermark"])
    if "timeout" in kinds and row["at"] != one.last_ms:
        return f"its timer of {event_time(row['at'])} ran, and a trigger with a time-out fires for any timer.", (
            "10.23",
        )
    if row["at"] == MAX_WATERMARK:
        return f"event time ended: the watermark is {watermark}.", ("10.6", "10.17")
    if row["at"] == one.last_ms:
        return f"the watermark, {watermark}, reached {event_time(row['at'])}, its last millisecond.", ("10.13", "10.17")
    continuous = _continuous(facts, one, row, "continuous_event_time")
    if continuous:
        return f"the watermark, {watermark}, reached {event_time(row['at'])}; {continuous} of event time.", ("10.21",)
    return f"the watermark, {watermark}, reached its timer of {event_time(row['at'])}.", ("10.13",)


def _by_record(facts: RunFacts, one: WindowFirings, row: Row) -> tuple[str, tuple[str, ...]]:
    own = facts.in_attempt_of(row, "window_fire")
    intake = own.rows("window_intake", one.task).before(row["seq"]).equal(operator=one.operator.operator).last()
    value = "" if intake is None else facts.names.value(intake["fingerprint"])
    record = record_text("record", row["at"], value)
    kinds = dict(trigger_parts(one.operator.params.get("trigger")))
    watermark = event_time(row["watermark"])
    if any(kind in kinds for kind in _BY_WATERMARK[:2]) and one.last_ms <= row["watermark"]:
        lateness = number_of(one.operator.params, "lateness_ms")
        text = (
            f"{record} came when the watermark, {watermark}, had passed its last millisecond, {event_time(one.last_ms)}, but "
            f"within the allowed lateness of {span_text(lateness)}: such a record fires the window immediately."
        )
        return text, ("10.12", "10.17" if "event_time" in kinds else "10.21")
    counts = [
        number_of(part, "count") for kind, part in trigger_parts(one.operator.params.get("trigger")) if kind == "count"
    ]
    if len(counts) > 1:
        return f"with {record}, one of the counts of its trigger was reached: {' or '.join(map(str, counts))}.", (
            "10.19",
        )
    if counts:
        count = counts[0]
        return f"with {record}, the count of its trigger reached {count_text(count, 'record')}.", ("10.19",)
    if "delta" in kinds:
        return f"{record} was farther from the kept record than the threshold of its trigger.", ("10.23",)
    return f"its trigger, {', '.join(kinds) or 'unknown'}, fired for {record}.", ("10.7",)


def _continuous(facts: RunFacts, one: WindowFirings, row: Row, kind: str) -> str:
    """How often the continuous trigger fires that has a timer at the time of a firing; '' if there is none."""
    parts = trigger_parts(one.operator.params.get("trigger"))
    intervals = [number_of(part, "interval_ms") for of, part in parts if of == kind]
    for interval in filter(None, intervals):
        if row["at"] % interval == 0:
            return f"its trigger fires every {span_text(interval)}"
    # After a merge the earliest stored time counts, which may be the last millisecond of a window that was merged.
    own = facts.in_attempt_of(row, "window_fire")
    merges = own.rows_of_state("window_merge", one.task).equal(operator=one.operator.operator, key=one.key)
    for interval in filter(None, intervals):
        for start, end in zip(merges["window_start"].tolist(), merges["window_end"].tolist(), strict=True):
            since = row["at"] - last_of(start, end)
            if one.window[0] <= start and end <= one.window[1] and since >= 0 and since % interval == 0:
                part = window_text(start, end)
                every = f"its trigger fires every {span_text(interval)} from the end of that window on"
                return f"since {part} was merged into it, {every}"
    return ""


def _between(facts: RunFacts, one: WindowFirings, before: tuple[int, Row], after: tuple[int, Row]) -> list[Cause]:
    """What made another firing possible: a restart that undid the one before it, or contents that stay or are purged."""
    (attempt, row), (next_attempt, _) = before, after
    if attempt != next_attempt:
        return [_restarted(facts, one, row, next_attempt), *_accepted_again(facts, one, row, next_attempt)]
    if row["result"] != WindowResult.FIRE_AND_PURGE:
        return []
    text = "The firing before purged the contents: only records that came after it are in the next firing."
    return [Cause(text, ("10.20",), place_of(row))]


def _restarted(facts: RunFacts, one: WindowFirings, row: Row, attempt: int) -> Cause:
    """Whether the state of a later attempt contains a firing of an earlier one."""
    checkpoint = facts.graph.history.restored(one.task, attempt)
    at = facts.moment(row["time_ns"])
    if checkpoint == NO_CHECKPOINT:
        text = f"The task was restarted without state: attempt {attempt} knows nothing of the firing at {at}."
        return Cause(text, ("12.123",), place_of(row))
    contained = facts.restored_rows("window_fire", one.task, attempt)
    if (contained["seq"] == row["seq"]).any():
        text = f"Attempt {attempt} restored checkpoint {checkpoint}, which was taken after the firing at {at}."
        return Cause(text, ("12.123",), place_of(row))
    text = (
        f"Attempt {attempt} restored checkpoint {checkpoint}, which was taken before the firing at {at}: the restart undid "
        "the firing, and the window fires again."
    )
    return Cause(text, ("12.123",), place_of(row))


def _accepted_again(facts: RunFacts, one: WindowFirings, row: Row, attempt: int) -> list[Cause]:
    """A record of a later attempt that opened the window again, which the watermark of an earlier one had cleaned up."""
    plan = window_plan(one.operator)
    if plan is None or plan.merging or not plan.event_time or plan.cleanup_of(one.last_ms) > row["watermark"]:
        return []
    rows = facts.rows_of_attempts("window_intake", one.task)[attempt]
    for intake in rows.equal(operator=one.operator.operator, key=one.key):
        if intake["watermark"] < plan.cleanup_of(one.last_ms) and one.window in windows_of(plan, intake):
            record = record_text("record", intake["timestamp"], facts.names.value(intake["fingerprint"]))
            now = event_time(intake["watermark"])
            text = (
                f"No snapshot contains the watermark of an operator. In attempt {attempt} it was {now} when {record} came at "
                f"{facts.moment(intake['time_ns'])}, so the record was not late and opened the window again."
            )
            return [Cause(text, ("9.16", "10.9"), place_of(intake))]
    return []


def merged_causes(facts: RunFacts, one: WindowFirings) -> list[Cause]:
    """The windows that were merged into a window, and their own firings."""
    first = one.fires[0][1]
    own = facts.in_attempt_of(first, "window_fire")
    of_key = {"operator": one.operator.operator, "key": one.key}
    merges = own.rows_of_state("window_merge", one.task).before(first["seq"]).equal(**of_key)
    fires = fires_of(own.rows_of_state("window_fire", one.task).before(first["seq"]).equal(**of_key))
    causes = []
    for row in merges.equal(into_start=one.window[0], into_end=one.window[1]):
        start, end = row["window_start"], row["window_end"]
        last = fires.before(row["seq"]).equal(window_start=start, window_end=end).last()
        text = f"{capital(window_text(start, end))} was merged into it at {facts.moment(row['time_ns'])}"
        if last is None:
            causes.append(Cause(f"{text}, before it had fired.", ("10.25", "10.26"), place_of(row)))
            continue
        text += f". It had fired at {facts.moment(last['time_ns'])}, with {count_text(last['rows'], 'record')}."
        causes.append(Cause(text, ("10.25", "10.26"), place_of(row)))
    return causes
