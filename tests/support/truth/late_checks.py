"""What the sentences of ``flowsim why late`` claim, checked against the rest of the recording."""

from __future__ import annotations

import json
import re
from collections import Counter

from flowsim.facts.kinds import ElementKind
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.truth.event_time_rules import (
    PENDING,
    AskedRun,
    combined,
    drop_of,
    generated,
    is_attempt,
    is_in_mail,
    last_attempt,
    limit_of,
    ms_of,
    operator_of_row,
    params,
    past,
    place_of,
    records,
    run_of,
    split_index,
    strategy,
    valves,
    way,
    windows_of,
)
from tests.support.truth.recorded_run import Row
from tests.support.why_truth import Claim

_RECORD = r"(?:Record (?P<value>.+?)|a Record)(?: \(timestamp {at:E}\))?(?:, key (?P<key>.+),)?"


def late(claim: Claim) -> bool:
    run, drop = run_of(claim), drop_of(claim)
    operator = operator_of_row(run, drop)
    assert place_of(claim, "o") == (drop.task, operator)
    assert is_attempt(claim, drop.task, drop.task_attempt)
    assert drop.watermark >= limit_of(operator, drop.timestamp)
    marks = combined(run, drop.task, drop.time_ns, drop.seq)
    assert operator.operator or marks[-1][1] == drop.watermark
    return ms_of(claim["at"]) == drop.timestamp and ("side output" in claim["fate"]) is bool(drop.side_output)


def closed(claim: Claim) -> bool:
    drop, operator = drop_of(claim), operator_of_row(run_of(claim), drop_of(claim))
    windows = windows_of(operator, drop.timestamp)
    assert ms_of(claim["w"]) == drop.watermark
    assert claim["which"] == ("its window is" if len(windows) == 1 else f"all its {len(windows)} windows are")
    lateness = params(operator).get("lateness_ms", 0)
    return ms_of(claim["l"]) == lateness and all(end - 1 + lateness <= drop.watermark for _, end in windows)


def window_closed(claim: Claim) -> bool:
    drop, operator = drop_of(claim), operator_of_row(run_of(claim), drop_of(claim))
    window = claim.number("a"), claim.number("b")
    cleanup = window[1] - 1 + params(operator).get("lateness_ms", 0)
    return window in windows_of(operator, drop.timestamp) and ms_of(claim["w"]) == cleanup <= drop.watermark


def since(claim: Claim) -> bool:
    run, drop = run_of(claim), drop_of(claim)
    marks = combined(run, drop.task, drop.time_ns, drop.seq)
    mark = ms_of(claim["w"])
    reached = next(row for row, value in marks if value >= mark)
    assert mark == marks[-1][1] == drop.watermark
    assert claim.moment("m") == reached.time_ns
    then = valves(run, drop.task, drop.time_ns, reached.seq)
    idle = [channel for channel, is_active in then.is_active.items() if not is_active]
    if claim["only"]:
        return len(then.is_active) == 1
    if claim["idle"]:
        return len(idle) == len(then.is_active) and max(then.watermark.values()) == mark
    lowest = min(
        min(
            then.watermark[one.channel]
            for one in run.received_by(drop.task)
            if one.input == number and then.is_aligned[one.channel]
        )
        for number in then.outputs
        if number not in then.idle_inputs
    )
    return lowest == mark and len(idle) == (claim.number("n") if claim["n"] else 0)


def behind(claim: Claim) -> bool:
    run = run_of(claim)
    task, arrival, _ = way(claim)
    mark = ms_of(claim["w"])
    marks = run.until(
        "received", task, past(claim), channel=arrival.channel, kind=ElementKind.WATERMARK, timestamp=mark
    )
    assert run.channels[claim.number("ch")].source_task == claim.task() == claim.task("s")
    assert arrival.channel == claim.number("ch")
    assert any(row.position < arrival.position for row in marks)
    return mark >= limit_of(operator_of_row(run, drop_of(claim)), drop_of(claim).timestamp)


def itself(claim: Claim) -> bool:
    hops = sum(text.startswith(PENDING) for text in claim.before) - 1
    _, arrival, sent = way(claim, hops)
    sent_by = run_of(claim).until(
        "sent", claim.task(), past(claim), channel=arrival.channel, kind=ElementKind.WATERMARK
    )
    return any(row.timestamp == ms_of(claim["w"]) and row.seq < sent.seq for row in sent_by)


def made(claim: Claim) -> bool:
    """A watermark of a strategy, by its records (8.1) or splits (8.6)."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    mark = ms_of(claim["w"])
    rows = [row for row in generated(run, task, operator, -1, past(claim)) if row.timestamp == mark]
    rows = [row for row in rows if row.kind == ElementKind.WATERMARK and row.records == claim.number("n")]
    assert rows
    if claim["high"]:
        bound = strategy(operator).get("bound_ms", 0)
        assert (ms_of(claim["high"]), ms_of(claim["bound"])) == (rows[-1].max_timestamp, bound)
        return ms_of(claim["high"]) - bound - 1 == mark
    return how_merged(claim, task, operator, mark, rows[-1])


def made_last(claim: Claim) -> bool:
    """A strategy generates MAX when its input has ended, and no watermark after it (8.7)."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    rows = generated(run, task, operator, -1, past(claim))
    marks = [row.timestamp for row in rows if row.kind == ElementKind.WATERMARK]
    return bool(marks) and marks[-1] == MAX_WATERMARK


def how_merged(claim: Claim, task: int, operator: Row, mark: int, row: Row | None) -> bool:
    """The minimum over the splits that are not idle and have not ended; of idle ones the maximum."""
    if not (claim["all"] or claim["of"]):
        return True
    run = run_of(claim)
    rows = run.all("generated_watermark", task, past(claim))
    own = [one for one in rows if one.operator == operator.operator and one.split >= 0]
    before = [one for one in own if (one.seq < row.seq if row is not None else one.time_ns <= past(claim))]
    marks: dict[int, int] = {}
    idle: dict[int, bool] = {}
    for one in before:
        if one.kind == ElementKind.END_OF_PARTITION:
            marks.pop(one.split, None), idle.pop(one.split, None)
            continue
        idle[one.split] = one.kind == ElementKind.STATUS and one.timestamp == -1
        if one.kind == ElementKind.WATERMARK:
            marks[one.split] = one.timestamp
    if claim["all"]:
        return (
            all(idle.values())
            and max(marks.values(), default=NO_TIMESTAMP) == mark
            and claim.number("all") == len(idle)
        )
    chosen = split_index(claim, task, operator, claim["of"])
    assert marks.get(chosen, NO_TIMESTAMP) == mark
    assert not idle.get(chosen, False) or len(idle) == 1
    lower = [split for split, value in marks.items() if value < mark and not idle[split]]
    last = before[-1].seq if before else -1
    return not any(one.split in lower and one.seq > last and one.timestamp != 0 for one in own) or row is None


def of_split(claim: Claim) -> bool:
    """The split of the record, and why it did not count for the watermark of the sentence before (rule 8.6)."""
    run, drop = run_of(claim), drop_of(claim)
    value = json.loads(run.names.value(drop.fingerprint))
    name = claim["split"].removeprefix("split ")
    if name.startswith('"'):
        assert json.loads(name) == value[-1]
    found = re.match(r"(.+?\)) generated watermark (-?[\d,]+ ms|MAX)", claim.before[-1])
    assert found is not None
    task = run.task(found[1].rpartition(" in ")[2])
    operator = next(one for one in run.operators if one.vertex == int(run.tasks[task][1]) and strategy(one))
    if "files" in params(operator):
        return "one after the other" in claim["why"]
    mark = ms_of(found[2])
    row = [one for one in generated(run, task, operator, -1, past(claim)) if one.timestamp == mark][-1]
    split = split_index(claim, task, operator, claim["split"])
    before = [one for one in generated(run, task, operator, split, past(claim)) if one.seq < row.seq]
    if "no watermark and no status" in claim["why"]:
        return not before
    is_idle = before[-1].kind == ElementKind.STATUS and before[-1].timestamp == -1
    return ("it was idle" in claim["why"]) is is_idle


def bound(claim: Claim) -> bool:
    """With the bound N the watermark stays below the limit, with N - 1 it does not (rule 8.1)."""
    run, drop = run_of(claim), drop_of(claim)
    found = re.match(r"(.+?\)) generated watermark (-?[\d,]+ ms)", claim.before[-1])
    assert found is not None
    mark, allowed, needed = ms_of(found[2]), ms_of(claim["bound"]), ms_of(claim["needed"])
    limit = limit_of(operator_of_row(run, drop), drop.timestamp)
    if claim["behind"]:
        _, _, sent = way(claim, sum(text.startswith(PENDING) for text in claim.before) - 1)
        assert ms_of(claim["behind"]) == mark + allowed + 1 - sent.timestamp
    return mark + allowed - needed < limit <= mark + allowed - needed + 1


def not_waited_for(claim: Claim) -> bool:
    run = run_of(claim)
    task, arrival, _ = way(claim)
    then = valves(run, task, past(claim), arrival.seq)
    channel = claim.number("ch")
    assert arrival.channel == channel
    # The channel of another input may be aligned: its input was not waited for (rule 8.16).
    assert not then.is_aligned[channel] or len(then.outputs) > 1
    assert then.watermark[channel] < drop_of(claim).watermark
    statuses = run.until("received", task, past(claim), channel=channel, kind=ElementKind.STATUS)
    statuses = [row for row in statuses if row.seq < arrival.seq]
    idle = [row for row in statuses if row.timestamp == -1][-1]
    assert claim.moment("m") == idle.time_ns
    assert then.is_active[channel] is bool(claim["again"])
    assert not claim["again"] or claim.moment("again") == statuses[-1].time_ns
    return then.watermark[channel] == (ms_of(claim["w"]) if claim["w"] else NO_TIMESTAMP)


def declared(claim: Claim) -> bool:
    """Why a strategy declared itself idle (rules 8.4, 8.6)."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    _, arrival, _ = way(claim, sum(text.startswith(PENDING) for text in claim.before) - 1)
    sent = [
        row for row in run.until("sent", task, past(claim), channel=arrival.channel) if row.position < arrival.position
    ]
    status = [row for row in sent if row.kind == ElementKind.STATUS and row.timestamp == -1][-1]
    row = [
        one for one in generated(run, task, operator, -1, past(claim)) if one.seq < status.seq and one.timestamp == -1
    ][-1]
    timeout_ns = strategy(operator).get("idle_ms", 0) * 1_000_000
    before = [one for one in records(run, task, past(claim)) if one.seq < row.seq]
    quiet_ns = row.time_ns - before[-1].time_ns if before else None
    if claim["splits"]:
        rows = [one for one in run.all("generated_watermark", task, past(claim)) if one.split >= 0]
        for split in {one.split for one in rows}:
            last = [one for one in rows if one.split == split and one.seq < row.seq]
            is_idle = bool(last) and last[-1].kind == ElementKind.STATUS and last[-1].timestamp == -1
            assert is_idle or not any(one.split == split and one.seq > row.seq for one in rows)
        return True
    if claim["reader"]:
        return not timeout_ns or (quiet_ns is not None and quiet_ns <= timeout_ns) or not is_in_mail(run, task, row)
    assert claim["perhaps"] or is_in_mail(run, task, row)
    if quiet_ns is None:
        begin = run.all("lifecycle", task, past(claim))[0]
        return bool(claim["perhaps"]) or row.time_ns - begin.time_ns > timeout_ns > 0
    return bool(timeout_ns) and (bool(claim["perhaps"]) or quiet_ns > timeout_ns)


def not_announced(claim: Claim) -> bool:
    """Rule 8.5: ACTIVE comes with the next watermark."""
    run, task = run_of(claim), claim.task()
    _, arrival, sent = way(claim, sum(text.startswith(PENDING) for text in claim.before) - 1)
    rows = [row for row in run.all("sent", task, past(claim)) if row.channel == arrival.channel]
    idle = [row for row in rows if row.kind == ElementKind.STATUS and row.timestamp == -1 and row.seq < sent.seq][-1]
    since_idle = [row for row in rows if row.kind == ElementKind.RECORD and idle.seq < row.seq <= sent.seq]
    active = [row for row in rows if row.kind == ElementKind.STATUS and row.timestamp == 0 and row.seq > idle.seq]
    assert (claim.number("n"), claim.moment("m")) == (len(since_idle), since_idle[0].time_ns)
    assert not active or active[0].seq > sent.seq
    return bool(active) is bool(claim["did"]) and (not active or claim.moment("did") == active[0].time_ns)


def result(claim: Claim) -> bool:
    """A task whose operators emit results of their own sent the watermark before the record."""
    run, task = run_of(claim), claim.task()
    kinds = {one.kind for one in run.operators if one.vertex == int(run.tasks[task][1])}
    _, arrival, sent = way(claim, sum(text.startswith(PENDING) for text in claim.before) - 1)
    assert kinds & {"window", "interval_join", "async_wait", "process", "keyed_process", "co_process"}, kinds
    marks = run.until("sent", task, past(claim), channel=arrival.channel, kind=ElementKind.WATERMARK)
    limit = limit_of(operator_of_row(run, drop_of(claim)), drop_of(claim).timestamp)
    return any(row.seq < sent.seq and row.timestamp >= limit for row in marks)


def declared_by_source(claim: Claim) -> bool:
    """The last status that the source sent before the record is idle, and no strategy made it."""
    run, task = run_of(claim), claim.task()
    _, arrival, _ = way(claim, sum(text.startswith(PENDING) for text in claim.before) - 1)
    rows = run.until("sent", task, past(claim), channel=arrival.channel, kind=ElementKind.STATUS)
    statuses = [row.timestamp for row in rows if row.position < arrival.position]
    assert -1 in statuses
    return not any(strategy(one) for one in run.operators if one.vertex == int(run.tasks[task][1]))


def channel_line(claim: Claim) -> bool:
    """The state of a channel when the record arrived, of the late one or at the moment."""
    run, channel = run_of(claim), claim.number("ch")
    task, before = run.channels[channel].target_task, None
    if run.drop is not None:
        before = run.drop.seq
        if claim.before[-1].startswith(PENDING):
            task, arrival, _ = way(claim, sum(text.startswith(PENDING) for text in claim.before) - 1)
            before = arrival.seq
    then = valves(run, task, past(claim), before)
    assert run.channels[channel].source_task == claim.task()
    assert then.watermark[channel] == ms_of(claim["w"])
    assert bool(claim["idle"]) is not then.is_active[channel]
    assert not claim["idle"] or claim.moment("idle") == then.status[channel].time_ns
    assert bool(claim["behind"]) is (then.is_active[channel] and not then.is_aligned[channel])
    end = then.end.get(channel)
    assert bool(claim["end"]) is (end is not None)
    return end is None or (claim.moment("end"), claim["drain"]) == (end.time_ns, "with" if end.timestamp else "without")


def none_late(claim: Claim) -> bool:
    """No record that arrived by the moment was late, and those that were behind are counted (rules 10.9, 10.35)."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    rows = [row for of in run.attempts("window_intake", task) for row in of if row.time_ns <= claim.now]
    rows = [row for row in rows if row.operator == operator.operator]
    assert len(rows) == claim.number("n")
    of_attempts = Counter(row.task_attempt for row in rows)
    texts = ", ".join(f"{count:,} in attempt {attempt}" for attempt, count in sorted(of_attempts.items()))
    assert claim["attempts"] == (texts if last_attempt(run, task) else None)
    if claim["join"]:
        return operator.kind == "interval_join" and all(row.timestamp >= row.watermark for row in rows)
    assigner = str(params(operator).get("assigner"))
    if claim["clock"]:
        return "processing" in assigner
    if claim["global"]:
        return assigner == "global"
    not_above = [row for row in rows if row.timestamp <= row.watermark != NO_TIMESTAMP]
    assert len(not_above) == (claim.number("behind") if claim["behind"] else 0)
    return not any(
        row.watermark >= limit_of(operator, row.timestamp) for row in rows if windows_of(operator, row.timestamp)
    ) or ("gap_ms" in params(operator))


def nothing_arrived(claim: Claim) -> bool:
    run = run_of(claim)
    rows = [row for task in run.tasks for of in run.attempts("window_intake", task) for row in of]
    return not any(row.time_ns <= claim.now for row in rows)


def all_arrived(claim: Claim) -> bool:
    run = run_of(claim)
    rows = [row for task in run.tasks for of in run.attempts("window_intake", task) for row in of]
    drops = [row for task in run.tasks for of in run.attempts("late_drop", task) for row in of]
    assert not any(row.time_ns <= claim.now for row in drops)
    return sum(row.time_ns <= claim.now for row in rows) == claim.number("n")


def _intakes(claim: Claim) -> list[Row]:
    """The arrivals of the record that the answer is about."""
    record = re.compile(r"Record (.+?) \(timestamp (-?[\d,]+) ms\)")
    value = next(found for text in (*claim.before, claim.found.string) if (found := record.match(text)))
    run, at = run_of(claim), int(value[2].replace(",", ""))
    rows = [row for task in run.tasks for of in run.attempts("window_intake", task) for row in of]
    return [row for row in rows if row.timestamp == at and row.time_ns <= claim.now]


def in_time(claim: Claim) -> bool:
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    rows = [row for row in _intakes(claim) if (row.task, row.operator) == (task, operator.operator)]
    drops = [row for of in run.attempts("late_drop", task) for row in of if row.timestamp == ms_of(claim["at"])]
    assert len(rows) > sum(row.time_ns <= claim.now for row in drops)
    assert any(is_attempt(claim, task, row.task_attempt) for row in rows)
    return not claim["gap"] or not windows_of(operator, ms_of(claim["at"]))


def arrived(claim: Claim) -> bool:
    """An arrival of the record agrees with what the sentence says about the watermark."""
    run, rows = run_of(claim), _intakes(claim)
    if claim["first"]:
        return any(row.watermark == NO_TIMESTAMP for row in rows)
    mark = ms_of(claim["w"])
    rows = [row for row in rows if row.watermark == mark]
    if claim["above"]:
        return any(row.timestamp > mark for row in rows)
    if claim["join"]:
        return any(row.timestamp >= mark and operator_of_row(run, row).kind == "interval_join" for row in rows)
    return any(row.timestamp <= mark < limit_of(operator_of_row(run, row), row.timestamp) for row in rows) or bool(
        claim["merged"]
    )


def by_assigner(claim: Claim) -> bool:
    """The assigner of the operator at which the record of the statement is not late."""
    run, place = run_of(claim), re.search(r" is not late at ([^()]+ \(\d+/\d+\))", claim.before[-1])
    assert place is not None
    name = place[1].rpartition(" in ")
    task = run.task(name[2])
    operators = [one for one in run.operators if one.vertex == int(run.tasks[task][1])]
    operator = next(one for one in operators if (one.name == name[0] if name[1] else one.operator == 0))
    assigner = str(params(operator).get("assigner"))
    return "processing" in assigner if claim["clock"] else assigner == "global"


def accepts(claim: Claim) -> bool:
    window, mark = (claim.number("a"), claim.number("b")), ms_of(claim["w"])
    for row in _intakes(claim):
        operator = operator_of_row(run_of(claim), row)
        cleanup = window[1] - 1 + params(operator).get("lateness_ms", 0)
        if window in windows_of(operator, row.timestamp) and cleanup == mark > row.watermark:
            return True
    return False


def gaps(claim: Claim) -> bool:
    sizes = [(params(one).get("size_ms"), params(one).get("slide_ms")) for one in run_of(claim).operators]
    return (claim.number("size"), claim.number("slide")) in sizes and claim.number("size") < claim.number("slide")


def first_of(claim: Claim) -> bool:
    """The late records of each operator and attempt until the moment, and values of some of them."""
    run = run_of(claim)
    rows = [row for task in run.tasks for of in run.attempts("late_drop", task) for row in of]
    rows = [row for row in rows if row.time_ns <= claim.now]
    parts = Counter((operator_text(run, row), row.task_attempt) for row in rows)
    found = re.findall(r"([\d,]+) at ([^()]+ \(\d+/\d+\))(?: in attempt (\d+) \(of 0 to \d+\))?", claim["parts"])
    assert {(name, int(attempt or 0)): int(count.replace(",", "")) for count, name, attempt in found} == parts
    values = {run.names.value(row.fingerprint) for row in rows}
    assert (len(values) > 1) is bool(claim["named"])
    assert not claim["named"] or all(value in claim["named"] for value in [run.names.value(drop_of(claim).fingerprint)])
    return len(rows) == claim.number("n")


def operator_text(run: AskedRun, row: Row) -> str:
    """An operator as sentences name it: with its task, unless that is named after it."""
    name, task = operator_of_row(run, row).name, run.names.short_task(row.task)
    return task if task.rpartition(" (")[0] == name else f"{name} in {task}"


def elsewhere(claim: Claim) -> bool:
    """An equal record with the same timestamp arrived at another operator or in another attempt, and its lateness."""
    run, drop, (task, operator) = run_of(claim), drop_of(claim), place_of(claim, "o")
    wanted = drop.fingerprint, drop.timestamp, operator.operator

    def rows(table: str) -> list[Row]:
        of_attempts = [row for of in run.attempts(table, task) for row in of if row.time_ns <= claim.now]
        equal = [row for row in of_attempts if (row.fingerprint, row.timestamp, row.operator) == wanted]
        return [row for row in equal if is_attempt(claim, task, row.task_attempt)]

    arrivals, late_ones = rows("window_intake"), rows("late_drop")
    assert arrivals
    assert bool(claim["other"]) is (task != drop.task)
    assert drop not in late_ones
    return bool(late_ones) is (claim["what"] == "late as well")


def split_states(run: AskedRun, task: int, operator: Row, split: int, now: int) -> list[tuple[int, bool]]:
    """Watermark and idleness of a split before its first fact and after each one, until a time."""
    states = [(NO_TIMESTAMP, False)]
    for row in generated(run, task, operator, split, now):
        mark = row.timestamp if row.kind == ElementKind.WATERMARK else states[-1][0]
        states.append((mark, row.kind == ElementKind.STATUS and row.timestamp == -1))
    return states


def split_line(claim: Claim) -> bool:
    """A split of this name had this watermark and status: of an answer about a moment, then."""
    run, wanted = run_of(claim), (ms_of(claim["w"]), bool(claim["idle"]))
    for task in run.tasks:
        for operator in (one for one in run.operators if one.vertex == int(run.tasks[task][1])):
            try:
                split = split_index(claim, task, operator, claim["name"])
            except (ValueError, IndexError):
                continue
            states = split_states(run, task, operator, split, past(claim))
            # Of files only the one that is read counts, so a split that is over is not called idle.
            if "files" in params(operator):
                states = [(mark, False) for mark, _ in states]
            if wanted in (states if run.drop is not None else states[-1:]):
                return True
    return False
