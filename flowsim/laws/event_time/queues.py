"""Part of law task-watermark: watermarks wait in the queue of an async operator, statuses do not (rules 11.2, 11.3)."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Final

from flowsim.facts.kinds import AsyncAction, LifeEvent
from flowsim.laws.event_time.marks import Mark
from flowsim.laws.event_time.origins import Output
from flowsim.laws.event_time.paths import LAST, STATUS, WATERMARK, Emission
from flowsim.laws.event_time.readers import BEGINNING, NOTHING
from flowsim.laws.job_graph import Operator
from flowsim.laws.machine import reads
from flowsim.laws.slices import Slice, each_row

_COLUMNS: Final = ("seq", "entry", "action", "kind", "timestamp")


class Queue:
    """The steps of one async operator in each epoch."""

    def __init__(self, operator: Operator) -> None:
        self.number = operator.operator
        self.is_legacy = operator.params.get("design") == "legacy"
        self.taken: list[Mark] = []
        """Watermarks enqueued in this epoch after the operator was opened; earlier ones are from a snapshot (rule 11.22)."""
        self.left: list[Mark] = []
        """Watermarks that left it in this epoch; ``NOTHING`` for records."""
        self._opening: int | None = None
        self._waiting: dict[int, int] = {}
        """Watermarks in the queue, by entry."""
        self._last_left = -1
        """The highest entry that left."""

    @property
    def next_watermark(self) -> int | None:
        """The watermark that leaves next."""
        return self._waiting[min(self._waiting)] if self._waiting else None

    @reads(async_elements=("operator", *_COLUMNS), lifecycle=("operator", "event"))
    def feed(self, facts: Slice) -> None:
        """Reads the steps of one epoch."""
        self.taken, self.left = [], []
        if self._opening is None:
            self._opening = self._opened(facts)
        rows = facts.of("async_elements")
        if not len(rows):
            return
        action = rows.column("action")
        matters = (action == AsyncAction.EMIT) | ((action == AsyncAction.PUT) & (rows.column("kind") == WATERMARK))
        for seq, entry, what, kind, timestamp in each_row(
            rows, _COLUMNS, matters & (rows.column("operator") == self.number)
        ):
            if what == AsyncAction.EMIT:
                self.left.append((seq, (kind, timestamp) if kind == WATERMARK else NOTHING))
                self._last_left = max(self._last_left, entry)
                continue
            self._waiting.setdefault(entry, timestamp)
            if self._opening is not None and seq > self._opening:
                self.taken.append((seq, (kind, timestamp)))
        self._waiting = {entry: at for entry, at in self._waiting.items() if entry > self._last_left}

    def _opened(self, facts: Slice) -> int | None:
        for seq, operator, event in facts.of("lifecycle").tuples(("seq", "operator", "event")):
            if operator == self.number and event == LifeEvent.OPEN:
                return int(seq)
        return None


class QueueOutput:
    """The emissions of an async operator, by cause.

    An element that leaves the queue is recorded after its emission, so a watermark belongs to the cause before that
    row. ``emits_statuses`` is False if no facts determine the statuses: then the statuses of the reading channel only
    decide which watermarks pass.
    """

    def __init__(self, emits_statuses: bool = True) -> None:
        self._emits_statuses = emits_statuses
        self._cause = BEGINNING
        self._output = Output()
        self.end_at: int | None = None
        """The first cause that emits the end of event time."""

    def causes(self, left: Iterable[Mark], statuses: Iterable[Mark]) -> list[Mark]:
        """The causes of one epoch; the first ones may belong to the last cause of the previous epoch."""
        found: list[Mark] = []
        for seq, emission in sorted([*left, *statuses], key=itemgetter(0)):
            if emission[0] == WATERMARK:
                found += self._emitted(emission)
            is_emitted = emission[0] == STATUS and self._output.passes(emission) and self._emits_statuses
            if len(found) > 1 and found[-1][1] is found[-2][1] is NOTHING:
                # Of several causes without emissions the first and the last are sufficient.
                found.pop()
            found.append((seq, emission if is_emitted else NOTHING))
            self._cause = seq
        return found

    def in_progress(self, queue: Queue) -> list[Mark]:
        """In a prefix the next watermark may have left the queue already."""
        watermark = queue.next_watermark
        return [] if watermark is None else self._emitted((WATERMARK, watermark))

    def _emitted(self, watermark: Emission) -> list[Mark]:
        if not self._output.passes(watermark):
            return []
        if watermark == LAST and self.end_at is None:
            self.end_at = max(self._cause, 0)
        return [(self._cause, watermark)]
