"""The scenario format, version 1, as a pydantic model; ``json_schema()`` gives docs/scenario.schema.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from flowsim.scenario.features.actions import ActionModel
from flowsim.scenario.features.expect import ExpectModel, RecomputeModel
from flowsim.scenario.features.faults import FaultModel
from flowsim.scenario.features.sinks import SinkModel
from flowsim.scenario.operators import OperatorModel
from flowsim.scenario.settings import SettingsModel
from flowsim.scenario.sources.sources import SourceModel
from flowsim.scenario.types import Name, Strict


class ScenarioModel(Strict):
    """A flowsim scenario: a job, its settings, actions, faults, and expectations."""

    flowsim: Literal[1] = Field(description="Version of the format.")
    name: Name
    description: Annotated[str, Field(max_length=4000)] | None = None
    settings: SettingsModel = Field(default_factory=SettingsModel)
    sources: Annotated[dict[Name, SourceModel], Field(min_length=1, max_length=200)]
    operators: Annotated[dict[Name, OperatorModel], Field(max_length=500)] = Field(default_factory=dict)
    sinks: Annotated[dict[Name, SinkModel], Field(min_length=1, max_length=200)]
    actions: Annotated[list[ActionModel], Field(max_length=100)] = Field(default_factory=list)
    faults: Annotated[list[FaultModel], Field(max_length=100)] = Field(default_factory=list)
    expect: ExpectModel = Field(default_factory=ExpectModel)
    recompute: RecomputeModel | None = None

    def graph_names(self) -> dict[str, str]:
        """The names of its sources, operators and sinks in the graph."""
        names = {name: f"Source: {name}" for name in self.sources}
        return names | {name: name for name in self.operators} | {name: f"Sink: {name}" for name in self.sinks}


def json_schema() -> dict[str, Any]:
    """The format as a JSON Schema (draft 2020-12)."""
    schema = ScenarioModel.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "flowsim scenario", **schema}
