"""A job whose only task with two channels becomes idle while its channels have different watermarks."""

from __future__ import annotations

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, idle, record, sleep, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.graph.stream_graph import StreamGraph


def idle_channels() -> StreamGraph:
    """The channel with the lower watermark becomes idle last."""
    env = StreamExecutionEnvironment.get_execution_environment()
    ahead = env.add_source(ScriptedSource([record(1, 5), watermark(20), idle()]), "ahead")
    behind = env.add_source(ScriptedSource([watermark(10), sleep(500), idle()]), "behind")
    ahead.union(behind).map(lambda number: number).name("both").sink_to(CollectSink())
    return env.stream_graph()
