"""Columns of a recording as arrays, over all its epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from flowsim.recording.reader import Recording

Ints = npt.NDArray[np.int64]
Columns = Mapping[str, Ints]


def columns(recording: Recording, table: str, names: Sequence[str]) -> dict[str, Ints]:
    """Some columns of a fact table, in the order in which its rows were recorded. Raises BadInput for a damaged part."""
    parts = [recording.part(table, epoch, names) for epoch in range(len(recording.epochs))]
    found: dict[str, Ints] = {}
    for name in names:
        pieces = [part[name].to_numpy().astype(np.int64, copy=False) for part in parts]
        found[name] = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
    return found


def where(rows: Columns, wanted: npt.NDArray[np.bool_]) -> dict[str, Ints]:
    """The rows for which ``wanted`` is true."""
    return {name: column[wanted] for name, column in rows.items()}
