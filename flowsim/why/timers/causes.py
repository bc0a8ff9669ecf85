"""The sentences about one timer: who registered it, and why it fired, was deleted, waits or was dropped."""

from __future__ import annotations

from flowsim.facts.kinds import TimeDomain, TimerAction
from flowsim.history.task_watermark import task_watermarks
from flowsim.history.timers import Fate, TimerLife, operator_end
from flowsim.history.valve import channel_states
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.quantities import count_text, duration_text
from flowsim.trace.time import event_time
from flowsim.units import NO_TIMESTAMP, NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.event_time.channel_texts import channel_text
from flowsim.why.event_time.held_watermark import held_causes
from flowsim.why.restarts import early_end_causes
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import capital
from flowsim.why.timers.calls import call_of, is_same_call, life_text


def fate_cause(facts: RunFacts, life: TimerLife) -> Cause:
    """What became of a timer, in one sentence."""
    name, row = capital(life_text(facts, life)), life.last_row
    place = None if row is None else place_of(row)
    match life.fate(facts):
        case Fate.FIRED:
            text, rules = f"{name} fired at {_moment(facts, row)}{_at_watermark(life)}.", _fire_rules(life)
        case Fate.DELETED:
            text, rules = f"{name} was deleted at {_moment(facts, row)}, {_before(life)}: it did not fire.", ("9.11",)
        case Fate.WAITS:
            text, rules = f"{name} is registered and has not fired{facts.by_moment}.", ("9.1",)
        case Fate.DROPPED:
            text, rules = f"{name} was dropped when its operator ended: it never fired.", ("3.27", "4.12")
        case Fate.LEFT:
            text, rules = f"{name} had not fired when its task finished.", ("9.4",)
        case Fate.LOST:
            which = f" in attempt {life.attempt}" if facts.graph.history.last_attempts.get(life.task) else ""
            text, rules = f"{name} had not fired{which} when the attempt ended early.", ("4.24",)
    return Cause(text, rules, place)


def life_causes(facts: RunFacts, life: TimerLife, lives: list[TimerLife]) -> list[Cause]:
    """Who registered a timer, and what decided about it. ``lives``: all timers of its operator and key."""
    causes = [registered_cause(facts, life)]
    match life.fate(facts):
        case Fate.FIRED:
            causes += fired_causes(facts, life)
        case Fate.DELETED:
            causes += _deleted_causes(facts, life, lives)
        case Fate.WAITS | Fate.LEFT:
            causes += _waiting_causes(facts, life)
        case Fate.DROPPED:
            causes += _dropped_causes(facts, life)
        case Fate.LOST:
            causes += early_end_causes(facts, life.task) if life.attempt == facts.attempt_of(life.task) else []
            causes += _restored_causes(life, lives)
    return causes


def registered_cause(facts: RunFacts, life: TimerLife) -> Cause:
    """The call that registered a timer, or the snapshot from which it came."""
    row = life.registered
    if row is None:
        source = (
            f"checkpoint {life.restored}" if life.restored != NO_CHECKPOINT else "the snapshot that it started from"
        )
        if life.restored != NO_CHECKPOINT and not life.attempt:
            source = f"snapshot {life.restored} of another run"
        place = None if life.end is None else place_of(life.end)
        return Cause(f"It was restored from {source}: no call of this run had registered it.", ("9.15",), place)
    call = call_of(facts, row, "timers")
    who = "a call that the recording does not show" if call is None else call.text
    text = f"{capital(who)} registered it at {_moment(facts, row)}{_registered_watermark(life, row)}."
    if life.restored != NO_CHECKPOINT and life.attempt:
        text += f" Attempt {life.attempt} restored it from checkpoint {life.restored}."
        return Cause(text, ("9.1", "9.15"), place_of(row))
    return Cause(text, ("9.1",), place_of(row))


def _registered_watermark(life: TimerLife, row: Row) -> str:
    if not life.is_event_time:
        return ""
    if row["watermark"] >= life.timestamp:
        return f", when the watermark was already {event_time(row['watermark'])}"
    return (
        ", before the first watermark"
        if row["watermark"] == NO_TIMESTAMP
        else f", at watermark {event_time(row['watermark'])}"
    )


def fired_causes(facts: RunFacts, life: TimerLife) -> list[Cause]:
    """Why a timer fired when it did."""
    end = life.end
    if end is None:
        return []
    if not life.is_event_time:
        return [_by_clock(facts, life, end)]
    causes = []
    row = life.registered
    if row is not None and life.restored == NO_CHECKPOINT and row["watermark"] >= life.timestamp:
        causes.append(_behind(facts, row, end))
    return [*causes, *_reached(facts, life, end)]


def _behind(facts: RunFacts, row: Row, end: Row) -> Cause:
    """A timer at or behind the watermark at its registration."""
    if end["watermark"] > row["watermark"]:
        text = (
            "It was due when it was registered. That does not fire it: due timers fire only when the next watermark advances "
            "event time."
        )
        return Cause(text, ("9.7",), place_of(row))
    call = call_of(facts, row, "timers")
    if call is not None and call.is_timer:
        text = "It was due when it was registered. A callback registered it, so it fired in the same advance of the watermark."
        return Cause(text, ("9.5",), place_of(row))
    text = "It was due when it was registered, while the timers of this watermark were interrupted: it fired when they went on."
    return Cause(text, ("9.18",), place_of(row))


def _reached(facts: RunFacts, life: TimerLife, end: Row) -> list[Cause]:
    """The watermark with which an event-time timer fired, and what made it."""
    own = facts.in_attempt_of(end, "timers")
    name = facts.task(life.task)
    marks = [pair for pair in task_watermarks(own, life.task) if pair[0]["seq"] < end["seq"]]
    text = f"It fires when the watermark of its operator reaches {event_time(life.timestamp)}"
    registered = life.registered
    if registered is not None and registered["watermark"] < end["watermark"]:
        # A watermark before the registration did not fire it (rule 9.7).
        marks = [pair for pair in marks if pair[0]["seq"] > registered["seq"]]
    reached = next((pair for pair in marks if pair[1] >= life.timestamp), None)
    if reached is None:
        return [Cause(f"{text}; it was {event_time(end['watermark'])}.", ("9.4",), place_of(end))]
    row, watermark = reached
    states = channel_states(own, life.task, row["seq"])
    text += f": {name} got watermark {event_time(watermark)} at {facts.moment(row['time_ns'])}."
    rules = ("9.4", "8.9", "8.16") if len({state.channel.input for state in states}) > 1 else ("9.4", "8.9")
    causes = [Cause(text, rules, place_of(row), tuple(channel_text(facts, state) for state in states))]
    fired = own.rows("timers", life.task).after(row["seq"]).before(end["seq"])
    before = len(fired.equal(operator=life.operator.operator, action=TimerAction.FIRE, domain=TimeDomain.EVENT_TIME))
    later_ns = end["time_ns"] - row["time_ns"]
    if before and later_ns > 0:
        text = (
            f"{count_text(before, 'other event-time timer')} fired between this watermark and the timer: due timers fire one "
            f"after the other, the earliest time first. So it fired {duration_text(later_ns)} after the watermark came."
        )
        causes.append(Cause(text, ("9.2", "9.3", "9.4"), place_of(end)))
    return causes


def _by_clock(facts: RunFacts, life: TimerLife, end: Row) -> Cause:
    due_ns = (life.timestamp + 1) * NS_PER_MS
    text = f"A processing-time timer fires by the clock, 1 ms after its time: it was due at {facts.moment(due_ns)} of the run"
    late_ns = end["time_ns"] - due_ns
    row = life.registered
    if row is not None and row["time_ns"] > due_ns and life.restored == NO_CHECKPOINT:
        return Cause(f"{text}, which had passed when it was registered.", ("9.9", "9.10"), place_of(end))
    if late_ns > 0:
        text += f", and the task ran its callback {duration_text(late_ns)} later"
    return Cause(f"{text}.", ("9.9", "9.10"), place_of(end))


def _deleted_causes(facts: RunFacts, life: TimerLife, lives: list[TimerLife]) -> list[Cause]:
    """The call that deleted a timer, the timer that replaced it, and the watermark that came too late for it."""
    end = life.end
    if end is None:
        return []
    call = call_of(facts, end, "timers")
    who = "a call that the recording does not show" if call is None else call.text
    text = f"{capital(who)} deleted it at {_moment(facts, end)}"
    moved = _replacement(facts, life, end, lives)
    if moved is not None:
        text += f" and registered timer {event_time(moved.timestamp)} instead"
    causes = [Cause(f"{text}.", ("9.11",), place_of(end))]
    if life.is_event_time:
        causes += _never_reached(facts, life, end)
    return causes


def _replacement(facts: RunFacts, life: TimerLife, end: Row, lives: list[TimerLife]) -> TimerLife | None:
    """A timer with the same key and window that the call that deleted a timer registered after it."""
    for other in lives:
        row = other.registered
        if row is None or row["seq"] <= end["seq"] or other.attempt != life.attempt or other.restored != NO_CHECKPOINT:
            continue
        if (
            other.name[2:] == life.name[2:]
            and other.name[0] == life.name[0]
            and is_same_call(facts, end, row, "timers")
        ):
            return other
    return None


def _never_reached(facts: RunFacts, life: TimerLife, end: Row) -> list[Cause]:
    """The first watermark that would have fired a deleted timer, if it came."""
    if end["watermark"] >= life.timestamp:
        return []
    own = facts.in_attempt_of(end, "timers")
    name = facts.task(life.task)
    marks = [pair for pair in task_watermarks(own, life.task) if pair[0]["seq"] > end["seq"]]
    reached = next((pair for pair in marks if pair[1] >= life.timestamp), None)
    text = f"An event-time timer fires when the watermark reaches its time, {event_time(life.timestamp)}, not when a record does"
    if reached is None:
        return [Cause(f"{text}; no such watermark came to {name}.", ("9.4", "9.7"), place_of(end))]
    row, watermark = reached
    later = duration_text(row["time_ns"] - end["time_ns"])
    at = facts.moment(row["time_ns"])
    text += f". The first such watermark, {event_time(watermark)}, came to {name} {later} later, at {at}."
    return [Cause(text, ("9.4", "9.7"), place_of(row))]


def _waiting_causes(facts: RunFacts, life: TimerLife) -> list[Cause]:
    row = life.registered
    place = None if row is None else place_of(row)
    if not life.is_event_time:
        due_ns = (life.timestamp + 1) * NS_PER_MS
        now = facts.moment(facts.until_ns or facts.end_ns)
        text = f"It fires by the clock at {facts.moment(due_ns)} of the run; the clock is at {now}."
        return [Cause(text, ("9.9", "9.10"), place)]
    text = f"It fires when the watermark of its operator reaches {event_time(life.timestamp)}, not when the clock does."
    causes = [Cause(text, ("9.4", "9.7"), place)]
    held = held_causes(facts, life.task, life.timestamp)
    if held or row is None:
        return [*causes, *held]
    last = next(reversed(task_watermarks(facts, life.task)), None)
    if last is None or last[1] < life.timestamp:
        return causes
    mark, watermark = last
    text = f"{facts.task(life.task)} has watermark {event_time(watermark)}"
    if row["watermark"] >= life.timestamp and mark["seq"] < row["seq"]:
        text += " since before the registration. A due timer fires only when the next watermark advances event time."
        return [*causes, Cause(text, ("9.7",), place_of(mark))]
    return [*causes, Cause(f"{text}, and its due timers have not all fired yet.", ("9.4", "9.12"), place_of(mark))]


def _dropped_causes(facts: RunFacts, life: TimerLife) -> list[Cause]:
    end = operator_end(facts, life)
    due_ns = (life.timestamp + 1) * NS_PER_MS
    if end is None:
        return []
    ended = facts.moment(end["time_ns"])
    text = (
        f"It was due by the clock at {facts.moment(due_ns)} of the run, and its operator ended at {ended}. At the end, "
        "processing-time timers that have not fired are dropped. Event-time timers fire, if the source ends with drain: it "
        "sends MAX."
    )
    return [Cause(text, ("3.27", "4.12"), place_of(end))]


def _restored_causes(life: TimerLife, lives: list[TimerLife]) -> list[Cause]:
    """Whether the next attempt has the timer again."""
    later = [one for one in lives if one.name == life.name and one.attempt > life.attempt]
    if not later:
        return []
    one = later[0]
    if one.restored != NO_CHECKPOINT:
        text, rules = f"Checkpoint {one.restored} contains the timer: attempt {one.attempt} restored it.", ("9.15",)
    else:
        text, rules = f"It was not in the restored state; attempt {one.attempt} registered it again.", ("9.1",)
    row = one.registered
    return [Cause(text, rules, None if row is None else place_of(row))]


def others_text(facts: RunFacts, lives: list[TimerLife]) -> tuple[str, ...]:
    """Counts of timers that an answer does not explain, as a note."""
    counts = {fate: sum(life.fate(facts) is fate for life in lives) for fate in Fate}
    words = {
        Fate.FIRED: "fired", Fate.DELETED: "deleted", Fate.WAITS: "waiting", Fate.DROPPED: "dropped at the end",
        Fate.LEFT: "not fired at the end", Fate.LOST: "in an attempt that ended early",
    }  # fmt: skip
    parts = ", ".join(f"{count:,} {words[fate]}" for fate, count in counts.items() if count)
    return (f"{count_text(len(lives), 'other timer')}: {parts}",) if lives else ()


def _moment(facts: RunFacts, row: Row | None) -> str:
    return "an unknown time" if row is None else facts.moment(row["time_ns"])


def _before(life: TimerLife) -> str:
    """How a deleted timer relates to its time."""
    end = life.end
    if end is None or not life.is_event_time:
        return "before it fired"
    if end["watermark"] == NO_TIMESTAMP:
        return "before the first watermark"
    if end["watermark"] < life.timestamp:
        return f"at watermark {event_time(end['watermark'])}"
    return f"at watermark {event_time(end['watermark'])}, before it was its turn"


def _at_watermark(life: TimerLife) -> str:
    end = life.end
    return f", at watermark {event_time(end['watermark'])}" if end is not None and life.is_event_time else ""


def _fire_rules(life: TimerLife) -> tuple[str, ...]:
    return ("9.4",) if life.is_event_time else ("9.9", "9.10")
