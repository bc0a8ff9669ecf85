"""What sentences about the watermarks that windows wait for claim, checked against the recording."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.quantities import duration_text
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.truth.event_time_rules import (
    combined,
    generated,
    is_in_mail,
    ms_of,
    params,
    place_of,
    records,
    run_of,
    split_index,
    strategy,
    valves,
    watermark_of,
)
from tests.support.truth.late_checks import how_merged
from tests.support.truth.recorded_run import Row
from tests.support.why_truth import Claim


def holder(claim: Claim) -> bool:
    run, task = run_of(claim), claim.task()
    then = valves(run, task, claim.now)
    mark = watermark_of(run, task, claim.now)
    assert ms_of(claim["w"]) == mark
    idle = sum(not is_active for is_active in then.is_active.values())
    if claim["idle"]:
        return idle == len(then.is_active)
    if claim["only"]:
        return len(then.is_active) == 1 and list(then.watermark.values()) == [mark] and not idle
    channel = claim.number("ch")
    assert run.channels[channel].source_task == claim.task("s")
    assert then.watermark[channel] == ms_of(claim["own"] or claim["own2"] or claim["own3"])
    if claim["behind"]:
        return then.is_active[channel] and not then.is_aligned[channel] and then.watermark[channel] <= mark
    if claim["became"]:
        return then.is_aligned[channel] and then.watermark[channel] > mark
    assert idle == (claim.number("n") if claim["n"] else 0)
    of_input = [one.channel for one in run.received_by(task) if one.input == run.channels[channel].input]
    lowest = min(then.watermark[one] for one in of_input if then.is_aligned[one])
    assert then.is_aligned[channel]
    return then.watermark[channel] == lowest == mark


def under_way(claim: Claim) -> bool:
    run, mark = run_of(claim), ms_of(claim["w"])
    sender, receiver = claim.task("s"), claim.task("t")
    for channel in run.sent_by(sender):
        sent = run.until("sent", sender, claim.now, channel=channel.channel, kind=ElementKind.WATERMARK, timestamp=mark)
        if channel.target_task != receiver or not sent:
            continue
        read = [row for row in run.all("received", receiver, claim.now) if row.channel == channel.channel]
        read = [row for row in read if row.kind == ElementKind.WATERMARK and row.timestamp == mark]
        if not any(row.time_ns <= claim.now for row in read):
            return bool(read) is bool(claim["m"]) and (not read or read[0].time_ns == claim.moment("m"))
    return False


def idle_under_way(claim: Claim) -> bool:
    """The last status of the channel is idle for the sender, and not for the receiver."""
    run, sender, receiver = run_of(claim), claim.task("s"), claim.task("t")
    for channel in (one for one in run.sent_by(sender) if one.target_task == receiver):
        of_status = {"channel": channel.channel, "kind": ElementKind.STATUS}
        sent = run.until("sent", sender, claim.now, **of_status)
        read = run.until("received", receiver, claim.now, **of_status)
        if not sent or sent[-1].timestamp != -1 or len(read) == len(sent):
            continue
        later = run.after("received", receiver, claim.now, **of_status)[len(sent) - len(read) - 1 :]
        if bool(later) is bool(claim["m"]) and (not later or later[0].time_ns == claim.moment("m")):
            return True
    return False


def not_forwarded(claim: Claim) -> bool:
    run, task, mark = run_of(claim), claim.task(), ms_of(claim["w"])
    assert any(value == mark and row.time_ns == claim.moment("m") for row, value in combined(run, task, claim.now))
    if claim["idle"]:
        statuses = run.until("sent", task, claim.now, kind=ElementKind.STATUS)
        return any(row.timestamp == -1 for row in statuses)
    later = run.after("sent", task, claim.now, kind=ElementKind.WATERMARK)
    return not claim["sends"] or any(row.time_ns == claim.moment("sends") for row in later if row.timestamp >= mark)


def no_drain(claim: Claim) -> bool:
    rows = run_of(claim).until("sent", claim.task(), claim.now)
    assert any(row.kind == ElementKind.END_OF_DATA and row.timestamp == 0 for row in rows)
    return not any(row.kind == ElementKind.WATERMARK and row.timestamp == MAX_WATERMARK for row in rows)


def stopped(claim: Claim) -> bool:
    return bool(run_of(claim).until("lifecycle", claim.task(), claim.now, event=LifeEvent.STOP_NO_DRAIN))


def ended_idle(claim: Claim) -> bool:
    rows = run_of(claim).until("sent", claim.task(), claim.now)
    statuses = [row for row in rows if row.kind == ElementKind.STATUS]
    return bool(statuses) and statuses[-1].timestamp == -1 and any(row.kind == ElementKind.END_OF_DATA for row in rows)


def in_queue(claim: Claim) -> bool:
    run, mark = run_of(claim), ms_of(claim["w"])
    for task in run.tasks:
        for operator in (
            one for one in run.operators if one.vertex == int(run.tasks[task][1]) and one.name == claim["op"]
        ):
            queue = run.queue(task, operator.operator, claim.now)
            puts = [next(row for row in steps if row.action == AsyncAction.PUT) for steps in queue]
            for number, put in enumerate(puts):
                if put.kind == ElementKind.WATERMARK and put.timestamp == mark:
                    before = sum(one.kind == ElementKind.RECORD for one in puts[:number])
                    return before == claim.number("n")
    return False


# Strategies.


def _split(claim: Claim, task: int, operator: Row) -> int:
    return split_index(claim, task, operator, claim["split"][0].lower() + claim["split"][1:]) if claim["split"] else -1


def last_watermark(claim: Claim) -> bool:
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    split = _split(claim, task, operator)
    rows = [row for row in generated(run, task, operator, split, claim.now) if row.kind == ElementKind.WATERMARK]
    seen = records(run, task, claim.now)
    if claim["none"]:
        assert not rows
    else:
        assert (rows[-1].timestamp, rows[-1].records) == (ms_of(claim["w"]), claim.number("n"))
    if claim["high"]:
        delay = strategy(operator).get("bound_ms", 0) + 1
        assert ms_of(claim["high"]) == rows[-1].max_timestamp == rows[-1].timestamp + delay
        assert ms_of(claim["bound"]) == delay - 1
    assert not claim["norecord"] or not seen
    return not claim["m"] or (claim.moment("m"), ms_of(claim["at"])) == (seen[-1].time_ns, seen[-1].timestamp)


def needs(claim: Claim) -> bool:
    """Rule 8.1: the record that makes a watermark, and the watermarks of the rest of the recording."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    split = _split(claim, task, operator)
    needed, record = ms_of(claim["w"]), ms_of(claim["r"])
    assert record == needed + strategy(operator).get("bound_ms", 0) + 1
    seen = records(run, task, claim.now)
    if claim["none"]:
        assert split < 0
        assert not any(row.timestamp >= record for row in seen)
    if claim["one"]:
        first = next(row for row in seen if row.timestamp >= record)
        assert (ms_of(claim["one"]), claim.moment("came")) == (first.timestamp, first.time_ns)
        interval = run.settings.get("auto_watermark_interval")
        assert bool(claim["perrecord"]) is bool(strategy(operator).get("per_record"))
        assert not claim["zero"] or interval == 0
        assert not claim["every"] or claim["every"] == duration_text(int(interval) * 1_000_000)
    later = generated(run, task, operator, split, claim.now, later=True)
    made = [row for row in later if row.kind == ElementKind.WATERMARK and row.timestamp >= needed]
    if claim["mark"]:
        return (made[0].timestamp, made[0].time_ns) == (ms_of(claim["mark"]), claim.moment("m"))
    if claim["max"]:
        ends = run.all("sent", task, claim.now)
        assert [row.time_ns for row in ends if row.timestamp == MAX_WATERMARK][0] == claim.moment("max")  # noqa: RUF015
    return not made


def needs_of_source(claim: Claim) -> bool:
    """As ``needs``, and of a source with splits the first watermark of its own that is high enough, if that is earlier."""
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    assert needs(claim)
    if not claim["split"]:
        return claim["own"] is None
    later = generated(run, task, operator, -1, claim.now, later=True)
    own = [row for row in later if row.kind == ElementKind.WATERMARK and row.timestamp >= ms_of(claim["w"])]
    of_split = generated(run, task, operator, _split(claim, task, operator), claim.now, later=True)
    made = [row for row in of_split if row.kind == ElementKind.WATERMARK and row.timestamp >= ms_of(claim["w"])]
    is_named = bool(own) and (not made or own[0].seq < made[0].seq)
    assert bool(claim["own"]) is is_named
    assert not is_named or place_of(claim, "own") == (task, operator)
    return not is_named or (ms_of(claim["ownmark"]), claim.moment("ownat")) == (own[0].timestamp, own[0].time_ns)


def merged_splits(claim: Claim) -> bool:
    run = run_of(claim)
    for task in run.tasks:
        for operator in run.operators:
            if operator.vertex != int(run.tasks[task][1]) or operator.name != claim["op"]:
                continue
            rows = [row for row in generated(run, task, operator, -1, claim.now) if row.kind == ElementKind.WATERMARK]
            mark = rows[-1].timestamp if rows else NO_TIMESTAMP
            if mark == ms_of(claim["w"]):
                try:
                    if how_merged(claim, task, operator, mark, None):
                        return True
                except (AssertionError, ValueError, IndexError):
                    continue
    return False


# Idleness.


def _strategies(claim: Claim) -> list[tuple[int, Row, int]]:
    """The subtasks whose strategy has the name, with the number of the split."""
    run, found = run_of(claim), []
    for task in run.tasks:
        for operator in run.operators:
            if operator.vertex == int(run.tasks[task][1]) and operator.name == claim["op"]:
                try:
                    found.append((task, operator, _split(claim, task, operator)))
                except (ValueError, IndexError):
                    continue
    return found


def subtask_agrees(check: Callable[[Claim, int, Row, int], bool]) -> Callable[[Claim], bool]:
    """A check of one of the subtasks whose strategy has the name in the sentence."""

    def checked(claim: Claim) -> bool:
        errors = []
        for task, operator, split in _strategies(claim):
            try:
                if check(claim, task, operator, split):
                    return True
            except (AssertionError, IndexError) as error:
                errors.append(error)
        raise AssertionError(f"no subtask agrees: {errors}")

    return checked


def _without_timeout(claim: Claim, task: int, operator: Row, split: int) -> bool:
    assert not strategy(operator).get("idle_ms")
    return _not_idle(claim, task, operator, split)


def _without_calls(claim: Claim, task: int, operator: Row, split: int) -> bool:
    assert run_of(claim).settings["auto_watermark_interval"] == 0
    return _of_timeout(claim, task, operator)


def _of_timeout(claim: Claim, task: int, operator: Row) -> bool:
    assert claim["timeout"] == duration_text(strategy(operator)["idle_ms"] * 1_000_000)
    if claim["ago"]:
        assert claim["ago"] == duration_text(claim.now - records(run_of(claim), task, claim.now)[-1].time_ns)
    return True


def _countdown(claim: Claim, task: int, operator: Row, split: int) -> bool:
    run = run_of(claim)
    assert claim["every"] == duration_text(run.settings["auto_watermark_interval"] * 1_000_000)
    assert claim["more"] == claim["timeout"]
    assert _of_timeout(claim, task, operator)
    assert _not_idle(claim, task, operator, split)
    if claim["idleat"]:
        _check_countdown(claim, task, operator, split)
    return not claim["stopped"] or bool(run.until("actions", task, claim.now))


def _not_idle(claim: Claim, task: int, operator: Row, split: int) -> bool:
    """It is not idle, and the next record or status is the one that is named."""
    run, now = run_of(claim), claim.now
    statuses = [row for row in generated(run, task, operator, split, now) if row.kind == ElementKind.STATUS]
    assert not statuses or statuses[-1].timestamp == 0
    later = generated(run, task, operator, split, now, later=True)
    idle = [row for row in later if row.kind == ElementKind.STATUS and row.timestamp == -1]
    for group in ("idleat", "readerat"):
        if claim[group]:
            assert is_in_mail(run, task, idle[0]) is (group == "idleat")
            return bool(idle[0].time_ns == claim.moment(group))
    if claim["record"]:
        following = records(run, task, now, later=True)
        assert following[0].time_ns == claim.moment("record")
        return not idle or idle[0].seq > following[0].seq
    return not idle


def _check_countdown(claim: Claim, task: int, operator: Row, split: int) -> None:
    """Rule 8.4: the first quiet call comes one to two intervals after the last record, and is exceeded at a call."""
    idle = generated(run_of(claim), task, operator, split, claim.now, later=True)
    idle = [row for row in idle if row.timestamp == -1 and row.kind == ElementKind.STATUS][0]  # noqa: RUF015
    run, seen = run_of(claim), [row for row in records(run_of(claim), task, claim.now) if row.time_ns <= idle.time_ns]
    free = (
        run.names.splits(task, operator.operator)
        or run.all("alignment", task, claim.now)
        or "files" in params(operator)
    )
    waits = [row for row in run.all("actions", task, claim.now) if row.priority == -2]
    if split >= 0 or free or waits or not seen or operator.kind != "source":
        return
    interval_ns = int(run.settings["auto_watermark_interval"]) * 1_000_000
    timeout_ns = strategy(operator)["idle_ms"] * 1_000_000
    quiet_ns = idle.time_ns - seen[-1].time_ns
    if quiet_ns > timeout_ns:
        assert timeout_ns < quiet_ns - interval_ns + 1_000_000
        assert quiet_ns <= timeout_ns + 3 * interval_ns + 1_000_000


def _idle(claim: Claim, task: int, operator: Row, split: int) -> bool:
    run, now = run_of(claim), claim.now
    statuses = [row for row in generated(run, task, operator, split, now) if row.kind == ElementKind.STATUS]
    row, timeout_ns = statuses[-1], strategy(operator).get("idle_ms", 0) * 1_000_000
    assert (row.timestamp, row.time_ns) == (-1, claim.moment("since"))
    seen = records(run, task, now)
    if claim["by"]:
        assert claim["by"] == duration_text(timeout_ns)
        before = [one for one in seen if one.seq < row.seq]
        assert split >= 0 or not before or row.time_ns - before[-1].time_ns > timeout_ns
        assert is_in_mail(run, task, row)
    assert not claim["reader"] or not timeout_ns or not is_in_mail(run, task, row)
    since = [one for one in seen if one.seq > row.seq]
    if claim["n"]:
        assert (claim.number("n"), claim.moment("from")) == (len(since), since[0].time_ns)
        after = [one for one in run.all("generated_watermark", task, now) if one.seq > row.seq and one.split == split]
        active = [one for one in after if one.kind == ElementKind.STATUS and one.timestamp == 0]
        return bool(active) is bool(claim["does"]) and (not active or active[0].time_ns == claim.moment("does"))
    return True


# Alignment and sources.


def paused(claim: Claim) -> bool:
    run, (task, operator) = run_of(claim), place_of(claim, "o")
    row = run.until("alignment", task, claim.now, operator=operator.operator, split=-1)[-1]
    assert (row.paused, row.time_ns) == (1, claim.moment("m"))
    return bool(ms_of(claim["w"]) == row.watermark > row.limit == ms_of(claim["limit"]))


def limit(claim: Claim) -> bool:
    run, lowest, drift = run_of(claim), ms_of(claim["w"]), ms_of(claim["drift"])
    found = []
    for task in run.tasks:
        rows = run.until("alignment", task, claim.now, split=-1)
        if rows and rows[-1].paused and rows[-1].limit == lowest + drift:
            later = run.after("alignment", task, claim.now, split=-1)
            found.append(later[0].time_ns if later else None)
    assert (claim.moment("m") if claim["m"] else None) in found
    if claim["t"]:
        marks = run.until("generated_watermark", claim.task(), claim.now, split=-1, timestamp=lowest)
        return marks[0].time_ns == claim.moment("since")
    return True


def source_line(claim: Claim) -> bool:
    rows = run_of(claim).until("generated_watermark", claim.task(), claim.now, split=-1, kind=ElementKind.WATERMARK)
    return (rows[-1].timestamp if rows else NO_TIMESTAMP) == ms_of(claim["w"])


def own_watermarks(claim: Claim) -> bool:
    rows = run_of(claim).until("sent", claim.task(), claim.now, kind=ElementKind.WATERMARK)
    if claim["none"]:
        return not rows
    return (rows[-1].timestamp, rows[-1].time_ns) == (ms_of(claim["w"]), claim.moment("m"))
