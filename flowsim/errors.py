"""The errors of flowsim, each of which says who is to blame and what to do.

``FlowsimError`` is the root. Everything below it carries a message that stands on its own, without a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from flowsim.distribution import install_command

_MOST_NAMES_LISTED: Final = 30


class FlowsimError(Exception):
    """Root of every error that flowsim raises on purpose."""


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A place in a file a user wrote: path as given, line and column counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class BadInput(FlowsimError):
    """The user's input cannot be used as it is; the command line exits with code 2."""


class ScenarioError(BadInput):
    """A scenario file is wrong; the message starts with ``file:line:column`` where that is known."""

    def __init__(self, message: str, position: SourcePosition | None = None) -> None:
        super().__init__(f"{position} {message}" if position is not None else message)
        self.position = position


class NoTimestamp(BadInput):
    """A record without a timestamp came to an operator that goes by event time.

    How it gets one depends on how the job was written, so whoever reports the failure adds that.
    """


class RecordingFailed(FlowsimError):
    """A recording cannot be written any further: the disk is full, or the directory is gone. Its complete epochs stay."""


class ValueNotAllowed(FlowsimError):
    """A record value lies outside the closed value set (see ``flowsim.values``)."""


class MissingExtra(BadInput):
    """An optional part of flowsim is not installed."""

    def __init__(self, extra: str, needed_by: str) -> None:
        super().__init__(f"{needed_by} needs the extra '{extra}': install it with  {install_command(extra)}")
        self.extra = extra


class InvariantViolation(FlowsimError):
    """flowsim broke one of its own invariants, which is a bug in flowsim; the message has the steps that led to it."""

    def __init__(self, message: str, story: tuple[str, ...] = ()) -> None:
        super().__init__("\n  ".join((message, *story)))
        self.story = story


class JobFailed(FlowsimError):
    """A task failed and took its job down; names task, operator, record or timer, and the line of user code if it was that."""

    def __init__(
        self,
        task: str,
        operator: str | None,
        record: str | None,
        cause: BaseException,
        place: str | None = None,
        timer: str | None = None,
        advice: str | None = None,
    ) -> None:
        where = (
            f"task {task}"
            + (f", operator {operator}" if operator else "")
            + (f", record {record}" if record else "")
            + (f", timer of key {timer}" if timer else "")
        )
        at = f" ({place})" if place else ""
        ending = f"; {advice}" if advice else ""
        super().__init__(f"job failed in {where}: {type(cause).__name__}: {cause}{at}{ending}")
        self.task = task
        self.operator = operator
        self.record = record
        self.cause = cause
        self.place = place
        self.timer = timer

    def advised(self, advice: str) -> JobFailed:
        """The same failure, with what its reader can do about it at the end of the message."""
        failed = JobFailed(self.task, self.operator, self.record, self.cause, self.place, self.timer, advice)
        failed.__cause__ = self.__cause__
        return failed


class ElementFailed(FlowsimError):
    """An element whose asynchronous call failed; the cause is what the call raised. ``timestamp`` in ms or None."""

    def __init__(self, message: str, timestamp: int | None) -> None:
        super().__init__(message)
        self.timestamp = timestamp


class EscapedExit(FlowsimError):
    """A user function raised what is no Exception, such as SystemExit or CancelledError: ``cause`` fails its task."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


class Deadlock(FlowsimError):
    """Nothing can run any more though tasks are unfinished; the message is the wait-for graph."""


class WouldBlock(FlowsimError):
    """A ``*_nowait`` door of the core cannot answer now; the shell waits and asks again."""


def did_you_mean(name: str, known: Iterable[str], *, is_listed: bool = False) -> str:
    """`` (did you mean 'x'?)`` for the end of an error about an unknown name; the known names when none is near.

    Empty when they are many too, or when the message lists them itself (``is_listed``).

    >>> did_you_mean("orign", ["origin", "dest"]), did_you_mean("x", ["origin", "dest"])
    (" (did you mean 'origin'?)", ' (known: origin, dest)')
    """
    names = list(known)
    close = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.6)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (known: {', '.join(names)})" if 0 < len(names) <= _MOST_NAMES_LISTED and not is_listed else ""
