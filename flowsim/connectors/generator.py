"""Generated records: number, pace, and the distributions of their fields. Flink: DataGeneratorSource."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Final

from flowsim.connectors.source import unexpected_state
from flowsim.errors import BadInput, did_you_mean
from flowsim.operators.sources.source_output import SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.quantities import count_text
from flowsim.task_clock import TaskClock
from flowsim.values.closed_set import INT_MAX, INT_MIN, check

_MOST_DEVIATIONS: Final = 10
"""More than a draw from 53 random bits can differ from the mean."""


@dataclass(frozen=True, slots=True)
class SequenceOf:
    """``start + index * step``, with ``modulo`` its remainder. The index counts all records of the source."""

    start: int = 0
    step: int = 1
    modulo: int | None = None

    def __post_init__(self) -> None:
        if self.modulo is not None and self.modulo < 1:
            raise BadInput(f"sequence: expected modulo >= 1, got {self.modulo}")

    def first_beyond_long(self) -> int | None:
        """Returns the index of the first value that is no long; None if there is none."""
        return None if self.modulo is not None else _first_beyond_long(self.start, self.start, self.step)

    def draw(self, index: int, random: Random) -> int:
        value = self.start + index * self.step
        return value if self.modulo is None else value % self.modulo


@dataclass(frozen=True, slots=True)
class UniformInt:
    """A whole number from ``low`` to ``high``, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise BadInput(f"uniform int: expected low <= high, got {self.low} and {self.high}")

    def draw(self, index: int, random: Random) -> int:
        return random.randint(self.low, self.high)


@dataclass(frozen=True, slots=True)
class UniformDouble:
    """A double from ``low`` to ``high``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise BadInput(f"uniform double: expected low <= high, got {self.low} and {self.high}")
        if not math.isfinite(self.high - self.low):
            raise BadInput(f"uniform double: expected high - low to be a finite double, got {self.low} and {self.high}")

    def draw(self, index: int, random: Random) -> float:
        return random.uniform(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Normal:
    """A double around ``mean`` with a standard deviation."""

    mean: float
    standard_deviation: float

    def __post_init__(self) -> None:
        if not self.standard_deviation >= 0:
            raise BadInput(f"normal: expected a standard deviation >= 0, got {self.standard_deviation}")
        if not math.isfinite(abs(self.mean) + _MOST_DEVIATIONS * self.standard_deviation):
            raise BadInput(
                f"normal: expected the mean and {_MOST_DEVIATIONS} standard deviations to be finite doubles, "
                f"got {self.mean} and {self.standard_deviation}"
            )

    def draw(self, index: int, random: Random) -> float:
        return random.gauss(self.mean, self.standard_deviation)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values, by weight; by default with equal weights."""

    values: Sequence[object]
    weights: Sequence[float] | None = None
    _sums: list[float] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise BadInput("choice: expected at least one value, got none")
        if self.weights is not None and len(self.weights) != len(self.values):
            raise BadInput(f"choice: expected {count_text(len(self.values), 'weight')}, got {len(self.weights)}")
        if self.weights is not None:
            if not min(self.weights) >= 0 or not sum(self.weights) > 0:
                raise BadInput("choice: expected weights >= 0, not all of them 0")
            if not math.isfinite(sum(self.weights)):
                raise BadInput("choice: expected weights whose sum is a finite double")
            object.__setattr__(self, "_sums", list(accumulate(self.weights)))

    def draw(self, index: int, random: Random) -> object:
        if self._sums is None:
            return self.values[random.randrange(len(self.values))]
        return random.choices(self.values, cum_weights=self._sums)[0]


@dataclass(frozen=True, slots=True)
class JitteredTime:
    """Event time in ms: ``start + index * step``, minus a uniform jitter of up to ``jitter`` ms."""

    start: int = 0
    step: int = 1
    jitter: int = 0

    def __post_init__(self) -> None:
        if self.jitter < 0:
            raise BadInput(f"jittered time: expected jitter >= 0 ms, got {self.jitter}")

    def first_beyond_long(self) -> int | None:
        """Returns the index of the first value that may be no long; None if there is none."""
        return _first_beyond_long(self.start - self.jitter, self.start, self.step)

    def draw(self, index: int, random: Random) -> int:
        return self.start + index * self.step - random.randint(0, self.jitter)


def _first_beyond_long(least: int, most: int, step: int) -> int | None:
    """The least index at which ``least + index * step`` or ``most + index * step`` is no long; None if there is none."""
    if least < INT_MIN or most > INT_MAX:
        return 0
    if step == 0:
        return None
    return (INT_MAX - most) // step + 1 if step > 0 else (least - INT_MIN) // -step + 1


Distribution = SequenceOf | UniformInt | UniformDouble | Normal | Choice | JitteredTime
"""The closed set of distributions."""


class GeneratorSource:
    """Draws tuples of the declared fields, in order, from the run's seed.

    ``count``: the total number of records (None: endless). Subtask ``i`` of ``p`` emits the records with index ``i``
    modulo ``p``. ``timestamp_field`` names the field with the record's timestamp in ms. ``pace_ns`` is the virtual time
    in ns between two records of a subtask, fixed or drawn. A late subtask catches up with its schedule. Without
    ``pace_ns`` only the cost per record limits the rate.
    """

    kind = "generator"
    emits_watermarks = False
    required_parallelism = None

    def __init__(
        self,
        count: int | None,
        fields: Mapping[str, Distribution],
        *,
        timestamp_field: str | None = None,
        pace_ns: int | Distribution | None = None,
    ) -> None:
        if not fields:
            raise BadInput("generator source: expected at least one field, got none")
        if count is not None and count < 0:
            raise BadInput(f"generator source: expected count >= 0, got {count}")
        if timestamp_field is not None and timestamp_field not in fields:
            near = did_you_mean(timestamp_field, list(fields))
            raise BadInput(f"generator source: timestamp_field: no field {timestamp_field!r}{near}")
        for name, distribution in fields.items():
            beyond = distribution.first_beyond_long() if isinstance(distribution, SequenceOf | JitteredTime) else None
            if beyond is not None and (beyond == 0 or (count is not None and beyond < count)):
                raise BadInput(
                    f"generator source: field {name!r} of record {beyond} (counted from 0) exceeds a long; expected "
                    "values from -2^63 to 2^63 - 1: change start or step, or use modulo"
                )
        if isinstance(pace_ns, int) and pace_ns < 1:
            raise BadInput(f"generator source: expected pace_ns >= 1, got {pace_ns}")
        self.count = count
        self.fields: dict[str, Distribution] = dict(fields)
        self.pace_ns = pace_ns
        self.timestamp_index: int | None = None if timestamp_field is None else list(fields).index(timestamp_field)

    @property
    def params(self) -> Mapping[str, object]:
        return {"count": self.count, "fields": list(self.fields)}

    @property
    def is_bounded(self) -> bool:
        return self.count is not None

    @property
    def needs_cost(self) -> bool:
        return self.count is None and not isinstance(self.pace_ns, int)

    def create_reader(self) -> GeneratorReader:
        """Creates a reader for one subtask."""
        return GeneratorReader(self)


@dataclass(slots=True)
class _Share:
    """The records of one subtask of the first attempt, and where they continue."""

    index: int
    """The index of the next record."""
    stride: int
    random: Random
    wake_time_ns: int | None = None
    """When the next record is due; None: at once."""


class GeneratorReader:
    """Draws the records of one subtask; after a change of the parallelism those of several ones, or of none.

    A split is the index of the next record, the distance to the one after it, the state of the random numbers, and the
    time until the next record is due. So a restored reader keeps the pace, but does not count the time of the failure.
    """

    __slots__ = ("_source", "_clock", "_restored", "_shares", "_draws", "wake_time_ns")

    hands_over = True

    def __init__(self, source: GeneratorSource) -> None:
        self._source = source
        self._draws = tuple(distribution.draw for distribution in source.fields.values())
        self._restored: list[object] | None = None
        self.wake_time_ns: int | None = None

    def open(self, ctx: OperatorContext) -> None:
        self._clock: TaskClock = ctx.clock
        if self._restored is None:
            self._shares = [_Share(ctx.subtask_index, ctx.parallelism, ctx.random)]
        else:
            self._shares = [_share_of(split, ctx.clock.now_ns) for split in self._restored]

    def poll_next(self, output: SourceOutput) -> DataInputStatus:
        clock = self._clock
        count = self._source.count
        timestamp_index = self._source.timestamp_index
        while self._shares:
            share = self._shares[0] if len(self._shares) == 1 else min(self._shares, key=_due)
            if count is not None and share.index >= count:
                self._shares.remove(share)
                continue
            if share.wake_time_ns is not None and clock.now_ns < share.wake_time_ns:
                self.wake_time_ns = share.wake_time_ns
                return DataInputStatus.NOTHING_AVAILABLE
            value = tuple([draw(share.index, share.random) for draw in self._draws])
            check(value)
            output.collect(value, None if timestamp_index is None else _timestamp(value[timestamp_index]))
            share.index += share.stride
            if self._source.pace_ns is not None:
                self._pace(share, self._source.pace_ns)
            if clock.now_ns >= clock.batch_end_ns:
                return DataInputStatus.MORE_AVAILABLE
        return DataInputStatus.END_OF_DATA

    def add_splits(self, splits: Sequence[object]) -> None:
        self._restored = list(splits)

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        return [_split_of(share, self._clock.now_ns) for share in self._shares]

    def position_of(self, split: object) -> tuple[str, int]:
        share = _share_of(split, 0)
        return f"{share.index % share.stride} of {share.stride}", share.index // share.stride

    def close(self) -> None:
        """Does nothing: there are no resources."""

    def _pace(self, share: _Share, pace_ns: int | Distribution) -> None:
        drawn = pace_ns if isinstance(pace_ns, int) else pace_ns.draw(share.index, share.random)
        if not isinstance(drawn, int | float) or drawn < 0:
            raise BadInput(f"generator source: expected a pace of 0 ns or more, drew {drawn!r}")
        since = self._clock.now_ns if share.wake_time_ns is None else share.wake_time_ns
        share.wake_time_ns = since + int(drawn)


def _due(share: _Share) -> tuple[int, int]:
    return share.wake_time_ns or 0, share.index


def _split_of(share: _Share, now_ns: int) -> object:
    """Returns the split; of Python's generator of random numbers it contains the 625 words of 32 bits."""
    _, words, next_normal = share.random.getstate()
    wait_ns = None if share.wake_time_ns is None else share.wake_time_ns - now_ns
    return share.index, share.stride, wait_ns, struct.pack("<625I", *words), next_normal


def _share_of(split: object, now_ns: int) -> _Share:
    match split:
        case (int(index), int(stride), None | int() as wait_ns, bytes(words), next_normal) if len(words) == 2500:
            random = Random()
            random.setstate((3, struct.unpack("<625I", words), next_normal))
            return _Share(index, stride, random, None if wait_ns is None else now_ns + wait_ns)
        case _:
            raise unexpected_state(split, "the position of a generator")


def _timestamp(value: object) -> int:
    if type(value) is not int:
        raise BadInput(f"generator source: expected timestamp_field to be a whole number of ms, drew {value!r}")
    return value
