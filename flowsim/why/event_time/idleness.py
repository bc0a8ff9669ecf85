"""Whether a watermark strategy, or a split of it, is idle, and since when its countdown runs (rules 8.4 to 8.6)."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.history.splits import Split
from flowsim.history.task_states import Doing, waits_of
from flowsim.history.watermark_strategies import IdledBy, idle_ms_of, idled_by, seen_records
from flowsim.laws.job_graph import Operator
from flowsim.quantities import count_text, duration_text
from flowsim.trace.places import Place
from flowsim.trace.time import event_time
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.event_time.split_texts import split_name
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import capital


def idleness_cause(facts: RunFacts, task: int, operator: Operator, split: Split | None, place: Place | None) -> Cause:
    """Whether a strategy is idle, or of a split whether it is, and what the recording shows of this later."""
    index, name = -1, operator.name
    if split is not None:
        index, name = split.index, f"{capital(split_name(facts, task, operator, split.index))} of {operator.name}"
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator, split=index)
    status = rows.equal(kind=ElementKind.STATUS).last()
    if status is not None and status["timestamp"] == -1:
        return _idle(facts, task, operator, status, name)
    idle_ms = idle_ms_of(operator)
    if not idle_ms:
        text = f"{name} is not idle, and no idle timeout is set"
        later = _declared_later(facts, task, operator, index)
        return Cause(f"{text}{'' if later is None else f': {later}'}.", ("8.4",), place)
    return Cause(_countdown(facts, task, operator, index, name, idle_ms), ("8.2", "8.4"), place)


def _idle(facts: RunFacts, task: int, operator: Operator, status: Row, name: str) -> Cause:
    idle_ms = idle_ms_of(operator)
    how = idled_by(facts, task, operator, status)
    by = ""
    if how is IdledBy.READER:
        by = ": its reader or its watermark generator declared this"
    elif how is IdledBy.TIMEOUT:
        by = f", after its idle timeout of {duration_text(idle_ms * NS_PER_MS)}"
    waits = "The watermark of the source does" if status["split"] >= 0 else "Other channels need"
    text = (
        f"{name} is idle since {facts.moment(status['time_ns'])}{by}. {waits} not wait for it, but idleness creates no "
        f"watermark.{_resumed(facts, task, operator, status)}"
    )
    return Cause(text, ("8.4" if by.startswith(",") else "8.6",), place_of(status))


def _resumed(facts: RunFacts, task: int, operator: Operator, status: Row) -> str:
    """The records that an idle strategy has seen since: ACTIVE comes only with its next watermark (rule 8.5)."""
    seen = seen_records(facts, task, operator) if status["split"] < 0 else None
    since = None if seen is None else seen.after(status["seq"])
    first = None if since is None else since.first()
    if since is None or first is None:
        return ""
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator, split=-1)
    mark = rows.equal(kind=ElementKind.WATERMARK).last()
    above = "" if mark is None else f", which must be above {event_time(mark['timestamp'])}"
    later = facts.whole.rows("generated_watermark", task).after(status["seq"])
    active = later.equal(operator=operator.operator, split=-1, kind=ElementKind.STATUS, timestamp=0).first()
    when = "the recording shows none" if active is None else f"it does so at {facts.moment(active['time_ns'])}"
    return (
        f" It has read {count_text(len(since), 'record')} since {facts.moment(first['time_ns'])}, but it declares itself active "
        f"only with its next watermark{above}: {when}."
    )


def _countdown(facts: RunFacts, task: int, operator: Operator, index: int, name: str, idle_ms: int) -> str:
    """The countdown of an idle timeout: it starts at a periodic call, and must be exceeded at another one (rule 8.4)."""
    timeout, now_ns = duration_text(idle_ms * NS_PER_MS), facts.until_ns or facts.end_ns
    seen = seen_records(facts, task, operator) if index < 0 else None
    last = None if seen is None else seen.last()
    since = "" if last is None else f", and its last record came {duration_text(max(0, now_ns - last['time_ns']))} ago"
    text = f"{name} is not idle: its idle timeout is {timeout}{since}. "
    interval_ms = facts.recording.manifest.run.settings.get("auto_watermark_interval")
    if interval_ms == 0:
        return (
            f"{text}Idleness is declared at periodic calls, and there are none, because auto_watermark_interval is 0."
        )
    calls = f", and calls come every {duration_text(interval_ms * NS_PER_MS)}" if isinstance(interval_ms, int) else ""
    text += (
        "The countdown starts at the first periodic call without a new record, and idleness is declared at the first call "
        f"more than {timeout} after it{calls}"
    )
    later = _declared_later(facts, task, operator, index)
    text += "." if later is None else f": {later}."
    return f"{text}{_stopped(facts, task, last)}"


def _declared_later(facts: RunFacts, task: int, operator: Operator, index: int) -> str | None:
    """What the recording shows next after the moment: idleness or a record; None at the end of the recording."""
    if facts.until_ns is None:
        return None
    later = facts.later_rows("generated_watermark", task).equal(operator=operator.operator, split=index)
    idle = later.equal(kind=ElementKind.STATUS, timestamp=-1).first()
    before = seen_records(facts, task, operator) if index < 0 else None
    of_run = seen_records(facts.whole, task, operator) if index < 0 else None
    record = None if before is None or of_run is None else of_run.cut(len(before), len(of_run)).first()
    if record is not None and (idle is None or record["seq"] < idle["seq"]):
        return f"a record comes before, at {facts.moment(record['time_ns'])}"
    if idle is not None:
        at = facts.moment(idle["time_ns"])
        if idled_by(facts, task, operator, idle) is IdledBy.READER:
            return f"its reader or its watermark generator declares it idle at {at}"
        return f"it becomes idle at {at}"
    return "the recording does not show that it becomes idle"


def _stopped(facts: RunFacts, task: int, last: Row | None) -> str:
    """How long back pressure has stopped the clock of the countdown since the last record."""
    if not facts.is_full or last is None:
        return ""
    waits = waits_of(facts, task)
    stopped_ns = sum(
        max(0, end_ns - max(begin["time_ns"], last["time_ns"]))
        for kind in (Doing.SOFT, Doing.HARD)
        for begin, end_ns in waits[kind]
    )
    if stopped_ns <= 0:
        return ""
    return f" Its clock has stopped for {duration_text(stopped_ns)} since the last record, while the task waited for output."
