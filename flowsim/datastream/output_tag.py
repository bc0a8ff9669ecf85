"""Names of side outputs. PyFlink: OutputTag."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.streamrecord import elements
from flowsim.values.types import TypeInformation


@dataclass(frozen=True, slots=True)
class OutputTag(elements.OutputTag):
    """Names a side output; ``yield tag, value`` in a process function emits to that output. PyFlink: OutputTag."""

    type_info: TypeInformation | None = None

    def __post_init__(self) -> None:
        if not self.tag_id:
            raise ValueError("OutputTag: tag_id cannot be empty")
