"""Stored operator state: which elements of a stream belong to which state. Flink: OperatorStateHandle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class DistributionMode(Enum):
    """How a list state is distributed to the subtasks of a restored job. Flink: OperatorStateHandle.Mode."""

    SPLIT_DISTRIBUTE = "SPLIT_DISTRIBUTE"
    """Each element goes to exactly one subtask."""
    UNION = "UNION"
    """Every subtask gets all elements of all subtasks."""
    BROADCAST = "BROADCAST"
    """Every subtask has the same elements and gets those of one subtask."""


@dataclass(frozen=True, slots=True)
class StateMetaInfo:
    """The elements of one state in a stream. Flink: OperatorStateHandle.StateMetaInfo."""

    offsets: tuple[int, ...]
    """The position of each element, in the order of the list."""
    mode: DistributionMode


@dataclass(frozen=True, slots=True)
class OperatorStateHandle:
    """The states of one stored stream, by name. Flink: OperatorStreamStateHandle."""

    stream: str
    """The identifier of the stream, unique in its checkpoint."""
    states: Mapping[str, StateMetaInfo]
