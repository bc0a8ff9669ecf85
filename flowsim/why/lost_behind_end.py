"""Records that a task dropped because they came behind the end of their input (rule 4.11)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind, TimerAction
from flowsim.history.lateness import received_records
from flowsim.laws.event_time.paths import EventTimePaths
from flowsim.quantities import count_text
from flowsim.trace.sentence import record_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, Rows, RunFacts, place_of

_MOST_LISTED: Final = 16


def lost_causes(facts: RunFacts, task: int) -> list[Cause]:
    """The records that a task dropped behind the end of its input, and what its senders did after their EndOfData."""
    lost = received_records(facts, task)[1]
    first = lost.first()
    if first is None:
        return []
    values = [record_text("record", row["timestamp"], facts.names.value(row["fingerprint"])) for row in _head(lost)]
    more = (f"and {len(lost) - _MOST_LISTED:,} more",) if len(lost) > _MOST_LISTED else ()
    text = (
        f"{facts.task(task)} dropped {count_text(len(lost), 'record')} that came after the end of its data, the first one at "
        f"{facts.moment(first['time_ns'])}: every channel of that input had delivered EndOfData before."
    )
    causes = [Cause(text, ("4.11",), place_of(first), (*values, *more))]
    channels = facts.graph.channels
    for sender in dict.fromkeys(channels[channel].source_task for channel in lost["channel"].tolist()):
        causes += _late_timers(facts, sender)
    return causes


def _head(rows: Rows) -> list[Row]:
    return list(rows.cut(0, min(_MOST_LISTED, len(rows))))


def _late_timers(facts: RunFacts, sender: int) -> list[Cause]:
    """The timers of a sender that fired after it had finished its operators."""
    end = facts.rows("sent", sender).equal(kind=ElementKind.END_OF_DATA).first()
    if end is None or not facts.graph.once(EventTimePaths).holds_back(facts.graph.tasks[sender].vertex):
        return []
    fired = facts.whole.rows("timers", sender).equal(action=TimerAction.FIRE)
    late = fired.after(end["seq"])
    first = late.first()
    if first is None:
        return []
    text = (
        f"{facts.task(sender)} had finished its operators and sent EndOfData at {facts.moment(end['time_ns'])}, while "
        f"{count_text(len(late), 'timer')} of its {len(fired):,} had not fired: a mail had interrupted the firing. They fired "
        "after it, so what they sent came after EndOfData. This is FLINK-39481, a bug of Flink 2.3.0."
    )
    return [Cause(text, ("9.18", "4.12"), place_of(first))]
