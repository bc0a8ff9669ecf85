"""A loop that asks for everything that threads, networks and clocks decide (the runtime space of exploration)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from flowsim.sim.exploring_loop import START, TIME, ExploringLoop, ExploringPolicy, Option
from flowsim.sim.origin import Origin

_NO_ACTOR: Final = -1
_AT_ONCE: Final = frozenset({"arrive", "credit", "report"})
"""By default the network is faster than tasks."""

_LAST: Final = frozenset({"any_failure"})
"""By default no task fails; and nothing waits for a failure."""


class _Options(dict[Origin | int, Option]):
    """The options of a run: a step is an option many times."""

    def __missing__(self, step: Origin | int) -> Option:
        key = ("turn", step) if isinstance(step, int) else step.key
        option = self[step] = Option(key, START)
        return option


@mypyc_attr(native_class=False)
class RuntimeLoop(ExploringLoop):
    """Each step is one turn of a task, one event, or the clock's way to the next timer.

    The network, the buffers and the credits are those of the job. Flushers are free to run, whatever the buffer timeout, because
    their threads can be late; and time can pass while tasks are ready, because tasks can be slow. In the default order,
    messages arrive at once; then the task that ran last has its turn, as long as it can run; answers, flushes and timers come
    when no task is ready, in the order of their times.
    """

    at_any_time: ClassVar = frozenset({"arrive", "credit", "answer", "report", "flush", "any_failure"})

    separates_elements = False
    explores_time = True
    turns_are_steps: ClassVar = True
    _last_actor = _NO_ACTOR

    def __init__(self, policy: ExploringPolicy, **options: Any) -> None:
        super().__init__(policy, **options)
        self._options = _Options()

    def can_act_before_reading(self, actor: int) -> bool:
        return False  # Turns are steps.

    def wake(self, actor: int) -> None:
        self._touched.add(actor)
        super().wake(actor)

    def _queue_immediate_events(self) -> bool:
        for index, origin in enumerate(self._free.origins):
            if origin.is_immediate and origin.what not in _AT_ONCE:
                self._ready.append(self._free.take(index))
                return True
        return False

    def _next_step(self) -> None:
        self._end_step()
        due = self._due_events.without_cancelled()
        steps: list[Origin | int] = []
        by_time: list[Origin] = []
        last: list[Origin] = []
        for origin in self._free.without_cancelled():
            if origin.what in _AT_ONCE:
                steps.append(origin)
            elif origin.what in _LAST:
                last.append(origin)
            else:
                by_time.append(origin)
        steps += self._actors_in_order()
        steps += due
        steps += self._by_time(by_time)
        if not steps:
            self._quiescent()
            return
        steps += last
        self._has_begun = True
        step = steps[self._choose([self._options[step] for step in steps])]
        if isinstance(step, int):
            self._touched.add(step)
            self._last_actor = step
            self._give_turn_to(step)
        elif step is TIME:
            self._step_in_time()
        else:
            self._perform(step, self._due_events if step in due else self._free)

    def _actors_in_order(self) -> Sequence[int]:
        """The actors that are ready: the one that ran last, then as they became ready."""
        actors, last = self._turns.ready, self._last_actor
        return [last, *(actor for actor in actors if actor != last)] if last in actors else actors

    def _by_time(self, events: list[Origin]) -> list[Origin]:
        """Free events, and the clock's way to the next timer among them, in the order of their times."""
        steps = [(self._free.first(origin).when_ns, number, origin) for number, origin in enumerate(events)]
        if self._any_timer_counts():
            steps.append((self._timers.next_ns, len(steps), TIME))
        return [origin for _, _, origin in sorted(steps)]

    def _any_timer_counts(self) -> bool:
        """True if a timer in the heap keeps the run alive."""
        return super(ExploringLoop, self)._any_timer_counts()
