"""Why a source emits nothing at a moment: alignment pauses it, or it has no record to read."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.history.task_states import is_at_end_of_input
from flowsim.quantities import count_text
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause
from flowsim.why.restarts import attempt_text, early_end_causes
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waits.alignment import alignment_causes, paused_row


def source_causes(facts: RunFacts, task: int) -> list[Cause]:
    """Why a source emits nothing at the moment."""
    paused = paused_row(facts, task)
    if paused is not None:
        return alignment_causes(facts, task, paused)
    early = early_end_causes(facts, task)
    if early:
        return early
    shown = _shown(facts, task)
    name, is_alone = facts.task(task), len(facts.operators_of(task)) == 1
    attempt = attempt_text(facts, task)
    life = facts.rows("lifecycle", task)
    place = place_of(shown[-1][0]) if shown else None if not len(life) else place_of(life.row(-1))
    if is_at_end_of_input(facts, task):
        return [Cause(f"{name} has ended its data{attempt}: it emits no more records.", ("4.9", "4.20"), place)]
    text = f"{name} is a source{' and has no record to read' if facts.is_full else ''}{attempt}"
    if shown:
        row, what = shown[-1]
        last = "it emitted its last record" if is_alone else f"the last one that the recording shows was {what}"
        text += f": {last} at {facts.moment(row['time_ns'])}"
    elif is_alone:
        text += ": it has emitted no record so far"
    else:
        chained = ", ".join(operator.name for operator in facts.operators_of(task)[1:])
        text += f": the recording does not show what it emitted so far, because {chained} took it in the same task"
    text += _following(facts, task, _shown(facts.whole, task)[len(shown) :], is_alone)
    return [Cause(f"{text}.", ("4.5", "3.12"), place), *_paused_splits(facts, task)]


def _paused_splits(facts: RunFacts, task: int) -> list[Cause]:
    """The splits of a source that alignment has paused one by one (rule 8.24)."""
    last = {row["split"]: row for row in facts.rows("alignment", task) if row["split"] >= 0}
    paused = [row for row in last.values() if row["paused"]]
    if not paused:
        return []
    lines = tuple(
        f"split {row['split']}: since {facts.moment(row['time_ns'])}, at watermark {event_time(row['watermark'])}, above the "
        f"limit of {event_time(row['limit'])}"
        for row in paused
    )
    text = f"Watermark alignment has paused {count_text(len(paused), 'split')} of {facts.task(task)}."
    return [Cause(text, ("8.24",), place_of(paused[0]), lines)]


def _following(facts: RunFacts, task: int, later: list[tuple[Row, str]], is_alone: bool) -> str:
    """What the recording of the same attempt shows after the moment, for the end of a sentence."""
    if later:
        row, what = later[0]
        at = facts.moment(row["time_ns"])
        return f"; the next one comes at {at}" if is_alone else f"; the next one was {what} at {at}"
    life = facts.whole.rows("lifecycle", task).equal(operator=-1, event=LifeEvent.FINISHED).first()
    counts = facts.whole.rows("operator_counts", task).equal(operator=0).last()
    if is_alone and life is not None:
        return f", and there is no other one until its end at {facts.moment(life['time_ns'])}"
    if not is_alone and counts is not None:
        return f"; it emitted {count_text(counts['records_out'], 'record')} in all{attempt_text(facts, task)}"
    return ""


def _shown(facts: RunFacts, task: int) -> list[tuple[Row, str]]:
    """The records of a source that its task recorded, in order: each fact, and what was done with the record."""
    return sorted(_facts_of_records(facts, task), key=lambda found: found[0]["seq"])


def _facts_of_records(facts: RunFacts, task: int) -> Iterator[tuple[Row, str]]:
    for row in facts.rows("sent", task).equal(kind=ElementKind.RECORD):
        yield row, f"sent to {facts.task(facts.graph.channels[row['channel']].target_task)}"
    for row in facts.rows("async_elements", task).equal(kind=ElementKind.RECORD, action=AsyncAction.PUT):
        yield row, f"queued by {facts.names.operator(task, row['operator'])}"
    for row in facts.rows("window_intake", task):
        yield row, f"processed by {facts.names.operator(task, row['operator'])}"
