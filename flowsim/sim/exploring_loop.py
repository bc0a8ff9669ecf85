"""A loop that asks which event is the next, wherever Flink leaves it open (the order space of exploration)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextvars import Context
from itertools import count
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol

from mypy_extensions import mypyc_attr

from flowsim.sim.due_events import DueEvents
from flowsim.sim.handles import VirtualTimer
from flowsim.sim.origin import DRAWN, Drawn, OptionKey, Origin
from flowsim.sim.policy import FifoPolicy
from flowsim.sim.scheduler import Timer
from flowsim.sim.virtual_time_loop import VirtualTimeLoop

START: Final = -1
"""The cause of the events that exist before the first step."""

ANY_ACTOR: Final = -1
"""In place of an actor: a step has an effect on every actor."""

CLOCK_READ: Final = -2
"""In place of an actor: the effect of a step depends on the time."""

CLOCK_ADVANCED: Final = -3
"""In place of an actor: a step lets time pass."""

TIME: Final = Origin("time", ANY_ACTOR)
"""The option to let the clock go to the next timer."""

ANY_FAILURE: Final = Origin("any_failure", ANY_ACTOR).key
"""The option that a task fails; it is the last one."""

Space = Literal["order", "runtime"]
"""What is left open: only the order of what tasks receive, or everything that threads, networks and clocks decide."""


class Option(NamedTuple):
    """An event that can be the next step of a run."""

    key: OptionKey
    cause: int
    """The number of the step that made the event possible."""

    @property
    def is_drawn(self) -> bool:
        """True for what a step draws while it runs; then all other options are draws as well."""
        return self.key[0] in DRAWN


class ChoiceSource(Protocol):
    """Decides the steps of a run. A step is one event, and in the order space all that tasks then do until they wait."""

    @property
    def space(self) -> Space:
        """Which steps there are."""

    def choose(self, options: Sequence[Option]) -> int:
        """Returns the index of the next step; called also for one option."""

    def executed(self, touched: Set[int]) -> None:
        """Called after each step with the actors on which it had an effect; ANY_ACTOR and the two values of the clock are
        among them."""

    def check_end(self) -> None:
        """Raises BadInput if the run ended before all choices were made that it should repeat."""

    def describe(self) -> Mapping[str, object]:
        """Returns what repeats these choices, as plain values for a manifest."""


class ExploringPolicy(FifoPolicy):
    """Leaves the order of events to ``source``. Work costs nothing, so that only the choices decide the order."""

    __slots__ = ("source",)
    name: ClassVar[str] = "explored"
    chooses_events: ClassVar[bool] = True

    def __init__(self, source: ChoiceSource) -> None:
        self.source = source

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        return 0

    def describe(self) -> dict[str, object]:
        return {"policy": self.name, **self.source.describe()}


class EventsOfSteps(DueEvents):
    """The timers that are due, which know the step that made them due."""

    __slots__ = ("_loop",)

    def __init__(self, loop: ExploringLoop) -> None:
        super().__init__()
        self._loop = loop

    def add(self, timer: VirtualTimer, origin: Origin) -> None:
        timer.cause = self._loop.step
        super().add(timer, origin)


@mypyc_attr(native_class=False)
class ExploringLoop(VirtualTimeLoop):
    """All tasks run until they wait; then one event happens, which the source of choices decides.

    Arrivals and answers can happen at any time, and so can the next record of a source with periodic watermarks. Time passes
    when nothing else can happen, or when it is chosen while a timer of a task has an effect. Credits, and the ends of data and
    of channels, arrive at once.
    """

    explores_arrivals = True
    separates_elements = True

    turns_are_steps: ClassVar = False
    """True if it is a choice which task runs; otherwise all tasks run until they wait."""

    at_any_time: ClassVar = frozenset({"arrive", "read", "credit", "answer", "report"})
    """The events that wait for nothing but their turn: how long a network or a client takes is left open."""

    def __init__(self, policy: ExploringPolicy, **options: Any) -> None:
        super().__init__(policy, **options)
        self._source = policy.source
        self._free = DueEvents()
        self._due_events = EventsOfSteps(self)
        self.step = START
        """The number of the step that runs."""
        self._touched: set[int] = set()
        self._has_begun = False
        """True once the first event happened; before that, the job is deployed."""
        self._asyncio_timers = count()

    def call_at_ns(
        self,
        when_ns: int,
        callback: Callable[[], None],
        *,
        daemon_while_not: Callable[[], bool] | None = None,
        origin: Origin | None = None,
    ) -> VirtualTimer:
        if origin is None or origin.what not in self.at_any_time:
            if origin is not None:
                self._touched.add(CLOCK_READ)
            return super().call_at_ns(when_ns, callback, daemon_while_not=daemon_while_not, origin=origin)
        event = VirtualTimer(max(when_ns, self.now_ns), callback, (), self._context, self)
        event.propagates, event.cause, event._scheduled = True, self.step, False
        self._free.add(event, origin)
        return event

    def _call_at(
        self, when_ns: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> VirtualTimer:
        timer = super()._call_at(when_ns, callback, args, context)
        timer.origin = Origin("timer", ANY_ACTOR, next(self._asyncio_timers))
        return timer

    def on_clock_read(self) -> None:
        self._touched.add(CLOCK_READ)

    def on_failure(self) -> None:
        self._touched.add(ANY_ACTOR)

    def draw(self, what: Drawn, numbers: Sequence[int], index: int, actor: int, edge: int = -1) -> int:
        """Chooses a number, as a part of the step that runs; by default it is the drawn one."""
        if len(numbers) == 1:
            return numbers[0]
        order = [*numbers[index:], *numbers[:index]]
        cause = self.step if self._has_begun else START
        index = self._choose([Option((what, actor, number, edge), cause) for number in order])
        if not self._has_begun:
            self._source.executed({actor})
        return order[index]

    def reaches_turn(self, actor: int, own: Timer | None = None) -> bool:
        """Returns False: each step is a choice."""
        return False

    def _next_round(self) -> None:
        if self._queue_immediate_events():
            return
        if self._timers.has_due(self.now_ns):
            self._queue_due_timers()
            if self._ready:
                return
        if self._turns.ready and not self.turns_are_steps:
            self._touched.add(self._turns.ready[0])
            self._give_turn_to(self._turns.ready[0])
            return
        self._next_step()

    def _queue_immediate_events(self) -> bool:
        for index, origin in enumerate(self._free.origins):
            is_report = origin.what == "report" and not origin.requests_split
            if origin.is_immediate or is_report or (origin.brings_end and not self._has_timers(origin.actor)):
                self._ready.append(self._free.take(index))
                return True
        return False

    def _has_timers(self, actor: int) -> bool:
        """True if a timer of the actor waits: it can come before the end of the actor's input."""
        return any(origin.actor == actor for origin in self._due_events.origins) or any(self._timers_of(actor))

    def _timers_of(self, actor: int) -> Iterator[VirtualTimer]:
        return (timer for timer in self._timers if timer.origin is not None and timer.origin.actor == actor)

    def can_act_before_reading(self, actor: int) -> bool:
        due = (self._due_events.first(origin) for origin in self._due_events.origins if origin.actor == actor)
        return any(map(_emits_periodically, due)) or any(map(_emits_periodically, self._timers_of(actor)))

    def _touches_timer(self) -> bool:
        """True if a timer waits of an actor on which the step had an effect."""
        touched = self._touched
        if any(origin.actor >= 0 and origin.actor in touched for origin in self._due_events.origins):
            return True
        for timer in self._timers:
            origin = timer.origin
            if origin is not None and origin.actor >= 0 and origin.actor in touched:
                return True
        return False

    def timer_cancelled(self, timer: VirtualTimer) -> None:
        self._touched.add(CLOCK_READ)
        super().timer_cancelled(timer)

    def _queue_chosen_event(self) -> None:
        """Leaves the due events for the next step."""

    def _next_step(self) -> None:
        self._end_step()
        free, due = self._free.without_cancelled(), self._due_events.without_cancelled()
        options = [Option(origin.key, self._free.first(origin).cause) for origin in free]
        options += [Option(origin.key, self._due_events.first(origin).cause) for origin in due]
        if not options and not self._any_timer_counts():
            self._quiescent()
            return
        if not options or self._may_time_pass():
            options.append(Option(TIME.key, START))
        self._has_begun = True
        index = self._choose(options)
        if index < len(free):
            self._perform(free[index], self._free)
        elif index < len(free) + len(due):
            self._perform(due[index - len(free)], self._due_events)
        else:
            self._step_in_time()

    def _choose(self, options: Sequence[Option]) -> int:
        """Returns the index of the next step, which begins."""
        index = self._source.choose(options)
        if len(options) > 1:
            self._choices.made(index, len(options), options[index].key)
        self.step += 1
        return index

    def _step_in_time(self) -> None:
        self._touched.add(CLOCK_ADVANCED)
        self._let_time_pass()

    def _end_step(self) -> None:
        if self._touched and self.step != START:
            if CLOCK_READ not in self._touched and self._touches_timer():
                # What keeps a timer may look at the time in other ways, as idleness does.
                self._touched.add(CLOCK_READ)
            self._source.executed(self._touched)
        self._touched = set()

    def stop(self) -> None:
        self._end_step()
        super().stop()

    def _perform(self, origin: Origin, events: DueEvents) -> None:
        self._touched.add(origin.actor)
        self._ready.append(events.take(events.origins.index(origin)))

    def _may_time_pass(self) -> bool:
        """True if a timer has an effect: it can come before what is in flight. Checkpoints alone would let time pass for ever."""
        return any(
            (timer.origin is None or timer.origin.what != "master") and _has_effect(timer) for timer in self._timers
        )

    def _any_timer_counts(self) -> bool:
        return bool(self._free.origins or self._due_events.origins) or super()._any_timer_counts()


def _has_effect(timer: VirtualTimer) -> bool:
    return timer.daemon_while_not is None or timer.daemon_while_not()


def _emits_periodically(timer: VirtualTimer) -> bool:
    """True if a repeated timer, such as that of periodic watermarks, has something to emit."""
    return timer.daemon_while_not is not None and timer.daemon_while_not()
