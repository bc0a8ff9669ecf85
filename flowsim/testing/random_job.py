"""Jobs as data: a strategy draws them, a test prints them, and a batch model computes their output without a run.

A ``RandomJob`` is a small acyclic graph of sources and stages over numbers. ``build`` makes the job with the DataStream
API. ``expected`` computes the values at every end from the meaning of the operators and partitioners alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream.common import Types
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.datastream.functions import CoMapFunction, KeyedProcessFunction
from flowsim.datastream.partitioning import partitioned
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.errors import BadInput
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.testing.parts import JobPart

Number = int

Partitioning = Literal["default", "forward", "rebalance", "rescale", "shuffle", "broadcast", "global", "custom", "hash"]
"""The partitioner of a stage; ``default`` sets none, so Flink decides (rule 1.1). Only ``hash`` gives a keyed stream."""

Kind = Literal["map", "flat_map", "filter", "count", "co_map"]
"""The operator of a stage; ``count`` needs a keyed stream, ``co_map`` a second input."""

PARTITIONINGS: Final[tuple[Partitioning, ...]] = get_args(Partitioning)
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_KEYS: Final = 5


@dataclass(frozen=True, slots=True)
class SourceStage:
    """A source: the numbers of each subtask, and the pause of each subtask between two numbers."""

    numbers: tuple[tuple[Number, ...], ...]
    gap_ms: int = 1

    @property
    def parallelism(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, slots=True)
class Stage:
    """An operator after a partitioner. ``inputs``: positions of earlier stages or sources; several are united.

    ``fan_out``: the number of outputs per input of ``flat_map``. ``second``: the second input of ``co_map``, with the
    same partitioner.
    """

    inputs: tuple[int, ...]
    partitioning: Partitioning
    kind: Kind
    parallelism: int
    fan_out: int = 1
    chained: bool = True
    second: tuple[int, ...] = ()

    @property
    def reads(self) -> tuple[int, ...]:
        """The positions of all stages and sources that either input reads."""
        return (*self.inputs, *self.second)


@dataclass(frozen=True, slots=True)
class RandomJob:
    """The sources, then the stages of a job; the positions of ``Stage.inputs`` count both.

    Raises BadInput for an impossible job.
    """

    sources: tuple[SourceStage, ...]
    stages: tuple[Stage, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    parts: tuple[JobPart, ...] = ()
    """Other streams of the job; their settings take precedence, the last ones first."""

    def __post_init__(self) -> None:
        for position, stage in enumerate(self.stages, len(self.sources)):
            name = name_of(position)
            if not stage.inputs or any(not 0 <= source < position for source in stage.reads):
                raise BadInput(f"{name}: expected earlier stages as inputs, got {stage.reads}")
            if bool(stage.second) is not (stage.kind == "co_map"):
                raise BadInput(
                    f"{name}: co_map has a second input and nothing else has, got {stage.kind}, {stage.second}"
                )
            if stage.kind == "count" and stage.partitioning != "hash":
                raise BadInput(f"{name}: count needs the partitioning hash, got {stage.partitioning}")
            if stage.partitioning == "forward":
                for source in stage.reads:
                    if self._parallelism(source) != stage.parallelism:
                        raise BadInput(f"{name}: forward needs equal parallelism on both sides")

    @property
    def ends(self) -> tuple[str, ...]:
        """The names of the stages and parts whose output is determined: of the stages, those without readers.

        A source without readers does not run.
        """
        read = {source for stage in self.stages for source in stage.reads}
        count = len(self.sources) + len(self.stages)
        stages = (name_of(position) for position in range(len(self.sources), count) if position not in read)
        return *stages, *(name for name, part in self.named_parts.items() if part.expected() is not None)

    @property
    def named_parts(self) -> dict[str, JobPart]:
        """The parts by the names of their last operators: ``p0``, ``p1``, ..."""
        return {f"p{position}": part for position, part in enumerate(self.parts)}

    def build(self) -> StreamExecutionEnvironment:
        """Builds the job; ``name_of`` gives the name of every source and stage."""
        settings = dict(self.settings)
        for part in self.parts:
            settings |= part.settings
        env = StreamExecutionEnvironment.get_execution_environment().configure(None, **settings)
        streams: list[DataStream] = [self._source(env, position) for position in range(len(self.sources))]
        for position, stage in enumerate(self.stages, len(self.sources)):
            first = _partitioned(_united([streams[source] for source in stage.inputs]), stage)
            if stage.second:
                second = _partitioned(_united([streams[source] for source in stage.second]), stage)
                made = first.connect(second).map(_CoMap())
            else:
                made = _operator(first, stage)
            made = made.set_parallelism(stage.parallelism).name(name_of(position))
            streams.append(made if stage.chained else made.disable_chaining())
        for name, part in self.named_parts.items():
            part.add_to(env).name(name)
        return env

    def expected(self) -> dict[str, Counter[Any]]:
        """Returns the expected count of each number, or value of a part, at each of ``ends``."""
        values: list[Counter[Number]] = [
            Counter(number for subtask in source.numbers for number in subtask) for source in self.sources
        ]
        for stage in self.stages:
            arriving, second = (
                _arriving([values[source] for source in sources], stage) for sources in (stage.inputs, stage.second)
            )
            values.append(_co_mapped(arriving, second) if stage.second else _batch(arriving, stage))
        found: dict[str, Counter[Any] | None] = {name_of(position): made for position, made in enumerate(values)}
        found |= {name: part.expected() for name, part in self.named_parts.items()}
        return {name: made for name, made in found.items() if name in self.ends and made is not None}

    def _parallelism(self, position: int) -> int:
        sources = len(self.sources)
        return (self.sources[position] if position < sources else self.stages[position - sources]).parallelism

    def _source(self, env: StreamExecutionEnvironment, position: int) -> DataStream:
        source = self.sources[position]
        scripts = [[record(number, None) for number in numbers] for numbers in source.numbers]
        return env.add_source(ScriptedSource(*scripts, gap_ms=source.gap_ms)).name(name_of(position))


def name_of(position: int) -> str:
    """Returns the name of the source or stage at a position: ``s0``, ``s1``, ..."""
    return f"s{position}"


class _Count(KeyedProcessFunction):
    """Emits the number of records of the key so far, times ten, plus the key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> Iterator[Number]:
        count = _number(self.count.value() or 0) + 1
        self.count.update(count)
        yield count * 10 + _key(value)


def _key(value: object) -> int:
    return _number(value) % _KEYS


def _number(value: object) -> Number:
    if not isinstance(value, int):
        raise BadInput(f"random jobs process integers, got {value!r:.40}")
    return value


class _CoMap(CoMapFunction):
    """Applies ``map``'s function to numbers of the first input; negates those of the second."""

    def map1(self, value: object) -> Number:
        return _mapped(value)

    def map2(self, value: object) -> Number:
        return -_number(value) - 1


def _united(streams: Sequence[DataStream]) -> DataStream:
    first, *others = streams
    return first.union(*others) if others else first


def _partitioned(stream: DataStream, stage: Stage) -> DataStream:
    match stage.partitioning:
        case "default":
            return stream
        case "custom":
            return stream.partition_custom(lambda key, count: _number(key) % count, _key)
        case "hash":
            return stream.key_by(_key)
        case _:
            return partitioned(stream, stage.partitioning)


def _operator(stream: DataStream, stage: Stage) -> DataStream:
    match stage.kind:
        case "map":
            return stream.map(_mapped)
        case "flat_map":
            return stream.flat_map(lambda value: _fanned(value, stage.fan_out))
        case "filter":
            return stream.filter(_kept)
        case "co_map":
            raise BadInput(f"{stage.kind} has more than one input")
        case "count":
            return stream.process(_Count())  # type: ignore[arg-type]  # the stream of a counting stage is keyed


def _mapped(value: object) -> Number:
    return (_number(value) * 7 + 1) % 1009


def _fanned(value: object, fan_out: int) -> Iterable[Number]:
    return [_number(value) + step for step in range(fan_out)]


def _kept(value: object) -> bool:
    return _number(value) % 3 != 0


def _arriving(sources: Iterable[Counter[Number]], stage: Stage) -> Counter[Number]:
    """Returns the numbers that reach one input of a stage, over all its subtasks."""
    arriving: Counter[Number] = Counter()
    for source in sources:
        arriving.update(source)
    copies = stage.parallelism if stage.partitioning == "broadcast" else 1
    return Counter({number: count * copies for number, count in arriving.items()})


def _co_mapped(first: Counter[Number], second: Counter[Number]) -> Counter[Number]:
    made: Counter[Number] = Counter()
    for number, count in first.items():
        made[_mapped(number)] += count
    for number, count in second.items():
        made[-number - 1] += count
    return made


def _batch(arriving: Counter[Number], stage: Stage) -> Counter[Number]:
    """Returns the output of a stage for a bag of numbers."""
    made: Counter[Number] = Counter()
    match stage.kind:
        case "map":
            for number, count in arriving.items():
                made[_mapped(number)] += count
        case "flat_map":
            for number, count in arriving.items():
                for fanned in _fanned(number, stage.fan_out):
                    made[fanned] += count
        case "filter":
            made.update({number: count for number, count in arriving.items() if _kept(number)})
        case "count":
            per_key: Counter[Number] = Counter()
            for number, count in arriving.items():
                per_key[_key(number)] += count
            for key, count in per_key.items():
                made.update(step * 10 + key for step in range(1, count + 1))
    return made
