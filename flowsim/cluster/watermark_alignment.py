"""The coordinators of aligned sources. Flink: SourceCoordinator (rules 8.22-8.24)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.mailbox.task_mailbox import MailboxState
from flowsim.operators.sources.source import SourceOperator
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.tasks.stream_task import StreamTask
from flowsim.units import NO_TIMESTAMP, NS_PER_MS
from flowsim.watermark.watermark_strategy import WatermarkAlignmentParams

_K = TypeVar("_K", bound=Hashable)


class WatermarkAggregator(Generic[_K]):
    """The minimum of the last reported watermark of each key; a key without a report is ignored.

    Flink: SourceCoordinator.WatermarkAggregator.
    """

    __slots__ = ("_watermarks",)

    def __init__(self) -> None:
        self._watermarks: dict[_K, int] = {}

    @property
    def keys(self) -> Sequence[_K]:
        """The keys that have reported a watermark."""
        return list(self._watermarks)

    @property
    def aggregated_watermark(self) -> int:
        """The minimum in ms; ``NO_TIMESTAMP`` before the first report."""
        return min(self._watermarks.values(), default=NO_TIMESTAMP)

    def aggregate(self, key: _K, watermark: int) -> int | None:
        """Adds a report, which may be lower than the previous one; returns the minimum if it changed."""
        before = self.aggregated_watermark
        self._watermarks[key] = watermark
        after = self.aggregated_watermark
        return None if after == before else after


class AlignedTask:
    """A task with an aligned source, as the source's coordinator uses it."""

    __slots__ = ("_origin", "_task", "_operator")

    def __init__(self, task: StreamTask, operator: SourceOperator) -> None:
        self._origin = Origin("timer", -1, task.id, 2)
        self._task = task
        self._operator = operator

    def on_report(self, scheduler: Scheduler, receive: Callable[[int], None]) -> None:
        """Forwards a report when the cost of its batch has passed."""

        def send(watermark: int) -> None:
            scheduler.call_at_ns(self._task.clock.now_ns, lambda: receive(watermark), origin=self._origin)

        if self._operator.alignment is not None:
            self._operator.alignment.report = send

    @property
    def is_ready(self) -> bool:
        return self._task.mailbox.state is MailboxState.OPEN

    def knows(self, limit: int) -> bool:
        return self._operator.alignment is None or self._operator.alignment.limit == limit

    def send(self, limit: int) -> None:
        """Sends the limit as a mail of the task. Flink: WatermarkAlignmentEvent."""
        executor = self._task.mailbox_processor.executor()
        executor.execute(lambda: self._operator.announce_limit(limit), f"watermark alignment {limit}")


class SourceCoordinator:
    """Receives the reports of one source's subtasks, and sends them the limit at every update interval.

    Its timer keeps a run alive only while a subtask has an outdated limit. Flink: SourceCoordinator.
    """

    def __init__(
        self,
        name: str,
        params: WatermarkAlignmentParams,
        subtasks: Mapping[int, AlignedTask],
        group: WatermarkAggregator[str],
        scheduler: Scheduler,
        source: int = -1,
    ) -> None:
        """``source``: the vertex of the source; -1: it is the only one."""
        self._origin = Origin("timer", -1, source, 3)
        self._name = name
        self._params = params
        self._subtasks = dict(subtasks)
        self._group = group
        self._scheduler = scheduler
        self._combined: WatermarkAggregator[int] = WatermarkAggregator()
        self._timer: Timer | None = None
        self._next_ns = 0

    def deployed(self, subtask: int, task: AlignedTask) -> None:
        """Makes a task the current attempt of a subtask; what earlier attempts have reported stays until it reports."""
        self._subtasks[subtask] = task
        task.on_report(self._scheduler, self.receiver(subtask))

    def start(self) -> None:
        """Starts the interval timer."""
        self._next_ns = self._scheduler.now_ns
        self._schedule()

    def stop(self) -> None:
        """Cancels the interval timer when the job has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def handle_reported_watermark(self, subtask: int, watermark: int) -> None:
        """Stores a subtask's watermark. The key of a source in its alignment group is the source's name."""
        least = self._combined.aggregate(subtask, watermark)
        if least is not None:
            self._group.aggregate(self._name, least)

    def announce_combined_watermark(self) -> None:
        """Sends the limit to the subtasks that have reported (rule 8.22)."""
        limit = self._limit
        for subtask in self._listening():
            subtask.send(limit)

    @property
    def _limit(self) -> int:
        return self._params.limit_above(self._group.aggregated_watermark)

    def _listening(self) -> list[AlignedTask]:
        subtasks = (self._subtasks[index] for index in sorted(self._combined.keys))
        return [subtask for subtask in subtasks if subtask.is_ready]

    def _has_news(self) -> bool:
        limit = self._limit
        return any(not subtask.knows(limit) for subtask in self._listening())

    def _on_interval(self) -> None:
        self.announce_combined_watermark()
        self._schedule()

    def _schedule(self) -> None:
        self._next_ns += self._params.update_interval_ms * NS_PER_MS
        self._timer = self._scheduler.call_at_ns(
            self._next_ns, self._on_interval, daemon_while_not=self._has_news, origin=self._origin
        )

    def receiver(self, subtask: int) -> Callable[[int], None]:
        """Returns the receiver of a subtask's reports."""
        return lambda watermark: self.handle_reported_watermark(subtask, watermark)


class WatermarkAlignment:
    """The coordinators of all aligned sources of a job. Without alignment it is empty and costs nothing."""

    def __init__(self, execution: ExecutionGraph, tasks: Sequence[StreamTask], scheduler: Scheduler) -> None:
        self._coordinators: list[SourceCoordinator] = []
        self._of_subtask: dict[int, tuple[SourceCoordinator, int]] = {}
        """The coordinator of each subtask with an aligned source, and the subtask's index."""
        groups: dict[str, WatermarkAggregator[str]] = {}
        subtasks_of: dict[int, list[Subtask]] = {}
        for subtask in execution.subtasks:
            subtasks_of.setdefault(subtask.vertex.id, []).append(subtask)
        for vertex in execution.job.vertices:
            subtasks = subtasks_of[vertex.id]
            heads = [tasks[subtask.id].chain.head for subtask in subtasks]
            aligned = {
                subtask.index: AlignedTask(tasks[subtask.id], head)
                for subtask, head in zip(subtasks, heads, strict=True)
                if isinstance(head, SourceOperator) and head.alignment is not None
            }
            params = next((h.alignment.params for h in heads if isinstance(h, SourceOperator) and h.alignment), None)
            if params is not None:
                group = groups.setdefault(params.watermark_group, WatermarkAggregator())
                coordinator = SourceCoordinator(vertex.head.name, params, aligned, group, scheduler, vertex.id)
                for index, task in aligned.items():
                    coordinator.deployed(index, task)
                    self._of_subtask[subtasks[index].id] = coordinator, index
                self._coordinators.append(coordinator)

    def redeployed(self, subtask: int, task: StreamTask) -> None:
        """Lets the coordinator of a restarted subtask hear its new attempt, if its source is aligned."""
        head = task.chain.head
        if subtask in self._of_subtask and isinstance(head, SourceOperator):
            coordinator, index = self._of_subtask[subtask]
            coordinator.deployed(index, AlignedTask(task, head))

    def start(self) -> None:
        """Starts the coordinators, before the tasks start."""
        for coordinator in self._coordinators:
            coordinator.start()

    def stop(self) -> None:
        for coordinator in self._coordinators:
            coordinator.stop()
