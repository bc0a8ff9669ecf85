"""The settings of a job: their names, forms, bounds, defaults and meanings (appendix B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.graph.checkpoint_settings import CheckpointSettings, RestartStrategySettings
from flowsim.graph.placement import TaskManagers
from flowsim.graph.runtime_execution_mode import RuntimeExecutionMode
from flowsim.graph.setting import Setting, setting, settings_of
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.state.key_group_range_assignment import UPPER_BOUND_MAX_PARALLELISM


@dataclass(frozen=True, slots=True)
class Link:
    """The network between two operators' subtasks on different task managers."""

    source: str | None = setting(
        None, "node", "A source or operator with its whole chain; without it, any.", key="from"
    )
    target: str | None = setting(None, "node", "An operator or sink with its whole chain; without it, any.", key="to")
    latency_ns: int = setting(0, "ns", "Time from the end of sending to the arrival; it also delays credits.")
    bytes_per_second: int | None = setting(
        None,
        "bytes",
        "Bytes per second of each connection, which is one pair of subtasks; without it there is no limit.",
        key="bandwidth",
        least=1,
    )


@dataclass(frozen=True, slots=True)
class BufferDebloatSettings:
    """Settings of buffer debloating, with Flink's defaults (rules 6.22-6.24). Flink: BufferDebloatConfiguration."""

    period_ms: int = setting(
        200,
        "ms",
        "Time between two measurements of the throughput of a gate.",
        option="taskmanager.network.memory.buffer-debloat.period",
        least=1,
    )
    target_ms: int = setting(
        1000,
        "ms",
        "Time in which a gate should process the data that is in flight.",
        option="taskmanager.network.memory.buffer-debloat.target",
        least=1,
    )
    threshold_percent: int = setting(
        25,
        "count",
        "A new buffer size is announced only if it differs by at least this percentage.",
        option="taskmanager.network.memory.buffer-debloat.threshold-percentages",
        most=100,
    )
    samples: int = setting(
        20,
        "count",
        "Number of samples of the moving average: the newest measurement has the weight 2 / (samples + 1).",
        option="taskmanager.network.memory.buffer-debloat.samples",
        least=1,
        most=1_000_000,
    )
    starting_bytes: int = setting(
        1024,
        "bytes",
        "Size of buffers before the first announcement, at most 64 MiB.",
        key="starting_size",
        option="taskmanager.memory.starting-segment-size",
        least=1,
        most=1 << 26,
    )
    minimum_bytes: int = setting(
        256,
        "bytes",
        "Smallest buffer size that a gate announces; at most the segment size.",
        key="minimum_size",
        option="taskmanager.memory.min-segment-size",
        least=1,
        most=1 << 26,
    )


@dataclass(frozen=True, slots=True)
class AdaptivePartitionerSettings:
    """Settings of adaptive partition selection, with Flink's default (rules 2.3, 2.4)."""

    max_traverse_size: int = setting(
        4,
        "count",
        "Number of channels that a writer compares for one record.",
        option="taskmanager.network.adaptive-partitioner.max-traverse-size",
        least=2,
        most=2**31 - 1,
    )


@dataclass(slots=True)
class JobSettings:
    """Runtime settings of a job, with Flink's defaults (appendix B)."""

    parallelism: int = setting(
        1,
        "count",
        "Number of subtasks of sources, operators and sinks without their own value.",
        option="parallelism.default",
        method="set_parallelism",
        least=1,
        most=UPPER_BOUND_MAX_PARALLELISM,
    )
    max_parallelism: int | None = setting(
        None,
        "count",
        "Number of key groups of operators without their own value. Without it, computed from the parallelism (rule 1.21).",
        option="pipeline.max-parallelism",
        method="set_max_parallelism",
        least=1,
        most=UPPER_BOUND_MAX_PARALLELISM,
    )
    runtime_mode: RuntimeExecutionMode = setting(
        RuntimeExecutionMode.STREAMING,
        "choice",
        "`streaming`; `batch`: tasks run one after the other, keyed operators process one key at a time, and only final "
        "results are emitted; `automatic`: `batch` if all sources are bounded. See [BATCH mode](#batch-mode).",
        option="execution.runtime-mode",
        method="set_runtime_mode",
        choices={mode.value: mode for mode in RuntimeExecutionMode},
    )
    buffer_timeout_ms: int = setting(
        100,
        "timeout",
        "When a partly filled buffer is sent: `0` after each record, `never` only when the buffer is full.",
        option="execution.buffer-timeout.interval",
        method="set_buffer_timeout",
    )
    segment_size_bytes: int = setting(
        32768,
        "bytes",
        "Size of a network buffer, at most 64 MiB.",
        option="taskmanager.memory.segment-size",
        least=1,
        most=1 << 26,
    )
    network_buffers: int | None = setting(
        None,
        "count",
        "Number of segments of each task manager. Without it, as many as its pools can request.",
        least=2,
        most=10_000_000,
    )
    exclusive_buffers_per_channel: int = setting(
        2,
        "count",
        "Number of exclusive buffers of each input channel: its initial credit.",
        option="taskmanager.network.memory.buffers-per-channel",
        most=100_000,
    )
    floating_buffers_per_gate: int = setting(
        8,
        "count",
        "Number of buffers that the channels of a gate share; a gate has at least 1.",
        option="taskmanager.network.memory.floating-buffers-per-gate",
        most=100_000,
    )
    max_buffers_per_channel: int = setting(
        10,
        "count",
        "An output pool counts as full when one channel holds this many buffers. At least 2: with 1, the buffer that is being "
        "filled would already reach the limit. With 2, latency markers on a broadcast can block a job for ever, as in Flink "
        "(rule 5.35).",
        option="taskmanager.network.memory.max-buffers-per-channel",
        least=2,
        most=100_000,
    )
    overdraft_buffers: int = setting(
        20,
        "count",
        "Number of buffers beyond its pool that a task can request inside an element.",
        option="taskmanager.network.memory.max-overdraft-buffers-per-gate",
        most=100_000,
    )
    auto_watermark_interval_ms: int = setting(
        200,
        "ms",
        "Interval of periodic watermarks; `0`: no periodic watermarks.",
        option="pipeline.auto-watermark-interval",
        method="set_auto_watermark_interval",
    )
    watermark_alignment_buffer_size: int = setting(
        3,
        "count",
        "Number of samples of its own watermark that a source keeps for watermark alignment; the oldest sample counts (rule "
        "8.23).",
        option="pipeline.watermark-alignment.buffer-size",
        most=1000,
    )
    committer_retries: int = setting(
        10,
        "count",
        "Number of further calls of a sink's committer for what it asks to commit later; then the task fails (rule 12.31).",
        option="sink.committer.retries",
        most=1000,
    )
    interruptible_timers: bool = setting(
        False,
        "flag",
        "Whether waiting mails can run between two timers of an operator that allows this (rule 9.18).",
        option="execution.checkpointing.unaligned.interruptible-timers.enabled",
    )
    metrics_interval_ms: int = setting(
        5000,
        "ms",
        "Interval at which the metrics of every task are sampled into the recording, and the time that one sample of busy and "
        "idle time covers; `0`: only when the task ends.",
    )
    latency_interval_ms: int = setting(
        0,
        "ms",
        "Interval at which sources send a latency marker, which every operator measures; `0`: never (rule 8.20).",
        option="metrics.latency.interval",
    )
    operator_chaining: bool = setting(
        True,
        "flag",
        "Whether operators are chained where possible; `false`: each is a task of its own.",
        option="pipeline.operator-chaining.enabled",
        method="disable_operator_chaining",
    )
    object_reuse: bool = setting(
        False,
        "flag",
        "Whether chained operators share records instead of copying and checking them.",
        option="pipeline.object-reuse",
        method="enable_object_reuse",
    )
    cost_ns: int = setting(1000, "ns", "Virtual time that one record costs in one operator.")
    budget_records: int = setting(
        4096,
        "count",
        "Number of records after which another task can run; `1`: after each record. Credits and buffers are also sent only "
        "then. Set `1` to see single buffers and credits leave immediately, as in Flink.",
        least=1,
        most=1_000_000,
    )
    task_managers: TaskManagers = setting(
        "each",
        "block",
        "`each`: one task manager per subtask; `one`: one for all subtasks; otherwise which subtasks run on each named task "
        "manager. Channels between subtasks of one task manager have no credits (rule 6.18).",
    )
    exchange: ResultPartitionType = setting(
        ResultPartitionType.PIPELINED_BOUNDED,
        "choice",
        "The [exchange](#exchange) of inputs without their own value (rule 1.3).",
        choices={kind.value: kind for kind in ResultPartitionType},
    )
    links: tuple[Link, ...] = setting(
        (), "block", "Latency and bandwidth between task managers; the first link that matches an edge applies."
    )
    buffer_debloat: BufferDebloatSettings | None = setting(
        None,
        "block",
        "Receivers announce a buffer size to their senders. Without it buffers keep their size.",
        option="taskmanager.network.memory.buffer-debloat.enabled",
    )
    adaptive_partitioner: AdaptivePartitionerSettings | None = setting(
        None,
        "block",
        "Writers of rebalance and rescale select the idlest channels. Without it they select them in turn.",
        option="taskmanager.network.adaptive-partitioner.enabled",
    )
    checkpointing: CheckpointSettings | None = setting(
        None,
        "block",
        "Checkpoints of the job. Without it, only [actions](#actions) take checkpoints.",
        method="enable_checkpointing",
    )
    restart_strategy: RestartStrategySettings | None = setting(
        None,
        "block",
        "How the job restarts after failures. Without it: with growing delays if the job has periodic checkpoints, otherwise "
        "not at all (rule 12.29).",
        option="restart-strategy.type",
    )


JOB_SETTINGS: Final[dict[str, Setting]] = {each.name: each for each in settings_of(JobSettings)}
"""The settings of a job by name."""
