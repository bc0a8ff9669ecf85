"""Folds over sorted facts whose answer is a count: a machine per group takes row after row. Runs in Python workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from flowsim.validation.checks.streaming import Batches, fold_sorted, ship

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SCHEMA = "run int, what string, n bigint"


class Machine(Protocol):
    """Takes the rows of one group in order; each answer says what is wrong, '' when nothing is."""

    def take(self, row: tuple[int, ...]) -> str: ...

    def end(self, whole: bool) -> str:
        """What is wrong when no row follows; ``whole``: the run reached its end."""


def fold_machines(
    rows: DataFrame, keys: Sequence[str], order: str, make: Callable[[], Machine], columns: Sequence[str]
) -> DataFrame:
    """Findings (run, what, n) of one machine per group; ``rows`` has a column ``whole`` beside ``columns``."""
    ship(make)
    fold = _folding(tuple(keys), make, tuple(columns))
    return fold_sorted(rows.select(*dict.fromkeys((*keys, order, "whole", *columns))), keys, order, fold, SCHEMA)


def _folding(keys: tuple[str, ...], make: Callable[[], Machine], columns: tuple[str, ...]) -> Batches:
    def fold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        machine: Machine | None = None
        group: tuple[int, ...] | None = None
        was_whole = True
        for batch in batches:
            found: Counter[tuple[int, str]] = Counter()
            groups = zip(*(batch.column(name).to_pylist() for name in keys), strict=True)
            values = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
            for key, whole, row in zip(groups, batch.column("whole").to_pylist(), values, strict=True):
                if key != group:
                    if machine is not None and group is not None:
                        found[group[0], machine.end(was_whole)] += 1
                    machine, group, was_whole = make(), key, whole
                assert machine is not None
                found[key[0], machine.take(row)] += 1
            yield _batch(found)
        if machine is not None and group is not None:
            yield _batch(Counter({(group[0], machine.end(was_whole)): 1}))

    return fold


def _batch(found: Counter[tuple[int, str]]) -> pa.RecordBatch:
    import pyarrow as pa

    wrong = sorted((run, what, n) for (run, what), n in found.items() if what)
    types = (pa.int32(), pa.string(), pa.int64())
    columns = [pa.array([row[i] for row in wrong], kind) for i, kind in enumerate(types)]
    return pa.RecordBatch.from_arrays(columns, ["run", "what", "n"])
