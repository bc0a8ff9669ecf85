"""The work of Spark's Python workers: examine shards. Needs only Python, numpy and pyarrow there."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from flowsim.errors import BadInput
from flowsim.laws.files import TaskRange
from flowsim.laws.judge import examine
from flowsim.laws.law import reads_of
from flowsim.laws.slices import Slice
from flowsim.validation.recorded_run import Work
from flowsim.validation.shards import Piece

SCHEMA: Final = "work int, judgement binary, refused string"
"""The columns of one row per piece: its result, or the reason why its recording cannot be checked."""
_TYPES: Final = {"work": pa.int32(), "judgement": pa.binary(), "refused": pa.string()}


@dataclass(frozen=True, slots=True)
class ShardExaminer:
    """Examines shards: a function for ``mapInArrow`` over the numbers of shards."""

    works: Sequence[Work]
    shards: Sequence[Sequence[Piece]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for shard in batch.column(0).to_pylist():
                for piece in self.shards[shard]:
                    yield self._examined(piece)

    def _examined(self, piece: Piece) -> pa.RecordBatch:
        number, run, errand = self.works[piece.work]
        errand = errand if piece.keys is None else errand.of_part(piece.keys)
        slices = run.files.slices(reads_of(errand.laws, run.graph), piece.tasks, piece.is_verified)
        return examined(piece.work, (number, run, errand), piece.tasks, slices)


def examined(number: int, work: Work, tasks: TaskRange, slices: Iterable[Slice]) -> pa.RecordBatch:
    """Returns one row: the result for the tasks of a piece."""
    _, run, errand = work
    judgement, refused = b"", ""
    try:
        of_piece = [task for task in run.graph.tasks if task in tasks]
        judgement = pickle.dumps(examine(slices, run.graph, errand, run.whole, of_piece))
    except BadInput as error:
        refused = str(error)
    return row_batch(_TYPES, (number, judgement, refused))


def row_batch(types: Mapping[str, pa.DataType], *rows: Sequence[object]) -> pa.RecordBatch:
    """Converts rows of Python values to an Arrow batch."""
    columns = zip(*rows, strict=True)
    arrays = [pa.array(list(values), kind) for values, kind in zip(columns, types.values(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, list(types))
