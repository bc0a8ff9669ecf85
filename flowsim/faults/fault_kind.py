"""A kind of fault, and the component that it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Component(Enum):
    """The component that a fault breaks."""

    CHANNEL = "channel"
    VALVE = "valve"
    OPERATOR = "operator"
    WRITER = "writer"
    READER = "reader"
    TASK = "task"
    CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: its name, its component, what happens, and the law that must detect it.

    ``needs_checkpoints``: it has no effect in a job that takes no checkpoint.
    """

    name: str
    component: Component
    sentence: str
    law: str | None
    needs_checkpoints: bool = False
