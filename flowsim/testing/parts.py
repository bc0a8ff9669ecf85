"""Parts of random jobs, as data: each adds streams of its own to a job and contains one feature of Flink.

A part names the settings that it needs of the whole job. ``expected`` gives its output under any schedule, or None if the
output depends on the schedule; then only the laws judge it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from flowsim.connectors.script import Entry, RecordEntry, ScriptedSource, record, sleep
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction, MapFunction
from flowsim.datastream.partitioning import PlainPartitioning, partitioned
from flowsim.datastream.state import ListStateDescriptor
from flowsim.errors import FlowsimError
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.testing.async_calls import AsyncStep

Reading = tuple[str, int]
"""A record: a key and a number."""

Output = Counter[object]
"""How often each value arrives at the end of a part."""


class JobPart(Protocol):
    """Streams that a random job contains beside its stages."""

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings that the part needs of the whole job, for ``env.configure``."""

    def add_to(self, env: StreamExecutionEnvironment) -> DataStream:
        """Adds the streams; returns the last one, which has no reader."""

    def expected(self) -> Output | None:
        """The output under any schedule; None if it depends on the schedule."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """Checkpoints, and a failure from which the part recovers.

    ``fails_at``: the record, from 0, at which each subtask of the last operator fails in its first attempt; None: no
    failure.
    """

    checkpoints: CheckpointSettings
    fails_at: int | None = None
    delay_ms: int = 0

    @property
    def settings(self) -> Mapping[str, object]:
        return {"checkpointing": self.checkpoints, "restart_strategy": FixedDelayRestart(3, self.delay_ms)}


NARROW_NETWORK: Final[Mapping[str, object]] = {
    "segment_size_bytes": 16,
    "exclusive_buffers_per_channel": 1,
    "floating_buffers_per_gate": 1,
    "max_buffers_per_channel": 3,
    "overdraft_buffers": 0,
    "buffer_timeout_ms": 0,
}
"""Settings with which some records fill the buffers before a slow operator."""


FEW_CREDITS: Final[Mapping[str, object]] = {
    "exclusive_buffers_per_channel": 1,
    "floating_buffers_per_gate": 1,
    "buffer_timeout_ms": 0,
}
"""Settings with which data waits before and behind an exchange: a slow reader grants few credits."""


class _Failure(FlowsimError):
    """The failure of a part, which is restarted."""


class _FailsOnce(MapFunction):
    """Returns each value; fails at a record of the first attempt."""

    def __init__(self, fails_at: int | None) -> None:
        self._fails_at = fails_at
        self._records = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        if runtime_context.get_attempt_number() > 0:
            self._fails_at = None

    def map(self, value: object) -> object:
        if self._records == self._fails_at:
            raise _Failure(f"fails at record {self._fails_at} of the first attempt")
        self._records += 1
        return tuple(value) if isinstance(value, list) else value


def _last(stream: DataStream, recovery: Recovery | None) -> DataStream:
    return stream.map(_FailsOnce(None if recovery is None else recovery.fails_at))


def _settings(recovery: Recovery | None) -> Mapping[str, object]:
    return {} if recovery is None else recovery.settings


def _values(scripts: Iterable[Iterable[Entry]]) -> Output:
    return Counter(entry.value for script in scripts for entry in script if isinstance(entry, RecordEntry))


class _OneList(MapFunction):
    """Emits every record in the same list, which the next record overwrites."""

    def __init__(self) -> None:
        self._list: list[object] = []

    def map(self, value: Reading) -> list[object]:
        self._list[:] = value
        return self._list


@dataclass(frozen=True, slots=True)
class AsyncPart:
    """Scripts before an async operator.

    ``reuses_records``: the operator before it emits the same list for each record, and the job has object reuse.
    ``chained``: a second async operator, in the chain of the first one.
    """

    scripts: tuple[tuple[Entry, ...], ...]
    calls: AsyncStep
    reuses_records: bool = False
    recovery: Recovery | None = None
    chained: AsyncStep | None = None

    @property
    def settings(self) -> Mapping[str, object]:
        # Only operators of one chain pass the same object on.
        reuse = {"object_reuse": True} if self.reuses_records else {}
        chaining = {"operator_chaining": True} if self.reuses_records or self.chained is not None else {}
        return {**_settings(self.recovery), **reuse, **chaining}

    def add_to(self, env: StreamExecutionEnvironment) -> DataStream:
        stream = env.add_source(ScriptedSource(*self.scripts)).rebalance()
        width = len(self.scripts)
        read = stream.map(_OneList() if self.reuses_records else lambda value: value).set_parallelism(width)
        answered = self.calls.behind(read).set_parallelism(width)
        if self.chained is not None:
            answered = self.chained.behind(answered).set_parallelism(width)
        return _last(answered, self.recovery).set_parallelism(width)

    def expected(self) -> Output:
        answered = self.calls.outcomes(_values(self.scripts))
        return answered if self.chained is None else self.chained.outcomes(answered)


@dataclass(frozen=True, slots=True)
class SlowReader:
    """An operator that takes time for each record of its two inputs, so that barriers wait behind data.

    ``partitioning``: of its first input; the second one is rebalanced. Where the first one supports no unaligned
    checkpoints, because it is broadcast or pointwise, the operator aligns those of both inputs (rule 12.19).
    ``has_few_credits``: so few buffers that data waits in the outputs of the senders, too.
    """

    numbers: tuple[tuple[int, ...], ...]
    gap_ms: int
    partitioning: PlainPartitioning
    cost_us: int
    recovery: Recovery
    has_few_credits: bool = False

    @property
    def settings(self) -> Mapping[str, object]:
        return {**self.recovery.settings, **(FEW_CREDITS if self.has_few_credits else {})}

    def add_to(self, env: StreamExecutionEnvironment) -> DataStream:
        width = len(self.numbers)
        scripts = [[entry for n in numbers for entry in (record(n), sleep(self.gap_ms))] for numbers in self.numbers]
        source = env.add_source(ScriptedSource(*scripts))
        first = source.map(lambda value: value).set_parallelism(width).disable_chaining()
        second = source.rebalance().map(_negated).set_parallelism(width)
        united = partitioned(first, self.partitioning).union(second.rebalance())
        return _last(united, self.recovery).cost(Duration.of_nanos(self.cost_us * 1000)).set_parallelism(width)

    def expected(self) -> Output:
        copies = len(self.numbers) if self.partitioning == "broadcast" else 1
        made: Output = Counter()
        for number, count in Counter(number for numbers in self.numbers for number in numbers).items():
            made[number] += count * copies
            made[-number - 1] += count
        return made


def _negated(number: object) -> int:
    assert isinstance(number, int)
    return -number - 1


AFTER_TIMERS_MS: Final = 150
"""The pause in ms before the end of a source whose records wait for processing time."""


class _Delays(KeyedProcessFunction):
    """Emits each record after its own number of ms of processing time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Reading, ctx: KeyedProcessFunction.Context) -> Iterator[Reading]:
        timers = ctx.timer_service()
        due_ms = timers.current_processing_time() + value[1]
        self._waiting.add((due_ms, value))
        timers.register_processing_time_timer(due_ms)
        return iter(())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Reading]:
        waiting: list[tuple[int, Reading]] = list(self._waiting.get() or ())  # type: ignore[arg-type]  # what it added
        self._waiting.update([each for each in waiting if each[0] > timestamp])
        yield from (value for due_ms, value in waiting if due_ms <= timestamp)


@dataclass(frozen=True, slots=True)
class PendingTimers:
    """Keyed records that wait for processing time while checkpoints are taken. The number of a record: its wait in ms."""

    readings: tuple[tuple[Reading, ...], ...]
    gap_ms: int
    recovery: Recovery

    @property
    def settings(self) -> Mapping[str, object]:
        return self.recovery.settings

    def add_to(self, env: StreamExecutionEnvironment) -> DataStream:
        scripts = [
            [
                *(entry for reading in readings for entry in (record(reading), sleep(self.gap_ms))),
                sleep(AFTER_TIMERS_MS),
            ]
            for readings in self.readings
        ]
        read = env.add_source(ScriptedSource(*scripts))
        if env.get_buffer_timeout() < 0:
            # A reading that a buffer holds back until the source ends would have no time for its timer.
            read.set_buffer_timeout(0)
        keyed = read.key_by(_key_of, Types.STRING())
        return _last(keyed.process(_Delays()).set_parallelism(2), self.recovery).set_parallelism(2)

    def expected(self) -> Output:
        return Counter(reading for readings in self.readings for reading in readings)


def _key_of(reading: object) -> str:
    assert isinstance(reading, tuple)
    return str(reading[0])


@dataclass(frozen=True, slots=True)
class SplitsWithIdleness:
    """A source whose splits have watermarks of their own and become idle, before a slow operator.

    ``drift_ms``: the greatest drift of watermark alignment; None: no alignment. ``is_narrow``: so few buffers that the
    source waits for output.
    """

    scripts: tuple[tuple[Entry, ...], ...]
    idle_ms: int | None
    drift_ms: int | None
    cost_us: int
    is_narrow: bool = False

    @property
    def settings(self) -> Mapping[str, object]:
        return {"auto_watermark_interval_ms": 10, **(NARROW_NETWORK if self.is_narrow else {})}

    def add_to(self, env: StreamExecutionEnvironment) -> DataStream:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
        if self.idle_ms is not None:
            strategy = strategy.with_idleness(Duration.of_millis(self.idle_ms))
        if self.drift_ms is not None:
            drift = Duration.of_millis(self.drift_ms)
            strategy = strategy.with_watermark_alignment("parts", drift, Duration.of_millis(10))
        read = env.from_source(ScriptedSource(*self.scripts), strategy, "splits").set_parallelism(len(self.scripts))
        return read.rebalance().map(lambda value: value).cost(Duration.of_nanos(self.cost_us * 1000))

    def expected(self) -> Output:
        return _values(self.scripts)


class _Due(KeyedCoProcessFunction):
    """Emits each record of either input when event time has passed it; a late one at once."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: Reading, ctx: KeyedCoProcessFunction.Context) -> Iterator[Reading]:
        return self._keep(value, ctx)

    def process_element2(self, value: Reading, ctx: KeyedCoProcessFunction.Context) -> Iterator[Reading]:
        return self._keep(value, ctx)

    def _keep(self, value: Reading, ctx: KeyedCoProcessFunction.Context) -> Iterator[Reading]:
        due_ms, timers = ctx.timestamp() or 0, ctx.timer_service()
        if due_ms <= timers.current_watermark():
            yield value
            return
        self._waiting.add((due_ms, value))
        timers.register_event_time_timer(due_ms)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Reading]:
        waiting: list[tuple[int, Reading]] = list(self._waiting.get() or ())  # type: ignore[arg-type]  # what it added
        self._waiting.update([each for each in waiting if each[0] > timestamp])
        yield from (value for due_ms, value in waiting if due_ms <= timestamp)


@dataclass(frozen=True, slots=True)
class TwoInputs:
    """Two scripted sources, idle at times, as the inputs of one keyed operator with event-time timers.

    No source ends while it is idle: it would send no last watermark, and timers would be left.
    """

    first: tuple[tuple[Entry, ...], ...]
    second: tuple[tuple[Entry, ...], ...]

    @property
    def settings(self) -> Mapping[str, object]:
        return {}

    def add_to(self, env: StreamExecutionEnvironment) -> DataStream:
        first, second = (
            env.add_source(ScriptedSource(*scripts)).key_by(_key_of, Types.STRING())
            for scripts in (self.first, self.second)
        )
        return first.connect(second).process(_Due()).set_parallelism(2)

    def expected(self) -> Output:
        return _values((*self.first, *self.second))
