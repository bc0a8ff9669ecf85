"""A partition of a log: when each record is appended, and its content. Both follow from the offset."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Final

from flowsim.connectors.generator import Distribution
from flowsim.errors import BadInput
from flowsim.sim.rng import RandomStreams
from flowsim.units import NS_PER_MS
from flowsim.values.closed_set import check

_NS_PER_SECOND: Final = 1_000_000_000
LEAST_RATE: Final = 1e-9
"""Records per second: one in 32 years."""
_BLOCK_RECORDS: Final = 64
"""Records of one stream of random numbers: a reader that starts inside a block draws again those before."""


@dataclass(frozen=True, slots=True)
class Pause:
    """No record is appended from ``from_ms`` to ``to_ms`` after the start."""

    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True)
class Burst:
    """Records are appended at another rate from ``from_ms`` to ``to_ms`` after the start."""

    from_ms: int
    to_ms: int
    rate: float
    """In records per second."""


@dataclass(frozen=True, slots=True)
class Partition:
    """How records are appended to a partition. Raises BadInput for numbers out of range and for overlapping times."""

    rate: float
    """In records per second, outside bursts; also before the start."""
    start_lag: int = 0
    """The number of records that are there at the start."""
    records: int | None = None
    """The number of all records; None: the partition never ends."""
    out_of_orderness_ms: int = 0
    """Event time is the time of the append, minus a uniform delay up to this bound."""
    pauses: Sequence[Pause] = ()
    bursts: Sequence[Burst] = ()
    from_ms: int = 0
    """When the partition is created, in ms after the start; its first record is appended then."""
    to_ms: int | None = None
    """When it is deleted with the records that are not read, in ms after the start; None: never."""

    def __post_init__(self) -> None:
        _interval_ns(self.rate)
        for name in ("start_lag", "out_of_orderness_ms"):
            if getattr(self, name) < 0:
                raise BadInput(f"partition: expected {name} >= 0, got {getattr(self, name)}")
        if self.records is not None and self.records < self.start_lag:
            raise BadInput(f"partition: expected records >= start_lag ({self.start_lag}), got {self.records}")
        if self.from_ms < 0 or (self.from_ms and self.start_lag):
            raise BadInput(
                f"partition: expected from_ms >= 0, and 0 with a start_lag, got {self.from_ms} and {self.start_lag} records"
            )
        if self.to_ms is not None and (self.to_ms <= self.from_ms or self.records is not None):
            raise BadInput(
                f"partition: expected to_ms > from_ms ({self.from_ms}) and no number of records, which are never all read, "
                f"got {self.to_ms}"
            )
        before = self.from_ms
        for change in self.changes:
            if not before <= change.from_ms < change.to_ms:
                raise BadInput(
                    f"partition: expected pauses and bursts with {self.from_ms} <= from_ms < to_ms that do not overlap, got "
                    f"{change.from_ms} to {change.to_ms} ms"
                )
            before = change.to_ms
            if isinstance(change, Burst):
                _interval_ns(change.rate)

    def exists_at(self, log_ns: int) -> bool:
        """True if the partition is created and not deleted, this time in ns after the start."""
        return self.from_ms * NS_PER_MS <= log_ns and (self.to_ms is None or log_ns < self.to_ms * NS_PER_MS)

    @property
    def changes(self) -> list[Pause | Burst]:
        """Pauses and bursts in order of time."""
        return sorted([*self.pauses, *self.bursts], key=lambda change: change.from_ms)


def _interval_ns(rate: float) -> int:
    if not LEAST_RATE <= rate <= _NS_PER_SECOND:
        raise BadInput(f"partition: expected a rate from 10^-9 to 10^9 records per second, got {rate}")
    return round(_NS_PER_SECOND / rate)


@dataclass(frozen=True, slots=True)
class _Phase:
    """A time with a constant rate; the phase before a pause ends with the pause."""

    first_offset: int
    start_ns: int
    interval_ns: int


class AppendTimes:
    """The time at which each offset of a partition is appended, in ns after the start; negative before it."""

    __slots__ = ("_phases", "_first_offsets")

    def __init__(self, partition: Partition) -> None:
        interval_ns = _interval_ns(partition.rate)
        lag = partition.start_lag
        self._phases = [_Phase(0, -lag * interval_ns, interval_ns)] if lag else []
        offset, start_ns = lag, partition.from_ms * NS_PER_MS
        for change in partition.changes:
            offset = self._append_phase(offset, start_ns, change.from_ms * NS_PER_MS, interval_ns)
            start_ns = change.to_ms * NS_PER_MS
            if isinstance(change, Burst):
                offset = self._append_phase(offset, change.from_ms * NS_PER_MS, start_ns, _interval_ns(change.rate))
        self._append_phase(offset, start_ns, inf, interval_ns)
        self._first_offsets = [phase.first_offset for phase in self._phases]

    def _append_phase(self, offset: int, start_ns: int, end_ns: float, interval_ns: int) -> int:
        """Returns the first offset after the phase."""
        if start_ns < end_ns:
            self._phases.append(_Phase(offset, start_ns, interval_ns))
        return offset if end_ns == inf else offset + -(-int(end_ns - start_ns) // interval_ns)

    def of(self, offset: int) -> int:
        """Returns the time of one offset."""
        phase = self._phases[bisect_right(self._first_offsets, offset) - 1]
        return phase.start_ns + (offset - phase.first_offset) * phase.interval_ns


class PartitionLog:
    """The records of one partition, read in the order of their offsets.

    A record has the drawn fields and, with ``timestamp_field``, its event time. A sequence counts the records of all
    partitions in turn: offset n of partition i of p has the index ``n * p + i``.
    """

    __slots__ = (
        "partition",
        "offset",
        "_index",
        "_stride",
        "_draws",
        "_adds_timestamp",
        "_start_timestamp_ms",
        "_identity",
        "_times",
        "_random",
    )

    def __init__(
        self,
        partition: Partition,
        index: int,
        stride: int,
        fields: Mapping[str, Distribution],
        identity: tuple[int, str],
        start_timestamp_ms: int,
        *,
        adds_timestamp: bool,
        offset: int,
    ) -> None:
        """``identity``: the seed and the name of the log; ``offset``: that of the first record to read."""
        self.partition: Partition = partition
        self.offset: int = offset
        self._index = index
        self._stride = stride
        self._draws = tuple(distribution.draw for distribution in fields.values())
        self._adds_timestamp = adds_timestamp
        self._start_timestamp_ms = start_timestamp_ms
        self._identity = identity
        self._times = AppendTimes(partition)
        self._random = self._random_of_block()
        for earlier in range(offset - offset % _BLOCK_RECORDS, offset):
            self._draw(earlier)

    @property
    def is_at_end(self) -> bool:
        return self.partition.records is not None and self.offset >= self.partition.records

    @property
    def deleted_ns(self) -> int | None:
        """When the partition is deleted, in ns after the start; None: never."""
        return None if self.partition.to_ms is None else self.partition.to_ms * NS_PER_MS

    @property
    def next_append_ns(self) -> int:
        """When the next record is appended, in ns after the start."""
        return self._times.of(self.offset)

    def next_record(self) -> tuple[object, int]:
        """Returns the next record and its event time in ms, and advances the offset."""
        fields, delay_ms = self._draw(self.offset)
        timestamp = self._start_timestamp_ms + self.next_append_ns // NS_PER_MS - delay_ms
        value = (*fields, timestamp) if self._adds_timestamp else fields
        check(value)
        self.offset += 1
        if self.offset % _BLOCK_RECORDS == 0:
            self._random = self._random_of_block()
        return value, timestamp

    def _draw(self, offset: int) -> tuple[tuple[object, ...], int]:
        random, index = self._random, offset * self._stride + self._index
        fields = tuple([draw(index, random) for draw in self._draws])
        return fields, random.randint(0, self.partition.out_of_orderness_ms)

    def _random_of_block(self) -> Random:
        seed, name = self._identity
        return RandomStreams(seed).stream("partition", name, self._index, self.offset // _BLOCK_RECORDS)
