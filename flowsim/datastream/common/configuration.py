"""Flink's option keys for the settings that flowsim has. Flink: Configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from flowsim.errors import BadInput, did_you_mean
from flowsim.graph.checkpoint_settings import (
    CheckpointSettings,
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    NoRestart,
    RestartStrategySettings,
)
from flowsim.graph.stream_graph import AdaptivePartitionerSettings, BufferDebloatSettings
from flowsim.not_simulated import refuse_option
from flowsim.units import duration_ms


@dataclass(frozen=True, slots=True)
class Option:
    """The setting that a key sets, and how its text is parsed."""

    setting: str
    kind: str
    """``int``, ``float``, ``bool``, ``bytes``, ``ms``, ``text``, ``path`` or ``mode`` (of checkpoints)."""


OPTIONS: Final[dict[str, Option]] = {
    "parallelism.default": Option("parallelism", "int"),
    "pipeline.max-parallelism": Option("max_parallelism", "int"),
    "pipeline.operator-chaining.enabled": Option("operator_chaining", "bool"),
    "pipeline.object-reuse": Option("object_reuse", "bool"),
    "pipeline.auto-watermark-interval": Option("auto_watermark_interval_ms", "ms"),
    "pipeline.watermark-alignment.buffer-size": Option("watermark_alignment_buffer_size", "int"),
    "sink.committer.retries": Option("committer_retries", "int"),
    "execution.checkpointing.unaligned.interruptible-timers.enabled": Option("interruptible_timers", "bool"),
    "execution.checkpointing.interval": Option("checkpointing.interval_ms", "ms"),
    "execution.checkpointing.mode": Option("checkpointing.exactly_once", "mode"),
    "execution.checkpointing.timeout": Option("checkpointing.timeout_ms", "ms"),
    "execution.checkpointing.min-pause": Option("checkpointing.min_pause_ms", "ms"),
    "execution.checkpointing.max-concurrent-checkpoints": Option("checkpointing.max_concurrent", "int"),
    "execution.checkpointing.tolerable-failed-checkpoints": Option("checkpointing.tolerable_failures", "int"),
    "execution.checkpointing.num-retained": Option("checkpointing.retained", "int"),
    "execution.checkpointing.externalized-checkpoint-retention": Option("checkpointing.retention", "text"),
    "execution.checkpointing.checkpoints-after-tasks-finish": Option("checkpointing.after_tasks_finish", "bool"),
    "execution.checkpointing.interval-during-backlog": Option("checkpointing.interval_during_backlog_ms", "ms"),
    "execution.checkpointing.dir": Option("checkpointing.directory", "path"),
    "execution.checkpointing.unaligned.enabled": Option("checkpointing.unaligned", "bool"),
    "execution.checkpointing.unaligned.forced": Option("checkpointing.forced_unaligned", "bool"),
    "execution.checkpointing.aligned-checkpoint-timeout": Option("checkpointing.aligned_timeout_ms", "ms"),
    "execution.state-recovery.without-channel-state.checkpoint-id": Option(
        "checkpointing.without_channel_state_id", "int"
    ),
    "restart-strategy.type": Option("restart_strategy.type", "text"),
    "restart-strategy.fixed-delay.attempts": Option("restart_strategy.fixed-delay.attempts", "int"),
    "restart-strategy.fixed-delay.delay": Option("restart_strategy.fixed-delay.delay_ms", "ms"),
    "restart-strategy.failure-rate.max-failures-per-interval": Option(
        "restart_strategy.failure-rate.max_failures_per_interval", "int"
    ),
    "restart-strategy.failure-rate.failure-rate-interval": Option(
        "restart_strategy.failure-rate.failure_rate_interval_ms", "ms"
    ),
    "restart-strategy.failure-rate.delay": Option("restart_strategy.failure-rate.delay_ms", "ms"),
    "restart-strategy.exponential-delay.initial-backoff": Option(
        "restart_strategy.exponential-delay.initial_backoff_ms", "ms"
    ),
    "restart-strategy.exponential-delay.max-backoff": Option("restart_strategy.exponential-delay.max_backoff_ms", "ms"),
    "restart-strategy.exponential-delay.backoff-multiplier": Option(
        "restart_strategy.exponential-delay.backoff_multiplier", "float"
    ),
    "restart-strategy.exponential-delay.reset-backoff-threshold": Option(
        "restart_strategy.exponential-delay.reset_backoff_threshold_ms", "ms"
    ),
    "restart-strategy.exponential-delay.jitter-factor": Option(
        "restart_strategy.exponential-delay.jitter_factor", "float"
    ),
    "restart-strategy.exponential-delay.attempts-before-reset-backoff": Option(
        "restart_strategy.exponential-delay.attempts_before_reset_backoff", "int"
    ),
    "metrics.latency.interval": Option("latency_interval_ms", "ms"),
    "execution.buffer-timeout.enabled": Option("buffer_timeout_enabled", "bool"),
    "execution.buffer-timeout.interval": Option("buffer_timeout_ms", "ms"),
    "taskmanager.memory.segment-size": Option("segment_size_bytes", "bytes"),
    "taskmanager.network.memory.buffers-per-channel": Option("exclusive_buffers_per_channel", "int"),
    "taskmanager.network.memory.floating-buffers-per-gate": Option("floating_buffers_per_gate", "int"),
    "taskmanager.network.memory.max-buffers-per-channel": Option("max_buffers_per_channel", "int"),
    "taskmanager.network.memory.max-overdraft-buffers-per-gate": Option("overdraft_buffers", "int"),
    "taskmanager.network.memory.buffer-debloat.enabled": Option("buffer_debloat", "bool"),
    "taskmanager.network.memory.buffer-debloat.period": Option("buffer_debloat.period_ms", "ms"),
    "taskmanager.network.memory.buffer-debloat.target": Option("buffer_debloat.target_ms", "ms"),
    "taskmanager.network.memory.buffer-debloat.threshold-percentages": Option(
        "buffer_debloat.threshold_percent", "int"
    ),
    "taskmanager.network.memory.buffer-debloat.samples": Option("buffer_debloat.samples", "int"),
    "taskmanager.network.adaptive-partitioner.enabled": Option("adaptive_partitioner", "bool"),
    "taskmanager.network.adaptive-partitioner.max-traverse-size": Option(
        "adaptive_partitioner.max_traverse_size", "int"
    ),
    "taskmanager.memory.starting-segment-size": Option("buffer_debloat.starting_bytes", "bytes"),
    "taskmanager.memory.min-segment-size": Option("buffer_debloat.minimum_bytes", "bytes"),
}

_BYTES: Final = {"b": 1, "": 1, "kb": 1 << 10, "k": 1 << 10, "mb": 1 << 20, "m": 1 << 20}


class Configuration:
    """Option keys and values; an unknown key raises BadInput with the reason or the most similar key. PyFlink: Configuration."""

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, object] = {} if other is None else dict(other._values)

    @staticmethod
    def from_dict(map: Mapping[str, str]) -> Configuration:
        configuration = Configuration()
        for key, value in map.items():
            configuration._set(key, value)
        return configuration

    def set_string(self, key: str, value: str) -> Configuration:
        return self._set(key, value)

    def set_integer(self, key: str, value: int) -> Configuration:
        return self._set(key, value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        return self._set(key, value)

    def contains_key(self, key: str) -> bool:
        return key in self._values

    def to_dict(self) -> dict[str, str]:
        """Returns every key with its value as text."""
        return {key: _text(value) for key, value in self._values.items()}

    def settings(self) -> dict[str, object]:
        """Returns the settings of the keys, by flowsim's names.

        The debloating settings are one value; the value is None if debloating is disabled. The same holds for those of
        the adaptive partitioner. If the buffer timeout is disabled, its value is -1 (rule 5.3).
        """
        read = {OPTIONS[key].setting: _read(key, value) for key, value in self._values.items()}
        if not read.pop("buffer_timeout_enabled", True):
            read["buffer_timeout_ms"] = -1
        debloat = _group(read, "buffer_debloat")
        adaptive = AdaptivePartitionerSettings(**_group(read, "adaptive_partitioner"))  # type: ignore[arg-type]
        checkpointing = _group(read, "checkpointing")
        restart = _group(read, "restart_strategy")
        settings: dict[str, object] = dict(read)
        if "buffer_debloat" in settings:
            enabled = settings["buffer_debloat"]
            settings["buffer_debloat"] = BufferDebloatSettings(**debloat) if enabled else None  # type: ignore[arg-type]
        if adaptive.max_traverse_size < 2:
            # Flink checks it also where the partitioner is not enabled.
            key = "taskmanager.network.adaptive-partitioner.max-traverse-size"
            raise BadInput(f"configuration: {key}: must be greater than 1, got {adaptive.max_traverse_size}")
        if "adaptive_partitioner" in settings:
            settings["adaptive_partitioner"] = adaptive if settings["adaptive_partitioner"] else None
        if checkpointing:
            settings["checkpointing"] = CheckpointSettings(**checkpointing)  # type: ignore[arg-type]
        if restart:
            settings["restart_strategy"] = _restart_strategy(restart)
        return settings

    def _set(self, key: str, value: object) -> Configuration:
        if key not in OPTIONS:
            refuse_option(key)
            raise BadInput(f"configuration: unknown key {key!r}{did_you_mean(key, list(OPTIONS))}")
        _read(key, value)
        self._values[key] = value
        return self


def _group(read: dict[str, int | bool | float | str], name: str) -> dict[str, int | bool | float | str]:
    """Removes and returns the settings of one group, without its name."""
    return {key.partition(".")[2]: read.pop(key) for key in list(read) if key.startswith(f"{name}.")}


_STRATEGIES: Final[dict[str, type[RestartStrategySettings]]] = {
    "none": NoRestart,
    "off": NoRestart,
    "disable": NoRestart,
    "fixed-delay": FixedDelayRestart,
    "failure-rate": FailureRateRestart,
    "exponential-delay": ExponentialDelayRestart,
}


def _restart_strategy(settings: Mapping[str, object]) -> RestartStrategySettings | None:
    """Returns the strategy that ``restart-strategy.type`` chooses, with its own options; None without a type."""
    kind = settings.get("type")
    if kind is None:
        return None
    if kind not in _STRATEGIES:
        raise BadInput(
            f"configuration: restart-strategy.type: expected one of {', '.join(_STRATEGIES)}, got {kind!r:.40}"
        )
    own = {key.partition(".")[2]: value for key, value in settings.items() if key.startswith(f"{kind}.")}
    return _STRATEGIES[str(kind)](**own)  # type: ignore[arg-type]  # _read gives each its type


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(key: str, value: object) -> int | bool | float | str:
    text = _text(value).strip().lower()
    try:
        match OPTIONS[key].kind:
            case "mode":
                return {"exactly_once": True, "at_least_once": False}[text]
            case "text":
                return text if key.startswith("restart") else text.upper()
            case "path":
                return _text(value).strip()
            case "float":
                return float(text)
            case "bool":
                return {"true": True, "false": False}[text]
            case "bytes":
                number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
                return int(number) * _BYTES[text[len(number) :].strip()]
            case "ms":
                # Flink reads a number without unit as milliseconds.
                return int(text) if text.lstrip("-").isdigit() else duration_ms(text)
            case _:
                return int(text)
    except (KeyError, ValueError):
        raise BadInput(f"configuration: {key}: expected a value of kind {OPTIONS[key].kind}, got {value!r}") from None
