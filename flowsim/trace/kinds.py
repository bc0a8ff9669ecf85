"""The facts that a trace prints: kinds by name, and the level of detail."""

from __future__ import annotations

from typing import Final

from flowsim.errors import BadInput, did_you_mean
from flowsim.facts.kinds import ActionPhase, BufferSide, ElementKind, WaitKind

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "elements": ("sent", "received"),
    "watermarks": ("task_watermark", "generated_watermark", "alignment"),
    "windows": ("window_intake", "window_fire", "window_merge", "window_joins", "join_pairs", "late_drop"),
    "async": ("async_elements",),
    "checkpoints": (
        "checkpoint_steps",
        "snapshots",
        "checkpoint_metrics",
        "stored_state",
        "source_positions",
        "committables",
        "checkpoints",
        "restarts",
        "stored_channels",
    ),
    "timers": ("timers", "system_timers"),
    "state": ("state_changes",),
    "buffers": ("buffers",),
    "credits": ("credits",),
    "pools": ("segments", "buffer_sizes"),
    "mails": ("mails",),
    "actions": ("actions",),
    "life": ("lifecycle", "operator_counts", "task_times"),
    "metrics": ("metrics", "latencies"),
}
"""The values of ``--kinds``, with their tables."""

_OVERVIEW: Final = (
    "task_watermark",
    "alignment",
    "window_fire",
    "window_merge",
    "late_drop",
    "checkpoint_steps",
    "checkpoint_metrics",
    "checkpoints",
    "restarts",
    *KINDS["life"],
    *KINDS["metrics"],
)
_NOT_IN_NORMAL: Final = ("segments", "mails")

Values = dict[str, dict[str, frozenset[int]]]

_NORMAL_VALUES: Final[Values] = {
    "buffers": {"side": frozenset({BufferSide.SENT, BufferSide.RECEIVED})},
    "actions": {
        "phase": frozenset({ActionPhase.WAIT}),
        "kind": frozenset({WaitKind.MAIL, WaitKind.BUFFER, WaitKind.LOCK}),
    },
}


def wanted_tables(kinds: str | None, detail: str) -> tuple[tuple[str, ...], Values]:
    """Returns the tables to read, and which of their rows; ``kinds`` overrides ``detail``.

    Raises BadInput for an unknown kind or level of detail.
    """
    everything = tuple(table for tables in KINDS.values() for table in tables)
    if kinds is not None:
        return _named(kinds, everything), {}
    if detail == "overview":
        return _OVERVIEW, {}
    if detail == "normal":
        return tuple(table for table in everything if table not in _NOT_IN_NORMAL), dict(_NORMAL_VALUES)
    if detail == "everything":
        return everything, {}
    raise BadInput(f"--detail {detail}: expected overview, normal or everything")


def tables_of_checkpoint(checkpoint: int) -> tuple[tuple[str, ...], Values]:
    """Returns the tables with facts of one checkpoint, and which of their rows: its steps, and its barriers."""
    tables = KINDS["checkpoints"]
    only = frozenset({checkpoint})
    kinds = ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER, ElementKind.CANCEL_CHECKPOINT_MARKER
    barriers = frozenset(map(int, kinds))
    values: Values = {table: {"checkpoint": only} for table in tables}
    values |= {table: {"kind": barriers, "timestamp": only} for table in KINDS["elements"]}
    return (*KINDS["elements"], *tables), values


def _named(kinds: str, everything: tuple[str, ...]) -> tuple[str, ...]:
    tables: dict[str, None] = {}
    for kind in filter(None, (part.strip() for part in kinds.split(","))):
        of_kind = KINDS.get(kind) or ((kind,) if kind in everything else None)
        if of_kind is None:
            hint = did_you_mean(kind, [*KINDS, *everything], is_listed=True)
            raise BadInput(
                f"--kinds: there is no kind {kind!r}{hint}; choose from: {', '.join(KINDS)}, or a table's name"
            )
        tables.update(dict.fromkeys(of_kind))
    if not tables:
        raise BadInput(f"--kinds: expected names with commas between them; choose from: {', '.join(KINDS)}")
    return tuple(tables)
