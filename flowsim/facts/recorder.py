"""What stores facts: the interface of the recorders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mypy_extensions import i64, mypyc_attr

from flowsim.facts.fingerprint_set import FingerprintSet
from flowsim.facts.kinds import Level
from flowsim.facts.row_buffer import RowBuffer
from flowsim.facts.schema import Table

VALUES_BYTES: Final = 64 << 20
"""The default size of the stored values of records, in bytes."""

Append = Callable[..., None]
"""Takes the values of one row, in the order of the table's columns."""


@mypyc_attr(allow_interpreted_subclasses=True)
class SeenValues:
    """Stores the value of each fingerprint (table ``record_values``)."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: FingerprintSet = FingerprintSet()
        """The fingerprints of stored records; always the same set."""

    def add(self, fingerprint: i64, encoded: bytes) -> None:
        """Stores a copy of a record whose fingerprint was just added to ``known``, or leaves the record out."""
        raise NotImplementedError


class Recorder(Protocol):
    """Stores facts: in memory (``recording.memory``) or in Parquet parts (``recording.writer``)."""

    level: Level
    records_state: bool
    """True if state changes are recorded at level full."""

    @property
    def values(self) -> SeenValues:
        """The stored values of records."""

    def appender(self, table: Table) -> Append:
        """Returns the append function of one fact table; called once per task and table, not per row."""

    def row_buffer(self, table: Table) -> RowBuffer:
        """Returns the rows of a fact table that every level records."""

    def static(self, table: Table, rows: Sequence[tuple[int | str, ...]]) -> None:
        """Adds rows to a description table."""

    def begin_attempt(self, task: int, seq: int) -> None:
        """Starts a new attempt of a task; its facts from this ``seq`` on belong to that attempt."""
