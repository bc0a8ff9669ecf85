"""The laws: guarantees of Flink that a recording is checked for. Pure data (architecture decision D6).

Every law has an in-process check (``flowsim.laws``) and a Spark check (``flowsim.validation``), which must agree. Whether
a law applies follows from the recording level and the graph, never from row counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from flowsim.facts.kinds import Level


class Verdict(Enum):
    """The four answers a check can give."""

    HOLDS = "holds"
    VIOLATED = "violated"
    VACUOUS = "vacuous"
    """It applies but examined no row: not a pass."""
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Law:
    """One guarantee: id, sentence, the numbers of its rules in ``docs/flink_rules.md``, and the level it needs."""

    id: str
    sentence: str
    rules: tuple[str, ...]
    level: Level


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found. ``evidence`` rows are small mappings of column name to value, at most ``EVIDENCE_ROWS``."""

    law: str
    verdict: Verdict
    rows_examined: int
    violations: int
    evidence: tuple[dict[str, object], ...] = ()
    reason: str = ""
    """Why the law does not apply, or what the judge could not see (an incomplete recording)."""


EVIDENCE_ROWS: Final = 20

LAWS: Final[Sequence[Law]] = (
    Law("channel-fifo",
        "What a channel's sender put on it is what its receiver decoded: same order, nothing lost, nothing twice, equal payload.",
        ("5.11", "6.14", "7.16"), Level.ELEMENTS),
    Law("channel-end",
        "EndOfPartition closes every channel exactly once, as its last event. No element follows EndOfData.",
        ("4.9", "4.18", "7.6", "7.7"), Level.ELEMENTS),
    Law("watermark-monotone",
        "Watermarks strictly increase in every task, and on every channel while it is active.",
        ("5.8", "8.5", "8.9"), Level.ELEMENTS),
    Law("valve",
        "What a task input emits as watermark and status is the valve's function of what its channels delivered.",
        ("8.9", "8.10", "8.11", "8.12"), Level.ELEMENTS),
    Law("key-routing",
        "Every record of a keyed edge is sent to the subtask that owns the key group of its key.",
        ("1.18", "1.19", "1.20", "1.23"), Level.ELEMENTS),
    Law("distribution",
        "Every record is sent to the channel that the partitioner of its edge selects: the first, the next "
            "in turn, all, the idlest, or the one that the user's partitioner returned.",
        ("1.15", "1.16", "1.17", "2.1", "2.2", "2.3", "2.4"), Level.ELEMENTS),
    Law("window-fire",
        "A window fires when its task's watermark has passed it, as often as its trigger demands, with exactly the rows that "
        "belong to it.",
        ("10.1", "10.7", "10.12", "10.13", "10.17"), Level.ELEMENTS),
    Law("late-rows",
        "A row is dropped as late exactly when every window it belongs to has been cleaned up at its arrival.",
        ("10.8", "10.9", "10.10"), Level.ELEMENTS),
    Law("lateness",
        "No record is lost to lateness silently: what is late is dropped and counted, or goes to the late side output, never "
        "both and never neither.",
        ("10.9", "10.10", "10.35"), Level.ELEMENTS),
    Law("joins",
        "An interval join calls its function once for every pair of records of a key within its bounds, "
            "unless one of them is late or already removed, and for no other pair.",
        ("10.33", "10.34", "10.35", "10.36"), Level.ELEMENTS),
    Law("window-joins",
        "When a window fires, a window join calls its function once for every pair of a left and a right record in it, "
        "and a coGroup calls its function once with the records of both sides.",
        ("10.37",), Level.ELEMENTS),
    Law("cleanup",
        "All state of a key in a window or an interval join has a timer that removes it. No timer remains "
            "for a window that was merged into another window.",
        ("10.8", "10.15", "10.23", "10.26", "10.36"), Level.FULL),
    Law("conservation",
        "No operator gains or loses records: what goes into each is what the one before gave out, and its kind accounts for "
        "the rest.",
        ("7.20", "13.4"), Level.ELEMENTS),
    Law("credits",
        "A sender never sends data without credit. It receives exactly the credits that its receiver grants, "
            "and uses one per data buffer.",
        ("6.2", "6.8", "6.9", "6.11"), Level.FULL),
    Law("actions",
        "The actions of a task never overlap, except if they are nested inside a yield of the task.",
        ("3.11", "3.21", "3.25"), Level.FULL),
    Law("segments",
        "No network buffer is created, lost or counted twice: the segment counters of every pool and every task manager balance.",
        ("5.33", "5.34", "5.36", "5.37", "5.39"), Level.FULL),
    Law("backlog",
        "The backlog that a sender tells is the number of data buffers in its queue, less one that waits for a flush; "
        "buffers leave the queue in order and arrive as they left.",
        ("5.18", "5.22", "5.23", "5.26", "6.12", "6.14"), Level.FULL),
    Law("in-flight",
        "No data arrives beyond the credit that its receiver gave, and no more credit is out than empty buffers are reserved.",
        ("6.2", "6.3", "6.5", "6.8", "6.11"), Level.FULL),
    Law("progress",
        "No task waits while it could send finished or flushed buffers, run a mail or read its input. No job is deadlocked "
        "or livelocked.",
        ("3.12", "3.13", "4.5", "5.21", "5.22", "5.27", "6.10", "6.16", "7.1"), Level.FULL),
    Law("mails",
        "Every mail that was put runs once. Mails of equal priority that are not urgent run in FIFO order. "
            "Inside a yield, only mails of its priority or above run.",
        ("3.4", "3.5", "3.8", "3.16", "3.21"), Level.FULL),
    Law("fairness",
        "Mails that come while a batch of mails runs wait until the default action has run, if it can run, and the default "
        "action waits for the batch.",
        ("3.2", "3.10", "3.12", "3.13", "3.21"), Level.FULL),
    Law("life-cycle",
        "A task opens its operators from tail to head before its first element. With drain only, it ends "
            "their input and finishes them from head to tail. It closes them once, from tail to head, and ends "
            "once.",
        ("4.2", "4.11", "4.12", "4.13", "4.17", "4.24"), Level.ELEMENTS),
    Law("end",
        "MAX_WATERMARK precedes EndOfData with drain, and never EndOfData without drain. EndOfData is sent "
            "after finish and before close, EndOfPartition after close.",
        ("4.9", "4.10", "4.17", "4.18"), Level.ELEMENTS),
    Law("task-watermark",
        "What a task tells its channels of event time is what its inputs make together, or what its strategies made of their "
        "records.",
        ("5.8", "8.1", "8.5", "8.6", "8.7", "8.15", "8.16", "8.18"), Level.ELEMENTS),
    Law("idle",
        "Who is idle says no watermark, and a task is idle exactly when all its inputs are, or its strategy was quiet for its "
        "timeout.",
        ("5.8", "8.4", "8.5", "8.16"), Level.ELEMENTS),
    Law("timers",
        "A timer fires once, not before its time, in the order of times and under its key. All due timers "
            "have fired when the watermark is passed on.",
        ("8.15", "9.1", "9.2", "9.4", "9.9", "9.10", "9.12", "9.13"), Level.FULL),
    Law("async-order",
        "What an ordered async operator emits comes out as it went in, watermarks included; in an unordered one nothing passes "
        "a watermark, in neither direction.",
        ("11.5", "11.9", "11.10", "11.11"), Level.ELEMENTS),
    Law("async-once",
        "Every element of an async operator has one outcome, and is emitted once, after it, with exactly its results; and all "
        "that was put is emitted before the input has ended.",
        ("11.12", "11.13", "11.14", "11.15", "11.17", "11.18", "11.19"), Level.ELEMENTS),
    Law("async-capacity",
        "The queue of an async operator never holds more than its capacity, and holds what was put and not emitted.",
        ("11.1", "11.2", "11.5", "11.29"), Level.ELEMENTS),
    Law("async-retries",
        "An element is asked for once, and again only when a retry was due, no more often than the strategy says, or once when "
        "the input ends.",
        ("11.24", "11.25", "11.27", "11.28"), Level.ELEMENTS),
    Law("async-end",
        "When the input of an async operator has ended, its queue is empty, and nothing leaves it any more.",
        ("11.19",), Level.ELEMENTS),
    Law("async-payload",
        "What the function of an async operator is given, in a retry and at a timeout too, is what was put.",
        ("11.1", "11.17", "11.25"), Level.ELEMENTS),
    Law("async-timers",
        "A record of an async operator has one timer for its timeout, and none is left when it is emitted.",
        ("9.10", "11.1", "11.12", "11.24", "11.26"), Level.FULL),
)  # fmt: skip

LAW_IDS: Final = tuple(law.id for law in LAWS)
