"""flowsim simulates Apache Flink 2.3.0 task graphs with asyncio actors, records what happens, and judges the recording.

``docs/api.md`` lists the supported names of this package and of ``flowsim.datastream``, ``flowsim.connectors``,
``flowsim.simulation`` and ``flowsim.testing``; every other module is internal. A name is loaded when it is first used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flowsim.compiled_modules import install as _load_compiled_modules
from flowsim.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from flowsim.api import open_recording, report_recording, run_scenario, validate_recording
    from flowsim.datastream.environment import StreamExecutionEnvironment
    from flowsim.distribution import __version__
    from flowsim.errors import (
        BadInput,
        Deadlock,
        FlowsimError,
        InvariantViolation,
        JobFailed,
        MissingExtra,
        ScenarioError,
    )
    from flowsim.export.plots import plot_event_time, plot_queues
    from flowsim.limits import Limits
    from flowsim.report.inline import RecordingReport
    from flowsim.trace.run_trace import Trace
    from flowsim.why.asked_recording import Recording
    from flowsim.why.explanation import Explanation

_MODULE_OF = {
    "run_scenario": "flowsim.api",
    "validate_recording": "flowsim.api",
    "open_recording": "flowsim.api",
    "report_recording": "flowsim.api",
    "plot_event_time": "flowsim.export.plots",
    "plot_queues": "flowsim.export.plots",
    "Recording": "flowsim.why.asked_recording",
    "Explanation": "flowsim.why.explanation",
    "Trace": "flowsim.trace.run_trace",
    "RecordingReport": "flowsim.report.inline",
    "StreamExecutionEnvironment": "flowsim.datastream.environment",
    "FlowsimError": "flowsim.errors",
    "BadInput": "flowsim.errors",
    "ScenarioError": "flowsim.errors",
    "JobFailed": "flowsim.errors",
    "Deadlock": "flowsim.errors",
    "InvariantViolation": "flowsim.errors",
    "MissingExtra": "flowsim.errors",
    "Limits": "flowsim.limits",
    "__version__": "flowsim.distribution",
}

__all__ = [
    "run_scenario",
    "validate_recording",
    "open_recording",
    "report_recording",
    "plot_event_time",
    "plot_queues",
    "Recording",
    "Explanation",
    "Trace",
    "RecordingReport",
    "StreamExecutionEnvironment",
    "FlowsimError",
    "BadInput",
    "ScenarioError",
    "JobFailed",
    "Deadlock",
    "InvariantViolation",
    "MissingExtra",
    "Limits",
    "__version__",
]


_load_compiled_modules(Path(__file__).resolve().parent)

__getattr__, __dir__ = _lazy_names(__name__, _MODULE_OF)
