"""Hand-made histories for the laws of event time: a graph of one chain between a few tasks, and its facts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    ElementKind,
    Level,
    LifeEvent,
    TimeDomain,
    TimerAction,
    WaitKind,
)
from flowsim.facts.schema import TABLES
from flowsim.laws.catalogue import LAWS
from flowsim.laws.judge import WHOLE, check_all
from flowsim.laws.law import Outcome

WATERMARK, STATUS, RECORD = ElementKind.WATERMARK, ElementKind.STATUS, ElementKind.RECORD
IDLE, ACTIVE = -1, 0
KEY, KEY_HASH = 70, 97
"""The key "a", of the only subtask."""


@dataclass
class History:
    """Task 0 is the one that is judged; it sends to channels 0 and 1. Implements ``laws.slices.Facts``."""

    inputs: int = 1
    chain: tuple[tuple[str, dict[str, object]], ...] = (("process", {}),)
    keyed: bool = False
    level: Level = Level.FULL
    tables: dict[str, list[tuple[int | str, ...]]] = field(default_factory=lambda: {name: [] for name in TABLES})
    seq: int = 0

    def __post_init__(self) -> None:
        self.tables["tasks"] = [(0, 0, 0, "judged", 0, 1, 8, self.inputs), (1, 1, 0, "reader", 0, 1, 8, 1)]
        self.tables["operators"] = [
            (0, number, kind, kind, json.dumps(params), number - 1, "")
            for number, (kind, params) in enumerate(self.chain)
        ]
        last = len(self.chain) - 1
        self.tables["edges"] = [(0, 0, last, 1, 0, "REBALANCE", "", "", "PIPELINED_BOUNDED")]
        if self.keyed:
            self.tables["edges"].append((1, 7, 0, 0, 0, "HASH", "STRING", "", "PIPELINED_BOUNDED"))
            self.tables["keys"] = [(0, KEY, KEY_HASH, "STRING", '"a"')]
        self.tables["channels"] = [(channel, 0, 0, channel, 1, 0, channel, 0) for channel in (0, 1)]

    def rows(self, table: str) -> list[tuple[int, ...]]:
        return [tuple(int(value) for value in row) for row in self.tables[table]]

    def static_rows(self, table: str) -> list[tuple[int | str, ...]]:
        return self.tables[table]

    def attempt(self, task: int, seq: int) -> int:
        return 0

    def _add(self, table: str, *values: int) -> History:
        self.tables[table].append((self.seq, 0, *values))
        self.seq += 1
        return self

    def hears(self, kind: ElementKind, timestamp: int, of: int = 0) -> History:
        return self._add("task_watermark", 0, of, kind, timestamp)

    def sends(self, kind: ElementKind, timestamp: int, *channels: int, at_ns: int = 0) -> History:
        for channel in channels or (0, 1):
            self._add("sent", at_ns, channel, self.seq, kind, timestamp, 1, 0, 0)
        return self

    def makes(
        self, kind: ElementKind, timestamp: int, records: int = 0, highest: int = 0, split: int = -1, operator: int = 0,
        at_ns: int = 0,
    ) -> History:  # fmt: skip
        return self._add("generated_watermark", operator, at_ns, split, kind, timestamp, records, highest)

    def timer(
        self, action: TimerAction, timestamp: int, watermark: int, domain: TimeDomain = TimeDomain.EVENT_TIME,
        key: int = KEY, at_ns: int = 0, window: tuple[int, int] = (0, 0),
    ) -> History:  # fmt: skip
        return self._add(
            "timers", 0, at_ns, action, domain, timestamp, KEY_HASH, key, window[0], watermark, window[1], 0
        )

    def acts(self, phase: ActionPhase, kind: ActionKind | WaitKind, at_ns: int) -> History:
        return self._add("actions", at_ns, phase, kind, 0, -1, 0)

    def waits(self, from_ns: int, to_ns: int) -> History:
        """The loop waits for mail."""
        return self.acts(ActionPhase.WAIT, WaitKind.MAIL, from_ns).acts(ActionPhase.RESUME, WaitKind.MAIL, to_ns)

    def works(self, *at_ns: int) -> History:
        """A default action at each of these times."""
        for time_ns in at_ns:
            self.acts(ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION, time_ns)
            self.acts(ActionPhase.END, ActionKind.DEFAULT_ACTION, time_ns)
        return self

    def lives(self, event: LifeEvent, operator: int = -1, at_ns: int = 0) -> History:
        return self._add("lifecycle", operator, at_ns, event)

    def judged(self, law: str, whole: bool = True) -> Outcome:
        (outcome,) = check_all(self, WHOLE if whole else "failed", [known for known in LAWS if known.id == law])
        return outcome

    def broken(self, law: str, whole: bool = True) -> list[object]:
        """What is broken, in the words of the evidence."""
        outcome = self.judged(law, whole)
        assert len(outcome.evidence) == outcome.violations
        return [row["what"] for row in outcome.evidence]
