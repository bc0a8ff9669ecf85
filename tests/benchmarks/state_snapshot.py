"""Time and size of a snapshot of many keys: ``python -m tests.benchmarks.state_snapshot [keys]``."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from flowsim.checkpoints.storage.stream_store import StreamStore
from flowsim.operators.functions.grouped_reduce import GroupedReduceOperator
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.windowing.aligned_window_operator import create_window_operator
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.window_contents import ReducingContents
from flowsim.operators.windowing.window_functions import PassThroughWindowFunction
from flowsim.state.snapshots.stored_streams import size_of_stream
from tests.support.operators.restored_subtasks import Keyed, Subtasks

R = TypeVar("R")


def add(first: object, second: object) -> object:
    return (first[0], first[1] + second[1])  # type: ignore[index]


def window() -> KeyedOperator:
    assigner = TumblingEventTimeWindows(1000, 0)
    return create_window_operator(assigner, ReducingContents(add), PassThroughWindowFunction())


def timed(what: str, call: Callable[[], R]) -> R:
    started = time.perf_counter()
    result = call()
    print(f"  {what:<28} {time.perf_counter() - started:6.2f} s")
    return result


def measure(name: str, operator: Callable[[], StreamOperator], keys: int) -> None:
    kind = Keyed(operator, (lambda value: value[0],), "STRING", 128)  # type: ignore[index]
    streams = StreamStore()
    subtasks = Subtasks(kind, 1)
    subtasks.open(streams)
    for key in range(keys):
        subtasks.harnesses[0].process_element((f"key-{key}", key), 5)
    print(f"{name}, {keys:,} keys")
    cells, timers = timed("copies (synchronous part)", subtasks.harnesses[0].operator.snapshot_keyed_state)
    size = timed("size", lambda: sum(size_of_stream(each) for each in (cells, timers) if each is not None))
    print(f"  {'encoded values':<28} {size / 1e6:6.1f} MB")
    timed("copies, restored by 2 subtasks", lambda: subtasks.restored(2, streams))


if __name__ == "__main__":
    gc.disable()
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    measure("reduction", lambda: GroupedReduceOperator(add), number)
    measure("tumbling window", window, number)
