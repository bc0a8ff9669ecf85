"""What kind of barriers the checkpoints of a recording had, and why (rules 12.19, 12.20, 12.47)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import groupby

from flowsim.facts.kinds import AlignmentType, SnapshotKind
from flowsim.graph.alignment import FORCED_RULE, CheckpointAlignment, ForcedAlignment, checkpoint_alignment
from flowsim.history.checkpoints import RecordedCheckpoint
from flowsim.trace.names import Names


class Barriers(Enum):
    """The barriers of a checkpoint on the exchanges of the job."""

    AT_LEAST_ONCE = "at least once"
    ALIGNED = "aligned"
    UNALIGNED = "unaligned"
    """On every exchange."""
    PARTLY_ALIGNED = "partly aligned"
    """Unaligned, but on some exchanges aligned by force."""
    FORCED_ALIGNED = "forced aligned"
    """Requested unaligned, but aligned by force on every exchange."""


def barriers_of(checkpoint: RecordedCheckpoint, names: Names) -> Barriers:
    """Returns the barriers that a checkpoint had, after its timeout if it has checkpoint."""
    if checkpoint.alignment is AlignmentType.AT_LEAST_ONCE:
        return Barriers.AT_LEAST_ONCE
    if not checkpoint.is_unaligned:
        return Barriers.ALIGNED
    if not names.forced:
        return Barriers.UNALIGNED
    return Barriers.FORCED_ALIGNED if len(names.forced) == names.exchanges else Barriers.PARTLY_ALIGNED


def reason_of(checkpoint: RecordedCheckpoint, names: Names) -> CheckpointAlignment | None:
    """Returns why the barriers of a checkpoint were not unaligned from its trigger on; None if they were."""
    return checkpoint_alignment(checkpoint.alignment, checkpoint.kind, names.alignment_settings)


def forced_exchanges(names: Names) -> list[ForcedAlignment]:
    """Returns the exchanges that are aligned by force, in a job with unaligned checkpoints."""
    settings = names.alignment_settings
    return list(names.forced.values()) if settings is not None and settings.unaligned else []


def alignment_data(names: Names) -> dict[str, object]:
    """Returns what a viewer needs to show the same reasons, as JSON values.

    ``reasons``: by the numbers of alignment and type of a checkpoint.
    """
    reasons = {
        f"{int(alignment)},{int(kind)}": reason.data()
        for alignment in AlignmentType
        for kind in SnapshotKind
        if (reason := checkpoint_alignment(alignment, kind, names.alignment_settings)) is not None
    }
    exchanges = {
        str(forced.exchange.edge): {"short": forced.short, "label": forced.label, "text": forced.sentence}
        for forced in forced_exchanges(names)
    }
    return {
        "reasons": reasons,
        "exchanges": exchanges,
        "unaligned": sorted(names.unaligned_checkpoints) if exchanges else [],
        "rule": FORCED_RULE,
    }


def alignment_lines(checkpoints: Iterable[RecordedCheckpoint], names: Names) -> list[str]:
    """Returns why checkpoints were aligned, and which exchanges are aligned in all of them, as lines."""
    if not names.exchanges:
        return []
    by_reason: dict[CheckpointAlignment, list[int]] = {}
    for checkpoint in checkpoints:
        reason = reason_of(checkpoint, names)
        if reason is not None:
            by_reason.setdefault(reason, []).append(checkpoint.checkpoint)
    lines = [
        f"{_listed(numbers)}: {reason.sentence} [{', '.join(reason.rules)}]" for reason, numbers in by_reason.items()
    ]
    return [*lines, *(f"{forced.sentence} [{FORCED_RULE}]" for forced in forced_exchanges(names))]


def _listed(numbers: list[int]) -> str:
    """Writes 1, 2, 3, 5 and 6 as ``checkpoints 1 to 3, 5, 6``."""
    texts: list[str] = []
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        following = [number for _, number in run]
        texts += [f"{following[0]} to {following[-1]}"] if len(following) > 2 else map(str, following)
    return ("checkpoint " if len(numbers) == 1 else "checkpoints ") + ", ".join(texts)
