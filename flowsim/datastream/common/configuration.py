"""Flink's option keys for the settings that flowsim has. Flink: Configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from flowsim.errors import BadInput, did_you_mean
from flowsim.graph.stream_graph import BufferDebloatSettings
from flowsim.units import duration_ms


@dataclass(frozen=True, slots=True)
class Option:
    """The setting that a key sets, and how its text is parsed."""

    setting: str
    kind: str
    """``int``, ``bool``, ``bytes`` or ``ms``."""


OPTIONS: Final[dict[str, Option]] = {
    "parallelism.default": Option("parallelism", "int"),
    "pipeline.max-parallelism": Option("max_parallelism", "int"),
    "pipeline.operator-chaining.enabled": Option("operator_chaining", "bool"),
    "pipeline.object-reuse": Option("object_reuse", "bool"),
    "pipeline.auto-watermark-interval": Option("auto_watermark_interval_ms", "ms"),
    "pipeline.watermark-alignment.buffer-size": Option("watermark_alignment_buffer_size", "int"),
    "sink.committer.retries": Option("committer_retries", "int"),
    "execution.checkpointing.unaligned.interruptible-timers.enabled": Option("interruptible_timers", "bool"),
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
    "taskmanager.memory.starting-segment-size": Option("buffer_debloat.starting_bytes", "bytes"),
    "taskmanager.memory.min-segment-size": Option("buffer_debloat.minimum_bytes", "bytes"),
}

_BYTES: Final = {"b": 1, "": 1, "kb": 1 << 10, "k": 1 << 10, "mb": 1 << 20, "m": 1 << 20}


class Configuration:
    """Option keys and values; an unknown key raises BadInput, which names the most similar key. PyFlink: Configuration."""

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

        The debloating settings are one value; the value is None if debloating is disabled. If the buffer timeout is
        disabled, its value is -1 (rule 5.3).
        """
        read = {OPTIONS[key].setting: _read(key, value) for key, value in self._values.items()}
        if not read.pop("buffer_timeout_enabled", True):
            read["buffer_timeout_ms"] = -1
        debloat = {name.partition(".")[2]: read.pop(name) for name in list(read) if "." in name}
        if "buffer_debloat" not in read:
            return dict(read)
        enabled = read.pop("buffer_debloat")
        return {**read, "buffer_debloat": BufferDebloatSettings(**debloat) if enabled else None}

    def _set(self, key: str, value: object) -> Configuration:
        if key not in OPTIONS:
            raise BadInput(f"configuration: unknown key {key!r}{did_you_mean(key, list(OPTIONS))}")
        _read(key, value)
        self._values[key] = value
        return self


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(key: str, value: object) -> int | bool:
    text = _text(value).strip().lower()
    try:
        match OPTIONS[key].kind:
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
