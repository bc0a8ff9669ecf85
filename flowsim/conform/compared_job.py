"""A job as both sides can run it: without costs, links and schedules."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.run_actions import SnapshotAction, StopWithSavepoint, TriggerSavepoint
from flowsim.conform.conformer import flink_failures
from flowsim.conform.plan import Plan
from flowsim.conform.printed_plan import names_side, printed_plan
from flowsim.conform.settings import CommonJob, Difference, common_job, configuration, in_order_of_time
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.graph.stream_graph import StreamGraph
from flowsim.scenario.compiled import CompiledScenario


@dataclass(frozen=True)
class ComparedJob:
    """A job, or one phase of a scenario."""

    common: CommonJob
    options: RunOptions
    changes: Sequence[Difference]
    """What the comparison changes."""
    folders: Sequence[Path] = ()
    """Where the run here writes snapshots."""
    source: str = ""
    """The digest of the scenario; empty for a job that Python builds."""

    @property
    def operators(self) -> list[str]:
        """The names of the operators, upstream first."""
        return [node.name for node in self.common.graph.nodes.values()]

    def check(self) -> None:
        """Raises Unsupported for a job that Flink cannot run, or that the interpreter cannot build."""
        plan = Plan(self.common.graph, names_side(), self.options.seed)
        plan.data()
        flink_failures(plan, self.options.failures)

    def digest(self) -> str:
        """Returns the SHA-256 of the plan, the settings, what happens to the job, and the scenario.

        Functions and records of a job that Python builds are not part of it.
        """
        settings = configuration(self.common.graph.settings, Path("/snapshots"))
        actions = [
            replace(action, directory=None) if isinstance(action, TriggerSavepoint | StopWithSavepoint) else action
            for action in self.options.actions
        ]
        options: list[Any] = [self.options.until_ns, self.options.seed, *actions, *self.options.failures]
        text = json.dumps(
            [printed_plan(self.common.graph), settings, list(map(repr, options))], sort_keys=True, default=str
        )
        return hashlib.sha256(text.encode()).hexdigest()


def jobs_of_scenario(compiled: CompiledScenario, seed: int | None = None) -> list[ComparedJob]:
    """Returns the job of a scenario, or one for each of its phases. Raises Unsupported."""
    return [_of_scenario(phase, seed) for phase in compiled.phases or (compiled,)]


def _of_scenario(compiled: CompiledScenario, seed: int | None) -> ComparedJob:
    job = _job(compiled.stream_graph(), compiled.run_options(), seed)
    return replace(job, folders=compiled.checkpoint_folders, source=compiled.scenario.digest())


def job_of_environment(env: StreamExecutionEnvironment, seed: int | None = None) -> ComparedJob:
    """Returns the job that was built with an environment. Raises Unsupported."""
    return _job(env.stream_graph(), RunOptions(**env._run_settings), seed)  # type: ignore[arg-type]


def _job(graph: StreamGraph, options: RunOptions, seed: int | None) -> ComparedJob:
    if graph.settings.checkpointing is None and any(isinstance(action, SnapshotAction) for action in options.actions):
        # As a run here does: without an interval, for snapshots on request.
        graph = replace(graph, settings=replace(graph.settings, checkpointing=CheckpointSettings()))
    common = common_job(graph)
    changes = list(common.changes)
    if options.policy != "fifo" or options.clock != "virtual":
        changes.append(Difference("policy and clock", "the run here is in order of time, on the virtual clock"))
    options = in_order_of_time(options)
    return ComparedJob(common, options if seed is None else replace(options, seed=seed), changes)
