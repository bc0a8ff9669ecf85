"""The slow form's machine of one async operator, story by story (rules 11.5 to 11.28)."""

from __future__ import annotations

from flowsim.validation.audit.async_machine import (
    ARRIVAL,
    CLOSE,
    COLUMNS,
    COMPLETE,
    EMIT,
    END_INPUT,
    GOT,
    INVOKE,
    OPEN,
    PUT,
    READER,
    RETRY,
    AsyncMachine,
)

ABOUT = {"described": 1, "ordered": 1, "capacity": 2}
RETRYING = {"retries": 1, "limit": 1}


def judged(*rows: dict[str, int], **about: int) -> set[str]:
    """The laws that are broken; ``queued`` is counted unless it is told."""
    machine, found, queued = AsyncMachine(), set[str](), 0
    for row in rows:
        queued += (row["what"] == PUT) - (row["what"] == EMIT)
        full = {**ABOUT, "queued": queued, **about, **row}
        found |= set(machine.take(tuple(full.get(name, 0) for name in COLUMNS)).split("\n"))
    found |= set(machine.end(True).split("\n"))
    return {line.split("|")[0] for line in found if line}


def put(entry: int) -> list[dict[str, int]]:
    return [{"what": PUT, "entry": entry}, {"what": INVOKE, "entry": entry, "attempt": 1}]


def done(entry: int) -> dict[str, int]:
    return {"what": COMPLETE, "entry": entry, "rows": 1, "fingerprint": 7}


def out(entry: int) -> dict[str, int]:
    return {"what": EMIT, "entry": entry, "rows": 1, "fingerprint": 7}


def test_two_elements_leave_an_ordered_operator_as_they_came() -> None:
    rows = [{"what": OPEN}, *put(0), *put(1), done(1), done(0), out(0), out(1), {"what": END_INPUT}, {"what": CLOSE}]
    assert judged(*rows) == set()


def test_the_second_must_not_leave_before_the_first() -> None:
    rows = [*put(0), *put(1), done(1), done(0), out(1), out(0)]
    assert judged(*rows) == {"async-order"}
    assert judged(*rows, ordered=0) == set()


def test_an_unordered_operator_lets_none_pass_a_watermark_and_goes_by_outcomes() -> None:
    mark = [{"what": PUT, "entry": 1, "kind": 1}, {"what": EMIT, "entry": 1, "kind": 1}]
    assert judged(*put(0), mark[0], done(0), mark[1], out(0), ordered=0) == {"async-order"}
    assert judged(*put(0), *put(1), done(0), done(1), out(1), out(0), ordered=0) == {"async-order"}
    assert judged(*put(0), *put(1), done(0), done(1), out(1), out(0), ordered=0, legacy=1) == set()


def test_a_queue_that_is_counted_wrongly_or_too_full() -> None:
    assert judged(*put(0), {"what": PUT, "entry": 1, "queued": 1}) == {"async-capacity"}
    assert judged(*put(0), *put(1), *put(2)) == {"async-capacity"}


def test_a_call_again_needs_a_retry_unless_it_is_the_end() -> None:
    retry = {"what": RETRY, "entry": 0, "attempt": 1}
    again = {"what": INVOKE, "entry": 0, "attempt": 2}
    assert judged(*put(0), retry, again, done(0), out(0), **RETRYING) == set()
    assert judged(*put(0), again, done(0), out(0), **RETRYING) == set()
    assert judged(*put(0), again, *put(1), done(0), out(0), **RETRYING) == {"async-retries"}
    assert judged(*put(0), retry, again, done(0), out(0)) == {"async-retries"}


def test_at_the_end_one_call_comes_on_top_of_those_that_are_allowed() -> None:
    retry = {"what": RETRY, "entry": 0, "attempt": 1}
    again = [{"what": INVOKE, "entry": 0, "attempt": attempt} for attempt in (2, 3, 4)]
    assert judged(*put(0), retry, *again[:2], done(0), out(0), **RETRYING) == set()
    assert judged(*put(0), retry, *again, done(0), out(0), **RETRYING) == {"async-retries"}


def test_nothing_is_left_or_goes_on_behind_the_end() -> None:
    assert judged(*put(0), done(0), {"what": END_INPUT}) == {"async-end", "async-once"}
    assert judged(*put(0), done(0), out(0), {"what": CLOSE}, *put(1)) == {"async-end"}


def test_what_arrives_is_put_before_the_next_arrives() -> None:
    came = {"what": ARRIVAL}
    opened = {"what": OPEN}
    assert judged(opened, came, *put(0), listens=1) == set()
    assert judged(opened, came, came, *put(0), listens=1) == {"async-order"}
    assert judged(opened, *put(0), listens=1) == {"async-order"}


def test_a_reader_gets_what_is_emitted() -> None:
    reader, got = {"what": READER, "entry": 4}, {"what": GOT, "entry": 4, "fingerprint": 7}
    assert judged(reader, *put(0), done(0), got, out(0)) == set()
    assert judged(reader, *put(0), done(0), out(0), got) == {"async-once"}
