"""A run whose choices are given, and which pauses at the first choice that is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.cluster.job_execution import JobExecutionResult, RunInterrupted
from flowsim.errors import BadInput
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.outcome import Outcome
from flowsim.facts.kinds import Level
from flowsim.facts.schema import (
    ASYNC_ELEMENTS,
    LATE_DROP,
    RECEIVED,
    SENT,
    SYSTEM_TIMERS,
    TASK_WATERMARK,
    TIMERS,
    WINDOW_FIRE,
    WINDOW_MERGE,
)
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import Option, Space
from flowsim.sim.origin import OptionKey
from flowsim.sim.virtual_time_loop import START_NS, VirtualTimeLoop

FACTS_OF_STEPS: Final = (
    TIMERS, SYSTEM_TIMERS, RECEIVED, TASK_WATERMARK, LATE_DROP, ASYNC_ELEMENTS, WINDOW_MERGE, WINDOW_FIRE, SENT,
)  # fmt: skip
"""The tables whose facts the page shows step by step."""

MOST_STEPS: Final = 2_000
"""Of a run that is played."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The run just before a step: how much was recorded in each table and written to each sink, and the time."""

    rows: Mapping[str, int]
    """Facts by table."""
    written: Mapping[str, list[int]]
    """Rows by sink and subtask."""
    now_ns: int
    """Since the start of the run."""


@dataclass(frozen=True, slots=True)
class Step:
    """One event of the run. ``choice``: the number of the choice, None if there was no other option."""

    before: Moment
    options: tuple[OptionKey, ...]
    chosen: int
    choice: int | None


class GivenChoices(Recorded):
    """Makes the given choices. At the next one it calls ``on_pause`` and ends the run, as an interrupt does.

    With ``pauses=False`` it goes on with the option that was possible first.
    """

    def __init__(
        self,
        given: Sequence[int],
        moment: Callable[[], Moment],
        on_pause: Callable[[], object] = lambda: None,
        *,
        pauses: bool = True,
        space: Space = "order",
    ) -> None:
        super().__init__(space)
        self.steps: list[Step] = []
        self.waiting: tuple[OptionKey, ...] = ()
        """The options of the choice at which the run pauses; empty if it does not pause."""
        self._given = given
        self._moment = moment
        self._on_pause = on_pause
        self._pauses = pauses

    def decide(self, options: Sequence[Option]) -> int:
        keys = tuple(option.key for option in options)
        is_choice = len(keys) > 1
        if self.waiting:  # the run ends
            return 0
        if len(self.steps) >= MOST_STEPS:
            raise BadInput(
                f"the run has more than {MOST_STEPS:,} steps: play a smaller job, or end it with settings.until"
            )
        if is_choice and self.choices >= len(self._given) and self._pauses:
            self.waiting = keys
            self._on_pause()
            raise KeyboardInterrupt
        index = self._given[self.choices] if is_choice and self.choices < len(self._given) else 0
        if not 0 <= index < len(keys):
            raise BadInput(f"choice {self.choices}: there is no option {index}, there are {len(keys)}")
        self.steps.append(Step(self._moment(), keys, index, self.choices if is_choice else None))
        return index


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """A run to a choice, or to its end. ``facts`` also has the end of a paused run; ``end`` is the moment before."""

    facts: MemoryRecorder
    source: GivenChoices
    result: JobExecutionResult
    outcome: Outcome
    sinks: Mapping[str, list[list[object]]]
    """What each sink and subtask holds at the end."""
    end: Moment

    @property
    def is_paused(self) -> bool:
        return bool(self.source.waiting)

    def rows(self, table: str, end: Moment | None = None, begin: Moment | None = None) -> Sequence[tuple[int, ...]]:
        """Returns the facts of a table before a moment, by default the end, and since another one."""
        last = (end or self.end).rows[table]
        return self.facts.rows(table)[0 if begin is None else begin.rows[table] : last]

    def end_of(self, step: int) -> Moment:
        """Returns the moment at which a step has ended."""
        steps = self.source.steps
        return steps[step + 1].before if step + 1 < len(steps) else self.end


def play(
    job: ExploredJob,
    choices: Sequence[int],
    *,
    pauses: bool = True,
    on_pause: Callable[[GivenChoices, MemoryRecorder], object] = lambda *_: None,
) -> PlayedRun:
    """Runs a job with the given choices, and pauses it at the next one. ``on_pause`` gets the choices and facts so far.

    Raises BadInput for an option that there is not, and for a run of too many steps.
    """
    facts = MemoryRecorder(Level.FULL)
    paused: list[Moment] = []

    def moment() -> Moment:
        loop = asyncio.get_running_loop()
        now_ns = loop.now_ns - START_NS if isinstance(loop, VirtualTimeLoop) else 0
        return Moment(_counted(facts), _written(job.rows_so_far()), now_ns)

    def pause() -> None:
        paused.append(moment())
        on_pause(source, facts)

    source = GivenChoices(choices, moment, pause, pauses=pauses, space=job.space)
    try:
        result = job.result(source, facts)
    except RunInterrupted as interrupted:
        if not source.waiting:
            raise
        result = interrupted.result
    sinks = job.rows_so_far()
    end = paused[0] if paused else Moment(_counted(facts), _written(sinks), result.elapsed_ns)
    return PlayedRun(facts, source, result, job.outcome(result), sinks, end)


def _written(sinks: Mapping[str, list[list[object]]]) -> dict[str, list[int]]:
    return {name: [len(part) for part in parts] for name, parts in sinks.items()}


def _counted(facts: MemoryRecorder) -> dict[str, int]:
    return {table.name: len(facts.row_buffer(table)) for table in FACTS_OF_STEPS}
