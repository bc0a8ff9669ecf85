"""A source that reads a list, and a sink that collects results in a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice

from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.connectors.sinks.sink_writer_checkpoints import CommittingSinkWriter
from flowsim.connectors.source import BlockReader
from flowsim.errors import BadInput
from flowsim.operators.sink import InitContext, SinkWriter
from flowsim.values.closed_set import checked_copy


class CollectionSource:
    """Emits the values in order, at parallelism 1, without timestamps (a strategy may assign them)."""

    kind = "collection"
    emits_watermarks = False
    needs_cost = False
    required_parallelism = 1

    def __init__(self, values: Iterable[object]) -> None:
        self.values: tuple[object, ...] = tuple(values)

    def __repr__(self) -> str:
        return f"CollectionSource({list(self.values)!r})"

    @property
    def params(self) -> Mapping[str, object]:
        return {"values": len(self.values)}

    def create_reader(self) -> BlockReader:
        """Creates a reader for the one subtask."""
        # Copies the values: a job may change them, and the next run must see the originals. Checks them: a chained
        # operator gets the reader's output without another check.
        return BlockReader(lambda ctx: iter((map(checked_copy, self.values),)))


Part = list[tuple[object, int | None]]
"""The records of one subtask, with their timestamps."""


class CollectSink:
    """Stores the output of a job's last run, per subtask; a new run starts empty.

    In a job with checkpoints it has the records of completed checkpoints only; with at-least-once ``delivery`` all
    records of all attempts. ``DataStream.execute_and_collect`` uses this sink with one subtask, so its results are in
    order of arrival.
    """

    kind = "collect"

    def __init__(self, delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE) -> None:
        self.delivery: DeliveryGuarantee = delivery
        self._parts: list[Part] = []
        self._staged: dict[tuple[int, int], Part] = {}
        """The records that wait for their commit, by subtask and number, which is as for part files."""

    @property
    def params(self) -> Mapping[str, object]:
        at_once = self.delivery is not DeliveryGuarantee.EXACTLY_ONCE
        return {"delivery": self.delivery.value} if at_once else {}

    def create_writer(self, context: InitContext) -> CommittingSinkWriter[tuple[int, int]]:
        """Creates the writer of one subtask in a job with checkpoints."""
        part = self._part(context, is_new=context.attempt_number == 0)
        if self.delivery is DeliveryGuarantee.EXACTLY_ONCE:
            return CommittingCollectWriter(self._staged, context)
        return CommittingCollectWriter({}, context, part)

    def restore_writer(
        self, context: InitContext, recovered_state: Sequence[object]
    ) -> CommittingSinkWriter[tuple[int, int]]:
        return self.create_writer(context)

    def create_direct_writer(self, context: InitContext) -> SinkWriter:
        """Creates the writer of one subtask in a job without checkpoints."""
        return CollectWriter(self._part(context, is_new=True))

    def create_committer(self, context: InitContext) -> CollectCommitter:
        return CollectCommitter(self)

    def commit(self, subtask: int, number: int) -> bool:
        """Adds staged records to the results; returns False if there are none."""
        staged = self._staged.pop((subtask, number), None)
        if staged is None:
            return False
        self._grow(subtask + 1)
        self._parts[subtask] += staged
        return True

    def _part(self, context: InitContext, *, is_new: bool) -> Part:
        """Returns the part of a subtask that opens; removes the output of an earlier run."""
        subtask = context.subtask_index
        if is_new:
            del self._parts[context.parallelism :]
        self._grow(context.parallelism)
        if is_new:
            self._parts[subtask] = []
        return self._parts[subtask]

    def _grow(self, parallelism: int) -> None:
        while len(self._parts) < parallelism:
            self._parts.append([])

    @property
    def committed_rows(self) -> int:
        """The number of records that are readable."""
        return sum(map(len, self._parts))

    @property
    def parallelism(self) -> int:
        """Number of subtasks that opened in the last run."""
        return len(self._parts)

    def records(self, subtask_index: int | None = None) -> list[tuple[object, int | None]]:
        """Returns ``(value, timestamp)`` pairs in order of arrival: of one subtask, or of all, in index order."""
        if subtask_index is not None:
            return list(self._parts[subtask_index])
        return [record for part in self._parts for record in part]

    def first(self, count: int) -> list[object]:
        """Returns the first values of ``values()``."""
        return [value for value, _ in islice(chain.from_iterable(self._parts), count)]

    def count(self) -> int:
        """Returns the number of ``values()``."""
        return sum(map(len, self._parts))

    def clear(self, parallelism: int | None = None) -> None:
        """Removes all records. ``parallelism``: as if so many subtasks had opened; None: as many as have."""
        self._parts = [[] for _ in range(self.parallelism if parallelism is None else parallelism)]
        self._staged.clear()

    def values(self, subtask_index: int | None = None) -> list[object]:
        """Returns the values as ``records`` does, without timestamps."""
        return [value for value, _ in self.records(subtask_index)]


class CollectWriter:
    """Collects one subtask's records."""

    def __init__(self, part: Part) -> None:
        self._append = part.append

    def write(self, value: object, timestamp: int | None) -> None:
        self._append((value, timestamp))

    def flush(self, end_of_input: bool) -> None:
        """Does nothing: results are visible as soon as they are written."""

    def close(self) -> None:
        """Does nothing: the results before a failure remain readable."""


class CommittingCollectWriter:
    """Collects one subtask's records for their commit, or directly into a part that is readable at once."""

    def __init__(self, staged: dict[tuple[int, int], Part], context: InitContext, part: Part | None = None) -> None:
        restored = context.restored_checkpoint_id or 0
        for subtask, number in list(staged):
            if number > restored and (subtask == context.subtask_index or subtask >= context.parallelism):
                del staged[subtask, number]
        self._staged = staged
        self._subtask = context.subtask_index
        self._number = restored + 1
        self._is_readable = part is not None
        self._records: Part = [] if part is None else part

    def write(self, value: object, timestamp: int | None) -> None:
        self._records.append((value, timestamp))

    def flush(self, end_of_input: bool) -> None:
        """Does nothing: the records are in memory."""

    def prepare_commit(self) -> Sequence[tuple[int, int]]:
        """Stages the records since the last call; returns the subtask and the number under which they are staged."""
        if self._is_readable or not self._records:
            return []
        self._staged[self._subtask, self._number] = self._records
        self._records = []
        return [(self._subtask, self._number)]

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        """Gives the next records their number; a writer has no state."""
        self._number = checkpoint_id + 1
        return ()

    def close(self) -> None:
        """Does nothing: records that were not staged are lost with the writer."""


class CollectCommitter:
    """Makes staged records readable."""

    def __init__(self, sink: CollectSink) -> None:
        self._sink = sink

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        """Moves the records; those that are not staged were moved before, or belong to the run of a savepoint."""
        for request in requests:
            match request.committable:
                case (int(subtask), int(number)):
                    if not self._sink.commit(subtask, number):
                        request.signal_already_committed()
                case other:
                    raise BadInput(
                        f"collect sink: expected a subtask and a number, got {other!r:.100}: the state belongs to another "
                        "sink"
                    )

    def close(self) -> None:
        """Does nothing: a committer holds no resources."""
