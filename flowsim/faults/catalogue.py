"""The kinds of faults, and the faults of a run (architecture decision D6).

Each fault replaces a component of the running simulator by a component that breaks a rule. The recording shows what the
faulty component did, so that tests can check that the laws detect the fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.faults.fault_kind import Component as Component
from flowsim.faults.fault_kind import FaultKind as FaultKind

FAULT_KINDS: Final[dict[str, FaultKind]] = {
    kind.name: kind
    for kind in (
        FaultKind(
            "drop_element",
            Component.CHANNEL,
            "the receiver loses record `at` (from 0) of a channel",
            "channel-fifo",
        ),
        FaultKind(
            "valve_takes_maximum",
            Component.VALVE,
            "the valve emits the highest watermark of its channels instead of the lowest",
            "valve",
        ),
        FaultKind(
            "idle_valve_not_flushed",
            Component.VALVE,
            "FLINK-7728: when its last active channel becomes idle, the valve does not emit the highest watermark",
            "valve",
        ),
        FaultKind("late_row_kept", Component.OPERATOR, "a late record is added to its window", "late-rows"),
        FaultKind("lose_credit", Component.READER, "the sender never receives a credit announcement", "credits"),
    )
}
"""By name: the kinds of flowsim, and then those of other packages (``register_faults``)."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a run.

    ``operator``: name of an operator of the faulty task; None: every task. ``subtask``: index of the subtask; None:
    every subtask. ``channel``: channel id; None: every channel of the task. ``at``: a number from 0 with the meaning
    that the sentence of the kind gives.
    """

    fault: str
    operator: str | None = None
    subtask: int | None = None
    channel: int | None = None
    at: int = 0
