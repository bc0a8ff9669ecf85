"""Checks the settings of a job that have a form of their own, for ``StreamExecutionEnvironment.configure``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import (
    CheckpointSettings,
    RestartStrategySettings,
    checked_checkpoint_settings,
    checked_restart_strategy,
)
from flowsim.graph.job_settings import AdaptivePartitionerSettings, BufferDebloatSettings, Link
from flowsim.graph.placement import TaskManagers
from flowsim.graph.setting import check_settings
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
        check_settings(link, f"configure: links[{number}]")
    return tuple(value)


def _block(name: str, kind: type[Any]) -> Callable[[object], object]:
    """Returns the check of a block that is left out, has its defaults (True), or is an object of ``kind``."""

    def checked(value: object) -> object:
        if value is None or value is False:
            return None
        settings = kind() if value is True else value
        if not isinstance(settings, kind):
            raise BadInput(f"configure: {name}: expected {kind.__name__}, True or None, got {value!r}")
        check_settings(settings, f"configure: {name}")
        return settings

    return checked


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


BLOCKS: Final[dict[str, Callable[[object], object]]] = {
    "task_managers": _task_managers,
    "exchange": _exchange,
    "links": _links,
    "buffer_debloat": _block("buffer_debloat", BufferDebloatSettings),
    "adaptive_partitioner": _block("adaptive_partitioner", AdaptivePartitionerSettings),
    "checkpointing": _checkpointing,
    "restart_strategy": _restart_strategy,
}
"""The check of each ``JobSettings`` setting that has a form of its own; each returns the value or raises BadInput."""
