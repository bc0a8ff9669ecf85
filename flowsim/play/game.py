"""A game: the choices that the learner has made so far, and what the page shows of the run that they lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol

from flowsim.cluster.job_execution import JobExecutionResult
from flowsim.cluster.recorded_run import RUN_STATUS, failure_report, recorded_reasons
from flowsim.errors import BadInput
from flowsim.explore.explored_job import ExploredJob
from flowsim.facts.kinds import ElementKind, Level
from flowsim.facts.schema import SENT, TASK_WATERMARK, TASKS, Table
from flowsim.history.task_watermark import TaskWatermark
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.play.goal import EndedRun
from flowsim.play.played_run import GivenChoices, PlayedRun, play
from flowsim.play.puzzle import Puzzle
from flowsim.play.words import Words
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.memory import MemoryRecorder
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.report.page import page
from flowsim.report.payload import build_payload
from flowsim.sim.choice_token import ChoiceToken, Replayed
from flowsim.sim.exploring_loop import ExploringPolicy
from flowsim.sim.policy import SchedulingPolicy
from flowsim.trace.names import Names
from flowsim.trace.time import event_time, moment_text
from flowsim.units import NO_TIMESTAMP
from flowsim.values.record_text import value_text

_MOST_SHOWN: Final = 12
"""Elements of a channel, and rows of a sink."""
_MOST_STEPS_SHOWN: Final = 100


class Subject(Protocol):
    """The job that is played."""

    job: ExploredJob

    def check(self, token: ChoiceToken) -> list[str]:
        """Repeats a run; returns what it violated or did not meet."""

    def repeat(self, token: ChoiceToken, *, is_checked: bool = False) -> str:
        """Returns what the user enters to repeat a run, and to check it."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a game is: the run so far, its recording, and what the page shows of it."""

    run: PlayedRun
    recording: Recording
    state: Mapping[str, Any]

    def log(self) -> list[dict[str, Any]]:
        """Returns all steps so far: what was chosen, or was the only option, and what happened then."""
        return list(_log(self.run, Words(Names(self.recording))))


class Game:
    """Plays a job: each position is the run of its choices from the start, so that a step back is exact.

    ``folder``: an empty directory for the recordings of the positions. Called by several threads.
    """

    def __init__(
        self,
        subject: Subject,
        name: str,
        folder: Path,
        describe: Callable[[SchedulingPolicy], RunDescription],
        puzzle: Puzzle | None = None,
    ) -> None:
        self._subject = subject
        self._name = name
        self._folder = folder
        self._describe = describe
        self._puzzle = puzzle
        self._lock = Lock()
        self._positions: dict[tuple[int, ...], Position] = {}
        self.choices: tuple[int, ...] = ()

    def state(self) -> Mapping[str, Any]:
        """Returns what the page shows, as plain values."""
        with self._lock:
            return self._position().state

    def choose(self, made: int, option: int) -> Mapping[str, Any]:
        """Chooses an option when ``made`` choices were made. Raises BadInput if that is not so, or without this option."""
        with self._lock:
            state = self._position().state
            if made != len(self.choices):
                raise BadInput(f"{len(self.choices)} choices were made, not {made}")
            if not 0 <= option < len(state["options"]):
                raise BadInput(f"there is no option {option}, there are {len(state['options'])}")
            return self._go((*self.choices, option))

    def back_to(self, made: int) -> Mapping[str, Any]:
        """Takes back all choices after the first ones. Raises BadInput if there are not so many."""
        with self._lock:
            if not 0 <= made <= len(self.choices):
                raise BadInput(f"{len(self.choices)} choices were made, not {made}")
            return self._go(self.choices[:made])

    def finish(self) -> Mapping[str, Any]:
        """Makes all further choices by default: the event that was possible first."""
        with self._lock:
            run = play(self._subject.job, self.choices, pauses=False)
            return self._go(tuple(step.chosen for step in run.source.steps if step.choice is not None))

    def explained(self, token: ChoiceToken) -> Mapping[str, Any]:
        """Returns the state at the end of a token's run; a step of its ``log`` also has what is the ``default`` there.

        Raises BadInput for a token that does not fit the job.
        """
        token.check_job(self._subject.job.digest)
        options, numbers = self._subject.job.choices_and_defaults(token)
        given = tuple(options.get(number, 0) for number in range(max((*options, *numbers), default=-1) + 1))
        defaults = {}
        for number, default in numbers.items():
            shown = self.go_to(given[:number])
            if given[number] >= len(shown["options"]):
                raise BadInput(
                    f"choice {number}: there are {len(shown['options'])} options, the token needs {given[number] + 1}; the job "
                    "or flowsim changed"
                )
            defaults[number] = shown["options"][default]
        self.go_to(given)
        end = self.finish()
        with self._lock:
            log = self._position().log()
        return {**end, "log": [{**step, "default": defaults.get(step["choice"])} for step in log]}

    def go_to(self, choices: tuple[int, ...]) -> Mapping[str, Any]:
        """Goes to the position that has these choices."""
        with self._lock:
            return self._go(choices)

    def recording(self, choices: tuple[int, ...]) -> Recording:
        """Returns the recording of a position where the game was. Raises BadInput for another one."""
        with self._lock:
            position = self._positions.get(choices)
        if position is None:
            raise BadInput("the game was never at this position")
        return position.recording

    def report(self, choices: tuple[int, ...]) -> str:
        """Returns the report of a position where the game was, as HTML. Raises BadInput for another one."""
        return page(build_payload(self.recording(choices), self._name))

    def _go(self, choices: tuple[int, ...]) -> Mapping[str, Any]:
        before, self.choices = self.choices, choices
        try:
            return self._position().state
        except BaseException:
            self.choices = before
            raise

    def _position(self) -> Position:
        known = self._positions.get(self.choices)
        if known is None:
            known = self._positions[self.choices] = self._played()
        return known

    def _played(self) -> Position:
        folder = self._folder / str(len(self._positions))
        run = play(self._subject.job, self.choices, on_pause=partial(self._write, folder))
        if not run.is_paused:
            self._write(folder, run.source, run.facts, run.result)
        recording = Recording.open(folder)
        words = Words(Names(recording))
        state = {
            "name": self._name,
            "puzzle": None if self._puzzle is None else self._puzzle.shown(),
            "made": len(self.choices),
            "report": "-".join(map(str, self.choices)) or "start",
            "now": moment_text(run.end.now_ns),
            "options": self._options(run, words),
            "log": list(_log(run, words, _MOST_STEPS_SHOWN)),
            "channels": [{"name": name, "waiting": _first(all_)} for name, all_ in words.waiting(run.end, run)],
            "tasks": _tasks(run, Names(recording)),
            "sinks": [
                {"name": name, "rows": _last([value_text(row) for part in parts for row in part])}
                for name, parts in run.sinks.items()
            ],
            **(self._paused(run) if run.is_paused else self._ended(run)),
        }
        return Position(run, recording, state)

    def _write(
        self, folder: Path, source: GivenChoices, facts: MemoryRecorder, ended: JobExecutionResult | None = None
    ) -> None:
        """Writes the recording of a position; that of a run that waits for a choice has the status ``canceled``."""
        policy = ExploringPolicy(Replayed(source.token(self._subject.job.digest)))
        writer = RecordingWriter(folder, Level.FULL, self._describe(policy))
        writer.add_recorded(facts)
        if ended is None:
            writer.finish(RunStatus.CANCELED)
        else:
            writer.finish(RUN_STATUS[ended.status], failure_report(ended), failures=recorded_reasons(ended))

    def _options(self, run: PlayedRun, words: Words) -> list[str]:
        """Returns a sentence for each option, from a run in which it is chosen."""
        texts = []
        for option, key in enumerate(run.source.waiting):
            ahead = play(self._subject.job, (*self.choices, option))
            step = _step_of_choice(ahead, len(self.choices))
            texts.append(words.option(key, ahead.source.steps[step].before, ahead, ahead.end_of(step)))
        return texts

    def _paused(self, run: PlayedRun) -> dict[str, Any]:
        violated = _violated(run, "canceled")
        return {"ended": None, "findings": [f"law {law} violated" for law in violated], "solved": False}

    def _ended(self, run: PlayedRun) -> dict[str, Any]:
        token = run.source.token(self._subject.job.digest)
        violated = _violated(run, RUN_STATUS[run.result.status].value)
        return {
            "ended": {"status": run.outcome.status.value, "cause": run.outcome.cause},
            "findings": self._subject.check(token),
            "solved": self._puzzle is not None and self._puzzle.goal.is_reached(EndedRun(run.outcome, violated)),
            "token": str(token),
            "command": self._subject.repeat(token, is_checked=True),
        }


def _violated(run: PlayedRun, status: str) -> list[str]:
    return [
        outcome.law for outcome in check_all(run.facts, status, explored=True) if outcome.verdict is Verdict.VIOLATED
    ]


def _step_of_choice(run: PlayedRun, choice: int) -> int:
    return next(number for number, step in enumerate(run.source.steps) if step.choice == choice)


def _log(run: PlayedRun, words: Words, most: int = 0) -> Iterator[dict[str, Any]]:
    """Yields the steps so far, the last ones if there are more than ``most``."""
    for number, step in list(enumerate(run.source.steps))[-most:]:
        after = run.end_of(number)
        yield {
            "choice": step.choice,
            "text": words.option(step.options[step.chosen], step.before, run, after),
            "effects": words.effects(step.before, run, after),
        }


def _tasks(run: PlayedRun, names: Names) -> list[dict[str, str]]:
    """Returns the watermark of each task, as its inputs combine it, and the last one that it sent."""
    shown = []
    for row in names.recording.static_rows(TASKS.name):
        task, inputs = int(row[0]), int(row[7])
        merged, sent = TaskWatermark(max(inputs, 1)), TaskWatermark(1)
        for of_input, kind, timestamp in _watermarks(run, TASK_WATERMARK, task):
            merged.add(of_input, kind, timestamp)
        for _, kind, timestamp in _watermarks(run, SENT, task):
            sent.add(0, kind, timestamp)
        shown.append(
            {
                "name": names.short_task(task),
                "received": _watermark_text(merged) if inputs else "a source",
                "sent": _watermark_text(sent),
            }
        )
    return shown


def _watermarks(run: PlayedRun, table: Table, task: int) -> Iterator[tuple[int, int, int]]:
    """Yields the watermarks and statuses of a task: input (or channel), kind and time."""
    of_input = "input" if table is TASK_WATERMARK else "channel"
    owner, *places = (table.names.index(name) for name in ("task", of_input, "kind", "timestamp"))
    for row in run.rows(table.name):
        number, kind, timestamp = (row[place] for place in places)
        if row[owner] == task and kind in (ElementKind.WATERMARK, ElementKind.STATUS):
            yield number, kind, timestamp


def _watermark_text(watermark: TaskWatermark) -> str:
    text = "none" if watermark.time_ms == NO_TIMESTAMP else event_time(watermark.time_ms)
    return text if watermark.active else f"{text} (idle)"


def _first(texts: list[str]) -> list[str]:
    more = len(texts) - _MOST_SHOWN
    return texts if more <= 0 else [*texts[:_MOST_SHOWN], f"and {more:,} more"]


def _last(texts: list[str]) -> list[str]:
    more = len(texts) - _MOST_SHOWN
    return texts if more <= 0 else [f"{more:,} before", *texts[-_MOST_SHOWN:]]
