"""Notices that the tasks of a job take turns without end and process no element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flowsim.cluster.run_bounds import EffectiveBounds
from flowsim.errors import RunTooLong
from flowsim.tasks.stream_task import StreamTask
from flowsim.units import NS_PER_MS

_SAMPLED_BATCHES: Final = 1024
_TASKS_PER_STANDSTILL: Final = 1000


class LivelockWatch:
    """Compares what the tasks have processed, at standstills of virtual time and every 1,024 batches."""

    __slots__ = (
        "_at",
        "_batches",
        "_bounds",
        "_elapsed_ns",
        "_end",
        "_moved_at",
        "_processed",
        "_standstills",
        "_tasks",
    )

    def __init__(
        self,
        tasks: Callable[[], Sequence[StreamTask]],
        bounds: EffectiveBounds,
        elapsed_ns: Callable[[], int],
        end: Callable[[Callable[[str], RunTooLong]], None],
    ) -> None:
        """``end`` ends the run with the error that its argument makes of the wait-for report."""
        self._tasks = tasks
        self._bounds = bounds
        self._elapsed_ns = elapsed_ns
        self._end = end
        self._at = (-1, -1, -1)
        self._standstills = 0
        self._batches = 0
        self._processed = -1
        self._moved_at = 0
        """The number of batches when an element was processed last, as far as it was sampled."""

    def watch(self, task: StreamTask, on_batch_end: Callable[[], None]) -> None:
        """Bounds the timers of a task that register timers, as steps are; its batches report their ends and standstills."""
        task.batches.on_batch_end, task.batches.on_standstill = on_batch_end, self.on_standstill
        task.cancellation.most_firings = self._bounds.steps

    def on_standstill(self, is_livelock: bool) -> bool:
        """Called when very many turns or actions happened at one time; ends the run if nothing is processed meanwhile.

        Returns True if it ended the run. ``is_livelock``: the event loop ends the run.
        """
        if is_livelock:
            self._record()
            return False
        tasks = self._tasks()
        at = self._elapsed_ns(), _processed(tasks), sum(task.is_running for task in tasks)
        self._standstills = self._standstills + 1 if at == self._at else 0
        self._at = at
        # The start of a large job takes many turns without an element.
        if self._standstills < 2 + len(tasks) // _TASKS_PER_STANDSTILL:
            return False
        self._end(self._ended_at_standstill)
        return True

    def on_batch(self) -> None:
        self._batches += 1
        if self._batches % _SAMPLED_BATCHES == 0:
            processed = _processed(self._tasks())
            if processed != self._processed:
                self._processed, self._moved_at = processed, self._batches

    def ended_by_steps(self, report: str) -> RunTooLong:
        """Returns the error of a run that reached its bound of steps.

        Records a livelock if data waits between the tasks, and none was processed in the second half of the batches.
        """
        waits = any(
            task.queued_input or any(writer.partition.queued_buffers for writer in task.writers)
            for task in self._tasks()
        )
        if waits and self._batches > 2 * max(self._moved_at, _SAMPLED_BATCHES):
            self._record()
        return self._bounds.ended_by("steps", report)

    def _ended_at_standstill(self, report: str) -> RunTooLong:
        """Records the livelock; returns the error of the run. ``report``: the wait-for report."""
        self._record()
        return RunTooLong(
            f"the job is livelocked: at {self._at[0] / NS_PER_MS:,g} ms its tasks take turns without end, and process "
            f"no element; its tasks waited:\n{report}"
        )

    def _record(self) -> None:
        for task in self._tasks():
            task.trace_livelock()


def _processed(tasks: Sequence[StreamTask]) -> int:
    return sum(wrapper.operator.records_in for task in tasks for wrapper in task.chain.wrappers)
