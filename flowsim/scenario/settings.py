"""``settings`` of a scenario: settings of the job and of its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.facts.kinds import Level
from flowsim.facts.recorder import VALUES_BYTES
from flowsim.graph.job_settings import JobSettings
from flowsim.scenario.features.checkpointing import (
    CheckpointingModel,
    RestartStrategyModel,
    compile_restart_strategy,
)
from flowsim.scenario.features.network import (
    AdaptivePartitionerModel,
    BufferDebloatModel,
    LinkModel,
    TaskManagersSetting,
    compile_adaptive_partitioner,
    compile_debloat,
    compile_links,
    compile_task_managers,
)
from flowsim.scenario.setting_keys import key_of, keys_of, values_of
from flowsim.scenario.types import ByteSize, DurationNs, Strict
from flowsim.scenario.yaml.problems import Problems


@keys_of(JobSettings)
class PlainSettingsModel(Strict):
    """The settings without keys of their own: those of the run, then those of the job."""

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        default=1, description="Seed of all random values: schedule, costs, generated data."
    )
    policy: Literal["fifo", "random"] = Field(
        default="fifo",
        description="How the next task is chosen from the ready tasks on the virtual clock. `random` also varies how "
        "long batches take, and which of several events of one time (an answer, a timeout, a flush) comes first.",
    )
    clock: Literal["virtual", "real"] = Field(
        default="virtual",
        description="`virtual`: simulated time, which can be replayed; `real`: the time of the machine.",
    )
    until: DurationNs | None = Field(
        default=None,
        description="Stops the job after this time on its clock; the sinks keep the rows they received until then. "
        "An endless source needs it.",
    )
    record: Literal["off", "elements", "full"] = Field(
        default="elements",
        description="The recording level: how much is recorded. `flowsim laws` shows which laws need `full`.",
    )
    record_values: Annotated[ByteSize, Field(ge=0, le=1 << 40)] = Field(
        default=VALUES_BYTES,
        description="Size limit for the recorded values of distinct records; above it a sample is recorded. `0 B`: "
        "no values ([recording.md](recording.md)).",
    )
    record_state: bool = Field(
        default=False,
        description="At level `full`, also record every change of keyed state and of window contents (table "
        "`state_changes`, [recording.md](recording.md)).",
    )


class SettingsModel(PlainSettingsModel):
    """How the job runs; the defaults are Flink's, for settings that Flink has."""

    task_managers: TaskManagersSetting = key_of(JobSettings, "task_managers")
    links: Annotated[list[LinkModel], Field(max_length=1000)] = key_of(JobSettings, "links")
    buffer_debloat: BufferDebloatModel | None = key_of(JobSettings, "buffer_debloat")
    adaptive_partitioner: AdaptivePartitionerModel | None = key_of(JobSettings, "adaptive_partitioner")
    checkpointing: CheckpointingModel | None = key_of(JobSettings, "checkpointing")
    restart_strategy: RestartStrategyModel | None = key_of(JobSettings, "restart_strategy")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of the run, apart from those of the job."""

    seed: int
    policy: Literal["fifo", "random"]
    clock: Literal["virtual", "real"]
    until_ns: int | None
    record: Level
    record_values_bytes: int
    record_state: bool


def environment_of(settings: SettingsModel) -> StreamExecutionEnvironment:
    """Returns an environment without operators and with these settings."""
    given = {name: value for name, value in values_of(settings, JobSettings).items() if value is not None}
    env = StreamExecutionEnvironment.get_execution_environment().configure(None, **given)
    env.settings.restart_strategy = compile_restart_strategy(settings.restart_strategy)
    return env


def configure_network(
    env: StreamExecutionEnvironment, settings: SettingsModel, graph_names: Mapping[str, str], problems: Problems
) -> None:
    """Sets placement, links, debloating and adaptive selection; reports every unknown node."""
    env.configure(buffer_debloat=compile_debloat(settings.buffer_debloat))
    env.configure(adaptive_partitioner=compile_adaptive_partitioner(settings.adaptive_partitioner))
    env.configure(links=compile_links(settings.links, graph_names, problems))
    env.configure(task_managers=compile_task_managers(settings.task_managers, graph_names, problems))


def run_settings_of(settings: SettingsModel) -> RunSettings:
    """Returns the settings of the run."""
    return RunSettings(
        seed=settings.seed,
        policy=settings.policy,
        clock=settings.clock,
        until_ns=settings.until,
        record=Level[settings.record.upper()],
        record_values_bytes=settings.record_values,
        record_state=settings.record_state,
    )
