"""Flink's option keys for the settings that flowsim has. Flink: Configuration."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from flowsim.datastream.pyflink_way import is_pyflink_way
from flowsim.datastream.without_effect import WithoutEffect
from flowsim.errors import BadInput, did_you_mean
from flowsim.graph.checkpoint_settings import (
    RESTART_STRATEGIES,
    CheckpointSettings,
    NoRestart,
    RestartStrategySettings,
)
from flowsim.graph.job_settings import AdaptivePartitionerSettings, BufferDebloatSettings, JobSettings
from flowsim.graph.setting import Setting, settings_of
from flowsim.not_simulated import feature_of_option, refuse_option
from flowsim.units import duration_ms

_STRATEGIES: Final[dict[str, type[RestartStrategySettings]]] = {
    **dict.fromkeys(("off", "disable"), NoRestart),
    **{kind.replace("_", "-"): strategy for kind, strategy in RESTART_STRATEGIES.items()},
}
_BLOCKS: Final[dict[str, type[Any]]] = {
    "buffer_debloat": BufferDebloatSettings,
    "adaptive_partitioner": AdaptivePartitionerSettings,
    "checkpointing": CheckpointSettings,
    **{f"restart_strategy.{kind}": strategy for kind, strategy in _STRATEGIES.items()},
}
"""The settings with options of their own."""

BUFFER_TIMEOUT_ENABLED: Final = "execution.buffer-timeout.enabled"
"""The option without a setting of its own: false is a buffer timeout of -1 (rule 5.3)."""


def _options() -> Iterator[tuple[str, tuple[str, Setting]]]:
    """Yields every option with the block of its setting (empty for the job's own) and the setting."""
    owners: dict[str, type[Any]] = {"": JobSettings, **_BLOCKS}
    for block, owner in owners.items():
        for setting in settings_of(owner):
            if setting.option is not None:
                yield setting.option, (block, setting)


OPTIONS: Final[dict[str, tuple[str, Setting]]] = dict(_options())
"""Flink's option keys that flowsim has."""

_V = TypeVar("_V")

_KINDS: Final = {"count": "int", "flag": "bool", "timeout": "ms", "number": "float"}
_BYTES: Final = {"b": 1, "": 1, "kb": 1 << 10, "k": 1 << 10, "mb": 1 << 20, "m": 1 << 20}


class Configuration:
    """Option keys and values. PyFlink: Configuration.

    An unknown key raises BadInput with the reason or the most similar key. A program for PyFlink may set any key; a key
    without effect warns.
    """

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

    def set_float(self, key: str, value: float) -> Configuration:
        return self._set(key, value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        return self._set(key, value)

    def get_string(self, key: str, default_value: str) -> str:
        return _text(self._values[key]) if key in self._values else default_value

    def get_integer(self, key: str, default_value: int) -> int:
        return self._get(key, default_value, int)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        return self._get(key, default_value, _flag)

    def get_float(self, key: str, default_value: float) -> float:
        return self._get(key, default_value, float)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        value = self._values.get(key, default_value)
        if not isinstance(value, bytearray):
            raise BadInput(f"configuration: {key}: expected a bytearray, got {value!r:.60}")
        return value

    def _get(self, key: str, default_value: _V, read: Callable[[str], _V]) -> _V:
        """Returns the value of a key; raises BadInput if it has another type."""
        if key not in self._values:
            return default_value
        try:
            return read(_text(self._values[key]))
        except ValueError as error:
            raise BadInput(f"configuration: {key}: {error}") from None

    def key_set(self) -> set[str]:
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        return key in self._values

    def remove_config(self, key: str) -> bool:
        """Removes a key; returns True if it was there."""
        return self._values.pop(key, None) is not None

    def add_all(self, other: Configuration, prefix: str = "") -> Configuration:
        """Adds the keys of another configuration, each with this prefix."""
        for key, value in other._values.items():
            self._set(f"{prefix or ''}{key}", value)
        return self

    def add_all_to_dict(self, target_dict: dict[str, object]) -> None:
        """Adds every key with its value as text to a dict."""
        target_dict.update(self.to_dict())

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """Returns the items of a list of texts, which ``;`` or a YAML list separates."""
        return [item.strip() for item in value.strip("[] ").replace(";", ",").split(",") if item.strip()]

    def to_dict(self) -> dict[str, str]:
        """Returns every key with its value as text."""
        return {key: _text(value) for key, value in self._values.items()}

    def settings(self) -> dict[str, object]:
        """Returns the settings of the keys, by flowsim's names.

        The debloating settings are one value; the value is None if debloating is disabled. The same holds for those of
        the adaptive partitioner. If the buffer timeout is disabled, its value is -1 (rule 5.3).
        """
        own: dict[str, object] = {}
        blocks: dict[str, dict[str, Any]] = {block: {} for block in _BLOCKS}
        for key, value in self._values.items():
            if key in OPTIONS:
                block, setting = OPTIONS[key]
                (blocks[block] if block else own)[setting.name] = _read(key, value)
        if not _read(BUFFER_TIMEOUT_ENABLED, self._values.get(BUFFER_TIMEOUT_ENABLED, True)):
            own["buffer_timeout_ms"] = -1
        for name in ("buffer_debloat", "adaptive_partitioner"):
            # Flink checks the numbers also where the feature is not enabled.
            settings = _BLOCKS[name](**blocks[name])
            _check(settings)
            if name in own:
                own[name] = settings if own[name] else None
        if blocks["checkpointing"]:
            own["checkpointing"] = CheckpointSettings(**blocks["checkpointing"])
        kind = own.pop("restart_strategy", None)
        if kind is not None:
            own["restart_strategy"] = _STRATEGIES[str(kind)](**blocks[f"restart_strategy.{kind}"])
        return own

    def _set(self, key: str, value: object) -> Configuration:
        if key in OPTIONS or key == BUFFER_TIMEOUT_ENABLED:
            _read(key, value)
        elif is_pyflink_way():
            feature = feature_of_option(key)
            why = "no setting of flowsim has this key" if feature is None else feature.instead
            warnings.warn(f"configuration: {key}: no effect in flowsim: {why}", WithoutEffect, stacklevel=3)
        else:
            refuse_option(key)
            raise BadInput(f"configuration: unknown key {key!r}{did_you_mean(key, [*OPTIONS, BUFFER_TIMEOUT_ENABLED])}")
        self._values[key] = value
        return self


def _check(settings: object) -> None:
    """Raises BadInput that names the option, for a value that Flink refuses."""
    for setting in settings_of(type(settings)):
        setting.check(getattr(settings, setting.name), f"configuration: {setting.option}")


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"expected true or false, got {text!r:.60}")
    return text.lower() == "true"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(key: str, value: object) -> object:
    """Returns the value of an option's text. Raises BadInput."""
    plain, text = _text(value).strip(), _text(value).strip().lower()
    kind, choices = _form(key)
    try:
        match kind:
            case "choice":
                return choices[text]
            case "folder":
                return plain
            case "number":
                return float(text)
            case "flag":
                return {"true": True, "false": False}[text]
            case "bytes":
                number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
                return int(number) * _BYTES[text[len(number) :].strip()]
            case "ms" | "timeout":
                # Flink reads a number without unit as milliseconds.
                return int(text) if text.lstrip("-").isdigit() else duration_ms(text)
            case _:
                return int(text)
    except (KeyError, ValueError):
        expected = f"one of {', '.join(choices)}" if choices else f"a value of kind {_KINDS.get(kind, kind)}"
        raise BadInput(f"configuration: {key}: expected {expected}, got {value!r:.60}") from None


def _form(key: str) -> tuple[str, Mapping[str, object]]:
    """Returns the kind of an option's value, and the values of its names if it is a choice."""
    if key == BUFFER_TIMEOUT_ENABLED:
        return "flag", {}
    _, setting = OPTIONS[key]
    if setting.name == "restart_strategy":
        return "choice", {name: name for name in _STRATEGIES}
    # The option of a whole block says whether it is enabled.
    return "flag" if setting.kind == "block" else setting.kind, setting.choices
