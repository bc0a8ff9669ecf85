"""The graph of the model job: its numbers, and the tables that describe it.

source -> map -> filter (2 subtasks)  ==HASH==>  window (2, max_parallelism 8)  --REBALANCE-->  async -> async -> sink,
and late rows -> sink
"""

from __future__ import annotations

import json

from flowsim.facts.kinds import PoolKind
from tests.support.facts.fact_builder import FactBuilder
from tests.support.facts.valid_async import ORDERED, UNORDERED

SIZE_MS, LATENESS_MS, DISORDER_MS = 100, 50, 30
KEYS = {"EWR": (69088, 0), "JFK": (73359, 1), "LGA": (75302, 1)}
"""Java hash code, and the subtask that owns the key at parallelism 2 and max_parallelism 8."""
SOURCES, WINDOWS, SINK, LATE = (0, 1), (2, 3), 4, 5
POOLS = {(0, 0): 0, (1, 0): 1, (2, 1): 2, (2, 2): 3, (3, 1): 4, (3, 2): 5}
"""Output pool by task and edge; task manager 0 has the even tasks, 1 the odd ones."""
EDGE_OF = (0, 0, 0, 0, 1, 1, 2, 2)
ENDS = ((0, 2, 0), (0, 3, 0), (1, 2, 1), (1, 3, 1), (2, 4, 0), (3, 4, 1), (2, 5, 0), (3, 5, 1))
"""Source task, target task and input channel of each channel."""


def operators_of(task: int) -> int:
    """How many operators its chain has."""
    return 3 if task in SOURCES or task == SINK else 1


def subpartition_of(channel: int) -> int:
    return channel % 2 if channel < 4 else 0


def describe_graph(f: FactBuilder) -> None:
    """All description tables but the keys."""
    for task, (vertex, name, subtask, parallelism) in enumerate([
        (0, "source -> map -> filter", 0, 2), (0, "source -> map -> filter", 1, 2), (1, "window", 0, 2),
        (1, "window", 1, 2), (2, "async -> async -> sink", 0, 1), (3, "late", 0, 1),
    ]):  # fmt: skip
        f.add("tasks", task=task, vertex=vertex, name=f"{name} ({subtask + 1}/{parallelism})", subtask=subtask,
              parallelism=parallelism, max_parallelism=8, inputs=int(vertex > 0), task_manager=task % 2)  # fmt: skip
    for manager in (0, 1):
        f.add("task_managers", task_manager=manager, name=f"tm{manager}", segments=100, segment_bytes=64)
    for (task, edge), pool in POOLS.items():
        f.add("pools", pool=pool, task_manager=task % 2, task=task, edge=edge, kind=PoolKind.OUTPUT, required=3,
              maximum=12, overdraft=20, per_channel=10)  # fmt: skip
    for task, edge in ((2, 0), (3, 0), (4, 1), (5, 2)):
        f.add("pools", pool=4 + task + 4, task_manager=task % 2, task=task, edge=edge, kind=PoolKind.INPUT, required=1,
              maximum=8, exclusive=4)  # fmt: skip
    window = {
        "assigner": "tumbling_event_time", "trigger": {"kind": "event_time"}, "size_ms": SIZE_MS, "offset_ms": 0,
        "lateness_ms": LATENESS_MS, "late_output": True, "late_tags": ["late"],
    }  # fmt: skip
    source = {"watermarks": {"kind": "bounded", "bound_ms": DISORDER_MS, "per_record": True}}
    for vertex, operator, kind, params in [
        (0, 0, "source", source), (0, 1, "map", {}), (0, 2, "filter", {}), (1, 0, "window", window),
        (2, 0, "async_wait", ORDERED), (2, 1, "async_wait", UNORDERED), (2, 2, "sink", {}), (3, 0, "sink", {}),
    ]:  # fmt: skip
        f.add("operators", vertex=vertex, operator=operator, name=kind, kind=kind, params=json.dumps(params),
              input_operator=operator - 1)  # fmt: skip
    pipelined = "PIPELINED_BOUNDED"
    f.add("edges", edge=0, exchange=pipelined, source_vertex=0, source_operator=2, target_vertex=1, partitioner="HASH",
          key_type="STRING")  # fmt: skip
    f.add("edges", edge=1, exchange=pipelined, source_vertex=1, target_vertex=2, partitioner="REBALANCE")
    f.add("edges", edge=2, exchange=pipelined, source_vertex=1, target_vertex=3, partitioner="REBALANCE",
          side_output="late")  # fmt: skip
    for channel, (source, target, input_channel) in enumerate(ENDS):
        f.add("channels", channel=channel, edge=EDGE_OF[channel], source_task=source,
              subpartition=subpartition_of(channel), target_task=target, input_channel=input_channel)  # fmt: skip
