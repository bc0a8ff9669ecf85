"""Starts the tasks of a job region by region. Flink: PipelinedRegionSchedulingStrategy (rules 5.43, 12.27)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.graph.pipelined_regions import PipelinedRegion


class RegionSchedule:
    """Starts a region when all producers of its blocking inputs have finished.

    Flink: PipelinedRegionSchedulingStrategy.
    """

    __slots__ = ("_regions", "_pending", "_readers", "_region_of")

    def __init__(self, regions: Sequence[PipelinedRegion]) -> None:
        self._regions = regions
        self._pending = [dict.fromkeys(sorted(region.waits_for)) for region in regions]
        self._readers: dict[int, list[int]] = {}
        """Each producer with the regions that wait for it."""
        for number, region in enumerate(regions):
            for producer in sorted(region.waits_for):
                self._readers.setdefault(producer, []).append(number)
        self._region_of = {subtask: number for number, region in enumerate(regions) for subtask in region.subtasks}

    def start(self) -> list[int]:
        """Returns the subtasks that start with the job, in the order of their ids."""
        return self._subtasks([number for number, region in enumerate(self._regions) if not region.waits_for])

    def on_finished(self, subtask: int) -> list[int]:
        """Returns the subtasks that can start because this subtask has finished."""
        ready = []
        for number in self._readers.get(subtask, ()):
            pending = self._pending[number]
            if subtask in pending:
                del pending[subtask]
                if not pending:
                    ready.append(number)
        return self._subtasks(ready)

    def restart(self, subtasks: Sequence[int], is_finished: Callable[[int], bool]) -> list[int]:
        """Returns the restarted subtasks that can start now; the others wait for producers that restart, too."""
        for subtask in subtasks:
            for number in self._readers.get(subtask, ()):
                if self._pending[number]:
                    self._pending[number][subtask] = None
        numbers = list(dict.fromkeys(self._region_of[subtask] for subtask in subtasks))
        for number in numbers:
            waits = sorted(self._regions[number].waits_for)
            self._pending[number] = dict.fromkeys(each for each in waits if not is_finished(each))
        ready = {each for number in numbers if not self._pending[number] for each in self._regions[number].subtasks}
        return [subtask for subtask in sorted(subtasks) if subtask in ready]

    def waits_for(self, subtask: int) -> list[int]:
        """Returns the unfinished subtasks that this subtask waits for."""
        return list(self._pending[self._region_of[subtask]])

    def _subtasks(self, regions: Sequence[int]) -> list[int]:
        return sorted(subtask for number in regions for subtask in self._regions[number].subtasks)
