"""The two async operators in front of each sink of a big recording: an ordered one followed by an unordered one.

In a round the ordered one takes all records and the watermark, gets all its answers, the last record's first, and emits
in order. The unordered one gets its answers in the same turned order and emits each at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from flowsim.facts.kinds import AsyncAction, ElementKind

if TYPE_CHECKING:
    from tests.benchmarks.big_recording import Array, Columns

ORDERED, UNORDERED = range(2)
"""Operators of the sink's chain; the sink itself is the third."""
LAST_FACTS: Final = 4
"""Of the watermark that ends event time."""


def params(operator: int, keys: int) -> dict[str, object]:
    """As described of one of the operators."""
    mode = ("ordered", "unordered")[operator]
    return {"mode": mode, "capacity": keys + 1, "timeout_ms": 0, "design": "mailbox", "retry": None}


def facts_a_round(keys: int) -> int:
    return 8 * keys + 4


def rounds(
    taken: Array, marked: Array, r: Array, task: Array, key: Array, keys: int, end: Array, fingerprint: Array
) -> Iterator[tuple[str, Columns]]:
    """One round of every sink task; records of a round are ``key`` 0 to ``keys`` - 1.

    ``taken``: the first of the two facts with which a record gets into the ordered operator; ``marked``: that of its
    watermark, which all facts of both operators follow. Results are what they were made of; ``end`` is the timestamp.
    """
    base = marked + 0 * task
    entry = r * (keys + 1)
    record = {"task": task, "entry": entry + key, "timestamp": end - 1}
    mark = {"task": task, "entry": entry + keys, "timestamp": end - 1, "kind": ElementKind.WATERMARK}

    def fact(operator: int, action: AsyncAction, about: Columns, **columns: Array | int) -> tuple[str, Columns]:
        return "async_elements", {"operator": operator, "action": action, **about, **columns}

    put, invoke, complete, emit = AsyncAction.PUT, AsyncAction.INVOKE, AsyncAction.COMPLETE, AsyncAction.EMIT
    yield fact(ORDERED, put, record, seq=taken, fingerprint=fingerprint, queued=key + 1)
    yield fact(ORDERED, invoke, record, seq=taken + 1, fingerprint=fingerprint, attempt=1, queued=key + 1)
    yield fact(ORDERED, put, mark, seq=base, queued=keys + 1)
    after = base + 1
    yield fact(ORDERED, complete, record, seq=after + keys - 1 - key, rows=1, queued=keys + 1, fingerprint=fingerprint)
    after = after + keys
    yield fact(UNORDERED, put, record, seq=after + 3 * key, fingerprint=fingerprint, queued=key + 1)
    yield fact(UNORDERED, invoke, record, seq=after + 3 * key + 1, fingerprint=fingerprint, attempt=1, queued=key + 1)
    yield fact(ORDERED, emit, record, seq=after + 3 * key + 2, rows=1, fingerprint=fingerprint, queued=keys - key)
    after = after + 3 * keys
    yield fact(UNORDERED, put, mark, seq=after, queued=keys + 1)
    yield fact(ORDERED, emit, mark, seq=after + 1)
    after = after + 2
    turned = keys - 1 - key
    yield fact(
        UNORDERED, complete, record, seq=after + 2 * turned, rows=1, queued=keys + 1 - turned, fingerprint=fingerprint
    )
    yield fact(
        UNORDERED, emit, record, seq=after + 2 * turned + 1, rows=1, fingerprint=fingerprint, queued=keys - turned
    )
    yield fact(UNORDERED, emit, mark, seq=after + 2 * keys)


def last(entry: int, timestamp: int) -> Iterator[dict[str, int]]:
    """The watermark that ends event time, when both operators are empty: columns of its facts."""
    both = ((ORDERED, AsyncAction.PUT), (UNORDERED, AsyncAction.PUT), (UNORDERED, AsyncAction.EMIT),
            (ORDERED, AsyncAction.EMIT))  # fmt: skip
    for operator, action in both:
        yield {"operator": operator, "entry": entry, "action": action, "kind": ElementKind.WATERMARK,
               "timestamp": timestamp, "queued": int(action is AsyncAction.PUT)}  # fmt: skip
