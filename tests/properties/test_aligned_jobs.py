"""Aligned sources with random splits: every source finishes, none reads while it is paused, and all laws hold (8.22-8.24)."""

from __future__ import annotations

from bisect import bisect_right

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.examples import examples

SLEEPS = st.builds(sleep, st.sampled_from([1, 40, 150, 600]))


def entries(*splits: str | None) -> st.SearchStrategy[Entry]:
    return st.one_of(
        st.builds(lambda at, split: record("r", at, split=split), st.integers(0, 400), st.sampled_from(splits)), SLEEPS
    )


# As with real readers, a subtask has splits or it has none.
SCRIPT = st.one_of(st.lists(entries(None), max_size=12), st.lists(entries("p", "q"), max_size=12))
SCRIPTS = st.lists(SCRIPT, min_size=1, max_size=2)


@st.composite
def strategies(draw: st.DrawFn) -> WatermarkStrategy:
    made = draw(
        st.sampled_from(
            [
                WatermarkStrategy.for_monotonous_timestamps(),
                WatermarkStrategy.for_each_record(Duration.of_millis(5)),
                WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20)),
            ]
        )
    )
    if draw(st.booleans()):
        made = made.with_idleness(Duration.of_millis(draw(st.sampled_from([100, 500]))))
    drift, interval = draw(st.sampled_from([0, 30, 200])), draw(st.sampled_from([50, 200, 1000]))
    return made.with_watermark_alignment("group", Duration.of_millis(drift), Duration.of_millis(interval))


def run(
    sources: list[tuple[list[list[Entry]], WatermarkStrategy]], samples: int, seed: int
) -> tuple[MemoryRecorder, JobExecutionResult]:  # fmt: skip
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.watermark_alignment_buffer_size = samples
    streams = [
        env.from_source(ScriptedSource(*scripts), strategy, f"source {number}").rebalance()
        for number, (scripts, strategy) in enumerate(sources)
    ]
    streams[0].union(*streams[1:]).sink_to(CollectSink())
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder, policy="random", seed=seed)).run()
    return recorder, result


@given(
    sources=st.lists(st.tuples(SCRIPTS, strategies()), min_size=1, max_size=3), samples=st.sampled_from([0, 1, 3]),
    seed=st.integers(0, 9),
)  # fmt: skip
@settings(max_examples=examples(60))
def test_aligned_sources_finish_and_emit_nothing_while_paused(
    sources: list[tuple[list[list[Entry]], WatermarkStrategy]], samples: int, seed: int
) -> None:
    # A split that is paused just before it is declared idle waits for ever, in Flink too (rule 8.24).
    splits = any("splits" in ScriptedSource(*scripts).params for scripts, _ in sources)
    assume(not splits or all("idle_ms" not in strategy.params for _, strategy in sources))
    recorder, result = run(sources, samples, seed)
    assert result.status is JobStatus.FINISHED
    records = sum(
        type(entry).__name__ == "RecordEntry" for scripts, _ in sources for script in scripts for entry in script
    )
    assert result.records_read == records
    assert not [outcome for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED]
    waits: dict[int, tuple[list[int], list[bool]]] = {}
    for seq, task, _, _, split, paused, limit, compared in sorted(recorder.rows("alignment")):
        if split == -1:
            assert bool(paused) is (compared > limit)
            seqs, states = waits.setdefault(task, ([], []))
            assert bool(paused) is (not states or not states[-1])
            seqs.append(seq)
            states.append(bool(paused))
    for seq, task, _, _, _, kind, _, _, _, _ in recorder.rows("sent"):
        if task in waits and kind == ElementKind.RECORD:
            began = bisect_right(waits[task][0], seq) - 1
            assert began < 0 or not waits[task][1][began]


@given(sources=st.lists(st.tuples(SCRIPTS, strategies()), min_size=1, max_size=2), seed=st.integers(0, 9))
@settings(max_examples=examples(10))
def test_aligned_run_is_deterministic(
    sources: list[tuple[list[list[Entry]], WatermarkStrategy]], seed: int
) -> None:  # fmt: skip
    assert run(sources, 3, seed)[0].facts_digest() == run(sources, 3, seed)[0].facts_digest()
