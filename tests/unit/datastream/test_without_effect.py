"""Calls that change a job on Flink only: accepted with a warning that names the program's line, or refused."""

from __future__ import annotations

import warnings

import pytest

from flowsim.datastream import RuntimeExecutionMode, StreamExecutionEnvironment, WithoutEffect
from flowsim.datastream.functions import AsyncFunction, AsyncRetryStrategy, BroadcastProcessFunction
from flowsim.datastream.state import BroadcastState, MapState, ValueState
from flowsim.errors import BadInput


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("add_jars", ("file:///kafka.jar", "file:///json.jar")),
        ("add_classpaths", ("file:///classes",)),
        ("add_python_archive", ("venv.zip", "venv")),
        ("set_python_requirements", ("requirements.txt",)),
        ("set_python_executable", ("/usr/bin/python3",)),
        ("set_default_savepoint_directory", ("file:///savepoints",)),
    ],
)
def test_call_without_effect_warns_with_the_line_of_its_caller(method: str, arguments: tuple[str, ...]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.warns(WithoutEffect, match=f"^{method}: no effect in flowsim: ") as noted:
        getattr(env, method)(*arguments)
    assert [one.filename for one in noted] == [__file__]


def test_runtime_mode_is_checked() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in RuntimeExecutionMode:
            assert env.set_runtime_mode(mode) is env
    with pytest.raises(BadInput, match="expected a RuntimeExecutionMode, got 'BATCH'"):
        env.set_runtime_mode("BATCH")  # type: ignore[arg-type]


def test_description_changes_nothing() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    mapped = env.from_collection([1]).map(lambda value: value + 1).name("plus one")
    assert mapped.set_description("adds one") is mapped
    assert mapped.get_name() == "plus one"
    assert list(mapped.execute_and_collect()) == [2]


def test_classes_of_pyflink_that_are_generic_take_type_arguments() -> None:
    class Lookup(AsyncFunction[int, str]):
        async def async_invoke(self, value: int) -> list[str]:
            return [str(value)]

    class Joined(BroadcastProcessFunction[int, str, str]):
        def process_element(self, value: object, ctx: object) -> None: ...
        def process_broadcast_element(self, value: object, ctx: object) -> None: ...

    assert (Lookup.__mro__[1], Joined.__mro__[1]) == (AsyncFunction, BroadcastProcessFunction)
    for generic in (ValueState[int], MapState[str, int], BroadcastState[str, int], AsyncRetryStrategy[str]):
        assert generic.__origin__.__name__ in repr(generic)
