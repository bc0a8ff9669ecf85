"""The errors of flowsim. Each message names the cause and the next step.

``FlowsimError`` is the root. The messages of its subclasses are complete without a traceback.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from flowsim.distribution import install_command

_MOST_NAMES_LISTED: Final = 40
_MOST_NAMES_COMPARED: Final = 200


_CONTROL: Final = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ud800-\\udfff]"
)
"""Characters that move the cursor of a terminal, hide text or change its direction; lone surrogates."""


def printable(text: str) -> str:
    """Returns the text with control characters as escapes, which JSON allows too; line ends and tabs stay.

    >>> printable("a\\x1b[31mb")
    'a\\\\u001b[31mb'
    """
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable_line(text: str) -> str:
    """Returns a part of a line with control characters as escapes, including line ends and tabs."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


class FlowsimError(Exception):
    """Root of every error that flowsim raises intentionally."""


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A position in a file of the user: the path as given, line and column counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class BadInput(FlowsimError):
    """The user's input is invalid; the command line exits with code 2."""


class ScenarioError(BadInput):
    """A scenario file is invalid; the message starts with ``file:line:column`` if the position is known."""

    def __init__(self, message: str, position: SourcePosition | None = None) -> None:
        super().__init__(f"{position} {message}" if position is not None else message)
        self.position = position


class NoTimestamp(BadInput):
    """An event-time operator received a record without a timestamp.

    How a record gets a timestamp depends on the API of the job, so the code that reports the failure adds the advice.
    """


class MissingTimestamp(BadInput):
    """The timestamp assigner gave None for a record, and its strategy does not allow that.

    As for NoTimestamp, the advice depends on the API of the job.
    """


class RecordingFailed(FlowsimError):
    """The recording cannot be continued: the disk is full or the directory was removed. Complete epochs are kept."""


class ValueNotAllowed(FlowsimError):
    """A value cannot be a record, key or state (see ``flowsim.values``)."""


class NullKey(ValueNotAllowed):
    """The key of a record is None (rule 1.22).

    ``target``: the operator whose key it is, None if unknown; ``key_selector`` returned the key for ``value``.
    """

    target: str | None = None
    key_selector: Callable[[object], object] | None = None
    value: object = None


class MissingExtra(BadInput):
    """An optional part of flowsim is not installed."""

    def __init__(self, extra: str, needed_by: str) -> None:
        super().__init__(f"{needed_by} needs the extra '{extra}': install it with  {install_command(extra)}")
        self.extra = extra


class InvariantViolation(FlowsimError):
    """flowsim violated one of its own invariants: a bug in flowsim. The message lists the steps before the violation."""

    def __init__(self, message: str, steps: tuple[str, ...] = ()) -> None:
        super().__init__("\n  ".join((message, *steps)))
        self.steps = steps


class SuppressRestarts(FlowsimError):
    """A failure, or the cause of one, after which the job must not restart. Flink: SuppressRestartsException."""


class ElementAfterEndOfInput(FlowsimError):
    """A sink received a record after the end of its input, which Flink refuses, too."""

    def __init__(self, value: object) -> None:
        super().__init__(
            f"Received element after endOfInput: {value}; an operator before it in the chain emits although its input has "
            "ended, as interruptible timers do that were interrupted (FLINK-39481, rule 9.18)"
        )


class EndlessTimers(SuppressRestarts):
    """Timers that register timers fire without end, while the task does nothing else."""


def reason_text(operator: str | None, record: str | None, cause: str) -> str:
    """Describes the cause of a failure, with the operator and the record if they are known.

    >>> reason_text("sums", "(0,)", "ZeroDivisionError: division by zero")
    'operator sums, record (0,): ZeroDivisionError: division by zero'
    """
    where = ", ".join(f"{what} {name}" for what, name in (("operator", operator), ("record", record)) if name)
    return f"{where}: {cause}" if where else cause


def _with_causes(error: BaseException) -> str:
    """Describes an error and the causes that its text does not name, such as that of a failed checkpoint."""
    text, cause = f"{type(error).__name__}: {error}", error.__cause__
    while cause is not None and not isinstance(cause, SuppressRestarts):
        if str(cause) not in text:
            text = f"{text} caused by {type(cause).__name__}: {cause}"
        cause = cause.__cause__
    return text


class JobFailed(FlowsimError):
    """The job failed because a task failed.

    The message names the task, the operator, the record or timer, and the line of user code, if any.
    """

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
        super().__init__(f"job failed in {where}: {_with_causes(cause)}{at}{ending}")
        self.task = task
        self.operator = operator
        self.record = record
        self.cause = cause
        self.place = place
        self.timer = timer

    @property
    def is_timeout(self) -> bool:
        """True if an asynchronous call did not end in time."""
        return isinstance(self.cause, ElementFailed) and isinstance(self.cause.__cause__, TimeoutError)

    def advised(self, advice: str) -> JobFailed:
        """Returns the same failure with advice at the end of its message."""
        failed = JobFailed(self.task, self.operator, self.record, self.cause, self.place, self.timer, advice)
        failed.__cause__ = self.__cause__
        return failed


class ElementFailed(FlowsimError):
    """The asynchronous call of an element failed; the cause is the exception of the call.

    ``timestamp`` is in ms or None.
    """

    def __init__(self, message: str, timestamp: int | None) -> None:
        super().__init__(message)
        self.timestamp = timestamp


class EscapedExit(FlowsimError):
    """A user function raised ``cause``, a BaseException such as SystemExit or CancelledError; the task fails."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


class Deadlock(FlowsimError):
    """No task can run, but some are unfinished; the message is the wait-for graph."""


class RunTooLong(FlowsimError):
    """A run reached its bounds and was ended; the message is the wait-for graph."""


class MemoryLimitReached(RunTooLong):
    """A run reached its limit of memory. Where it ends depends on the machine, so the run cannot be replayed."""


class WouldBlock(FlowsimError):
    """A ``*_nowait`` method of the core has no result yet; the shell waits and calls the method again."""


class VirtualClockRefusal(BadInput):
    """Code on the virtual clock requested a service that only the real clock has."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} is not available on the virtual clock: {why}; use --clock real")
        self.name = name


class AnswerFromThread(VirtualClockRefusal):
    """Another thread answered ``record`` of ``operator`` on the virtual clock."""

    def __init__(self, operator: str, record: object) -> None:
        super().__init__(
            "completing a ResultFuture in another thread", "threads would make the run depend on the machine"
        )
        self.operator = operator
        self.record = record


def column_not_utf8(error: UnicodeDecodeError) -> str:
    """Describes a column of a Parquet file whose name pyarrow cannot decode."""
    return f"the name of column '{error.object.decode('utf-8', 'backslashreplace')[:100]}' is not UTF-8"


def did_you_mean(name: str, known: Iterable[str], *, is_listed: bool = False) -> str:
    """Returns `` (did you mean 'x'?)`` for the end of an error message, or the known names if no name is similar.

    Returns '' if no name is similar and either there are too many names to list, or the message already lists the names
    (``is_listed``).

    >>> did_you_mean("orign", ["origin", "dest"]), did_you_mean("x", ["origin", "dest"])
    (" (did you mean 'origin'?)", ' (known: origin, dest)')
    """
    names = list(known)
    compared = names if len(names) <= _MOST_NAMES_COMPARED else [one for one in names if one[:1] == name[:1]]
    close = difflib.get_close_matches(name[:100], compared[:_MOST_NAMES_COMPARED], n=1, cutoff=0.6)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (known: {', '.join(names)})" if 0 < len(names) <= _MOST_NAMES_LISTED and not is_listed else ""
