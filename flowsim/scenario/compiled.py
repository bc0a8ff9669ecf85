"""The result of compiling a scenario: a job, and the settings of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flowsim.cluster.failures import RunFailure
from flowsim.cluster.run_actions import RunAction
from flowsim.connectors.files.input_file import InputFile
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.facts.recorder import Recorder
from flowsim.faults.catalogue import Fault
from flowsim.graph.operator_cost import Pause
from flowsim.graph.stream_graph import StreamGraph
from flowsim.scenario.context import CompiledSink
from flowsim.scenario.features.expect import ExpectModel
from flowsim.scenario.loader import Scenario
from flowsim.scenario.settings import RunSettings
from flowsim.scenario.slow_windows import slow_windows

if TYPE_CHECKING:
    from flowsim.cluster.job_execution import Progress, RunOptions


@dataclass(frozen=True, slots=True)
class Recompute:
    """The scenario's recomputation: a script, its function, and the input file."""

    script: Path
    function: str
    input_path: Path


@dataclass(frozen=True, slots=True)
class CompiledScenario:
    """A scenario turned into a job."""

    scenario: Scenario
    env: StreamExecutionEnvironment
    run: RunSettings
    inputs: tuple[InputFile, ...]
    sinks: tuple[CompiledSink, ...]
    faults: tuple[Fault, ...]
    """The faults, with the nodes' names in the graph."""
    actions: tuple[RunAction, ...]
    """Actions on the running job."""
    failures: tuple[RunFailure, ...]
    """Failures of tasks and of the cluster."""
    pauses: Mapping[str, tuple[Pause, ...]]
    """The pauses of subtasks, by the nodes' names in the graph."""
    expect: ExpectModel
    recompute: Recompute | None
    phases: tuple[CompiledScenario, ...] = ()
    """Each phase, the first one too; empty without phases.

    A later phase starts from the newest savepoint or retained checkpoint that the actions of the phase before left behind.
    """

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is valid, but makes the job slow; one line each, with the position in the file."""
        return slow_windows(self.scenario)

    def stream_graph(self) -> StreamGraph:
        """Returns the logical graph of the job, under the scenario's name.

        Names of the scenario are the uids of its operators, to which state in a checkpoint belongs.
        """
        graph = self.env.stream_graph(self.scenario.model.name)
        uids = {in_graph: name for name, in_graph in self.scenario.model.graph_names().items()}
        for node in graph.nodes.values():
            node.uid = uids.get(node.name, node.uid)
            node.pauses = self.pauses.get(node.name, ())
        return graph

    @property
    def checkpoint_folders(self) -> tuple[Path, ...]:
        """The folders in which the run writes checkpoints and savepoints."""
        from flowsim.cluster.checkpoint_folders import checkpoint_folders

        return checkpoint_folders(self.env.settings.checkpointing, self.actions)

    def run_options(
        self, recorder: Recorder | None = None, on_progress: Callable[[Progress], None] | None = None
    ) -> RunOptions:
        """Returns the options of the run; the caller sets the recorder, at level ``run.record``."""
        from flowsim.cluster.job_execution import RunOptions
        from flowsim.faults.faulty_components import with_faults

        run = self.run
        options = RunOptions(
            seed=run.seed,
            clock=run.clock,
            policy=run.policy,
            until_ns=run.until_ns,
            recorder=recorder,
            actions=self.actions,
            failures=self.failures,
            on_progress=on_progress,
            limits=self.scenario.limits,
        )
        return with_faults(options, self.faults)
