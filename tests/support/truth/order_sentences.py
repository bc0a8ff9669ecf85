"""What the sentences of ``flowsim why order`` claim, checked against the positions of facts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from flowsim.facts.kinds import AsyncAction, ElementKind
from tests.support.truth.recorded_run import Row
from tests.support.why_truth import Claim, Pattern


def rows_of(claim: Claim, table: str, task: int, value: str) -> list[Row]:
    """The records of a task with a value."""
    names = claim.run.names
    return [
        row
        for row in claim.run.until(table, task, claim.now, kind=ElementKind.RECORD)
        if names.value(row.fingerprint) == value
    ]


def shown(text: str) -> str:
    """The value in ``record [1] (timestamp 7 ms)``."""
    return text.removeprefix("record ").removeprefix("Record ").partition(" (timestamp ")[0]


def sent_in_order(claim: Claim) -> bool:
    one, other = (rows_of(claim, "sent", claim.task(), claim[name]) for name in "ab")
    return one[0].time_ns == claim.moment("m") and one[0].seq < other[0].seq


def reads(claim: Claim) -> tuple[Row, Row]:
    one, other = (rows_of(claim, "received", claim.task(), claim[name]) for name in "ab")
    assert one[0].time_ns == claim.moment("m")
    assert one[0].seq < other[0].seq
    return one[0], other[0]


def over_one_channel(claim: Claim) -> bool:
    """A channel keeps the order: the sender wrote them in it, too (invariant I7.b)."""
    one, other = reads(claim)
    return one.channel == other.channel == claim.number("ch") and one.position < other.position


def sent_at(claim: Claim, row: Row) -> int | None:
    channel = claim.run.channels[row.channel]
    of = {"channel": row.channel, "position": row.position, "kind": ElementKind.RECORD}
    rows = claim.run.until("sent", channel.source_task, claim.now, **of)
    return rows[0].time_ns if rows else None


def over_two_channels(claim: Claim) -> bool:
    one, other = reads(claim)
    times = sent_at(claim, one), sent_at(claim, other)
    was_earlier = None not in times and times[1] < times[0]  # type: ignore[operator]
    keys = {key_of(claim, row) for row in (one, other)}
    assert bool(claim["key"]) is (len(keys) == 1 and keys != {0} and keys != {None})
    return one.channel != other.channel and bool(claim["although"]) is was_earlier


def key_of(claim: Claim, row: Row) -> int | None:
    channel = claim.run.channels[row.channel]
    rows = claim.run.until(
        "sent", channel.source_task, claim.now, channel=row.channel, position=row.position, kind=ElementKind.RECORD
    )
    return rows[0].key if rows else None


def over_two_inputs(claim: Claim) -> bool:
    channels = [claim.run.channels[row.channel] for row in reads(claim)]
    head = next(
        one for one in claim.run.operators if (one.vertex, one.operator) == (int(claim.run.tasks[claim.task()][1]), 0)
    )
    reading = re.findall(r'"reading": "(\w+)"', head.params)
    assert reading == [claim["reading"]] if claim["reading"] else reading in ([], ["any"])
    return channels[0].input != channels[1].input


def line(claim: Claim) -> bool:
    channel = claim.run.channels[claim.number("ch")]
    assert claim.task() == channel.source_task
    rows = [row for row in rows_of(claim, "sent", channel.source_task, claim["a"]) if row.channel == channel.channel]
    return not rows if claim["m"] is None else any(row.time_ns == claim.moment("m") for row in rows)


def orders_of(claim: Claim) -> dict[str, bool]:
    """By the place where both records were sent, read or emitted: whether the first one came first."""
    found: dict[str, bool] = {}
    run, values = claim.run, (shown(claim["a"]), shown(claim["b"]))
    for task in run.tasks:
        tables = ["received"] if run.received_by(task) else ["sent"]
        for table in tables:
            one, other = (rows_of(claim, table, task, value) for value in values)
            if one and other:
                found[run.names.short_task(task)] = one[0].seq < other[0].seq
    return found


def statement(claim: Claim) -> bool:
    """The order at each place that is named; places in an async operator are checked by their causes."""
    places = orders_of(claim)
    assert_recorded(claim)
    if claim["all"]:
        return all(places.values())
    named = {claim["at"]: True, claim["after"]: False}
    async_places = {one.name for one in claim.run.operators if one.kind == "async_wait"}
    assert all(
        place is None or place in places or place.partition(" in ")[0].partition(" (")[0] in async_places
        for place in named
    )
    return all(places[place] is kept for place, kept in named.items() if place in places)


def assert_recorded(claim: Claim) -> None:
    """Both values are recorded."""
    values = {str(row[2]) for row in claim.run.recording.rows("record_values")}
    assert {shown(claim["a"]), shown(claim["b"])} <= values


def apart(claim: Claim) -> bool:
    """No task of a vertex that one reached was reached by the other."""
    first = claim.run.task(claim["one"].split("), ")[0].removesuffix(")") + ")")
    row = rows_of(claim, "received", first, shown(claim["a"]))[0]
    assert claim.run.edges[claim.run.channels[row.channel].edge].partitioner == claim["partitioner"]
    for name, tasks in (("a", claim["one"]), ("b", claim["two"])):
        for task in tasks.split("), "):
            of = claim.run.task(task if task.endswith(")") else task + ")")
            if not rows_of(claim, "received", of, shown(claim[name])):
                return False
            if rows_of(claim, "received", of, shown(claim["b" if name == "a" else "a"])):
                return False
    return True


def operators(claim: Claim) -> Iterator[tuple[int, int]]:
    for task, row in claim.run.tasks.items():
        for operator in claim.run.operators:
            if operator.vertex == int(row[1]) and operator.name == claim["op"]:
                yield task, operator.operator


def elements(claim: Claim) -> Iterator[tuple[list[Row], list[Row], list[list[Row]]]]:
    names = claim.run.names
    for task, operator in operators(claim):
        all_ = claim.run.elements(task, operator, claim.now)
        one, other = ([steps for steps in all_ if names.value(steps[0].fingerprint) == claim[name]] for name in "ab")
        if one and other:
            yield one[0], other[0], all_


def step(steps: list[Row], *actions: AsyncAction) -> int:
    return next((row.seq for row in steps if row.action in actions), 2**62)


OUTCOME = (AsyncAction.COMPLETE, AsyncAction.FAIL)


def emitted_before(one: list[Row], other: list[Row]) -> bool:
    return step(one, AsyncAction.EMIT) < step(other, AsyncAction.EMIT)


def in_order(claim: Claim) -> bool:
    return any(
        emitted_before(one, other)
        and one[0].entry < other[0].entry
        and bool(claim["first"]) is (step(other, *OUTCOME) < step(one, *OUTCOME))
        for one, other, _ in elements(claim)
    )


def behind_watermark(claim: Claim) -> bool:
    for one, other, all_ in elements(claim):
        marks = [
            steps
            for steps in all_
            if steps[0].kind == ElementKind.WATERMARK and one[0].entry < steps[0].entry < other[0].entry
        ]
        if emitted_before(one, other) and marks:
            return bool(claim["first"]) is (step(other, *OUTCOME) < step(one, *OUTCOME))
    return False


def by_completion(claim: Claim) -> bool:
    """Rules 11.10, 11.11; calls that overlap were both open at some time."""
    for one, other, _ in elements(claim):
        if emitted_before(one, other) and step(one, *OUTCOME) < step(other, *OUTCOME):
            if not claim["late"]:
                return True
            overlap = step(one, AsyncAction.INVOKE) < step(other, *OUTCOME) and step(other, AsyncAction.INVOKE) < step(
                one, *OUTCOME
            )
            return one[0].entry > other[0].entry and overlap
    return False


def in_any_order(claim: Claim) -> bool:
    """Rule 11.34, of the legacy design: the one that was emitted first was not done first."""
    legacy = any('"design": "legacy"' in one.params for one in claim.run.operators if one.name == claim["op"])
    return legacy and any(
        emitted_before(one, other) and step(one, *OUTCOME) >= step(other, *OUTCOME) for one, other, _ in elements(claim)
    )


def element_line(claim: Claim) -> bool:
    steps = [
        steps
        for task in claim.run.tasks
        for operator in claim.run.operators
        if operator.kind == "async_wait" and operator.vertex == int(claim.run.tasks[task][1])
        for steps in claim.run.elements(task, operator.operator, claim.now)
        if steps[0].entry == claim.number("e") and steps[0].time_ns == claim.moment("put")
    ]
    return any(
        (claim["done"] is None or any(row.time_ns == claim.moment("done") and row.action in OUTCOME for row in one))
        and any(row.time_ns == claim.moment("emit") and row.action == AsyncAction.EMIT for row in one)
        for one in steps
    )


def at_no_task(claim: Claim) -> bool:
    """No source has sent both, and no task has read both, by the moment."""
    assert_recorded(claim)
    for table in ("sent", "received"):
        for task in claim.run.tasks:
            if table == "sent" and claim.run.received_by(task):
                continue
            if all(rows_of(claim, table, task, shown(claim[name])) for name in "ab"):
                return False
    return True


def repeated(claim: Claim) -> bool:
    """So many records of that value and timestamp came over one channel."""
    value, _, timestamp = claim["a"].rpartition("@")
    rows = rows_of(claim, "received", claim.task(), value or claim["a"])
    counts = Counter(row.channel for row in rows if not value or str(row.timestamp) == timestamp)
    return max(counts.values(), default=0) == claim.number("n") > 1


READ = r"{t:T} read (?P<a>.+?) at {m:M}, and (?P<b>.+?) after it"
ORDER: Sequence[Pattern] = (
    Pattern(
        "order",
        r"Record (?P<a>.+) comes before record (?P<b>.+?) (?:(?P<all>everywhere)|"
        r"at (?P<at>.+?)(?:, and after it at (?P<after>.+))?)\.",
        statement,
    ),
    Pattern(
        "at no task",
        r"No task has read or sent both (?P<a>record .+) and (?P<b>record .+?)(?: by {m:M})?; records that a task "
        r"changes are other "
        r"records\.",
        at_no_task,
    ),
    Pattern("sent in order", r"{t:T} sent (?P<a>.+?) at {m:M}, and (?P<b>.+?) after it\.", sent_in_order),
    Pattern(
        "read from one channel",
        READ + r": both came over channel #{ch:N} from .+, and a channel keeps the order in which they were sent\.",
        over_one_channel,
    ),
    Pattern(
        "read from two channels",
        READ + r"(?P<although>, although .+ was sent earlier)?: they came over two channels, which the task reads in "
        r"turn, and nothing "
        r"orders two channels(?P<key>\. Both have key .+, but the "
        r"order of a key is kept only between one sender and one receiver)?\.",
        over_two_channels,
    ),
    Pattern(
        "read from two inputs",
        READ + r"\. (?:They came from two inputs of .+, which are read in turn"
        r"|.+ selects its inputs \(reading: (?P<reading>\w+)\): it reads (?:one record of each input in turn|its \w+ input to "
        r"its end before the other "
        r"one))\.",
        over_two_inputs,
    ),
    Pattern("record over a channel", r"(?P<a>.+) over channel #{ch:N} from {t:T}(?:, sent at {m:M})?", line),
    Pattern(
        "apart",
        r"(?P<a>Record .+) went to (?P<one>.+?) and (?P<b>record .+) to (?P<two>.+) \(partitioner: "
        r"(?P<partitioner>.+)\)\. Nothing "
        r"orders records of two "
        r"subtasks: they run beside each other\.",
        apart,
    ),
    Pattern(
        "async in order",
        r"(?P<op>\S+) emitted (?P<a>.+?) before (?P<b>.+?), in the order of their arrival: mode "
        r"ordered\.(?P<first> The outcome for .+ came "
        r"first, but it waited for the elements before it\.)?",
        in_order,
    ),
    Pattern(
        "async behind a watermark",
        r"(?P<op>\S+) emitted (?P<a>.+?) before (?P<b>\[.+?\])(?P<first>, although the outcome for .+ came "
        r"first)?: watermark .+ is between "
        r"them, and no result passes a watermark, also not in mode unordered\.",
        behind_watermark,
    ),
    Pattern(
        "async by completion",
        r"(?P<op>\S+) emitted (?P<a>.+?) before (?P<b>\[.+?\])(?:, although it arrived later: (?P<late>mode "
        r"unordered emits results in the "
        r"order of completion, and no watermark is between the two\. Both calls were in flight at the same time, "
        r"also if the records "
        r"have one key)|: mode unordered emits results in the order of completion, and its outcome came first)\.",
        by_completion,
    ),
    Pattern(
        "async in any order",
        r"(?P<op>\S+) emitted (?P<a>.+?) before (?P<b>\[.+?\]): mode unordered emits in the order of completion, "
        r"but what was done behind a "
        r"watermark in any order\.",
        in_any_order,
    ),
    Pattern(
        "async element",
        r"element {e:N}, .+: arrived at {put:M}(?:, complete at {done:M})?, emitted at {emit:M}",
        element_line,
    ),
    Pattern(
        "repeated record",
        r"{t:T} read {n:N} records with the value and timestamp of (?P<a>.+) over one channel: the order is that of the first",
        repeated,
    ),
)
