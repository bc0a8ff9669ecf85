"""Which subtasks of one parallelism belong to which of another. Flink: RescaleMappings (rule 12.102)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RescaleMappings:
    """For each source its targets, in increasing order. Flink: RescaleMappings."""

    mappings: tuple[tuple[int, ...], ...]
    """By source."""
    number_of_targets: int

    @property
    def is_identity(self) -> bool:
        """Returns True if each target is mapped from the source of the same number, and other sources from none."""
        targets = self.number_of_targets
        return len(self.mappings) >= targets and all(
            mapped == ((source,) if source < targets else ()) for source, mapped in enumerate(self.mappings)
        )

    def mapped_indexes(self, source: int) -> tuple[int, ...]:
        """Returns the targets of a source; none for a source that is not mapped."""
        return self.mappings[source] if source < len(self.mappings) else ()

    def invert(self) -> RescaleMappings:
        """Returns the sources of each target."""
        sources: list[list[int]] = [[] for _ in range(self.number_of_targets)]
        for source, targets in enumerate(self.mappings):
            for target in targets:
                sources[target].append(source)
        return RescaleMappings(tuple(map(tuple, sources)), len(self.mappings))

    @property
    def ambiguous_targets(self) -> list[int]:
        """The targets of more than one source; their records must be filtered (rule 12.104)."""
        return [target for target, sources in enumerate(self.invert().mappings) if len(sources) > 1]
