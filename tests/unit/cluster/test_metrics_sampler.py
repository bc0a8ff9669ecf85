"""The metrics of running jobs (section 13): when they are sampled, that they do not change the run, and their values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.connectors.script import record, sleep
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FACT_TABLES, METRICS
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.tasks.task_metrics import MetricsSample
from flowsim.units import NS_PER_MS
from tests.support.faults import Fault
from tests.support.jobs.small_jobs import Arrivals, SmallJob

Samples = dict[int, list[tuple[int, MetricsSample]]]
"""Per task: time since the start in ns, and the sample."""


def pipeline(interval_ms: int, **settings: object) -> tuple[SmallJob, Arrivals]:
    """Two sources over a shuffle into two slow maps, and on into one sink, in little network memory."""
    job = SmallJob(metrics_interval_ms=interval_ms, segment_size_bytes=128, budget_records=16, **settings)
    source = job.values(lambda subtask: range(subtask, 3000, 2), parallelism=2, cost_ns=10_000)
    slow = job.map(source, lambda value: value, by="SHUFFLE", parallelism=2, chain=False, cost_ns=100_000)
    return job, job.sink(slow, by="REBALANCE", cost_ns=5_000)


def recorded(job: SmallJob, level: Level = Level.FULL, **options: object) -> tuple[JobExecutionResult, MemoryRecorder]:
    recorder = MemoryRecorder(level)
    return job.run(recorder=recorder, **options), recorder


def samples_of(recorder: MemoryRecorder) -> Samples:
    found: Samples = {}
    for row in recorder.rows("metrics"):
        _, task, time_ns, *gauges = row
        found.setdefault(task, []).append((time_ns - START_NS, MetricsSample(*gauges)))
    return found


def without_samples(recorder: MemoryRecorder) -> dict[str, list[tuple[int, ...]]]:
    """All facts but the samples, each without the sequence number in which samples take part."""
    rows = {}
    for table in FACT_TABLES:
        if table is not METRICS:
            first = 1 if table.names[0] == "seq" else 0
            rows[table.name] = [tuple(row[first:]) for row in recorder.rows(table.name)]
    return rows


@pytest.fixture(scope="module")
def sampled() -> tuple[JobExecutionResult, MemoryRecorder]:
    job, _ = pipeline(10)
    return recorded(job)


def every(samples: Samples) -> Iterator[MetricsSample]:
    for series in samples.values():
        for _, sample in series:
            yield sample


@pytest.mark.parametrize("policy", ["fifo", "random"])
def test_metrics_interval_does_not_change_run(policy: str) -> None:
    runs = []
    for interval_ms in (0, 1, 10, 5000):
        job, arrivals = pipeline(interval_ms)
        result, recorder = recorded(job, policy=policy, seed=5)
        runs.append((result.elapsed_ns, arrivals.records, without_samples(recorder)))

    assert all(run == runs[0] for run in runs)


def test_task_is_sampled_every_interval_and_at_end(
    sampled: tuple[JobExecutionResult, MemoryRecorder],
) -> None:
    result, recorder = sampled
    samples = samples_of(recorder)

    assert sorted(samples) == [0, 1, 2, 3, 4]
    for task, series in samples.items():
        times = [at_ns // (10 * NS_PER_MS) for at_ns, _ in series[:-1]]
        assert times == list(range(1, len(times) + 1)), f"task {task}"
        assert len(times) > 5
        assert series[-1][1] == result.tasks[task].last_sample


def test_interval_zero_samples_only_end_of_tasks() -> None:
    job, _ = pipeline(0)

    result, recorder = recorded(job)

    assert {task: len(series) for task, series in samples_of(recorder).items()} == dict.fromkeys(range(5), 1)
    slow = result.tasks[2].last_sample
    assert slow is not None
    assert slow.busy_ms > 900


def test_run_without_recorder_has_last_samples() -> None:
    job, _ = pipeline(10)

    result = job.run()

    assert all(task.last_sample is not None for task in result.tasks)


def test_result_has_highest_sampled_pool_usage(
    sampled: tuple[JobExecutionResult, MemoryRecorder],
) -> None:
    result, recorder = sampled
    for task, series in samples_of(recorder).items():
        highest, while_it_ran = result.tasks[task], series[:-1]
        assert highest.input_pool_usage_peak == max(sample.input_pool_usage for _, sample in while_it_ran)
        assert highest.output_pool_usage_peak == max(sample.output_pool_usage for _, sample in while_it_ran)
    assert max(task.input_pool_usage_peak or 0 for task in result.tasks) > 0
    assert max(task.output_pool_usage_peak or 0 for task in result.tasks) > 0


def test_pools_never_sampled_have_no_highest_usage() -> None:
    job, _ = pipeline(5_000)
    assert {task.output_pool_usage_peak for task in job.run().tasks} == {None}


def test_busy_idle_and_back_pressured_times_sum_to_one_second(
    sampled: tuple[JobExecutionResult, MemoryRecorder],
) -> None:
    """I13.a."""
    for sample in every(samples_of(sampled[1])):
        assert sample.busy_ms + sample.idle_ms + sample.soft_ms + sample.hard_ms == 1000


def test_producers_records_out_equal_consumers_records_in(sampled: tuple[JobExecutionResult, MemoryRecorder]) -> None:
    """I13.b."""
    last = [task.last_sample for task in sampled[0].tasks]
    out = [sample.records_out for sample in last if sample is not None]
    read = [sample.records_in for sample in last if sample is not None]

    assert out[0] + out[1] == read[2] + read[3] == 3000
    assert out[2] + out[3] == read[4] == 3000


def test_pool_usage_is_between_zero_and_one_and_full_when_blocked(
    sampled: tuple[JobExecutionResult, MemoryRecorder],
) -> None:
    """I13.c; and the outputs of blocked sources are full."""
    samples = samples_of(sampled[1])

    assert all(0 <= sample.input_pool_usage <= 1_000_000 for sample in every(samples))
    assert max(sample.input_pool_usage for _, sample in samples[2]) > 0
    assert max(sample.output_pool_usage for _, sample in samples[0]) > 500_000


def test_ended_task_uses_no_input_buffers(sampled: tuple[JobExecutionResult, MemoryRecorder]) -> None:
    """Its channels are released and have no exclusive buffers any more, which are not in use for that."""
    last = [task.last_sample for task in sampled[0].tasks]
    assert [sample.input_pool_usage for sample in last if sample is not None] == [0, 0, 0, 0, 0]


def test_counters_and_watermarks_never_decrease(sampled: tuple[JobExecutionResult, MemoryRecorder]) -> None:
    """I13.d."""
    for series in samples_of(sampled[1]).values():
        for (_, before), (_, after) in pairwise(series):
            for gauge in (
                "input_watermark",
                "output_watermark",
                "records_in",
                "records_out",
                "buffers_out",
                "bytes_out",
            ):
                assert getattr(before, gauge) <= getattr(after, gauge)


def test_slow_task_is_busy_and_back_pressures_producers(sampled: tuple[JobExecutionResult, MemoryRecorder]) -> None:
    samples = samples_of(sampled[1])
    middle = len(samples[2]) // 2

    assert samples[2][middle][1].busy_ms >= 950
    assert samples[0][middle][1].soft_ms >= 500
    assert samples[2][middle][1].input_queue > 0
    assert samples[4][middle][1].idle_ms >= 500


def test_back_pressure_level_follows_share_of_whole_run(
    sampled: tuple[JobExecutionResult, MemoryRecorder],
) -> None:
    source, _, slow, _, sink = sampled[0].tasks

    assert (source.back_pressure_level, slow.back_pressure_level, sink.back_pressure_level) == ("HIGH", "OK", "OK")


def test_sampling_does_not_keep_stopped_run_alive() -> None:
    job, _ = pipeline(1)

    stopped, recorder = recorded(job, Level.ELEMENTS, faults=(Fault("stop_task", operator="map", at=10),))

    assert stopped.status is JobStatus.STOPPED
    assert stopped.elapsed_ns < 1_000_000_000
    assert max(at_ns for series in samples_of(recorder).values() for at_ns, _ in series) == stopped.elapsed_ns


def test_idle_stretch_is_sampled_for_one_ring_only() -> None:
    job = SmallJob(metrics_interval_ms=10)
    source = job.script([record(1), sleep(10_000), record(2)])
    job.sink(source, by="REBALANCE", parallelism=1)

    result, recorder = recorded(job)

    assert result.elapsed_ns > 10_000_000_000
    for series in samples_of(recorder).values():
        assert 12 <= len(series) <= 30
        assert series[11][1].idle_ms >= 990


def test_real_clock_samples_by_its_own_timers() -> None:
    job = SmallJob(metrics_interval_ms=1)
    source = job.values(lambda _: range(20_000))
    job.sink(source, by="REBALANCE")

    result, recorder = recorded(job, Level.ELEMENTS, clock="real")

    assert result.status is JobStatus.FINISHED
    for sample in every(samples_of(recorder)):
        assert sample.busy_ms + sample.idle_ms + sample.soft_ms + sample.hard_ms == 1000


@pytest.mark.parametrize("task_managers", ["each", "one"])
def test_queued_buffer_counter_equals_queued_buffers(task_managers: str) -> None:
    """What a batch asks for in one step, counted buffer by buffer at the end of every batch."""
    job, _ = pipeline(0, task_managers=task_managers)
    longest = 0

    def compare(_: object) -> None:
        nonlocal longest
        deployment = cluster.deployment
        assert deployment is not None
        for task in deployment.tasks:
            for writer in task.writers:
                partition = writer.partition
                there = sum(
                    len(subpartition.buffers)
                    for subpartition in map(partition.subpartition, range(partition.count))
                    if isinstance(subpartition, PipelinedSubpartition)
                )
                assert partition.queued_buffers == there
            for _, gate in deployment.network.gates_of(task.id):
                waiting = sum(channel.queued_buffers for channel in gate.created_channels)
                assert gate.queued_buffers == waiting
                longest = max(longest, waiting)

    cluster = job.cluster(on_progress=compare)
    assert cluster.run().status is JobStatus.FINISHED
    assert longest > 2
