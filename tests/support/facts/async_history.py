"""Hand-made histories for the laws of async operators: one task, the operators of its chain, and the readers of its results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from operator import xor

from flowsim.facts.kinds import AsyncAction, ElementKind, Level, LifeEvent
from flowsim.facts.schema import TABLES
from flowsim.laws.catalogue import LAWS
from flowsim.laws.judge import WHOLE, check_all
from flowsim.laws.law import Outcome
from flowsim.units import NS_PER_MS

RECORD, WATERMARK, STATUS = ElementKind.RECORD, ElementKind.WATERMARK, ElementKind.STATUS
IDLE, ACTIVE = -1, 0
LAW_OF_ASYNC = ("async-order", "async-once", "async-capacity", "async-retries", "async-end", "async-payload")
RETRY: dict[str, object] = {"kind": "fixed", "max_attempts": 2, "delay_ms": 1, "result": True, "exception": False}


def of_async(mode: str = "unordered", **params: object) -> tuple[str, dict[str, object]]:
    """An async operator for a chain."""
    return "async_wait", {
        "mode": mode, "capacity": 3, "timeout_ms": 10, "design": "mailbox", "retry": None, **params,
    }  # fmt: skip


class AsyncHistory:
    """Task 0 is judged; the last operator of its chain sends to channels 0 and 1. Implements ``laws.slices.Facts``.

    The steps count what is in each queue; records have timestamp = fingerprint = 100 + entry unless they say otherwise.
    """

    def __init__(
        self, *chain: tuple[str, dict[str, object]], inputs: int = 1, partitioner: str = "REBALANCE", opens: bool = True
    ) -> None:
        self.level = Level.ELEMENTS
        self.chain = chain or (of_async(),)
        self.seq = 0
        self.now_ms = 0
        self.queued = [0] * len(self.chain)
        self.kinds: dict[tuple[int, int], tuple[ElementKind, int]] = {}
        self.results: dict[tuple[int, int], tuple[int, ...]] = {}
        self.tables: dict[str, list[tuple[int | str, ...]]] = {name: [] for name in TABLES}
        self.tables["tasks"] = [(0, 0, 0, "judged", 0, 1, 8, inputs), (1, 1, 0, "reader", 0, 1, 8, 1)]
        self.tables["operators"] = [
            (0, number, kind, kind, json.dumps(params), number - 1, "")
            for number, (kind, params) in enumerate(self.chain)
        ]
        last = len(self.chain) - 1
        self.tables["edges"] = [(0, 0, last, 1, 0, partitioner, "", "", "PIPELINED_BOUNDED")]
        self.tables["channels"] = [(channel, 0, 0, channel, 1, 0, channel, 0) for channel in (0, 1)]
        if opens:
            self.life(LifeEvent.OPEN, *reversed(range(len(self.chain))))

    def rows(self, table: str) -> list[tuple[int, ...]]:
        return [tuple(int(value) for value in row) for row in self.tables[table]]

    def static_rows(self, table: str) -> list[tuple[int | str, ...]]:
        return self.tables[table]

    def add(self, table: str, *values: int) -> AsyncHistory:
        self.tables[table].append((self.seq, 0, *values))
        self.seq += 1
        return self

    def life(self, event: LifeEvent, *operators: int) -> AsyncHistory:
        for operator in operators or (0,):
            self.add("lifecycle", operator, self.now_ms * NS_PER_MS, event)
        return self

    def passes(self, ms: int) -> AsyncHistory:
        self.now_ms += ms
        return self

    def hears(self, kind: ElementKind, timestamp: int) -> AsyncHistory:
        return self.add("task_watermark", 0, 0, kind, timestamp)

    def sends(self, kind: ElementKind, timestamp: int, *channels: int, fingerprint: int = 0) -> AsyncHistory:
        for channel in channels or (0, 1):
            self.add("sent", 0, channel, self.seq, kind, timestamp, fingerprint, 0, 0)
        return self

    def arrives(self, entry: int) -> AsyncHistory:
        return self.add("received", 0, 0, entry, RECORD, 100 + entry, 100 + entry, 0)

    def step(
        self, entry: int, action: AsyncAction, fingerprint: int = 0, attempt: int = 0, rows: int = 0, queued: int | None = None,
        of: int = 0, kind: ElementKind | None = None, timestamp: int | None = None,
    ) -> AsyncHistory:  # fmt: skip
        """A row of ``async_elements``; what is in the queue is counted unless it is given."""
        self.queued[of] += (action == AsyncAction.PUT) - (action == AsyncAction.EMIT)
        known, at = self.kinds.get((of, entry), (RECORD, 100 + entry))
        if action in (AsyncAction.INVOKE, AsyncAction.RETRY, AsyncAction.TIMEOUT):
            fingerprint = fingerprint or 100 + entry
        return self.add(
            "async_elements", of, self.now_ms * NS_PER_MS, entry, action, known if kind is None else kind,
            at if timestamp is None else timestamp, fingerprint, attempt, rows,
            self.queued[of] if queued is None else queued,
        )  # fmt: skip

    # Whole moments of an element's life.

    def puts(self, entry: int, of: int = 0, fingerprint: int | None = None) -> AsyncHistory:
        """Into the queue, and the function is asked."""
        number = 100 + entry if fingerprint is None else fingerprint
        self.step(entry, AsyncAction.PUT, number, of=of)
        return self.step(entry, AsyncAction.INVOKE, number, attempt=1, of=of)

    def takes(self, *entries: int) -> AsyncHistory:
        """Records arrive at the head, which is async, and are asked for."""
        for entry in entries:
            self.arrives(entry).puts(entry)
        return self

    def puts_mark(self, entry: int, timestamp: int, of: int = 0) -> AsyncHistory:
        self.kinds[of, entry] = WATERMARK, timestamp
        return self.step(entry, AsyncAction.PUT, of=of)

    def takes_mark(self, entry: int, timestamp: int) -> AsyncHistory:
        """A watermark arrives at the head, which is async."""
        return self.hears(WATERMARK, timestamp).puts_mark(entry, timestamp)

    def done(self, entry: int, *results: int, of: int = 0) -> AsyncHistory:
        """Its results are taken: their fingerprints."""
        self.results[of, entry] = results
        return self.step(entry, AsyncAction.COMPLETE, reduce(xor, results, 0), rows=len(results), of=of)

    def emits(self, entry: int, of: int = 0, rows: int | None = None) -> AsyncHistory:
        """Emitted from the queue; readers have received its results before."""
        results = self.results.get((of, entry), ())
        mixed = reduce(xor, results, 0)
        return self.step(entry, AsyncAction.EMIT, mixed, rows=len(results) if rows is None else rows, of=of)

    def leaves(self, *entries: int, of: int = 0) -> AsyncHistory:
        """Its results, or the watermark, go to the channels, and it is gone."""
        for entry in entries:
            kind, timestamp = self.kinds.get((of, entry), (RECORD, 100 + entry))
            if kind == WATERMARK:
                self.sends(WATERMARK, timestamp)
            for number, result in enumerate(self.results.get((of, entry), ())):
                self.sends(RECORD, timestamp, number % 2, fingerprint=result)
            self.emits(entry, of)
        return self

    def ends(self, *operators: int) -> AsyncHistory:
        return self.life(LifeEvent.END_INPUT, *operators)

    # What the judge says.

    def judged(self, law: str, whole: bool = True) -> Outcome:
        (outcome,) = check_all(self, WHOLE if whole else "failed", [known for known in LAWS if known.id == law])
        return outcome

    def broken(self, law: str, whole: bool = True) -> list[object]:
        """What is broken, in the words of the evidence."""
        outcome = self.judged(law, whole)
        assert len(outcome.evidence) == outcome.violations
        return [row["what"] for row in outcome.evidence]

    def broken_laws(
        self, whole: bool = True, laws: Sequence[str] = (*LAW_OF_ASYNC, "task-watermark", "idle")
    ) -> set[str]:
        return {law for law in laws if self.judged(law, whole).violations}
