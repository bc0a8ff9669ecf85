"""The loop of ``flowsim watch``: a run for each save and each choice; a run under way is ended before the next begins."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, NoReturn

from flowsim.cli.watching.choices import Settings
from flowsim.cli.watching.file_stamps import exactly, inputs_in, stamps_of
from flowsim.cli.watching.page import PageServer, WatchPage
from flowsim.cli.watching.run_process import Outcome, RunProcess, RunRequest
from flowsim.cli.watching.saved_files import SavedFiles
from flowsim.sim.signal_handler import interrupts_of_run

_LONGEST_WAIT_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Saved:
    """A file was saved."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Ctrl-C, SIGTERM or SIGHUP."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The page chose a value."""

    choice: int
    value: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A run ended by itself."""

    process: RunProcess
    outcome: Outcome


class WatchLoop:
    """Runs a scenario again and again. Prints a line per run, and shows its report on the page.

    ``say``: prints a text, and whether it reports a problem.
    """

    def __init__(self, request: RunRequest, settings: Settings, say: Callable[[str, bool], object]) -> None:
        self._request = request
        self._settings = settings
        self._say = say
        self._chosen = [0] * len(settings.choices)
        self._events: SimpleQueue[Saved | Chosen | Ended | Interrupted] = SimpleQueue()
        self._files = SavedFiles(lambda: self._events.put(Saved()))
        scenario = Path(request.scenario)
        self._stamps = stamps_of([exactly(scenario), *inputs_in(scenario.parent)])
        self._waiting: RunProcess | None = None
        """A process that waits for the next request; to start one takes longer than most runs."""
        self._running: RunProcess | None = None
        self._last: dict[str, Any] = {"line": "", "time": "", "problems": [], "is_of_this_run": True}
        self._page = WatchPage()

    def serve(self, port: int) -> PageServer:
        """Returns the server of the page. Raises BadInput if the port cannot be used."""
        return PageServer(self._page, port, self._choose)

    def run(self) -> NoReturn:
        """Runs the scenario now and after each event; raises KeyboardInterrupt after a signal."""
        with interrupts_of_run() as interrupts:
            # An exception at any instruction could leave a lock closed, or a process unknown.
            interrupts.stop_with(lambda: self._events.put(Interrupted()))
            try:
                self._begin()
                while not isinstance(event := self._next(), Interrupted):
                    self._handle(event)
            finally:
                self._files.end()
                for process in (self._running, self._waiting):
                    if process is not None:
                        process.end()
        raise KeyboardInterrupt

    def _next(self) -> Saved | Chosen | Ended | Interrupted:
        """Waits for the next event. A signal just before a wait is handled only behind it, so no wait is long."""
        while True:
            with suppress(Empty):
                return self._events.get(timeout=_LONGEST_WAIT_S)

    def _handle(self, event: Saved | Chosen | Ended) -> None:
        match event:
            case Ended(ended, outcome):
                if ended is self._running:
                    self._running = None
                    self._show(outcome)
            case Chosen(choice, value):
                self._chosen[choice] = value
                self._begin()
            case Saved():
                self._begin()

    def _choose(self, choice: int, value: int) -> bool:
        choices = self._settings.choices
        is_known = 0 <= choice < len(choices) and 0 <= value < len(choices[choice].values)
        if is_known:
            self._events.put(Chosen(choice, value))
        return is_known

    def _begin(self) -> None:
        """Ends the run under way, if any, and begins the next one."""
        process, self._waiting = self._waiting or RunProcess(), None
        ended, self._running = self._running, process
        if ended is not None:
            ended.end()
        self._stamps = stamps_of(self._stamps)
        self._files.follow(self._stamps)
        request = replace(self._request, overrides=self._settings.overrides(self._chosen))
        process.start(request, lambda ended, outcome: self._events.put(Ended(ended, outcome)))
        self._publish(is_running=True)

    def _show(self, outcome: Outcome) -> None:
        report = None if outcome.report is None else Path(outcome.report).read_bytes()
        # An invalid scenario may name fewer files than it did: those of the runs before it count as well.
        self._stamps = {**(self._stamps if report is None else {}), **outcome.stamps}
        self._files.follow(self._stamps)
        self._last = {
            "line": outcome.line,
            "time": time.strftime("%H:%M:%S"),
            "problems": list(outcome.problems),
            "is_of_this_run": report is not None,
        }
        chosen = self._settings.text(self._chosen)
        self._say(f"{self._last['time']}  {chosen}{': ' if chosen else ''}{outcome.line}", bool(outcome.problems))
        for problem in outcome.problems:
            self._say(textwrap.indent(problem, " " * len("hh:mm:ss  ")), True)
        self._publish(is_running=False, report=report)
        self._waiting = RunProcess()

    def _publish(self, is_running: bool, report: bytes | None = None) -> None:
        state = {"name": Path(self._request.scenario).name, "running": is_running, **self._last}
        self._page.show({**state, "choices": self._settings.data(self._chosen)}, report)
