"""``settings`` of a scenario: settings of the job and of its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.facts.kinds import Level
from flowsim.facts.recorder import VALUES_BYTES
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
from flowsim.scenario.types import ByteSize, DurationMs, DurationNs, Exchange, Parallelism, Strict, TimeoutMs
from flowsim.scenario.yaml.problems import Problems


class SettingsModel(Strict):
    """How the job runs; the defaults are Flink's, for settings that Flink has."""

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
    parallelism: Parallelism = Field(
        default=1, description="Number of subtasks of sources, operators and sinks without their own value."
    )
    max_parallelism: Parallelism | None = Field(
        default=None,
        description="Number of key groups of operators without their own value. Without it, computed from the "
        "parallelism.",
    )
    buffer_timeout: TimeoutMs = Field(
        default=100,
        description="When a partly filled buffer is sent: `0` after each record, `never` only when the buffer is full.",
    )
    segment_size: Annotated[ByteSize, Field(ge=64, le=1 << 26)] = Field(
        default=32768, description="Size of a network buffer, 64 B to 64 MiB."
    )
    network_buffers: Annotated[int, Field(ge=2, le=10_000_000)] | None = Field(
        default=None,
        description="Number of segments of each task manager. Without it, as many as its pools can request.",
    )
    exclusive_buffers_per_channel: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=2, description="Number of exclusive buffers of each input channel: its initial credit."
    )
    floating_buffers_per_gate: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=8, description="Number of buffers that the channels of a gate share; a gate has at least 1."
    )
    max_buffers_per_channel: Annotated[int, Field(ge=2, le=100_000)] = Field(
        default=10,
        description="An output pool counts as full when one channel holds this many buffers. At least 2: with 1, the "
        "buffer that is being filled would already reach the limit. With 2, latency markers on a broadcast can block "
        "a job for ever, as in Flink (rule 5.35).",
    )
    overdraft_buffers: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=20, description="Number of buffers beyond its pool that a task can request inside an element."
    )
    auto_watermark_interval: DurationMs = Field(
        default=200, description="Interval of periodic watermarks; `0`: no periodic watermarks."
    )
    watermark_alignment_buffer_size: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=3,
        description="Number of samples of its own watermark that a source keeps for watermark alignment; the oldest "
        "sample counts.",
    )
    committer_retries: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=10,
        description="Number of further calls of a sink's committer for what it asks to commit later; then the task "
        "fails.",
    )
    interruptible_timers: bool = Field(
        default=False, description="Whether waiting mails can run between two timers of an operator that allows this."
    )
    metrics_interval: DurationMs = Field(
        default=5000,
        description="Interval at which the metrics of every task are sampled into the recording, and the time that "
        "one sample of busy and idle time covers; `0`: only when the task ends.",
    )
    latency_interval: DurationMs = Field(
        default=0,
        description="Interval at which sources send a latency marker, which every operator measures; `0`: never.",
    )
    operator_chaining: bool = Field(
        default=True, description="Whether operators are chained where possible; `false`: each is a task of its own."
    )
    object_reuse: bool = Field(
        default=False, description="Whether chained operators share records instead of copying and checking them."
    )
    cost: DurationNs = Field(default=1000, description="Virtual time that one record costs in one operator.")
    budget_records: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=4096,
        description="Number of records after which another task can run; `1`: after each record. Credits and buffers "
        "are also sent only then. Set `1` to see single buffers and credits leave immediately, as in Flink.",
    )
    task_managers: TaskManagersSetting = Field(
        default="each",
        description="`each`: one task manager per subtask; `one`: one for all subtasks; otherwise which subtasks run "
        "on each named task manager. Channels between subtasks of one task manager have no credits.",
    )
    exchange: Exchange = Field(
        default="pipelined_bounded", description="The [exchange](#exchange) of inputs without their own value."
    )
    links: Annotated[list[LinkModel], Field(max_length=1000)] = Field(
        default_factory=list,
        description="Latency and bandwidth between task managers; the first link that matches an edge applies.",
    )
    buffer_debloat: BufferDebloatModel | None = Field(
        default=None,
        description="Receivers announce a buffer size to their senders. Without it buffers keep their size.",
    )
    adaptive_partitioner: AdaptivePartitionerModel | None = Field(
        default=None,
        description="Writers of rebalance and rescale select the idlest channels. Without it they select them in turn.",
    )
    checkpointing: CheckpointingModel | None = Field(
        default=None, description="Checkpoints of the job. Without it, only [actions](#actions) take checkpoints."
    )
    restart_strategy: RestartStrategyModel | None = Field(
        default=None,
        description="How the job restarts after failures. Without it: with growing delays if it has periodic "
        "checkpoints, otherwise not at all.",
    )


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
    env = StreamExecutionEnvironment.get_execution_environment().configure(
        parallelism=settings.parallelism,
        buffer_timeout_ms=settings.buffer_timeout,
        segment_size_bytes=settings.segment_size,
        exclusive_buffers_per_channel=settings.exclusive_buffers_per_channel,
        floating_buffers_per_gate=settings.floating_buffers_per_gate,
        max_buffers_per_channel=settings.max_buffers_per_channel,
        overdraft_buffers=settings.overdraft_buffers,
        auto_watermark_interval_ms=settings.auto_watermark_interval,
        watermark_alignment_buffer_size=settings.watermark_alignment_buffer_size,
        committer_retries=settings.committer_retries,
        interruptible_timers=settings.interruptible_timers,
        metrics_interval_ms=settings.metrics_interval,
        latency_interval_ms=settings.latency_interval,
        operator_chaining=settings.operator_chaining,
        object_reuse=settings.object_reuse,
        cost_ns=settings.cost,
        budget_records=settings.budget_records,
    )
    env.settings.restart_strategy = compile_restart_strategy(settings.restart_strategy)
    if settings.network_buffers is not None:
        env.configure(network_buffers=settings.network_buffers)
    if settings.max_parallelism is not None:
        env.set_max_parallelism(settings.max_parallelism)
    return env


def configure_network(
    env: StreamExecutionEnvironment, settings: SettingsModel, graph_names: Mapping[str, str], problems: Problems
) -> None:
    """Sets placement, links, exchange mode, debloating and adaptive selection; reports every unknown node."""
    env.configure(exchange=settings.exchange, buffer_debloat=compile_debloat(settings.buffer_debloat))
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
