"""Any source, read by a source function: the same records through the old kind of task. Flink: SourceFunction."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.connectors.source import Source
from flowsim.operators.sources.source_function import ReaderSourceFunction


class LegacySource:
    """For ``add_source``: plays ``source`` on a thread of its own, under the checkpoint lock of its task."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __repr__(self) -> str:
        return f"LegacySource({self.source!r})"

    @property
    def kind(self) -> str:
        return self.source.kind

    @property
    def params(self) -> Mapping[str, object]:
        return self.source.params

    @property
    def required_parallelism(self) -> int | None:
        return self.source.required_parallelism

    @property
    def needs_cost(self) -> bool:
        return self.source.needs_cost

    def create_function(self) -> ReaderSourceFunction:
        """A function for one subtask."""
        return ReaderSourceFunction(self.source.create_reader())
