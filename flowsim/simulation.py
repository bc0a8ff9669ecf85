"""Features of flowsim that PyFlink does not have: network settings, actions, failures, checkpoints, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsim.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsCounts
    from flowsim.cluster.failures import FailAnyTask, FailTask, LoseJobManager, LoseTaskManager
    from flowsim.cluster.job_execution import (
        HandledFailure,
        JobExecutionResult,
        JobStatus,
        LatencySummary,
        RunOptions,
        TaskAttempt,
        TaskSummary,
    )
    from flowsim.cluster.job_master.snapshot_requests import RequestedSnapshot
    from flowsim.cluster.run_actions import (
        CancelJob,
        StopJob,
        StopWithSavepoint,
        TriggerCheckpoint,
        TriggerSavepoint,
    )
    from flowsim.facts.kinds import Level
    from flowsim.faults.catalogue import Fault
    from flowsim.faults.faulty_components import FaultyComponents
    from flowsim.graph.checkpoint_settings import (
        CheckpointSettings,
        ExponentialDelayRestart,
        FailureRateRestart,
        FixedDelayRestart,
        NoRestart,
        SavepointRestoreSettings,
    )
    from flowsim.graph.job_settings import AdaptivePartitionerSettings, BufferDebloatSettings, Link
    from flowsim.laws.law import Verdict
    from flowsim.operators.async_wait.latency import (
        ExponentialLatency,
        FixedLatency,
        Latency,
        LognormalLatency,
        NormalLatency,
        RecordLatency,
        SpikyLatency,
        TraceLatency,
        UniformLatency,
    )
    from flowsim.operators.async_wait.simulated_calls import SimulatedAsyncFunction, SimulatedCallFailed, SomeCalls
    from flowsim.scenario.runner import ScenarioRun
    from flowsim.validation.verdict import Report

_MODULE_OF = {
    "Link": "flowsim.graph.job_settings",
    "AdaptivePartitionerSettings": "flowsim.graph.job_settings",
    "BufferDebloatSettings": "flowsim.graph.job_settings",
    "StopJob": "flowsim.cluster.run_actions",
    "CancelJob": "flowsim.cluster.run_actions",
    "TriggerCheckpoint": "flowsim.cluster.run_actions",
    "TriggerSavepoint": "flowsim.cluster.run_actions",
    "StopWithSavepoint": "flowsim.cluster.run_actions",
    "FailTask": "flowsim.cluster.failures",
    "LoseTaskManager": "flowsim.cluster.failures",
    "LoseJobManager": "flowsim.cluster.failures",
    "FailAnyTask": "flowsim.cluster.failures",
    "CheckpointSettings": "flowsim.graph.checkpoint_settings",
    "FixedDelayRestart": "flowsim.graph.checkpoint_settings",
    "FailureRateRestart": "flowsim.graph.checkpoint_settings",
    "ExponentialDelayRestart": "flowsim.graph.checkpoint_settings",
    "NoRestart": "flowsim.graph.checkpoint_settings",
    "SavepointRestoreSettings": "flowsim.graph.checkpoint_settings",
    "RunOptions": "flowsim.cluster.job_execution",
    "Level": "flowsim.facts.kinds",
    "Fault": "flowsim.faults.catalogue",
    "FaultyComponents": "flowsim.faults.faulty_components",
    "SimulatedAsyncFunction": "flowsim.operators.async_wait.simulated_calls",
    "SomeCalls": "flowsim.operators.async_wait.simulated_calls",
    "SimulatedCallFailed": "flowsim.operators.async_wait.simulated_calls",
    "Latency": "flowsim.operators.async_wait.latency",
    "FixedLatency": "flowsim.operators.async_wait.latency",
    "UniformLatency": "flowsim.operators.async_wait.latency",
    "NormalLatency": "flowsim.operators.async_wait.latency",
    "LognormalLatency": "flowsim.operators.async_wait.latency",
    "ExponentialLatency": "flowsim.operators.async_wait.latency",
    "TraceLatency": "flowsim.operators.async_wait.latency",
    "RecordLatency": "flowsim.operators.async_wait.latency",
    "SpikyLatency": "flowsim.operators.async_wait.latency",
    "JobExecutionResult": "flowsim.cluster.job_execution",
    "JobStatus": "flowsim.cluster.job_execution",
    "TaskSummary": "flowsim.cluster.job_execution",
    "LatencySummary": "flowsim.cluster.job_execution",
    "TaskAttempt": "flowsim.cluster.job_execution",
    "HandledFailure": "flowsim.cluster.job_execution",
    "RequestedSnapshot": "flowsim.cluster.job_master.snapshot_requests",
    "CheckpointStatsCounts": "flowsim.checkpoints.checkpoint_stats_tracker",
    "ScenarioRun": "flowsim.scenario.runner",
    "Report": "flowsim.validation.verdict",
    "Verdict": "flowsim.laws.law",
}

__all__ = [
    "Link",
    "AdaptivePartitionerSettings",
    "BufferDebloatSettings",
    "StopJob",
    "CancelJob",
    "TriggerCheckpoint",
    "TriggerSavepoint",
    "StopWithSavepoint",
    "FailTask",
    "LoseTaskManager",
    "LoseJobManager",
    "FailAnyTask",
    "CheckpointSettings",
    "FixedDelayRestart",
    "FailureRateRestart",
    "ExponentialDelayRestart",
    "NoRestart",
    "SavepointRestoreSettings",
    "RunOptions",
    "Level",
    "Fault",
    "FaultyComponents",
    "SimulatedAsyncFunction",
    "SomeCalls",
    "SimulatedCallFailed",
    "Latency",
    "FixedLatency",
    "UniformLatency",
    "NormalLatency",
    "LognormalLatency",
    "ExponentialLatency",
    "TraceLatency",
    "RecordLatency",
    "SpikyLatency",
    "JobExecutionResult",
    "JobStatus",
    "TaskSummary",
    "LatencySummary",
    "TaskAttempt",
    "HandledFailure",
    "RequestedSnapshot",
    "CheckpointStatsCounts",
    "ScenarioRun",
    "Report",
    "Verdict",
]

__getattr__, __dir__ = _lazy_names(__name__, _MODULE_OF)
