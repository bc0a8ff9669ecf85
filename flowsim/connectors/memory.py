"""A source that reads a list, and a sink that collects results in a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from flowsim.connectors.source import BlockReader
from flowsim.operators.sink import InitContext
from flowsim.values.closed_set import checked_copy


class CollectionSource:
    """Emits the values in order, at parallelism 1, without timestamps (a strategy may assign them)."""

    kind = "collection"
    emits_watermarks = False
    needs_cost = False
    required_parallelism = 1

    def __init__(self, values: Iterable[object]) -> None:
        self.values: tuple[object, ...] = tuple(values)

    @property
    def params(self) -> Mapping[str, object]:
        return {"values": len(self.values)}

    def create_reader(self) -> BlockReader:
        """Creates a reader for the one subtask."""
        # Copies the values: a job may change them, and the next run must see the originals. Checks them: a chained
        # operator gets the reader's output without another check.
        return BlockReader(lambda ctx: iter((map(checked_copy, self.values),)))


class CollectSink:
    """Stores the output of a job's last run, per subtask; a new run starts empty.

    ``DataStream.execute_and_collect`` uses this sink with one subtask, so its results are in order of arrival.
    """

    kind = "collect"
    params: Mapping[str, object] = MappingProxyType({})

    def __init__(self) -> None:
        self._parts: list[list[tuple[object, int | None]]] = []

    def create_writer(self, context: InitContext) -> CollectWriter:
        """Creates a writer for one subtask."""
        return CollectWriter(self.begin(context.subtask_index, context.parallelism))

    def begin(self, subtask_index: int, parallelism: int) -> list[tuple[object, int | None]]:
        """Starts an empty part for a subtask that opens; removes the output of an earlier run."""
        del self._parts[parallelism:]
        while len(self._parts) < parallelism:
            self._parts.append([])
        part: list[tuple[object, int | None]] = []
        self._parts[subtask_index] = part
        return part

    @property
    def parallelism(self) -> int:
        """Number of subtasks that opened in the last run."""
        return len(self._parts)

    def records(self, subtask_index: int | None = None) -> list[tuple[object, int | None]]:
        """Returns ``(value, timestamp)`` pairs in order of arrival: of one subtask, or of all, in index order."""
        if subtask_index is not None:
            return list(self._parts[subtask_index])
        return [record for part in self._parts for record in part]

    def values(self, subtask_index: int | None = None) -> list[object]:
        """Returns the values as ``records`` does, without timestamps."""
        return [value for value, _ in self.records(subtask_index)]


class CollectWriter:
    """Collects one subtask's records."""

    def __init__(self, part: list[tuple[object, int | None]]) -> None:
        self._append = part.append

    def write(self, value: object, timestamp: int | None) -> None:
        self._append((value, timestamp))

    def flush(self, end_of_input: bool) -> None:
        """Does nothing: results are visible as soon as they are written."""

    def close(self) -> None:
        """Does nothing: the results before a failure remain readable."""
