"""The scenario format, version 1, as pydantic models; ``json_schema()`` is what docs/scenario.schema.json holds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from flowsim.scenario.models.actions import ActionModel
from flowsim.scenario.models.expect import ExpectModel, RecomputeModel
from flowsim.scenario.models.network import BufferDebloatModel, Exchange, LinkModel, TaskManagersSetting
from flowsim.scenario.models.operators import OperatorModel, SinkModel
from flowsim.scenario.models.sources import SourceModel
from flowsim.scenario.models.types import (
    ByteSize,
    DurationMs,
    DurationNs,
    Name,
    Parallelism,
    Strict,
    TimeoutMs,
)


class SettingsModel(Strict):
    """How the job runs; the defaults are Flink's where Flink has the setting."""

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    policy: Literal["fifo", "random"] = Field(
        default="fifo", description="Which ready task runs next on the virtual clock."
    )
    clock: Literal["virtual", "real"] = "virtual"
    until: DurationNs | None = Field(default=None, description="Stops the job after this much time on its clock.")
    record: Literal["off", "elements", "full"] = Field(default="elements", description="How much the run records.")
    parallelism: Parallelism = Field(default=1, description="Of operators that do not say their own.")
    max_parallelism: Parallelism | None = None
    buffer_timeout: TimeoutMs = Field(default=100, description="0 flushes after every record, never only full buffers.")
    segment_size: Annotated[ByteSize, Field(ge=64, le=1 << 26)] = Field(
        default=32768, description="Size of a network buffer."
    )
    network_buffers: Annotated[int, Field(ge=2, le=10_000_000)] | None = None
    exclusive_buffers_per_channel: Annotated[int, Field(ge=0, le=100_000)] = 2
    floating_buffers_per_gate: Annotated[int, Field(ge=0, le=100_000)] = 8
    max_buffers_per_channel: Annotated[int, Field(ge=2, le=100_000)] = Field(
        default=10, description="With 1, the buffer being filled would fill the pool, and nothing would ever move."
    )
    overdraft_buffers: Annotated[int, Field(ge=0, le=100_000)] = 20
    auto_watermark_interval: DurationMs = 200
    watermark_alignment_buffer_size: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=3, description="Samples of its own watermark that a source keeps for alignment; the oldest counts."
    )
    interruptible_timers: bool = Field(
        default=False, description="Timers of operators that allow it give way to waiting mails between two firings."
    )
    metrics_interval: DurationMs = Field(
        default=5000, description="How often the metrics of every task are sampled; 0: only when it ends."
    )
    latency_interval: DurationMs = Field(
        default=0, description="How often sources send a latency marker; 0: never (Flink's metrics.latency.interval)."
    )
    operator_chaining: bool = True
    object_reuse: bool = False
    cost: DurationNs = Field(default=1000, description="Virtual time that one record costs in one operator.")
    budget_records: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    task_managers: TaskManagersSetting = Field(
        default="each",
        description="each: one for every subtask; one: all on one; or what runs on each of those named. Channels between "
        "subtasks of one task manager have no credits.",
    )
    exchange: Exchange = Field(default="pipelined_bounded", description="Of inputs that do not say their own.")
    links: Annotated[list[LinkModel], Field(max_length=1000)] = Field(
        default_factory=list, description="The first that fits an edge counts."
    )
    buffer_debloat: BufferDebloatModel | None = None


class FaultModel(Strict):
    """A fault switched on inside the running simulator; the laws must notice it."""

    fault: Annotated[str, Field(min_length=1, max_length=60)]
    operator: Name | None = Field(default=None, description="The operator, source or sink that it strikes.")
    subtask: Annotated[int, Field(ge=0, le=32767)] | None = None
    channel: Annotated[int, Field(ge=0)] | None = None
    at: Annotated[int, Field(ge=0)] = Field(default=0, description="Strikes at the n-th element, from 0.")


class ScenarioModel(Strict):
    """A flowsim scenario: a job, the settings it runs under, what is done to it, faults, and what it must show."""

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


def json_schema() -> dict[str, Any]:
    """The format as a JSON Schema (draft 2020-12)."""
    schema = ScenarioModel.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "flowsim scenario", **schema}
