"""Events between an operator coordinator and the subtasks of its operator. Flink: OperatorEvent."""

from __future__ import annotations

from dataclasses import dataclass


class OperatorEvent:
    """An event between an operator coordinator and a subtask; a subclass has the content. Flink: OperatorEvent."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AcknowledgeCheckpointEvent(OperatorEvent):
    """A subtask has taken the synchronous part of its snapshot (rule 12.109). Flink: AcknowledgeCheckpointEvent."""

    checkpoint_id: int
