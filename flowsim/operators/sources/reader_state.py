"""The splits of a reader as operator state (rule 12.111). Flink: SourceOperator."""

from __future__ import annotations

from typing import Final

from flowsim.errors import BadInput
from flowsim.operators.sources.source_reader import CheckpointedReader, SourceReader
from flowsim.state.snapshots.snapshot_contexts import OperatorListState, StateInitializationContext

READER_STATE: Final = "SourceReaderState"
"""The name of the list state. Flink: SourceOperator.SPLITS_STATE_DESC."""


class ReaderState:
    """Restores the splits of a reader before it is opened, and stores them in its order. Flink: SourceOperator."""

    __slots__ = ("_reader", "_state")

    def __init__(self, reader: SourceReader, context: StateInitializationContext, operator_name: str) -> None:
        """Raises BadInput if the reader has no state."""
        if not isinstance(reader, CheckpointedReader):
            raise BadInput(
                f"{operator_name}: a job with checkpoints needs readers with the methods snapshot_state and add_splits, "
                f"{type(reader).__name__} has not both: add them, or run the job without checkpoints"
            )
        self._reader = reader
        self._state: OperatorListState = context.operator_state.get_list_state(READER_STATE)
        if context.has_operator_state:
            reader.add_splits(self._state.get())

    def snapshot(self, checkpoint_id: int) -> None:
        """Brings the list state up to date."""
        self._state.update(tuple(self._reader.snapshot_state(checkpoint_id)))
