"""What a restart repeats: records of sources, data in flight, async calls, rows and commits of sinks (section 12)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import AlignmentType, CheckpointStep, CommittableAction, ElementKind, StoredAction
from flowsim.history.async_elements import is_async
from flowsim.history.restarts import Failover, Repeated, repeated
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.sentence import capital

_MOST_LISTED: Final = 8
_MOST_VALUES: Final = 3


def repeated_causes(facts: RunFacts, one: Failover) -> list[Cause]:
    """What the restored tasks read, process, call, write and commit again."""
    return [
        *_read_again(facts, one),
        *_in_flight(facts, one),
        *_async_calls(facts, one),
        *_sinks(facts, one),
        *_committed_again(facts, one),
        *_watermarks(facts, one),
    ]


def _since(one: Failover) -> str:
    """From when on the effects are lost that the failure undid."""
    return (
        "before the failure"
        if one.checkpoint == NO_CHECKPOINT
        else f"after the snapshots of checkpoint {one.checkpoint}"
    )


def _read_again(facts: RunFacts, one: Failover) -> list[Cause]:
    """The records of sources that were read, and whose effects the restored state does not contain."""
    found = [each for each in repeated(facts, one, ("source",)) if each.records > 0]
    if not found:
        return []
    total = sum(each.records for each in found)
    text = (
        f"{capital(count_text(total, 'record'))} {'was' if total == 1 else 'were'} read {_since(one)}, and "
        f"{'is' if total == 1 else 'are'} read again: state contains the effect of each once."
    )
    if _is_at_least_once(facts, one):
        text = text.replace("state contains the effect of each once", "records behind a barrier can count twice")
    lines = tuple(_again_line(facts, one, each) for each in found[:_MOST_LISTED])
    return [Cause(text, ("12.29", "12.111"), None, lines)]


def _is_at_least_once(facts: RunFacts, one: Failover) -> bool:
    known = facts.checkpoints().checkpoints.get(one.checkpoint)
    return known is not None and known.alignment is AlignmentType.AT_LEAST_ONCE


def _again_line(facts: RunFacts, one: Failover, each: Repeated) -> str:
    text = f"{facts.operator_in(each.task, each.operator.operator)} had read {count_text(each.read, 'record')}"
    text += f", {each.in_snapshot:,} of them before its snapshot" if each.in_snapshot else ""
    values = _values(facts, one, each)
    return f"{text}; again: {values}" if values else text


def _values(facts: RunFacts, one: Failover, each: Repeated) -> str:
    """The records that are read again, if the source is not chained and their values are recorded."""
    edges = sorted({channel.edge for channel in facts.graph.sent_by(each.task)})
    restart = next(event for event in one.restarts if event.task_id == each.task)
    before = facts.whole.in_attempt(each.task, restart.attempt - 1)
    first = before.operators_of(each.task)[0]
    sends = edges and facts.graph.edges[edges[0]].source_operator == first.operator
    if not sends:
        return ""
    channels = [channel.channel for channel in facts.graph.sent_by(each.task) if channel.edge == edges[0]]
    if facts.graph.edges[edges[0]].partitioner == "BROADCAST":
        channels = channels[:1]
    rows = before.rows("sent", each.task).equal(kind=ElementKind.RECORD)
    rows = rows.where(np.isin(rows["channel"], channels))
    steps = before.rows("checkpoint_steps", each.task).equal(checkpoint=one.checkpoint, step=CheckpointStep.SYNC_START)
    snapshot = steps.first()
    rows = rows if snapshot is None else rows.after(snapshot["seq"])
    values = [facts.names.value(fingerprint) for fingerprint in rows["fingerprint"].tolist()]
    if not values or not all(values[:_MOST_VALUES]) or not values[-1]:
        return ""
    if len(values) <= _MOST_VALUES + 1:
        return ", ".join(values)
    return f"{', '.join(values[:_MOST_VALUES])} to {values[-1]}"


def _in_flight(facts: RunFacts, one: Failover) -> list[Cause]:
    """The data that was in channels, which the tasks process before they read new data."""
    times = {event.time_ns for event in one.restarts}
    events = [
        event
        for event in facts.graph.history.stored_channels
        if event.action == StoredAction.RESTORED and event.checkpoint == one.checkpoint and event.time_ns in times
    ]
    elements = sum(event.elements for event in events)
    if not elements:
        return []
    channels = sum(event.elements > 0 for event in events)
    text = (
        f"The checkpoint contains {count_text(elements, 'element')} that its barriers overtook, of "
        f"{count_text(channels, 'channel')}: the restarted tasks process them before they read new data, and the sources do "
        "not send them again."
    )
    return [Cause(text, ("12.83", "12.92"))]


def _async_calls(facts: RunFacts, one: Failover) -> list[Cause]:
    """The elements of async queues: the function is called for them again."""
    causes = []
    for event in one.restarts:
        before = facts.whole.in_attempt(event.task_id, event.attempt - 1)
        for operator in facts.operators_of(event.task_id):
            taken = before.rows("snapshots", event.task_id).equal(operator=operator.operator, checkpoint=one.checkpoint)
            last = taken.last()
            if is_async(operator) and last is not None and last["elements"]:
                count = count_text(last["elements"], "element")
                text = (
                    f"{facts.operator_in(event.task_id, operator.operator)} had {count} in its queue when it took its snapshot: "
                    "none is lost, and it calls the function for them again."
                )
                causes.append(Cause(text, ("11.20", "11.22"), place_of(last)))
    return causes


def _sinks(facts: RunFacts, one: Failover) -> list[Cause]:
    """What sinks wrote behind the restored state, and whether it can be seen twice."""
    causes = []
    for each in repeated(facts, one, ("sink",)):
        params = each.operator.params
        if each.records <= 0 or params.get("sink") == "discard":
            continue
        name, rows = facts.operator_in(each.task, each.operator.operator), count_text(each.records, "row")
        if params.get("delivery") == "at_least_once" or not params.get("commits"):
            text = (
                f"{name} had written {rows} {_since(one)}. What it writes is visible at once: if the job makes the same "
                f"{'row again, it is' if each.records == 1 else 'rows again, they are'} in it twice."
            )
            causes.append(Cause(text, ("12.30", "12.135")))
        else:
            what = (
                "It was not committed, so it is not"
                if each.records == 1
                else "They were not committed, so none of them is"
            )
            text = f"{name} had got {rows} {_since(one)}. {what} visible twice."
            causes.append(Cause(text, ("12.30", "12.31")))
    return causes


def _committed_again(facts: RunFacts, one: Failover) -> list[Cause]:
    rows = []
    for event in one.restarts:
        of_attempt = facts.whole.in_attempt(event.task_id, event.attempt).rows("committables", event.task_id)
        restored = of_attempt.equal(action=CommittableAction.RESTORED)
        committed = of_attempt.equal(action=CommittableAction.COMMITTED)
        mine = set(zip(restored["operator"].tolist(), restored["committable"].tolist(), strict=True))
        rows += [
            row
            for row in committed
            if (row["operator"], row["committable"]) in mine and row["checkpoint"] <= one.checkpoint
        ]
    if not rows:
        return []
    verb = "was" if len(rows) == 1 else "were"
    text = (
        f"{count_text(len(rows), 'committable')} of the restored state {verb} committed by the restart, whether a commit "
        "before the failure succeeded or not: so nothing is lost, and a committer must take each only once."
    )
    return [Cause(text, ("12.133", "12.135"), place_of(rows[0]))]


def _watermarks(facts: RunFacts, one: Failover) -> list[Cause]:
    """That event time starts anew in tasks that had a watermark."""
    for event in one.restarts:
        before = facts.whole.in_attempt(event.task_id, event.attempt - 1)
        marks = before.rows("task_watermark", event.task_id).equal(kind=ElementKind.WATERMARK)
        if len(marks) and any(operator.kind == "window" for operator in facts.operators_of(event.task_id)):
            text = (
                f"No operator stores its watermark: {facts.task(event.task_id)} starts without one, and a record that was late "
                "before can be in time now."
            )
            return [Cause(text, ("12.120", "10.8"), place_of(marks.row(-1)))]
    return []
