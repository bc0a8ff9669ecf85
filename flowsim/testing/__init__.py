"""For tests of jobs: strategies for data and schedules, assertions about runs, harnesses (``docs/testing.md``).

The strategies need the extra ``testing`` (Hypothesis); importing one without it raises MissingExtra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsim.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from flowsim.cluster.run_bounds import RunBounds
    from flowsim.faults.catalogue import Fault
    from flowsim.testing.assertions import assert_laws, assert_same_output_for_all_schedules, outputs, per_key_order
    from flowsim.testing.async_calls import Answer, AsyncStep, Reply, Retry, ScriptedCalls
    from flowsim.testing.async_harness import AsyncFunctionHarness
    from flowsim.testing.async_strategies import async_steps
    from flowsim.testing.drawing.drawn_scenario import DrawnScenario
    from flowsim.testing.drawing.families import FAMILIES, numbered_scenario, register_part
    from flowsim.testing.drawing.features import FEATURES
    from flowsim.testing.explored_tests import explore
    from flowsim.testing.harness import (
        CollectingOutput,
        Emitted,
        ManualClock,
        MultipleInputOperatorHarness,
        OneInputOperatorHarness,
    )
    from flowsim.testing.programs import run_program
    from flowsim.testing.runs import JobRun, run_job
    from flowsim.testing.scenario_strategies import async_jobs, random_jobs, scenarios, window_jobs
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
    "run_program": "flowsim.testing.programs",
    "JobRun": "flowsim.testing.runs",
    "RunBounds": "flowsim.cluster.run_bounds",
    "assert_laws": "flowsim.testing.assertions",
    "assert_same_output_for_all_schedules": "flowsim.testing.assertions",
    "outputs": "flowsim.testing.assertions",
    "per_key_order": "flowsim.testing.assertions",
    "Schedule": "flowsim.testing.schedule",
    "FIFO": "flowsim.testing.schedule",
    "some_schedules": "flowsim.testing.schedule",
    "explore": "flowsim.testing.explored_tests",
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
    "scenarios": "flowsim.testing.scenario_strategies",
    "numbered_scenario": "flowsim.testing.drawing.families",
    "register_part": "flowsim.testing.drawing.families",
    "FAMILIES": "flowsim.testing.drawing.families",
    "FEATURES": "flowsim.testing.drawing.features",
    "DrawnScenario": "flowsim.testing.drawing.drawn_scenario",
    "random_jobs": "flowsim.testing.scenario_strategies",
    "window_jobs": "flowsim.testing.scenario_strategies",
    "async_steps": "flowsim.testing.async_strategies",
    "async_jobs": "flowsim.testing.scenario_strategies",
    "AsyncStep": "flowsim.testing.async_calls",
    "Answer": "flowsim.testing.async_calls",
    "Retry": "flowsim.testing.async_calls",
}

__all__ = [
    "run_job",
    "run_program",
    "JobRun",
    "RunBounds",
    "assert_laws",
    "assert_same_output_for_all_schedules",
    "outputs",
    "per_key_order",
    "Schedule",
    "FIFO",
    "some_schedules",
    "explore",
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
    "scenarios",
    "numbered_scenario",
    "register_part",
    "FAMILIES",
    "FEATURES",
    "DrawnScenario",
    "random_jobs",
    "window_jobs",
    "async_steps",
    "async_jobs",
    "AsyncStep",
    "Answer",
    "Retry",
]

__getattr__, __dir__ = _lazy_names(__name__, _MODULE_OF)
