"""The interface for recording facts of the checkpoints of one task: steps, measurements, stored state."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts import checkpoint_tables as tables
from flowsim.facts.kinds import CheckpointReason, CheckpointStep, CommittableAction, StoredAction, StoredKind
from flowsim.facts.table import Table


class CheckpointTrace:
    """Records facts of one task's checkpoints; part of its ``TaskTrace``.

    ``next_seq`` returns the next sequence number of the task, ``now_ns`` its time, also while it waits.
    """

    __slots__ = (
        "_committables",
        "_metrics",
        "_next",
        "_now_ns",
        "_positions",
        "_snapshot",
        "_state",
        "_steps",
        "_task",
    )

    def __init__(
        self,
        task: int,
        next_seq: Callable[[], int],
        now_ns: Callable[[], int],
        appender: Callable[[Table], Callable[..., None]],
    ) -> None:
        self._task = task
        self._next = next_seq
        self._now_ns = now_ns
        self._steps = appender(tables.CHECKPOINT_STEPS)
        self._snapshot = appender(tables.SNAPSHOTS)
        self._metrics = appender(tables.CHECKPOINT_METRICS)
        self._state = appender(tables.STORED_STATE)
        self._positions = appender(tables.SOURCE_POSITIONS)
        self._committables = appender(tables.COMMITTABLES)

    def step(
        self,
        checkpoint: int,
        step: CheckpointStep,
        channel: int = -1,
        reason: CheckpointReason = CheckpointReason.NONE,
    ) -> None:
        self._steps(self._next(), self._task, self._now_ns(), checkpoint, step, channel, reason)

    def snapshot(
        self, operator: int, requested_ns: int, checkpoint: int, records_in: int, elements: int, inside: bool
    ) -> None:
        self._snapshot(
            self._next(), self._task, operator, self._now_ns(), requested_ns, checkpoint, records_in, elements, int(inside)
        )  # fmt: skip

    def metrics(
        self, checkpoint: int, start_delay_ns: int, alignment_ns: int, alignment_bytes: int, persisted_bytes: int,
        sync_ms: int, async_ms: int, state_bytes: int,
    ) -> None:  # fmt: skip
        self._metrics(
            self._next(), self._task, self._now_ns(), checkpoint, start_delay_ns, alignment_ns, alignment_bytes,
            persisted_bytes, sync_ms, async_ms, state_bytes,
        )  # fmt: skip

    def state(
        self, operator: int, checkpoint: int, action: StoredAction, kind: StoredKind, state: int, key_group: int,
        entries: int, fingerprint_sum: int,
    ) -> None:  # fmt: skip
        self._state(
            self._next(), self._task, operator, self._now_ns(), checkpoint, action, kind, state, key_group, entries,
            fingerprint_sum,
        )  # fmt: skip

    def source_position(
        self, operator: int, checkpoint: int, action: StoredAction, split: int, position: int, records: int
    ) -> None:
        self._positions(
            self._next(), self._task, operator, self._now_ns(), checkpoint, action, split, position, records
        )

    def committable(
        self,
        operator: int,
        checkpoint: int,
        action: CommittableAction,
        committable: int,
        rows: int,
        fingerprint_sum: int,
    ) -> None:
        self._committables(
            self._next(), self._task, operator, self._now_ns(), checkpoint, action, committable, rows, fingerprint_sum
        )
