"""A scenario as a value: its mapping, its YAML, and the job that it describes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from flowsim.cluster.planned_job import planned_job
from flowsim.cluster.run_events import CheckedEvents
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import StreamGraph
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text
from flowsim.scenario.yaml.positions import read_document
from flowsim.testing.drawing.expected import Record, expected_of
from flowsim.testing.drawing.yaml_text import yaml_text

_FILE: Final = "drawn.yaml"


@dataclass(frozen=True, eq=True, repr=False)
class DrawnScenario:
    """A scenario that was drawn. ``run_job`` runs it; its ``repr`` is the YAML that ``flowsim run FILE`` runs."""

    data: Mapping[str, object]
    """The scenario as a mapping, in the order of its keys."""

    @classmethod
    def of(cls, text: str) -> DrawnScenario:
        """Returns the scenario of a YAML text, such as a printed counterexample. Raises ScenarioError."""
        value = read_document(text, _FILE).value
        if not isinstance(value, dict):
            raise BadInput(f"{_FILE}: expected a mapping that begins with 'flowsim: 1'")
        return cls(value)

    @cached_property
    def yaml(self) -> str:
        """The scenario as YAML."""
        return yaml_text(self.data)

    @cached_property
    def expected(self) -> Mapping[str, Counter[Record]]:
        """How often each sink collects each record, for the sinks whose records do not depend on the schedule.

        They are computed from the meaning of the blocks alone. There are none if an action ends the job, if the job has
        phases, and if it repeats records after a failure.
        """
        return expected_of(self.data)

    def compiled(self) -> CompiledScenario:
        """Returns the job, the settings of its run, and its actions and failures. Raises ScenarioError."""
        scenario = load_text(self.yaml, _FILE, Path.cwd())
        return compile_scenario(scenario, out_dir=Path("out"), allow_python=True)

    def build(self) -> StreamGraph:
        """Returns the job, without the actions and failures of its run. Raises ScenarioError."""
        return self.compiled().stream_graph()

    def least_network_buffers(self) -> int:
        """Returns the network buffers that the pools of each task manager require. Raises ScenarioError."""
        compiled = self.compiled()
        options = compiled.run_options()
        required: Counter[int] = Counter({0: 2})
        for pool in planned_job(compiled.stream_graph(), options, CheckedEvents(options)).memory.pools:
            required[pool.task_manager] += pool.required + pool.exclusive
        return max(required.values())

    def __repr__(self) -> str:
        return self.yaml

    def __hash__(self) -> int:
        return hash(self.yaml)
