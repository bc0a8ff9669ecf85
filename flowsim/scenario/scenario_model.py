"""The scenario format, version 1, as a pydantic model."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field, create_model

from flowsim.scenario.features.actions import ActionModel
from flowsim.scenario.features.expect import ExpectModel, RecomputeModel
from flowsim.scenario.features.failures import FailureModel
from flowsim.scenario.features.faults import FaultModel
from flowsim.scenario.features.pauses import PauseOfTaskModel
from flowsim.scenario.features.phases import PhaseModel
from flowsim.scenario.features.sinks import SinkModel
from flowsim.scenario.operators import OperatorModel, operator_model
from flowsim.scenario.settings import SettingsModel
from flowsim.scenario.sources.sources import SourceModel
from flowsim.scenario.types import Name, Strict
from flowsim.scenario.yaml.flink_names import FlinkNames

_ITS_NAME: Final = ("uid", "set_uid_hash", "name")


class ScenarioModel(Strict):
    """A flowsim scenario: a job, its settings, actions, faults, and expectations."""

    flowsim: Literal[1] = Field(description="Version of the format.")
    name: Annotated[Name, FlinkNames("pipeline.name")] = Field(
        description="Name of the job: a letter, then letters, digits, `_` and `-`; at most 64 characters."
    )
    description: Annotated[str, Field(max_length=4000)] | None = Field(default=None, description="A text for readers.")
    settings: SettingsModel = Field(default_factory=SettingsModel, description="How the job runs.")
    sources: Annotated[
        dict[Name, SourceModel],
        Field(min_length=1, max_length=200),
        FlinkNames("from_source", "add_source"),
        FlinkNames(*_ITS_NAME, note="a source's name is its key, and also its uid"),
    ] = Field(description="Where records come from: sources by name, at least one.")
    operators: Annotated[
        dict[Name, OperatorModel],
        Field(max_length=500),
        FlinkNames(*_ITS_NAME, note="an operator's name is its key, and also its uid"),
    ] = Field(
        default_factory=dict,
        description="How records are processed: operators by name. An operator reads only from sources and "
        "operators above it.",
    )
    sinks: Annotated[
        dict[Name, SinkModel],
        Field(min_length=1, max_length=200),
        FlinkNames("sink_to", "add_sink"),
        FlinkNames(*_ITS_NAME, note="a sink's name is its key, and also its uid"),
    ] = Field(description="Where records go: sinks by name, at least one.")
    actions: Annotated[list[ActionModel], Field(max_length=100)] = Field(
        default_factory=list, description="Actions on the running job."
    )
    failures: Annotated[list[FailureModel], Field(max_length=100)] = Field(
        default_factory=list, description="Failures of tasks and of the cluster, from which the job recovers."
    )
    pauses: Annotated[list[PauseOfTaskModel], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Times in which subtasks stand still, for example to have data in flight."
    )
    phases: Annotated[list[PhaseModel], Field(min_length=1, max_length=10)] | None = Field(
        default=None,
        description="The later phases of the run, each from the snapshot with which the phase before ended. "
        "`actions`, `failures`, `pauses` and `expect` above belong to the first phase.",
    )
    faults: Annotated[list[FaultModel], Field(max_length=100)] = Field(
        default_factory=list, description="Faults that break a component of the simulator on purpose."
    )
    expect: ExpectModel = Field(
        default_factory=ExpectModel, description="The expected properties of the run; `flowsim run` checks them."
    )
    vary: Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(max_length=20)] | None = Field(
        default=None,
        description="What `flowsim explore` varies with the schedule: lists of values, by their dotted keys as in `--set`: "
        "`{settings.seed: [1, 2, 3]}`. It explores all combinations; other commands use the values of the scenario.",
    )
    recompute: RecomputeModel | None = Field(
        default=None, description="A computation of the results from the input file, independent of flowsim."
    )

    def file_names(self) -> list[str]:
        """Returns the names of the files that the scenario reads: relative to its folder, with wildcards."""
        names: list[str] = []
        for source in self.sources.values():
            if source.files is not None:
                path = source.files.path
                names += [path] if isinstance(path, str) else path
        for operator in self.operators.values():
            if operator.async_calls is not None:
                names += operator.async_calls.file_names()
        return list(dict.fromkeys(names))

    def graph_names(self) -> dict[str, str]:
        """Returns the names that sources, operators and sinks have in the graph."""
        names = {name: f"Source: {name}" for name in self.sources}
        return names | {name: name for name in self.operators} | {name: f"Sink: {name}" for name in self.sinks}


def scenario_model() -> type[ScenarioModel]:
    """Returns the model of scenarios with the operators of other packages that are registered now."""
    return _model_with(operator_model())


@cache
def _model_with(operator: type[OperatorModel]) -> type[ScenarioModel]:
    if operator is OperatorModel:
        return ScenarioModel
    model, field = ScenarioModel, ScenarioModel.model_fields["operators"]
    operators: Any = (
        Annotated[dict[Name, operator], *field.metadata],  # type: ignore[valid-type]
        Field(default_factory=dict, description=field.description),
    )
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, operators=operators)
