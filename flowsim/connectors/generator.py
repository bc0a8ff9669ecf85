"""The seeded generator source. Flink: DataGeneratorSource."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.connectors.columns import nearest
from flowsim.connectors.distributions import Distribution
from flowsim.errors import BadInput
from flowsim.operators.data_input_status import DataInputStatus
from flowsim.operators.sources.source_output import SourceOutput
from flowsim.operators.stream_operator import OperatorContext, TaskClock


class GeneratorSource:
    """Draws tuples of the declared fields, in order, from the run's seed.

    ``count`` records in all (None: endless), of which subtask ``i`` of ``p`` makes those with index ``i`` modulo ``p``.
    ``timestamp_field`` names the field that is the record's timestamp in ms. ``pace_ns`` is the virtual time between
    two records of a subtask, fixed or drawn, on a schedule that a late subtask catches up with; without it records come
    as fast as their cost allows.
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
            near = nearest(timestamp_field, list(fields))
            raise BadInput(f"generator source: timestamp_field: no field {timestamp_field!r}{near}")
        if isinstance(pace_ns, int) and pace_ns < 1:
            raise BadInput(f"generator source: expected pace_ns >= 1, got {pace_ns}")
        self.count = count
        self.fields = dict(fields)
        self.pace_ns = pace_ns
        self.timestamp_index = None if timestamp_field is None else list(fields).index(timestamp_field)

    @property
    def params(self) -> Mapping[str, object]:
        return {"count": self.count, "fields": list(self.fields)}

    @property
    def needs_cost(self) -> bool:
        return self.count is None and not isinstance(self.pace_ns, int)

    def create_reader(self) -> GeneratorReader:
        """A reader for one subtask."""
        return GeneratorReader(self)


class GeneratorReader:
    """Draws the records of one subtask."""

    __slots__ = ("_source", "_clock", "_random", "_index", "_stride", "_draws", "wake_time_ns")

    hands_over = True

    def __init__(self, source: GeneratorSource) -> None:
        self._source = source
        self._draws = tuple(distribution.draw for distribution in source.fields.values())
        self.wake_time_ns: int | None = None

    def open(self, ctx: OperatorContext) -> None:
        self._clock: TaskClock = ctx.clock
        self._random = ctx.random
        self._index = ctx.subtask_index
        self._stride = ctx.parallelism

    def poll_next(self, output: SourceOutput) -> DataInputStatus:
        clock = self._clock
        count = self._source.count
        timestamp_index = self._source.timestamp_index
        while count is None or self._index < count:
            if self.wake_time_ns is not None and clock.now_ns < self.wake_time_ns:
                return DataInputStatus.NOTHING_AVAILABLE
            value = tuple([draw(self._index, self._random) for draw in self._draws])
            output.collect(value, None if timestamp_index is None else _timestamp(value[timestamp_index]))
            self._index += self._stride
            if self._source.pace_ns is not None:
                self._pace(self._source.pace_ns)
            if clock.now_ns >= clock.batch_end_ns:
                return DataInputStatus.MORE_AVAILABLE
        return DataInputStatus.END_OF_DATA

    def close(self) -> None:
        """Nothing is held."""

    def _pace(self, pace_ns: int | Distribution) -> None:
        drawn = pace_ns if isinstance(pace_ns, int) else pace_ns.draw(self._index, self._random)
        if not isinstance(drawn, int | float) or drawn < 0:
            raise BadInput(f"generator source: expected a pace of 0 ns or more, drew {drawn!r}")
        since = self._clock.now_ns if self.wake_time_ns is None else self.wake_time_ns
        self.wake_time_ns = since + int(drawn)


def _timestamp(value: object) -> int:
    if type(value) is not int:
        raise BadInput(f"generator source: expected timestamp_field to be a whole number of ms, drew {value!r}")
    return value
