"""Why the barriers of an exchange, or of a whole checkpoint, do not overtake data (rules 12.19, 12.47).

Flink: StreamGraphGenerator and SinkTransformationTranslator, which decide StreamEdge.supportsUnalignedCheckpoints, and
CheckpointOptions. The job graph, and all that describes a recording, take the reasons from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from flowsim.facts.kinds import AlignmentType, SnapshotKind
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.network.writers.partitioner import ALWAYS_ALIGNED
from flowsim.quantities import duration_text
from flowsim.streamrecord.checkpoint_options import CheckpointOptions, SnapshotType
from flowsim.units import NS_PER_MS

FORCED_RULE: Final = "12.19"
_SAVEPOINTS: Final = (SnapshotKind.SAVEPOINT, SnapshotKind.SUSPEND, SnapshotKind.TERMINATE)


class AlignedReason(Enum):
    """Why an exchange is aligned: a property of the exchange, or of the checkpoint."""

    PARTITIONER = "PARTITIONER"
    """Stored records of its partitioner could not be given to other subtasks."""
    COMMITTER = "COMMITTER"
    """It is behind the committer of a sink: no exchange inside a sink supports unaligned checkpoints."""
    OTHER_INPUT = "OTHER_INPUT"
    """Another input of the same task supports none, so none of its inputs does."""
    DISABLED = "DISABLED"
    """Checkpointing is disabled: snapshots on request are at-least-once ones."""
    AT_LEAST_ONCE = "AT_LEAST_ONCE"
    """The mode of the job."""
    SAVEPOINT = "SAVEPOINT"
    UNALIGNED_OFF = "UNALIGNED_OFF"
    TIMEOUT = "TIMEOUT"
    """All barriers arrived within the aligned-checkpoint-timeout, or had not yet when the checkpoint ended."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange between two tasks, as a job graph and a recording describe it."""

    edge: int
    name: str
    """The operators that its two tasks begin with, ``Source: orders -> slow``."""
    partitioner: str
    """The name of its partitioner in Flink."""
    sends_committables: bool
    """True if a committer writes to it."""

    @property
    def refusal(self) -> AlignedReason | None:
        """Why it supports no unaligned checkpoints itself. Flink: StreamPartitioner.isSupportsUnalignedCheckpoint."""
        if self.partitioner in ALWAYS_ALIGNED:
            return AlignedReason.PARTITIONER
        return AlignedReason.COMMITTER if self.sends_committables else None

    def __str__(self) -> str:
        return f"{self.name} ({self.partitioner})"


@dataclass(frozen=True, slots=True)
class ForcedAlignment:
    """An exchange that supports no unaligned checkpoints, and ``by``: the input of its receiver that forces it."""

    exchange: Exchange
    by: Exchange
    reason: AlignedReason

    @property
    def label(self) -> str:
        """The reason in a few words, for the label of the exchange."""
        return "no unaligned barriers" + ("" if self.by == self.exchange else f" because of {self.by}")

    @property
    def short(self) -> str:
        """What happens to a barrier, and why, in a few words."""
        match self.reason:
            case AlignedReason.OTHER_INPUT:
                return f"aligned by force because of {self.by}"
            case AlignedReason.COMMITTER:
                return "aligned by force behind a committer"
            case _:
                return f"aligned by force: {self.exchange.partitioner}"

    @property
    def cause(self) -> str:
        """The reason as a clause about the exchange."""
        match self.reason:
            case AlignedReason.OTHER_INPUT:
                return f"another input of its task supports none: {self.by}"
            case AlignedReason.COMMITTER:
                return "no exchange behind the committer of a sink supports them"
            case _:
                return f"its partitioner {self.exchange.partitioner} does not support them"

    @property
    def sentence(self) -> str:
        """What follows for the exchange, and why."""
        return f"{self.exchange.name} is aligned by force in unaligned checkpoints: {self.cause}"

    def data(self) -> dict[str, object]:
        """Returns the exchange and the reason as JSON values."""
        return {
            "edge": self.exchange.edge,
            "exchange": self.exchange.name,
            "partitioner": self.exchange.partitioner,
            "reason": self.reason.value,
            "forced_by": {"edge": self.by.edge, "exchange": self.by.name, "partitioner": self.by.partitioner},
            "text": self.sentence,
            "rules": [FORCED_RULE],
        }


def forced_alignment(exchange: Exchange, inputs: Iterable[Exchange]) -> ForcedAlignment | None:
    """Returns why an exchange supports no unaligned checkpoints, None if it does; ``inputs``: all of its receiver."""
    own = exchange.refusal
    if own is not None:
        return ForcedAlignment(exchange, exchange, own)
    other = next((each for each in inputs if each.refusal is not None), None)
    return None if other is None else ForcedAlignment(exchange, other, AlignedReason.OTHER_INPUT)


@dataclass(frozen=True, slots=True)
class AlignmentSettings:
    """The settings of a job that decide about its barriers, as the user gave them."""

    has_interval: bool
    exactly_once: bool
    unaligned: bool
    timeout_ms: int

    @staticmethod
    def of(settings: CheckpointSettings) -> AlignmentSettings:
        """Returns those of a job."""
        return AlignmentSettings(
            settings.is_enabled, settings.exactly_once, settings.unaligned, settings.aligned_timeout_ms
        )

    @staticmethod
    def recorded(settings: Mapping[str, object]) -> AlignmentSettings | None:
        """Reads those of a manifest, in which scenarios and the API name them differently; None without checkpoints."""
        given = settings.get("checkpointing")
        if not isinstance(given, Mapping):
            return None
        timeout = given.get("aligned_timeout", given.get("aligned_timeout_ms"))
        return AlignmentSettings(
            has_interval=given.get("interval", given.get("interval_ms")) is not None,
            exactly_once=given.get("exactly_once", given.get("mode") != "at_least_once") is True,
            unaligned=given.get("unaligned") is True,
            timeout_ms=timeout if isinstance(timeout, int) else 0,
        )

    @property
    def is_timeoutable(self) -> bool:
        """True if checkpoints begin aligned, and become unaligned after the timeout."""
        return self.unaligned and self.timeout_ms > 0

    @property
    def of_checkpoints(self) -> AlignmentType:
        """The type of the barriers of a checkpoint that is no savepoint (rule 12.47)."""
        options = CheckpointOptions.for_config(
            SnapshotType.CHECKPOINT,
            exactly_once=self.has_interval and self.exactly_once,
            unaligned_enabled=self.unaligned,
            aligned_timeout_ms=self.timeout_ms,
        )
        return AlignmentType[options.alignment.name]


@dataclass(frozen=True, slots=True)
class CheckpointAlignment:
    """Why the barriers of a checkpoint are not unaligned, or not from their trigger on, on any exchange."""

    reason: AlignedReason
    sentence: str
    rules: tuple[str, ...]

    def data(self) -> dict[str, object]:
        """Returns the reason as JSON values."""
        return {"reason": self.reason.value, "text": self.sentence, "rules": list(self.rules)}


def checkpoint_alignment(
    alignment: AlignmentType, kind: SnapshotKind, settings: AlignmentSettings | None
) -> CheckpointAlignment | None:
    """Returns why the barriers of a checkpoint are not unaligned from their trigger on; None if they are.

    ``settings``: None if they are not known.
    """
    match alignment:
        case AlignmentType.UNALIGNED | AlignmentType.FORCED_ALIGNED:
            return None
        case AlignmentType.AT_LEAST_ONCE if settings is not None and not settings.has_interval:
            return CheckpointAlignment(
                AlignedReason.DISABLED,
                "no channel waits for a barrier: checkpointing is disabled without an interval, so a snapshot on request is "
                "AT_LEAST_ONCE",
                ("12.146", "12.16"),
            )
        case AlignmentType.AT_LEAST_ONCE:
            text = "no channel waits for a barrier: the checkpointing mode is AT_LEAST_ONCE"
            return CheckpointAlignment(AlignedReason.AT_LEAST_ONCE, text, ("12.47", "12.16"))
        case AlignmentType.ALIGNED if kind in _SAVEPOINTS:
            text = "all exchanges are aligned: savepoints always are"
            return CheckpointAlignment(AlignedReason.SAVEPOINT, text, ("12.47",))
        case AlignmentType.ALIGNED if settings is not None and settings.is_timeoutable:
            timeout = duration_text(settings.timeout_ms * NS_PER_MS)
            text = f"all exchanges are aligned until the aligned-checkpoint-timeout of {timeout}"
            return CheckpointAlignment(AlignedReason.TIMEOUT, text, ("12.47", "12.20"))
        case AlignmentType.ALIGNED:
            text = "all exchanges are aligned: unaligned checkpoints are not enabled"
            return CheckpointAlignment(AlignedReason.UNALIGNED_OFF, text, ("12.47",))
