"""For tests of jobs: strategies for data and schedules, assertions about runs, harnesses (``docs/testing.md``).

The strategies need the extra ``testing`` (Hypothesis); importing one without it raises MissingExtra.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowsim.cluster.run_bounds import RunBounds
    from flowsim.faults.catalogue import Fault
    from flowsim.testing.assertions import assert_laws, assert_same_output_for_all_schedules, outputs, per_key_order
    from flowsim.testing.async_calls import Answer, AsyncStep, Reply, Retry, ScriptedCalls
    from flowsim.testing.async_harness import AsyncFunctionHarness
    from flowsim.testing.async_strategies import async_steps
    from flowsim.testing.harness import (
        CollectingOutput,
        Emitted,
        ManualClock,
        MultipleInputOperatorHarness,
        OneInputOperatorHarness,
    )
    from flowsim.testing.job_strategies import async_jobs, random_jobs
    from flowsim.testing.part_strategies import (
        answers_near_timeouts,
        forced_alignments,
        job_parts,
        latency_markers,
        overtaking_barriers,
        pending_timers,
        readers_of_other_widths,
        restored_calls,
        reused_records,
        splits_with_idleness,
        two_inputs,
    )
    from flowsim.testing.parts import (
        AsyncPart,
        JobPart,
        MarkedBroadcast,
        PendingTimers,
        Recovery,
        SlowReader,
        SplitsWithIdleness,
        TwoInputs,
        TwoReaders,
    )
    from flowsim.testing.random_job import RandomJob, SourceStage, Stage
    from flowsim.testing.random_windows import (
        WindowJob,
        aggregates_without_result,
        merging_sessions,
        reactivated_channels,
        window_jobs,
    )
    from flowsim.testing.runs import JobRun, run_job
    from flowsim.testing.schedule import FIFO, Schedule, some_schedules
    from flowsim.testing.strategies import (
        event_streams,
        flat_records,
        job_settings,
        keys,
        network_settings,
        policies,
        scalars,
        schedules,
        scripted_sources,
        seeds,
        timestamps,
        values,
    )

_MODULE_OF = {
    "run_job": "flowsim.testing.runs",
    "JobRun": "flowsim.testing.runs",
    "RunBounds": "flowsim.cluster.run_bounds",
    "assert_laws": "flowsim.testing.assertions",
    "assert_same_output_for_all_schedules": "flowsim.testing.assertions",
    "outputs": "flowsim.testing.assertions",
    "per_key_order": "flowsim.testing.assertions",
    "Schedule": "flowsim.testing.schedule",
    "FIFO": "flowsim.testing.schedule",
    "some_schedules": "flowsim.testing.schedule",
    "OneInputOperatorHarness": "flowsim.testing.harness",
    "MultipleInputOperatorHarness": "flowsim.testing.harness",
    "CollectingOutput": "flowsim.testing.harness",
    "Emitted": "flowsim.testing.harness",
    "ManualClock": "flowsim.testing.harness",
    "AsyncFunctionHarness": "flowsim.testing.async_harness",
    "ScriptedCalls": "flowsim.testing.async_calls",
    "Reply": "flowsim.testing.async_calls",
    "Fault": "flowsim.faults.catalogue",
    "event_streams": "flowsim.testing.strategies",
    "flat_records": "flowsim.testing.strategies",
    "values": "flowsim.testing.strategies",
    "scalars": "flowsim.testing.strategies",
    "keys": "flowsim.testing.strategies",
    "timestamps": "flowsim.testing.strategies",
    "seeds": "flowsim.testing.strategies",
    "policies": "flowsim.testing.strategies",
    "schedules": "flowsim.testing.strategies",
    "scripted_sources": "flowsim.testing.strategies",
    "job_settings": "flowsim.testing.strategies",
    "network_settings": "flowsim.testing.strategies",
    "random_jobs": "flowsim.testing.job_strategies",
    "window_jobs": "flowsim.testing.random_windows",
    "async_steps": "flowsim.testing.async_strategies",
    "async_jobs": "flowsim.testing.job_strategies",
    "RandomJob": "flowsim.testing.random_job",
    "SourceStage": "flowsim.testing.random_job",
    "Stage": "flowsim.testing.random_job",
    "WindowJob": "flowsim.testing.random_windows",
    "AsyncStep": "flowsim.testing.async_calls",
    "Answer": "flowsim.testing.async_calls",
    "Retry": "flowsim.testing.async_calls",
    "job_parts": "flowsim.testing.part_strategies",
    "answers_near_timeouts": "flowsim.testing.part_strategies",
    "latency_markers": "flowsim.testing.part_strategies",
    "reused_records": "flowsim.testing.part_strategies",
    "readers_of_other_widths": "flowsim.testing.part_strategies",
    "aggregates_without_result": "flowsim.testing.random_windows",
    "reactivated_channels": "flowsim.testing.random_windows",
    "merging_sessions": "flowsim.testing.random_windows",
    "forced_alignments": "flowsim.testing.part_strategies",
    "overtaking_barriers": "flowsim.testing.part_strategies",
    "pending_timers": "flowsim.testing.part_strategies",
    "restored_calls": "flowsim.testing.part_strategies",
    "splits_with_idleness": "flowsim.testing.part_strategies",
    "two_inputs": "flowsim.testing.part_strategies",
    "JobPart": "flowsim.testing.parts",
    "AsyncPart": "flowsim.testing.parts",
    "MarkedBroadcast": "flowsim.testing.parts",
    "TwoReaders": "flowsim.testing.parts",
    "SlowReader": "flowsim.testing.parts",
    "PendingTimers": "flowsim.testing.parts",
    "SplitsWithIdleness": "flowsim.testing.parts",
    "TwoInputs": "flowsim.testing.parts",
    "Recovery": "flowsim.testing.parts",
}

__all__ = [
    "run_job",
    "JobRun",
    "RunBounds",
    "assert_laws",
    "assert_same_output_for_all_schedules",
    "outputs",
    "per_key_order",
    "Schedule",
    "FIFO",
    "some_schedules",
    "OneInputOperatorHarness",
    "MultipleInputOperatorHarness",
    "CollectingOutput",
    "Emitted",
    "ManualClock",
    "AsyncFunctionHarness",
    "ScriptedCalls",
    "Reply",
    "Fault",
    "event_streams",
    "flat_records",
    "values",
    "scalars",
    "keys",
    "timestamps",
    "seeds",
    "policies",
    "schedules",
    "scripted_sources",
    "job_settings",
    "network_settings",
    "random_jobs",
    "window_jobs",
    "async_steps",
    "async_jobs",
    "RandomJob",
    "SourceStage",
    "Stage",
    "WindowJob",
    "AsyncStep",
    "Answer",
    "Retry",
    "job_parts",
    "answers_near_timeouts",
    "latency_markers",
    "reused_records",
    "readers_of_other_widths",
    "aggregates_without_result",
    "reactivated_channels",
    "merging_sessions",
    "forced_alignments",
    "overtaking_barriers",
    "pending_timers",
    "restored_calls",
    "splits_with_idleness",
    "two_inputs",
    "JobPart",
    "AsyncPart",
    "MarkedBroadcast",
    "TwoReaders",
    "SlowReader",
    "PendingTimers",
    "SplitsWithIdleness",
    "TwoInputs",
    "Recovery",
]


def __getattr__(name: str) -> object:
    """Imports the module of a public name on its first use, so that pytest starts quickly."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Lists all public names, including those that are not imported yet."""
    return sorted({*globals(), *__all__})
