"""The operator that emits a value outside the closed set refuses it, before a chain and before a channel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import AsyncDataStream, AsyncFunction, DataStream, OutputTag, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.datastream.functions import KeyedProcessFunction, ProcessFunction
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.errors import JobFailed, ValueNotAllowed
from flowsim.legacy.source_function import SourceContext, SourceFunction
from flowsim.operators.functions.process import ProcessContext
from flowsim.values.row import Row

Environment = StreamExecutionEnvironment
Build = Callable[[Environment, object], DataStream]
"""A job in which one operator emits the value; the stream behind that operator."""

REFUSED = [lambda: 1, "\ud800", (1, {lambda: 1}), ("a", "\udfff"), {"k": lambda: 1}, Row.of([1], ["\ud800"])]
SIDE = OutputTag("side")


def keyed(env: Environment) -> DataStream:
    source = ScriptedSource([record("a", 1), record("b", 2)])
    return env.add_source(source, "source")


def collection(env: Environment, value: object) -> DataStream:
    return env.from_collection([1, value, 3])


def script(env: Environment, value: object) -> DataStream:
    return env.add_source(ScriptedSource([record(1), record(value)]), "source")


class _Loop(SourceFunction):
    def __init__(self, value: object) -> None:
        self.value = value

    def run(self, ctx: SourceContext) -> None:
        ctx.collect(self.value)

    def cancel(self) -> None:
        """It is over soon."""


def source_function(env: Environment, value: object) -> DataStream:
    return env.add_source(_Loop(value), "source")


def map_(env: Environment, value: object) -> DataStream:
    return env.from_collection([1]).map(lambda _: value)


def filter_behind_a_map(env: Environment, value: object) -> DataStream:
    return env.from_collection([1]).map(lambda _: value).filter(lambda _: True)


def flat_map(env: Environment, value: object) -> DataStream:
    return env.from_collection([1]).flat_map(lambda _: [value])


class _Process(ProcessFunction):
    def __init__(self, value: object) -> None:
        self.value = value

    def process_element(self, value: object, ctx: ProcessContext) -> Iterator[object]:
        yield self.value


class _Side(ProcessFunction):
    def __init__(self, value: object) -> None:
        self.value = value

    def process_element(self, value: object, ctx: ProcessContext) -> Iterator[object]:
        yield SIDE, self.value


def process(env: Environment, value: object) -> DataStream:
    return env.from_collection([1]).process(_Process(value))


def side_output(env: Environment, value: object) -> DataStream:
    return env.from_collection([1]).process(_Side(value)).get_side_output(SIDE)


class _OnTimer(KeyedProcessFunction):
    def __init__(self, value: object) -> None:
        self.value = value

    def process_element(self, value: object, ctx: ProcessContext) -> None:
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> list[object]:
        return [self.value]


def timer(env: Environment, value: object) -> DataStream:
    return keyed(env).key_by(lambda _: 0).process(_OnTimer(value))


def reduce_(env: Environment, value: object) -> DataStream:
    return keyed(env).key_by(lambda _: 0).reduce(lambda first, second: value)


def window(env: Environment, value: object) -> DataStream:
    windows = TumblingEventTimeWindows.of(Duration.of_millis(10))
    return keyed(env).key_by(lambda _: 0).window(windows).reduce(lambda first, second: value)


class _Async(AsyncFunction):
    def __init__(self, value: object) -> None:
        self.value = value

    async def async_invoke(self, value: object) -> list[object]:
        return [self.value]


def async_results(env: Environment, value: object) -> DataStream:
    return AsyncDataStream.unordered_wait(env.from_collection([1]), _Async(value), Duration.of_millis(100))


BUILDS: list[Build] = [
    collection, script, source_function, map_, filter_behind_a_map, flat_map, process, side_output, timer, reduce_, window,
    async_results,
]  # fmt: skip


def failure(build: Build, value: object, *, chained: bool, object_reuse: bool = False) -> JobFailed | None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(operator_chaining=chained, object_reuse=object_reuse)
    build(env, value).sink_to(CollectSink())
    try:
        env.execute()
    except JobFailed as failed:
        return failed
    return None


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: ascii(value).partition(" at ")[0])
@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
def test_chain_and_channel_refuse_value_of_same_operator(build: Build, value: object) -> None:
    in_chain, at_channel = failure(build, value, chained=True), failure(build, value, chained=False)
    assert in_chain is not None
    assert at_channel is not None
    assert isinstance(in_chain.cause, ValueNotAllowed)
    assert in_chain.operator is not None
    assert (in_chain.operator, str(in_chain.cause)) == (at_channel.operator, str(at_channel.cause))


def test_message_names_operator_that_emitted_value() -> None:
    failed = failure(filter_behind_a_map, (1, Lock()), chained=True)
    assert failed is not None
    assert failed.operator == "Map"
    assert str(failed.cause).startswith("value[1]: _thread.lock is not a record value")


def test_object_reuse_checks_values_only_at_channels() -> None:
    """It hands on the object itself, so nothing walks it: the setting is for those who know what their chains carry."""
    assert failure(map_, Lock(), chained=True, object_reuse=True) is None
    refused = failure(map_, Lock(), chained=False, object_reuse=True)
    assert refused is not None
    assert refused.operator == "Map"
