"""For tests of jobs: strategies for data and schedules, assertions about runs, operators on a bench (``docs/testing.md``).

The strategies need the extra ``testing`` (Hypothesis); asking for one without it raises MissingExtra that says so.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowsim.testing.assertions import (
        assert_laws,
        assert_same_output_for_all_schedules,
        outputs,
        per_key_order,
    )
    from flowsim.testing.async_harness import AsyncFunctionHarness
    from flowsim.testing.async_steps import Answer, AsyncStep, Retry
    from flowsim.testing.async_strategies import async_jobs, async_steps
    from flowsim.testing.harness import OneInputOperatorHarness
    from flowsim.testing.random_job import RandomJob, SourceStage, Stage
    from flowsim.testing.random_windows import WindowJob, window_jobs
    from flowsim.testing.runs import JobRun, run_job
    from flowsim.testing.schedule import FIFO, Schedule, some_schedules
    from flowsim.testing.scripted_calls import Reply, ScriptedCalls
    from flowsim.testing.strategies import (
        event_streams,
        flat_records,
        job_settings,
        keys,
        network_settings,
        policies,
        random_jobs,
        scalars,
        schedules,
        scripted_sources,
        seeds,
        timestamps,
        values,
    )

_HOME = {
    "assertions": ("assert_laws", "assert_same_output_for_all_schedules", "outputs", "per_key_order"),
    "async_harness": ("AsyncFunctionHarness",),
    "async_steps": ("Answer", "AsyncStep", "Retry"),
    "async_strategies": ("async_jobs", "async_steps"),
    "harness": ("OneInputOperatorHarness",),
    "runs": ("JobRun", "run_job"),
    "random_job": ("RandomJob", "SourceStage", "Stage"),
    "random_windows": ("WindowJob", "window_jobs"),
    "scripted_calls": ("Reply", "ScriptedCalls"),
    "schedule": ("FIFO", "Schedule", "some_schedules"),
    "strategies": (
        "event_streams", "flat_records", "job_settings", "keys", "network_settings", "policies", "random_jobs", "scalars",
        "schedules", "scripted_sources",
        "seeds", "timestamps", "values",
    ),
}  # fmt: skip

_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "FIFO",
    "Answer",
    "AsyncFunctionHarness",
    "AsyncStep",
    "JobRun",
    "OneInputOperatorHarness",
    "RandomJob",
    "Reply",
    "Retry",
    "Schedule",
    "ScriptedCalls",
    "SourceStage",
    "Stage",
    "WindowJob",
    "assert_laws",
    "assert_same_output_for_all_schedules",
    "async_jobs",
    "async_steps",
    "event_streams",
    "flat_records",
    "job_settings",
    "keys",
    "network_settings",
    "outputs",
    "per_key_order",
    "policies",
    "random_jobs",
    "run_job",
    "scalars",
    "schedules",
    "scripted_sources",
    "seeds",
    "some_schedules",
    "timestamps",
    "values",
    "window_jobs",
]


def __getattr__(name: str) -> object:
    """Loads what is asked for, and no more: neither pytest's start nor the harness should wait for the rest."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
