"""``why committed``: which checkpoint made a row of a sink visible, and why it is not visible, or twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsim.errors import BadInput, did_you_mean
from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.history.commits import Commit, Committable, committable_at, committables_of
from flowsim.history.restarts import Repeated, failovers, repeated
from flowsim.history.windows import fires_of
from flowsim.laws.job_graph import Operator
from flowsim.quantities import count_text
from flowsim.trace.sentence import window_text
from flowsim.why.about import about_of, keys_of
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.checkpoints.failed import checkpoint_text
from flowsim.why.records import Records
from flowsim.why.restarts import attempt_text
from flowsim.why.run_facts import ONE_FOR_ONE, Row, Rows, RunFacts, place_of
from flowsim.why.sentence import capital

_MOST_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class Arrival:
    """What is asked about, in one attempt of a task: its fact, and the committable of the sink that contains it."""

    task: int
    attempt: int
    row: Row
    committable: Committable | None


def why_committed(facts: RunFacts, words: Sequence[str]) -> WhyAnswer:
    """Explains when a row of a sink was committed; without a row, all commits of the sink. Raises BadInput."""
    sink, others = _sink(facts, words)
    if not others:
        return _all(facts, sink)
    found = committables_of(facts, sink)
    what, arrivals = _arrivals(facts, sink, others, found)
    if not arrivals:
        text = f"{capital(what)} has not reached {sink.name}{facts.by_moment}."
        return WhyAnswer(Cause(text, ("12.30",)), notes=("'why ... no-output' explains what a sink does not get",))
    if not _commits(sink):
        return _visible_at_once(facts, sink, what, arrivals)
    committed = [arrival for arrival in arrivals if arrival.committable is not None and arrival.committable.commits]
    if not committed:
        return _not_committed(facts, sink, what, arrivals)
    return _committed(facts, sink, what, arrivals, committed)


def _sink(facts: RunFacts, words: Sequence[str]) -> tuple[Operator, list[str]]:
    """The sink that the words name, by default the first one with committables, and the other words."""
    sinks = [operator for operator in facts.graph.operators if operator.kind == "sink"]
    if not sinks:
        raise BadInput("the job has no sinks")
    for place, word in enumerate(words):
        named = [one for one in sinks if word in (one.name, one.name.partition(": ")[2])]
        if named:
            return named[0], [*words[:place], *words[place + 1 :]]
    if len(words) > 2 or (len(words) == 2 and not words[0].lstrip().startswith("[")):
        names = [one.name.partition(": ")[2] for one in sinks]
        raise BadInput(
            f"there is no sink {words[0]!r}{did_you_mean(words[0], names, is_listed=True)}; there are: {', '.join(names)}"
        )
    return next((one for one in sinks if _commits(one)), sinks[0]), list(words)


def _commits(sink: Operator) -> bool:
    """Whether the rows of a sink are visible only with a commit."""
    return bool(sink.params.get("commits")) and sink.params.get("delivery") != "at_least_once"


def _arrivals(
    facts: RunFacts, sink: Operator, words: Sequence[str], found: list[Committable]
) -> tuple[str, list[Arrival]]:
    """What the words name, and where it came to the sink, in the order of attempts."""
    before = _before(facts, sink)
    head = before[-1] if before else sink
    windows = next((one for one in before if one.kind == "window"), None)
    about = about_of(facts, words)
    if about.window is not None and windows is not None:
        return _of_window(facts, windows, words, found)
    blocking = next((one for one in before if one.kind not in ONE_FOR_ONE), None)
    if blocking is not None or head.kind == "source":
        by = head.name if blocking is None else blocking.name
        raise BadInput(
            f"{sink.name} is in one chain with {by}: records inside a chain are not recorded; run with --set "
            f"sinks.{sink.name.partition(': ')[2]}.chaining=never"
            + (", or ask about a window: '[START, END)' KEY" if windows is not None else "")
        )
    rows = {task.task: _records(facts, sink, task.task) for task in facts.graph.tasks_of(sink.vertex)}
    among = np.concatenate([one["fingerprint"] for attempts in rows.values() for one in attempts])
    if len(words) > 1:
        raise BadInput(f"expected one record, got {len(words)} words: {' '.join(words)}")
    record = Records(facts).one_of(words[0], among)
    if record is None:
        return f"record {words[0]}", []
    arrivals = [
        Arrival(task, attempt, row, committable_at(found, task, attempt, row["seq"]))
        for task, attempts in rows.items()
        for attempt, of_attempt in enumerate(attempts)
        for row in of_attempt.equal(fingerprint=record.fingerprint)
    ]
    name = str(record) if not before else f"what {sink.name} got of {record}"
    return name, sorted(arrivals, key=lambda one: (one.attempt, one.row["time_ns"]))


def _before(facts: RunFacts, sink: Operator) -> list[Operator]:
    """The operators before a sink in its chain, the nearest first."""
    known = {one.operator: one for one in facts.graph.operators_of(sink.vertex)}
    found: list[Operator] = []
    at = sink
    while at.input_operator >= 0:
        at = known[at.input_operator]
        found.append(at)
    return found


def _records(facts: RunFacts, sink: Operator, task: int) -> list[Rows]:
    """The records that each attempt of a task read."""
    return [rows.equal(kind=ElementKind.RECORD) for rows in facts.rows_of_attempts("received", task)]


def _of_window(
    facts: RunFacts, windows: Operator, words: Sequence[str], found: list[Committable]
) -> tuple[str, list[Arrival]]:
    """The firings of a window in the chain of a sink."""
    about = about_of(facts, words)
    keys = keys_of(facts, about.key)
    start, end = about.window or (0, 0)
    arrivals = []
    for task in facts.graph.tasks_of(windows.vertex):
        for attempt, rows in enumerate(facts.rows_of_attempts("window_fire", task.task)):
            of_window = fires_of(rows).equal(operator=windows.operator, window_start=start, window_end=end)
            arrivals += [
                Arrival(task.task, attempt, row, committable_at(found, task.task, attempt, row["seq"]))
                for row in of_window
                if keys is None or row["key"] in keys
            ]
    of_key = f" of key {about.key}" if about.key else ""
    what = f"the result of {window_text(start, end)}{of_key}"
    return what, sorted(arrivals, key=lambda one: (one.attempt, one.row["time_ns"]))


def _committed(
    facts: RunFacts, sink: Operator, what: str, arrivals: Sequence[Arrival], committed: Sequence[Arrival]
) -> WhyAnswer:
    first = committed[0]
    assert first.committable is not None
    commit = first.committable.commits[0]
    since = facts.moment(commit.row["time_ns"])
    copies = len(
        {
            (one.committable.prepared["task"], one.committable.prepared["committable"])
            for one in committed
            if one.committable
        }
    )
    text = f"{capital(what)} is committed since {since}, with checkpoint {first.committable.checkpoint}"
    text += f", and {count_text(copies, 'time')} in all." if copies > 1 else "."
    causes = [
        _got(facts, sink, first),
        _prepared(facts, sink, first.committable),
        *(_commit(facts, one, is_first=one is commit) for one in first.committable.commits),
    ]
    causes += [_lost(facts, sink, one) for one in arrivals if one not in committed]
    causes += [_got(facts, sink, one) for one in committed[1:]]
    return WhyAnswer(Cause(text, ("12.30", "12.31"), place_of(commit.row)), tuple(causes))


def _got(facts: RunFacts, sink: Operator, one: Arrival) -> Cause:
    name, attempt = facts.operator_in(one.task, sink.operator), attempt_text(facts.of_run, one.task, one.attempt)
    text = f"It came to {name} at {facts.moment(one.row['time_ns'])}{attempt}."
    return Cause(text, ("12.30",), place_of(one.row))


def _prepared(facts: RunFacts, sink: Operator, one: Committable) -> Cause:
    row, writer = one.prepared, facts.operator_in(one.prepared["task"], sink.operator)
    rows = f"its {count_text(row['rows'], 'row')} since the checkpoint before as one committable, at"
    if one.is_of_end:
        text = f"At the end of its input, {writer} prepared {rows} {facts.moment(row['time_ns'])}."
        return Cause(text, ("12.32",), place_of(row))
    text = f"Before the barrier of checkpoint {row['checkpoint']}, {writer} prepared {rows} {facts.moment(row['time_ns'])}."
    return Cause(text, ("12.30",), place_of(row))


def _commit(facts: RunFacts, one: Commit, is_first: bool) -> Cause:
    task, at = facts.task(one.row["task"]), facts.moment(one.row["time_ns"])
    again = "" if is_first else "again "
    if one.checkpoint is None:
        text = (
            f"The committable was {again}committed by {task} at {at}, when attempt {one.attempt} was restored: the state of the "
            "committer contains it, and a restore commits all that belongs to its checkpoint."
        )
        return Cause(text, ("12.133", "12.135"), place_of(one.row))
    text = f"{task} committed it {again}at {at}, notified that checkpoint {one.checkpoint} is complete."
    return Cause(text, ("12.31", "12.50"), place_of(one.row))


def _lost(facts: RunFacts, sink: Operator, one: Arrival) -> Cause:
    """A copy that was not committed, because its attempt ended before."""
    at = facts.moment(one.row["time_ns"])
    text = f"In attempt {one.attempt} it had come at {at}, and was not committed: {_why_not(facts, one)}."
    return Cause(text, ("12.30", "12.29"), place_of(one.row))


def _why_not(facts: RunFacts, one: Arrival) -> str:
    """Why what an attempt got is not committed, as a clause."""
    life = facts.whole.in_attempt(one.task, one.attempt).rows("lifecycle", one.task).equal(operator=-1)
    life = life if facts.until_ns is None else life.where(life["time_ns"] <= facts.until_ns)
    last = life.last()
    ends = {LifeEvent.FAILED: "failed", LifeEvent.CANCELED: "was canceled", LifeEvent.FINISHED: "finished"}
    end = None if last is None else ends.get(LifeEvent(last["event"]))
    at = "" if last is None or end is None else f"the attempt {end} at {facts.moment(last['time_ns'])}"
    if one.committable is None or one.committable.checkpoint is None:
        return f"{at} before it took another checkpoint" if end else "no checkpoint was taken after it"
    number = one.committable.checkpoint
    known = facts.checkpoints(facts.until_ns).checkpoints.get(number)
    if known is None:
        return f"checkpoint {number}, to which it belongs, was not triggered"
    name = checkpoint_text(known)
    match known.status:
        case "failed":
            return f"{name}, to which it belongs, failed ({known.reason.name})"
        case "completed":
            return f"{name}, to which it belongs, is complete, but no committer was notified{f' before {at}' if end else ''}"
        case _:
            return f"{name}, to which it belongs, is not complete"


def _not_committed(facts: RunFacts, sink: Operator, what: str, arrivals: Sequence[Arrival]) -> WhyAnswer:
    last = arrivals[-1]
    text = f"{capital(what)} is not committed{facts.by_moment}: {_why_not(facts, last)}."
    causes = [_got(facts, sink, last)]
    if last.committable is not None:
        causes.append(_prepared(facts, sink, last.committable))
    else:
        wait = "Rows of this sink are visible when a checkpoint that follows them is complete, the last ones with the final one."
        causes.append(Cause(wait, ("12.31", "4.16")))
    causes += [_lost(facts, sink, one) for one in arrivals[:-1]]
    return WhyAnswer(Cause(text, ("12.30", "12.31"), place_of(last.row)), tuple(causes))


def _visible_at_once(facts: RunFacts, sink: Operator, what: str, arrivals: Sequence[Arrival]) -> WhyAnswer:
    first = arrivals[0]
    text = f"{capital(what)} is visible since {facts.moment(first.row['time_ns'])}: what {sink.name} gets is visible at once"
    text += f", and it got this one {count_text(len(arrivals), 'time')}." if len(arrivals) > 1 else "."
    again = "Its rows wait for no checkpoint, so what it gets again after a restart is written again."
    causes = [Cause(again, ("12.30", "12.135"))]
    causes += [_got(facts, sink, one) for one in arrivals]
    return WhyAnswer(Cause(text, ("12.30",), place_of(first.row)), tuple(causes))


def _all(facts: RunFacts, sink: Operator) -> WhyAnswer:
    """All commits of a sink."""
    if not _commits(sink):
        return _all_at_once(facts, sink)
    found = committables_of(facts, sink)
    committed = [one for one in found if one.commits]
    rows = sum(one.prepared["rows"] for one in committed)
    text = (
        f"{sink.name} has committed {count_text(rows, 'row')} in {count_text(len(committed), 'committable')}{facts.by_moment}: "
        "rows are visible when the checkpoint that follows them is complete."
    )
    lines = [_line(facts, one) for one in found[:_MOST_LISTED]]
    if len(found) > _MOST_LISTED:
        lines.append(f"and {count_text(len(found) - _MOST_LISTED, 'committable')} more")
    place = None if not committed else place_of(committed[0].commits[0].row)
    causes = []
    for one in found:
        if len(one.commits) > 1:
            causes += [_commit(facts, commit, is_first=number == 0) for number, commit in enumerate(one.commits)]
            text_again = (
                "All are commits of one committable: its rows are visible once, if the committer takes a committable that it "
                "has for done."
            )
            causes.append(Cause(text_again, ("12.31", "12.135")))
            break
    causes += [*_of_end(facts, sink, found), *_lost_rows(facts, sink), *_open(facts, sink, found)]
    return WhyAnswer(Cause(text, ("12.30", "12.31"), place, tuple(lines)), tuple(causes))


def _line(facts: RunFacts, one: Committable) -> str:
    row = one.prepared
    at = [facts.moment(commit.row["time_ns"]) for commit in one.commits]
    when = f"committed at {' and again at '.join(at)}" if at else "not committed"
    rows = f"{count_text(row['rows'], 'row')} of {facts.task(row['task'])}"
    name = "no checkpoint" if one.checkpoint is None else f"checkpoint {one.checkpoint}"
    return f"{name}: {rows}, prepared at {facts.moment(row['time_ns'])}, {when}"


def _of_end(facts: RunFacts, sink: Operator, found: list[Committable]) -> list[Cause]:
    """The last commit of a job whose input has ended."""
    last = next((one for one in reversed(found) if one.is_of_end and one.commits), None)
    if last is None:
        return []
    text = (
        f"The input of {facts.operator_in(last.prepared['task'], sink.operator)} ended at "
        f"{facts.moment(last.prepared['time_ns'])} with {count_text(last.prepared['rows'], 'row')} that no checkpoint had "
        f"covered. The task waited for checkpoint {last.checkpoint} before it ended, and its completion committed them."
    )
    return [Cause(text, ("12.32", "4.15", "4.16"), place_of(last.commits[0].row))]


def _undone(facts: RunFacts, sink: Operator) -> Iterator[tuple[int, Repeated]]:
    """What a sink got in attempts that failed, behind the state that was restored, with the numbers of the failures."""
    for failover in failovers(facts).values():
        for each in repeated(facts, failover, ("sink",)):
            if each.operator == sink and each.records > 0:
                yield failover.failure.failure, each


def _lost_rows(facts: RunFacts, sink: Operator) -> list[Cause]:
    return [
        Cause(
            f"{facts.operator_in(each.task, sink.operator)} had got {count_text(each.records, 'row')} that failure {number} "
            f"undid: {'it was' if each.records == 1 else 'they were'} in no complete checkpoint, so not committed, and what "
            f"{'it' if each.records == 1 else 'they'} came from is processed again.",
            ("12.29", "12.30"),
        )
        for number, each in _undone(facts, sink)
    ]


def _open(facts: RunFacts, sink: Operator, found: list[Committable]) -> list[Cause]:
    """The rows behind the last committable of each task, which no checkpoint has covered so far."""
    if _before(facts, sink):
        return []
    causes = []
    for task in facts.graph.tasks_of(sink.vertex):
        own = (task.task, facts.attempt_of(task.task))
        last = max((one.prepared["seq"] for one in found if (one.prepared["task"], one.attempt) == own), default=-1)
        rows = facts.rows("received", task.task).equal(kind=ElementKind.RECORD).after(last)
        if len(rows):
            since = "after that" if last >= 0 else "so far"
            text = f"{facts.task(task.task)} got {count_text(len(rows), 'row')} {since}, which no checkpoint covers"
            causes.append(Cause(f"{text}{facts.by_moment}.", ("12.30",), place_of(rows.row(-1))))
    return causes


def _all_at_once(facts: RunFacts, sink: Operator) -> WhyAnswer:
    counts = [
        (task.task, attempt, last)
        for task in facts.graph.tasks_of(sink.vertex)
        for attempt, rows in enumerate(facts.rows_of_attempts("operator_counts", task.task))
        if (last := rows.equal(operator=sink.operator).last()) is not None
    ]
    total = count_text(sum(row["records_in"] for *_, row in counts), "row")
    text = (
        f"What {sink.name} gets is visible at once{f': {total} in all' if counts else ''}. It waits for no checkpoint."
    )
    lines = tuple(
        f"{facts.task(task)}, attempt {of}: {count_text(row['records_in'], 'row')}" for task, of, row in counts
    )
    causes = [
        Cause(
            f"{count_text(each.records, 'row')} of {facts.task(each.task)} came after the state from which failure {number} "
            "restarted it: they were visible already, and the same rows come again from its restored input.",
            ("12.29", "12.135"),
            next((place_of(row) for task, _, row in counts if task == each.task), None),
        )
        for number, each in _undone(facts, sink)
    ]
    return WhyAnswer(Cause(text, ("12.30",), None, lines[:_MOST_LISTED]), tuple(causes))
