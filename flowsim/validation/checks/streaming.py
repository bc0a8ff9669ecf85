"""Folds over sorted facts in Python workers: batch by batch, so that no group has to fit into memory.

The modules whose functions run there are shipped with the plan, so workers need no flowsim of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import cloudpickle
from pyspark.sql import DataFrame

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Callable[["Iterator[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]


def ship(function: Callable[..., object]) -> None:
    """Makes every plan carry the module of ``function`` instead of importing it on the worker."""
    cloudpickle.register_pickle_by_value(sys.modules[function.__module__])  # type: ignore[no-untyped-call]


def fold_sorted(
    rows: DataFrame, keys: Sequence[str], order: str, fold: Batches, schema: str, *parts: Callable[..., object]
) -> DataFrame:
    """Hands each group's rows to ``fold`` one after the other in ``order``; batches may hold several groups, or part of one.

    ``parts`` are what it takes from other modules of flowsim.
    """
    for part in (fold, *parts):
        ship(part)
    return rows.repartition(*keys).sortWithinPartitions(*keys, order).mapInArrow(fold, schema)
