"""Checks settings, mostly network settings, for ``StreamExecutionEnvironment.configure``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Final

from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import (
    CheckpointSettings,
    RestartStrategySettings,
    checked_checkpoint_settings,
    checked_restart_strategy,
)
from flowsim.graph.placement import TaskManagers
from flowsim.graph.stream_graph import AdaptivePartitionerSettings, BufferDebloatSettings, Link
from flowsim.network.partitions.result_partition_type import ResultPartitionType


def checked_exchange(mode: object, what: str) -> ResultPartitionType:
    """Returns the exchange of that name. Raises BadInput naming ``what`` (rule 5.43)."""
    names = [kind.value for kind in ResultPartitionType]
    if mode not in names:
        raise BadInput(f"{what}: expected one of {', '.join(names)}, got {mode!r}")
    return ResultPartitionType(str(mode))


def _task_managers(value: object) -> TaskManagers:
    if value == "each" or value == "one":
        return "one" if value == "one" else "each"
    if isinstance(value, Mapping):
        return {str(name): places for name, places in value.items()}
    raise BadInput(
        f"configure: task_managers: expected 'each', 'one' or a mapping of names to lists of subtasks, got {value!r}"
    )


def _exchange(value: object) -> ResultPartitionType:
    return checked_exchange(value, "configure: exchange")


def _links(value: object) -> tuple[Link, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise BadInput(f"configure: links: expected a list of Link, got {value!r}")
    for number, link in enumerate(value):
        if not isinstance(link, Link):
            raise BadInput(f"configure: links[{number}]: expected a Link, got {link!r}")
        if type(link.latency_ns) is not int or link.latency_ns < 0:
            raise BadInput(f"configure: links[{number}]: latency_ns: expected 0 or more, got {link.latency_ns!r}")
        limit = link.bytes_per_second
        if limit is not None and (type(limit) is not int or limit < 1):
            raise BadInput(f"configure: links[{number}]: bytes_per_second: expected 1 or more or None, got {limit!r}")
    return tuple(value)


def _buffer_debloat(value: object) -> BufferDebloatSettings | None:
    if value is None or value is False:
        return None
    settings = BufferDebloatSettings() if value is True else value
    if not isinstance(settings, BufferDebloatSettings):
        raise BadInput(f"configure: buffer_debloat: expected BufferDebloatSettings, True or None, got {value!r}")
    for field in fields(BufferDebloatSettings):
        number, least = getattr(settings, field.name), 0 if field.name == "threshold_percent" else 1
        if type(number) is not int or number < least:
            raise BadInput(f"configure: buffer_debloat: {field.name}: expected {least} or more, got {number!r}")
    return settings


def _adaptive_partitioner(value: object) -> AdaptivePartitionerSettings | None:
    if value is None or value is False:
        return None
    settings = AdaptivePartitionerSettings() if value is True else value
    if not isinstance(settings, AdaptivePartitionerSettings):
        raise BadInput(
            f"configure: adaptive_partitioner: expected AdaptivePartitionerSettings, True or None, got {value!r}"
        )
    number = settings.max_traverse_size
    if type(number) is not int or not 2 <= number < 2**31:
        raise BadInput(f"configure: adaptive_partitioner: max_traverse_size: expected 2 to 2147483647, got {number!r}")
    return settings


def _checkpointing(value: object) -> CheckpointSettings | None:
    if value is None:
        return None
    if not isinstance(value, CheckpointSettings):
        raise BadInput(f"configure: checkpointing: expected CheckpointSettings or None, got {value!r:.60}")
    return checked_checkpoint_settings(value)


def _restart_strategy(value: object) -> RestartStrategySettings | None:
    if value is None:
        return None
    if not isinstance(value, RestartStrategySettings):
        raise BadInput(
            "configure: restart_strategy: expected FixedDelayRestart, FailureRateRestart, ExponentialDelayRestart, "
            f"NoRestart or None, got {value!r:.60}"
        )
    return checked_restart_strategy(value)


NETWORK_SETTINGS: Final[dict[str, Callable[[object], object]]] = {
    "task_managers": _task_managers,
    "exchange": _exchange,
    "links": _links,
    "buffer_debloat": _buffer_debloat,
    "adaptive_partitioner": _adaptive_partitioner,
    "checkpointing": _checkpointing,
    "restart_strategy": _restart_strategy,
}
"""Name of a ``JobSettings`` setting to the function that checks its value; each function raises BadInput."""

_LEAST: Final[dict[str, int]] = {
    "segment_size_bytes": 1,
    "network_buffers": 2,
    "exclusive_buffers_per_channel": 0,
    "floating_buffers_per_gate": 0,
    # With 1 the buffer being filled would use the whole pool, and the channel would block forever (rule 5.35).
    "max_buffers_per_channel": 2,
    "overdraft_buffers": 0,
    "auto_watermark_interval_ms": 0,
    "latency_interval_ms": 0,
    "metrics_interval_ms": 0,
    "cost_ns": 0,
    "budget_records": 1,
    "watermark_alignment_buffer_size": 0,
    "committer_retries": 0,
}


def checked_number(name: str, value: object) -> int:
    """Returns the numeric value of a setting. Raises BadInput for a value below the setting's minimum."""
    least = _LEAST[name]
    if type(value) is not int:
        raise BadInput(f"configure: {name}: expected an integer, got {value!r}")
    if value < least:
        raise BadInput(f"configure: {name}: expected {least} or more, got {value}")
    return value
