"""The source of values that stand in the program. Flink: fromCollection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flowsim.connectors.source import BlockReader
from flowsim.values import copy_value


class CollectionSource:
    """Emits the values in order, at parallelism 1, without timestamps (a strategy may read them)."""

    kind = "collection"
    emits_watermarks = False
    needs_cost = False
    required_parallelism = 1

    def __init__(self, values: Iterable[object]) -> None:
        self.values = tuple(values)

    @property
    def params(self) -> Mapping[str, object]:
        return {"values": len(self.values)}

    def create_reader(self) -> BlockReader:
        """A reader for the one subtask."""
        # Copies, for a job may change what it is given, and the next run must not see that.
        return BlockReader(lambda ctx: iter((map(copy_value, self.values),)))
