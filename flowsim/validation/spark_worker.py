"""What Spark's Python workers do: examine shards. Needs nothing but Python, numpy and pyarrow there."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from flowsim.errors import BadInput
from flowsim.laws.judge import Judgement, examine
from flowsim.laws.law import reads_of
from flowsim.validation.recorded_run import Work
from flowsim.validation.shards import Piece

SCHEMA: Final = "work int, judgement binary, refused string"
"""One row per piece: what it showed, or why its recording cannot be judged."""


@dataclass(frozen=True, slots=True)
class ShardExaminer:
    """For ``mapInArrow`` over the numbers of shards."""

    works: Sequence[Work]
    shards: Sequence[Sequence[Piece]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for shard in batch.column(0).to_pylist():
                for piece in self.shards[shard]:
                    yield self._examined(piece)

    def _examined(self, piece: Piece) -> pa.RecordBatch:
        found, refused = b"", ""
        try:
            found = pickle.dumps(self._judgement(piece))
        except BadInput as error:
            refused = str(error)
        row = [[piece.work], [found], [refused]]
        types = (pa.int32(), pa.binary(), pa.string())
        columns = [pa.array(values, kind) for values, kind in zip(row, types, strict=True)]
        return pa.RecordBatch.from_arrays(columns, ["work", "judgement", "refused"])

    def _judgement(self, piece: Piece) -> Judgement:
        _, run, errand = self.works[piece.work]
        slices = run.files.slices(reads_of(errand.laws), piece.tasks, piece.is_verified)
        tasks = [task for task in run.graph.tasks if task in piece.tasks]
        return examine(slices, run.graph, errand, run.whole, tasks)
