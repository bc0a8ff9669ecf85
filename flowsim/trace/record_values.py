"""The recorded values of fingerprints."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flowsim.facts.schema import RECORD_VALUES
from flowsim.quantities import count_text
from flowsim.recording.parquet_part import as_numpy

if TYPE_CHECKING:
    from flowsim.recording.reader import Recording

_WIDTH: Final = 100


class RecordValues:
    """The values of table ``record_values`` by fingerprint; the table is read on first use."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def text(self, fingerprint: int) -> str | None:
        """Returns the value as JSON, shortened if long; None if the value was not stored."""
        place = self.place(fingerprint)
        return None if place is None else shortened(str(self._table["value"][place].as_py()))

    def place(self, fingerprint: int) -> int | None:
        """Returns the row of the value in its table; None if the value was not stored."""
        sorted_numbers, order = self._index
        place = int(sorted_numbers.searchsorted(fingerprint))
        is_known = place < len(sorted_numbers) and sorted_numbers[place] == fingerprint
        return int(order[place]) if is_known else None

    @cached_property
    def _table(self) -> pa.Table:
        return self._recording.table(RECORD_VALUES.name)

    @cached_property
    def _index(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        numbers = as_numpy(self._table["fingerprint"])
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order


def shortened(text: str) -> str:
    """A long text without its end, and with its length."""
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 20]} ... ({count_text(len(text), 'character')})"
