"""Progress on standard error: shown on a terminal, silent if standard error or output is redirected."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowsim.cli.output import raw
from flowsim.errors import printable_line
from flowsim.quantities import count_text, duration_text

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from flowsim.cluster.job_execution import Progress

_EVERY_S = 0.1
_CAUSE_CHARACTERS = 60


class RunProgress:
    """Shows the records read so far, the time on the job's clock, the rate, and restarts with their last cause."""

    def __init__(self, bar: Bar | None, task: TaskID | None) -> None:
        self._bar = bar
        self._task = task
        self._started_s = time.monotonic()
        self._next_s = 0.0

    def __call__(self, progress: Progress) -> None:
        """Updates the line; most calls only read the clock.

        ``run_compiled(on_progress=...)`` calls it after every batch.
        """
        now_s = time.monotonic()
        if self._bar is None or self._task is None or now_s < self._next_s:
            return
        self._next_s = now_s + _EVERY_S
        rate = progress.records / max(now_s - self._started_s, 1e-9)
        self._bar.update(self._task, text=progress_text(progress, rate))
        self._bar.refresh()

    @property
    def is_shown(self) -> bool:
        return self._bar is not None


class CountProgress:
    """Shows the progress of a known number of steps."""

    def __init__(self, bar: Bar | None, task: TaskID | None) -> None:
        self._bar = bar
        self._task = task

    def __call__(self, done: int, total: int, text: str = "") -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, text=text)
            self._bar.refresh()


@contextmanager
def run_progress(what: str, quiet: bool) -> Iterator[RunProgress]:
    """Returns the progress display of a run whose length is unknown."""
    with _bar(quiet, counted=False) as bar:
        yield RunProgress(bar, None if bar is None else bar.add_task(what, total=None, text=""))


@contextmanager
def count_progress(what: str, quiet: bool) -> Iterator[CountProgress]:
    """Returns the progress display of a known number of steps."""
    with _bar(quiet, counted=True) as bar:
        yield CountProgress(bar, None if bar is None else bar.add_task(what, total=None, text=""))


def progress_text(progress: Progress, rate: float) -> str:
    """Returns as text: records, time on the job's clock, records per second, and restarts with the last cause."""
    text = f"{count_text(progress.records, 'record')}, {duration_text(progress.elapsed_ns)} of job time, {rate:,.0f} records/s"
    if progress.last_failure is None:
        return text
    cause = progress.last_failure.cause
    failure = printable_line(f"{type(cause).__name__}: {cause}")
    return f"{text}, {count_text(progress.restarts, 'restart')}, last failure: {shortened(failure)}"


def shortened(text: str) -> str:
    """Returns the beginning of a text that must fit in a line."""
    return text if len(text) <= _CAUSE_CHARACTERS else f"{text[: _CAUSE_CHARACTERS - 3]}..."


@contextmanager
def _bar(quiet: bool, counted: bool) -> Iterator[Bar | None]:
    if quiet or not sys.stderr.isatty() or not sys.stdout.isatty():
        yield None
        return
    # Only a terminal has progress to draw.
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}")]
    columns += [BarColumn(bar_width=30), MofNCompleteColumn()] if counted else []
    columns += [TextColumn("{task.fields[text]}"), TimeElapsedColumn()]
    # Refreshed manually: a refresh thread would write while the job prints.
    with Bar(*columns, console=Console(file=raw(sys.stderr)), transient=True, auto_refresh=False) as bar:
        yield bar
