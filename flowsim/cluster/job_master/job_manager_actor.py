"""The actor that runs the job's side of checkpoints: one action after the other, in virtual time.

Flink: the main thread of the JobMaster, and the timer thread of its CheckpointCoordinator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from flowsim.checkpoints.main_thread_executor import Action
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.tasks.actor import Actor
from flowsim.units import NS_PER_MS


class ReportsOfTask(Origin):
    """The messages from a task to the job manager, which arrive in the order in which they were sent."""

    __slots__ = ("_in_flight",)

    def __init__(self, actor_id: int, task: int) -> None:
        super().__init__("report", actor_id, task)
        self._in_flight: deque[bool] = deque()

    def sent(self, *, is_split_request: bool) -> None:
        """Notes the next message."""
        self._in_flight.append(is_split_request)

    def arrived(self) -> None:
        """Forgets the first message."""
        self._in_flight.popleft()

    @property
    def requests_split(self) -> bool:
        return self._in_flight[0]


class JobManagerActor:
    """The main thread of a job manager: runs each action in a turn of its own, in the order of the calls.

    ``must_progress``: True while tasks wait for a checkpoint; only then do timers keep the run alive.
    """

    def __init__(self, actor_id: int, scheduler: Scheduler, must_progress: Callable[[], bool]) -> None:
        self._origin = Origin("master", actor_id)
        self.actor = Actor(actor_id, "job manager", scheduler, self._run)
        self._scheduler = scheduler
        self._must_progress = must_progress
        self._actions: deque[Action] = deque()
        self._reports: dict[int, ReportsOfTask] = {}
        """What tasks have sent, by task, while an exploration decides in which order it arrives."""
        self._is_closed = False

    def execute(self, action: Action) -> None:
        """Runs the action in a turn of its own."""
        if not self._is_closed:
            self._actions.append(action)
            self.actor.wake()

    def receive(self, task: int, action: Action, *, is_split_request: bool = False) -> None:
        """Runs the action of a task's message, once it arrives: at once, unless the order of arrivals is explored."""
        if not self._scheduler.explores_arrivals:
            self.execute(action)
            return
        reports = self._reports.get(task)
        if reports is None:
            reports = self._reports[task] = ReportsOfTask(self.actor.actor_id, task)
        reports.sent(is_split_request=is_split_request)
        self._scheduler.call_at_ns(self._scheduler.now_ns, partial(self._arrive, reports, action), origin=reports)

    def _arrive(self, reports: ReportsOfTask, action: Action) -> None:
        reports.arrived()
        self.execute(action)

    def execute_last(self, action: Action) -> None:
        """Runs the action in a turn of its own, once no other action waits."""
        self.execute(lambda: self.execute_last(action) if self._actions else action())

    def schedule(self, action: Action, delay_ms: int) -> Timer:
        """Runs the action in a turn of its own after the delay."""
        when_ns = self._scheduler.now_ns + delay_ms * NS_PER_MS
        return self._scheduler.call_at_ns(
            when_ns, lambda: self.execute(action), daemon_while_not=self._must_progress, origin=self._origin
        )

    def call_later(self, delay_ns: int, action: Action) -> Timer:
        """Runs the action in a turn of its own after the delay; until then the run goes on."""
        return self._scheduler.call_at_ns(
            self._scheduler.now_ns + delay_ns, lambda: self.execute(action), origin=self._origin
        )

    @property
    def now_ns(self) -> int:
        """The time of the job in ns."""
        return self._scheduler.now_ns

    @property
    def now_ms(self) -> int:
        """The time of the job in ms."""
        return self._scheduler.now_ns // NS_PER_MS

    def close(self) -> None:
        """Drops the actions that have not run."""
        self._is_closed = True
        self._actions.clear()
        self.actor.wake()

    def _run(self) -> None:
        while True:
            self.actor.wait_until(lambda: bool(self._actions) or self._is_closed)
            if self._is_closed:
                return
            self._actions.popleft()()
            self.actor.spend(0)
