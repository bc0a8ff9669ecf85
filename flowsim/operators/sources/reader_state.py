"""The splits of a reader as operator state (rule 12.111). Flink: SourceOperator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.errors import BadInput
from flowsim.facts.kinds import StoredAction
from flowsim.operators.sources.source_reader import CheckpointedReader, PositionedReader, SourceReader
from flowsim.operators.stream_operator import OperatorContext
from flowsim.state.snapshots.operator_state_backend import PartitionableListState
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext

READER_STATE: Final = "SourceReaderState"
"""The name of the list state. Flink: SourceOperator.SPLITS_STATE_DESC."""


class ReaderState:
    """Restores the splits of a reader before it is opened, and stores them in its order. Flink: SourceOperator."""

    __slots__ = ("_reader", "_state", "_ctx", "_first")

    def __init__(self, reader: SourceReader, context: StateInitializationContext, ctx: OperatorContext) -> None:
        """Raises BadInput if the reader has no state."""
        if not isinstance(reader, CheckpointedReader):
            raise BadInput(
                f"{ctx.operator_name}: a job with checkpoints needs readers with the methods snapshot_state and add_splits, "
                f"{type(reader).__name__} has not both: add them, or run the job without checkpoints"
            )
        self._reader = reader
        self._ctx = ctx
        self._first: dict[str, int] = {}
        """The position of each split at its start in this attempt; 0 without an entry."""
        self._state: PartitionableListState = context.operator_state.get_list_state(READER_STATE)
        if context.has_operator_state:
            self.on_added(self._state.get())
            self._record(context.restored_checkpoint_id, StoredAction.RESTORED, self._state.get())
            reader.add_splits(self._state.get())

    def snapshot(self, checkpoint_id: int) -> None:
        """Brings the list state up to date."""
        splits = tuple(self._reader.snapshot_state(checkpoint_id))
        self._record(checkpoint_id, StoredAction.STORED, splits)
        self._state.update(splits)

    def on_added(self, splits: Sequence[object]) -> None:
        """Splits begin in this attempt."""
        if isinstance(self._reader, PositionedReader) and self._ctx.trace is not None:
            self._first.update(map(self._reader.position_of, splits))

    def _record(self, checkpoint_id: int | None, action: StoredAction, splits: Sequence[object]) -> None:
        trace = self._ctx.trace
        if trace is None or checkpoint_id is None or not isinstance(self._reader, PositionedReader):
            return
        for split in splits:
            name, position = self._reader.position_of(split)
            advance = position - self._first.get(name, 0)
            number = trace.fingerprint(None, name)
            trace.checkpoints.source_position(
                self._ctx.operator_index, checkpoint_id, action, number, position, advance
            )
