"""An element is recorded as sent before a task can receive it, also when the writer blocks between channels (rules 5.5, 5.42)."""

from __future__ import annotations

import pytest

from flowsim.cluster.mini_cluster import JobStatus, MiniCluster, RunOptions
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.facts.kinds import Level
from flowsim.faults.faulty_components import with_faults
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.faults import Fault


@pytest.mark.parametrize("edge", ["rebalance", "broadcast"])
@pytest.mark.parametrize("segment_size", [4, 8, 16])
def test_watermark_received_while_other_channel_blocks_is_recorded_as_sent(edge: str, segment_size: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(
        segment_size_bytes=segment_size, overdraft_buffers=0, floating_buffers_per_gate=1, buffer_timeout_ms=0,
        budget_records=1,
    )  # fmt: skip
    source = ScriptedSource([watermark(10**12 + n) for n in range(200)])
    stream = env.add_source(source, "watermarks")
    (stream.rebalance() if edge == "rebalance" else stream.broadcast()).sink_to(CollectSink()).name(
        "sink"
    ).set_parallelism(2)
    recorder = MemoryRecorder(Level.FULL)
    stopped = Fault("stop_task", operator="sink", subtask=1)
    result = MiniCluster(env.stream_graph(), with_faults(RunOptions(recorder=recorder), [stopped])).run()
    assert result.status is JobStatus.STOPPED
    broken = [o for o in check_all(recorder, "stopped") if o.verdict is Verdict.VIOLATED]
    assert broken == []
