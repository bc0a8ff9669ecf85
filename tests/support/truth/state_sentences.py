"""What the sentences about keyed state and keys claim, and whether the recording agrees (``why state``, ``no-output``)."""

from __future__ import annotations

from typing import Any, Final

from flowsim.facts.kinds import ElementKind, StateAction
from tests.support.truth.recorded_run import WITHOUT_POSITION
from tests.support.truth.timer_model import TimerModel, subject_of, time_of, window_of
from tests.support.why_truth import Claim, Pattern

Row = Any
_DONE: Final = {
    "wrote": StateAction.PUT,
    "added to": StateAction.ADD,
    "removed an entry from": StateAction.REMOVE,
    "cleared": StateAction.CLEAR,
}
_WHAT: Final = (
    r"(?:(?P<kind>[A-Z][a-z]+) state '(?P<name>[^']+)'|Contents)(?: of (?P<window>window "
    r"\[[^)]*\)|the global window))? of key (?P<key>\S+) at {t:T}"
)
_HOW: Final = (
    r"(?:(?P<who>.*?) (?P<done>wrote|added to|removed an entry from|cleared) it at {m:M}|its time to "
    r"live had passed by {expired:M}(?:, found when it processed (?P<found>.*?))?)"
)
_RESTORED: Final = r"(?: Attempt (?P<attempt>\d+) restored it from checkpoint (?P<checkpoint>\d+)\.)?"


def changes(claim: Claim, text: str) -> tuple[TimerModel, list[Row]]:
    """The changes of the state that a statement names, in the state of the last attempt."""
    task = claim.run.task(
        text.split(" at ")[1].split(" is ")[0].split(" are ")[0].split(" has ")[0].split(" have ")[0].split(" exist")[0]
    )
    of = TimerModel(claim.run, task, claim.now)
    key = text.split(" of key ")[1].split(" ")[0]
    name = text.split("'")[1] if " state '" in text else None
    window = (
        window_of(text[text.index(" of ") + 4 : text.index(")") + 1])
        if "[" in text.split(" at ")[0] and "window [" in text
        else (0, 0)
    )
    if "the global window" in text:
        window = window_of("the global window")
    rows = [
        row
        for row in of.state("state_changes")
        if claim.run.names.key(row.key) == key
        and (row.window_start, row.window_end) == window
        and (name is None or claim.run.names.state(task, row.operator, row.state)[0] == name)
    ]
    return of, rows


def is_change(claim: Claim, of: TimerModel, row: Row) -> bool:
    """Whether a sentence describes this change: what, when, and by which call."""
    if claim["expired"]:
        return (
            row.action == StateAction.EXPIRE
            and row.time_ns == claim.moment("expired")
            and is_call(claim, of, row, claim["found"])
        )
    return (
        row.action == _DONE[claim["done"]]
        and row.time_ns == claim.moment("m")
        and is_call(claim, of, row, claim["who"])
    )


def is_call(claim: Claim, of: TimerModel, row: Row, who: str | None) -> bool:
    call = of.calls(row)
    if who is None:
        return call.kind != ElementKind.RECORD
    if "callback of" in who:
        return hasattr(call, "service") and subject_of(claim.run, who, of.task).is_of(call)
    return who.lower().startswith(f"record {claim.run.names.value(call.fingerprint)}".lower())


def contains(claim: Claim) -> bool:
    of, rows = changes(claim, claim.found[0])
    row = rows[-1]
    if claim["attempt"]:
        restored = of.restored("state_changes", int(claim["attempt"]))
        if of.checkpoint(int(claim["attempt"])) != int(claim["checkpoint"]) or row.seq not in [
            one.seq for one in restored
        ]:
            return False
    elif row.task_attempt != of.last_attempt and of.checkpoint(of.last_attempt) >= 0:
        return False
    is_empty = row.action == StateAction.CLEAR or not row.entries
    if claim["value"] and not is_empty and claim.run.names.value(row.fingerprint) != claim["value"]:
        return False
    return is_empty is bool(claim["empty"]) and is_change(claim, of, row)


def changed(claim: Claim) -> bool:
    text = next(one for one in claim.before if " state '" in one or one.startswith("Contents"))
    of, rows = changes(claim, text)
    return any(
        is_change(claim, of, row) and (not claim["value"] or claim.run.names.value(row.fingerprint) == claim["value"])
        for row in rows
    )


def ends(claim: Claim, channel: Row) -> tuple[list[Row], int]:
    """What was sent with a position on a channel, and how much of it was read."""
    sent = claim.run.until("sent", channel.source_task, claim.now, channel=channel.channel)
    read = claim.run.until("received", channel.target_task, claim.now, channel=channel.channel)
    counted = [[row for row in rows if row.kind not in WITHOUT_POSITION and row.position >= 0] for rows in (sent, read)]
    return counted[0], len(counted[1])


def arrivals(claim: Claim) -> int:
    """The records of a key that a task has read, by what its senders sent (rule 1.18)."""
    task = claim.task("t")
    count = 0
    for channel in claim.run.received_by(task):
        sent, read = ends(claim, channel)
        count += sum(
            row.kind == ElementKind.RECORD and claim.run.names.key(row.key) == claim["key"] for row in sent[:read]
        )
    return count


def arrived(claim: Claim) -> bool:
    return arrivals(claim) == claim.number("n")


def nothing_written(claim: Claim) -> bool:
    return all(
        not [
            row
            for row in TimerModel(claim.run, task, claim.now).state("state_changes")
            if claim.run.names.key(row.key).strip('"') == claim["key"]
        ]
        for task in claim.run.tasks
        if claim["key"]
    )


def not_in_a_window(claim: Claim) -> bool:
    task = claim.task("t")
    rows = TimerModel(claim.run, task, claim.now).of_all_attempts("window_intake")
    return arrived(claim) and all(claim.run.names.key(row.key) != claim["key"] for row in rows)


def under_way(claim: Claim) -> bool:
    task, count = claim.task("t"), 0
    for channel in claim.run.received_by(task):
        sent, read = ends(claim, channel)
        count += sum(
            row.kind == ElementKind.RECORD and claim.run.names.key(row.key) == claim["key"] for row in sent[read:]
        )
    return count == claim.number("n")


def no_record(claim: Claim) -> bool:
    return all(
        not [
            row
            for channel in claim.run.received_by(task)
            for row in ends(claim, channel)[0][: ends(claim, channel)[1]]
            if claim.run.names.key(row.key) == claim["key"]
        ]
        for task in claim.run.tasks
    )


def no_timer_of_key(claim: Claim) -> bool:
    rows = [row for task in claim.run.tasks for row in TimerModel(claim.run, task, claim.now).of_all_attempts("timers")]
    if claim["time"]:
        rows = [row for row in rows if row.timestamp == time_of(claim["time"])]
    if claim["window"]:
        rows = [row for row in rows if (row.window_start, row.window_end) == window_of(claim["window"])]
    if claim["key"]:
        rows = [row for row in rows if claim.run.names.key(row.key).strip('"') == claim["key"]]
    return not rows


STATE: Final = (
    Pattern(
        "state and its last change",
        rf"{_WHAT} (?:(?P<empty>is|are) empty|has the value (?P<value>.*?)|are (?P<contents>.*?)|has "
        rf"{{entries:N}} \w+|"
        rf"have {{records:N}} records?|exist|has a value that the recording does not show): "
        rf"{_HOW}\.{_RESTORED}",
        contains,
    ),
    Pattern("change of state", rf"(?:{_HOW.replace('its time', '[Ii]ts time')})(?:: (?P<value>.*))?\.", changed),
    Pattern(
        "state never written",
        r"No call has written state(?: '(?P<name>[^']+)')?(?: of key (?P<key>\S+?))?(?: at \w+)?(?: by "
        r"{m:M})?\.",
        nothing_written,
    ),
    Pattern(
        "other states",
        r"{n:N} other states? of operators and keys, {empty:N} of them empty",
        lambda claim: claim.number("empty") <= claim.number("n"),
    ),
    Pattern(
        "last changes",
        r"these are the last {n:N} of {all:N} changes",
        lambda claim: claim.number("n") < claim.number("all"),
    ),
    Pattern("records of the key", r"{n:N} records? of the key (?:has|have) arrived at {t:T}\.", lambda claim: True),
    Pattern("its records", r"{n:N} of its records arrived at {t:T}\.", lambda claim: True),
    Pattern(
        "note: records of a key",
        r"{n:N} records? of key (?P<key>\S+) arrived at {t:T}(?: in attempt \d+ \(of 0 to \d+\))?",
        arrived,
    ),
    Pattern(
        "records and results",
        r"{n:N} records? of key (?P<key>\S+) arrived at {t:T}(?: in attempt \d+ \(of 0 to \d+\))?(?:\. "
        r"It has no timers: it "
        r"emits a result for each record|, and none of them registered a timer|)\.",
        arrived,
    ),
    Pattern(
        "records in no window",
        r"{n:N} records? of key (?P<key>\S+) arrived at {t:T}(?: by {m:M})?; no window has it yet\.",
        not_in_a_window,
    ),
    Pattern("records under way", r"{n:N} records? of key (?P<key>\S+) (?:is|are) on the way to {t:T}\.", under_way),
    Pattern("no record of a key", r"No record of key (?P<key>\S+) has arrived at \w+(?: by {m:M})?\.", no_record),
    Pattern(
        "no timer",
        r"No timer(?: (?P<time>-?[\d,]+ ms|MAX \(end of event time\)))?(?: of (?P<window>window "
        r"\[[^)]*\)))?(?: of key (?P<key>\S+?))? was registered(?: by {m:M})?\.",
        no_timer_of_key,
    ),
    Pattern(
        "no timer ignored",
        r"No timer(?: -?[\d,]+ ms| MAX \(end of event time\))?(?: of window \[[^)]*\))?(?: of key \S+?)? "
        r"was ignored(?: by {m:M})?\.",
        lambda claim: True,
    ),
    Pattern(
        "calls without effect",
        r"A call that registers a timer with the time, key and window of a registered one, or deletes a "
        r"timer .*",
        lambda claim: True,
    ),
)
