"""Why a window has not fired, by its trigger (section 10.D)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import LifeEvent, TimeDomain
from flowsim.history.task_watermark import task_watermarks
from flowsim.history.timers import open_timers
from flowsim.history.windows import Pane
from flowsim.laws.windows.plan import number_of, trigger_parts
from flowsim.quantities import count_text, duration_text
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time, span_text
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.event_time.held_watermark import held_causes
from flowsim.why.restarts import early_end_causes
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import capital

_WATERMARK: Final = ("event_time", "continuous_event_time", "end_of_stream")
_CLOCK: Final = ("processing_time", "continuous_processing_time")


def pane_text(facts: RunFacts, pane: Pane) -> str:
    """The window and its key."""
    window = window_text(*pane.window)
    return f"{capital(window)}{facts.of_key(pane.key)}" if pane.key else window


def open_pane_causes(facts: RunFacts, pane: Pane) -> list[Cause]:
    """Why a window with records has not fired at the moment of the facts."""
    parts = trigger_parts(pane.operator.params.get("trigger")) or [("", {})]
    if len(parts) == 1:
        return _causes(facts, pane, *parts[0])
    text = f"It fires when one of its triggers fires: {', '.join(kind for kind, _ in parts)}."
    causes = [Cause(text, (), place_of(pane.waiting[-1]))]
    for kind, part in parts:
        if kind == "count":
            count = count_text(number_of(part, "count"), "record")
            each = [Cause(f"The trigger count fires at every {count} that it counts.", ("10.19",))]
        elif kind == "timeout":
            each = [_by_time_out(facts, pane, part)]
        else:
            each = _causes(facts, pane, kind, part)
        causes += [cause for cause in each if cause not in causes]
    return causes


def _causes(facts: RunFacts, pane: Pane, kind: str, of: Mapping[str, object]) -> list[Cause]:
    """Why a trigger without others inside has not fired."""
    name = facts.operator_in(pane.task, pane.operator.operator)
    if kind in _WATERMARK:
        return _by_watermark(facts, pane, kind, of, name)
    if kind in _CLOCK:
        return _by_clock(facts, pane, kind, of, name)
    if kind == "count":
        count = number_of(of, "count")
        text = (
            f"It fires when it has {count_text(count, 'record')}; it has {len(pane.waiting):,}. Time does not fire it."
        )
        return [Cause(text, ("10.19",), place_of(pane.waiting[-1]))]
    if kind == "never":
        return [
            Cause(
                "The global window never fires by itself: it needs another trigger.",
                ("10.6",),
                place_of(pane.waiting[0]),
            )
        ]
    text = f"It fires when its trigger, {kind or 'unknown'}, decides so; the recording shows only when it did."
    return [Cause(text, ("10.7",), place_of(pane.waiting[-1]))]


def _by_time_out(facts: RunFacts, pane: Pane, of: Mapping[str, object]) -> Cause:
    after = duration_text(number_of(of, "interval_ms") * NS_PER_MS)
    which = "its last record" if of.get("reset_on_element") else "the first record"
    text = f"The time-out fires it by the clock, {after} after {which} that did not fire it"
    due_ms = _next_timer(facts, pane, TimeDomain.PROCESSING_TIME)
    if due_ms is not None:
        text += f": its timer is due at {facts.moment((due_ms + 1) * NS_PER_MS)} of the run{_later(facts, pane)}"
    return Cause(f"{text}.", ("10.23",), place_of(pane.waiting[-1]))


def _next_timer(facts: RunFacts, pane: Pane, domain: TimeDomain) -> int | None:
    """The time of the earliest timer of a window that waits at the moment; None if none waits or they are not recorded."""
    timers = open_timers(facts, pane.task, pane.operator, frozenset({pane.key})) if facts.is_full else []
    of_window = [life for life in timers if life.name[0] == domain and life.window == pane.window]
    return min((life.timestamp for life in of_window), default=None)


def _by_watermark(facts: RunFacts, pane: Pane, kind: str, of: Mapping[str, object], name: str) -> list[Cause]:
    last, last_intake = pane.last_ms, pane.waiting[-1]
    text = f"It fires when the watermark of {name} reaches {event_time(last)}, its last millisecond."
    rules: tuple[str, ...] = ("10.13", "10.17")
    if kind == "continuous_event_time":
        every = span_text(number_of(of, "interval_ms"))
        text = (
            f"It fires when the watermark of {name} reaches a multiple of {every}, and at the latest at {event_time(last)}, its "
            "last millisecond."
        )
        following = _next_timer(facts, pane, TimeDomain.EVENT_TIME)
        if following is not None and following < last:
            text, last = f"{text} Its next timer is {event_time(following)}.", following
        rules = ("10.21",)
    if last == MAX_WATERMARK:
        text, rules = f"It fires when event time ends: when the watermark of {name} is MAX.", ("10.6", "10.17")
    causes = [Cause(text, rules, place_of(last_intake))]
    held = held_causes(facts, pane.task, last)
    return [*causes, *(held or _not_run(facts, pane, last))]


def _not_run(facts: RunFacts, pane: Pane, last: int) -> list[Cause]:
    """The watermark has come, and the window has not fired: its timers still fire."""
    early = early_end_causes(facts, pane.task)
    reached = next((row for row, watermark in task_watermarks(facts, pane.task) if watermark >= last), None)
    if early or reached is None:
        return early
    fired = _next_firing(facts, pane, reached)
    when = (
        "the recording does not show that it fires"
        if fired is None
        else f"it fires at {facts.moment(fired['time_ns'])}"
    )
    text = f"{facts.task(pane.task)} has this watermark since {facts.moment(reached['time_ns'])}; {when}."
    return [Cause(text, ("8.15",), place_of(reached))]


def _next_firing(facts: RunFacts, pane: Pane, after: Row | None) -> Row | None:
    """The first firing of a window after a fact in the whole recording."""
    fires = facts.whole.rows("window_fire", pane.task).equal(operator=pane.operator.operator, key=pane.key)
    fires = fires.equal(window_start=pane.window[0], window_end=pane.window[1])
    return fires.first() if after is None else fires.after(after["seq"]).first()


def _by_clock(facts: RunFacts, pane: Pane, kind: str, of: Mapping[str, object], name: str) -> list[Cause]:
    due_ns: int | None = (pane.last_ms + 1) * NS_PER_MS
    if kind == "continuous_processing_time":
        due_ns = None
        every = duration_text(number_of(of, "interval_ms") * NS_PER_MS)
        text = f"It fires by the clock of {name}, not by a watermark: at multiples of {every}."
        causes = [Cause(text, ("10.22", "9.10"), place_of(pane.waiting[-1]))]
    else:
        text = (
            f"It fires by the clock of {name}, not by a watermark: at {pane.last_ms:,} ms of the processing time, which is "
            f"{facts.moment((pane.last_ms + 1) * NS_PER_MS)} of the run."
        )
        causes = [Cause(text, ("10.18", "9.10"), place_of(pane.waiting[-1]))]
    early = early_end_causes(facts, pane.task)
    if early:
        return [*causes, *early]
    end = _end(facts, pane)
    if end is not None and (due_ns is None or end["time_ns"] < due_ns):
        text = (
            f"The input of {name} had ended by {facts.moment(end['time_ns'])}. At the end, processing-time timers that are not "
            "due are dropped."
        )
        causes.append(Cause(text, ("3.27", "4.12"), place_of(end)))
    else:
        now = facts.moment(facts.until_ns or facts.end_ns)
        causes.append(Cause(f"The clock is at {now} of the run{_later(facts, pane)}.", ("9.10",)))
    return causes


def _end(facts: RunFacts, pane: Pane) -> Row | None:
    """The end of the input of a window's operator, or of its task: a stop without drain does not finish operators."""
    life = facts.rows("lifecycle", pane.task)
    ends = (
        life.equal(operator=pane.operator.operator, event=LifeEvent.FINISH).first(),
        life.equal(operator=-1, event=LifeEvent.FINISHED).first(),
    )
    return next((end for end in ends if end is not None), None)


def _later(facts: RunFacts, pane: Pane) -> str:
    """What the recording shows of the window after the moment, for the end of a sentence."""
    if facts.until_ns is None:
        return ""
    fired = _next_firing(facts, pane, facts.rows("window_fire", pane.task).last())
    if fired is not None:
        return f"; it fires at {facts.moment(fired['time_ns'])}"
    end = _end(facts.whole, pane)
    if end is not None:
        return (
            f"; the recording does not show that it fires before its input has ended, by {facts.moment(end['time_ns'])}"
        )
    return "; the recording does not show that it fires"
