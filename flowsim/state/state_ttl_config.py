"""The time to live of state; the arguments are those of PyFlink. Flink: StateTtlConfig."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Protocol, Self, TypeAlias, TypeVar

from flowsim.errors import BadInput

E = TypeVar("E", bound=Enum)


class _Duration(Protocol):
    """The protocol of ``Duration`` of the API."""

    def to_millis(self) -> int: ...


class _Time(Protocol):
    """The protocol of ``Time`` of the API."""

    def to_milliseconds(self) -> int: ...


Length = _Duration | _Time


class TtlUpdateType(Enum):
    """The kinds of access that extend the life of state: none, writes, or reads and writes.

    Flink: StateTtlConfig.UpdateType.
    """

    Disabled = 0
    OnCreateAndWrite = 1
    OnReadAndWrite = 2


class TtlStateVisibility(Enum):
    """The visibility of expired state before its cleanup. Flink: StateTtlConfig.StateVisibility."""

    ReturnExpiredIfNotCleanedUp = 0
    NeverReturnExpired = 1


class TtlTime(Enum):
    """The kind of time for expiry. Flink: StateTtlConfig.TtlTimeCharacteristic."""

    ProcessingTime = 0


@dataclass(frozen=True, slots=True)
class IncrementalCleanupStrategy:
    """Checks some keys at every access; with ``run_cleanup_for_every_record`` also for every record.

    Flink: StateTtlConfig.IncrementalCleanupStrategy.
    """

    cleanup_size: int = 5
    run_cleanup_for_every_record: bool = False

    def __post_init__(self) -> None:
        if type(self.cleanup_size) is not int or self.cleanup_size < 1:
            raise BadInput(f"cleanup_incrementally: cleanup_size: expected 1 or more, got {self.cleanup_size!r}")

    def get_cleanup_size(self) -> int:
        return self.cleanup_size


@dataclass(frozen=True, slots=True)
class RocksdbCompactFilterCleanupStrategy:
    """A strategy that is accepted and has no effect on the heap.

    Flink: StateTtlConfig.RocksdbCompactFilterCleanupStrategy.
    """

    query_time_after_num_entries: int = 1000
    periodic_compaction_time: Length | None = None

    def get_query_time_after_num_entries(self) -> int:
        return self.query_time_after_num_entries

    def get_periodic_compaction_time(self) -> Length | None:
        return self.periodic_compaction_time


@dataclass(frozen=True, slots=True)
class TtlCleanupStrategies:
    """The strategies that remove expired state, in addition to reads. Flink: StateTtlConfig.CleanupStrategies."""

    full_snapshot: bool = False
    incremental: IncrementalCleanupStrategy | None = None
    rocksdb: RocksdbCompactFilterCleanupStrategy | None = None
    in_background: bool = True

    def is_cleanup_in_background(self) -> bool:
        return self.in_background

    def in_full_snapshot(self) -> bool:
        """Returns True if a snapshot omits expired state."""
        return self.full_snapshot

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """Returns the configured strategy.

        The default is five keys per access, unless background cleanup is disabled.
        """
        if self.incremental is not None:
            return self.incremental
        return IncrementalCleanupStrategy() if self.in_background else None

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
        if self.rocksdb is not None:
            return self.rocksdb
        return RocksdbCompactFilterCleanupStrategy() if self.in_background else None


class StateTtlConfig:
    """The time to live of the values of a state. Flink: StateTtlConfig."""

    __slots__ = ("_cleanup", "_time", "_ttl", "_update", "_visibility", "ttl_ms")

    UpdateType: TypeAlias = TtlUpdateType
    StateVisibility: TypeAlias = TtlStateVisibility
    TtlTimeCharacteristic: TypeAlias = TtlTime
    CleanupStrategies: TypeAlias = TtlCleanupStrategies
    Builder: ClassVar[type[TtlBuilder]]

    def __init__(
        self,
        update_type: TtlUpdateType,
        state_visibility: TtlStateVisibility,
        ttl_time_characteristic: TtlTime,
        ttl: Length,
        cleanup_strategies: TtlCleanupStrategies,
    ) -> None:
        """Raises BadInput unless ``ttl`` is a duration of at least 1 ms."""
        self._update = update_type
        self._visibility = state_visibility
        self._time = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup = cleanup_strategies
        self.ttl_ms: int = _millis(ttl)

    @staticmethod
    def new_builder(ttl: Length) -> TtlBuilder:
        """Returns a builder with the defaults.

        The defaults: updated on create and write, never returned when expired, background cleanup on.
        """
        return TtlBuilder(ttl)

    def get_update_type(self) -> TtlUpdateType:
        return self._update

    def get_state_visibility(self) -> TtlStateVisibility:
        return self._visibility

    def get_ttl(self) -> Length:
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTime:
        return self._time

    def is_enabled(self) -> bool:
        return self._update is not TtlUpdateType.Disabled

    def get_cleanup_strategies(self) -> TtlCleanupStrategies:
        return self._cleanup

    def __repr__(self) -> str:
        return f"StateTtlConfig({self.ttl_ms} ms, {self._update.name}, {self._visibility.name})"


@dataclass(slots=True)
class TtlBuilder:
    """Builder of a StateTtlConfig. Flink: StateTtlConfig.Builder."""

    _ttl: Length
    _update: TtlUpdateType = TtlUpdateType.OnCreateAndWrite
    _visibility: TtlStateVisibility = TtlStateVisibility.NeverReturnExpired
    _time: TtlTime = TtlTime.ProcessingTime
    _full_snapshot: bool = field(default=False, init=False)
    _incremental: IncrementalCleanupStrategy | None = field(default=None, init=False)
    _rocksdb: RocksdbCompactFilterCleanupStrategy | None = field(default=None, init=False)
    _in_background: bool = field(default=True, init=False)

    def set_update_type(self, update_type: TtlUpdateType) -> Self:
        self._update = _member(TtlUpdateType, update_type)
        return self

    def update_ttl_on_create_and_write(self) -> Self:
        return self.set_update_type(TtlUpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> Self:
        return self.set_update_type(TtlUpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: TtlStateVisibility) -> Self:
        self._visibility = _member(TtlStateVisibility, state_visibility)
        return self

    def return_expired_if_not_cleaned_up(self) -> Self:
        return self.set_state_visibility(TtlStateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> Self:
        return self.set_state_visibility(TtlStateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(self, ttl_time_characteristic: TtlTime) -> Self:
        self._time = _member(TtlTime, ttl_time_characteristic)
        return self

    def use_processing_time(self) -> Self:
        return self.set_ttl_time_characteristic(TtlTime.ProcessingTime)

    def cleanup_full_snapshot(self) -> Self:
        """Makes snapshots omit expired state."""
        self._full_snapshot = True
        return self

    def cleanup_incrementally(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> Self:
        """Sets incremental cleanup: checks this many keys at every access to the state, or also for every record."""
        self._incremental = IncrementalCleanupStrategy(cleanup_size, bool(run_cleanup_for_every_record))
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int = 1000, periodic_compaction_time: Length | None = None
    ) -> Self:
        """Has no effect, because state is on the heap."""
        self._rocksdb = RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, periodic_compaction_time)
        return self

    def disable_cleanup_in_background(self) -> Self:
        """Disables background cleanup: expired state is removed only when it is read, unless a strategy is set."""
        self._in_background = False
        return self

    def set_ttl(self, ttl: Length) -> Self:
        self._ttl = ttl
        return self

    def build(self) -> StateTtlConfig:
        """Returns the configuration. Raises BadInput unless the time to live is at least 1 ms."""
        cleanup = TtlCleanupStrategies(self._full_snapshot, self._incremental, self._rocksdb, self._in_background)
        return StateTtlConfig(self._update, self._visibility, self._time, self._ttl, cleanup)


StateTtlConfig.Builder = TtlBuilder


def _millis(ttl: Length) -> int:
    for spelling in ("to_millis", "to_milliseconds"):
        length = getattr(ttl, spelling, None)
        if callable(length):
            millis = length()
            if isinstance(millis, int) and millis > 0:
                return millis
            raise BadInput(f"time to live: expected at least 1 ms, got {millis!r} ms")
    raise BadInput(f"time to live: expected a length such as Duration.of_hours(1), got {ttl!r:.60}")


def _member(kind: type[E], value: E) -> E:
    if not isinstance(value, kind):
        raise BadInput(f"time to live: expected a {kind.__name__}, got {value!r:.60}")
    return value
