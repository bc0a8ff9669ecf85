"""The base of user functions, and the copy of a function for each subtask. Flink: Function, RichFunction."""

from __future__ import annotations

import copy
from abc import ABC
from typing import TypeVar

from flowsim.errors import BadInput
from flowsim.operators.runtime_context import RuntimeContext

F = TypeVar("F")


def isolated(function: F, operator: str) -> F:
    """Copies a function object deeply; returns a plain function or lambda itself, because it has no state.

    Raises BadInput, which names the operator, for an object that cannot be copied.
    """
    try:
        return copy.deepcopy(function)
    except Exception as error:
        raise BadInput(
            f"operator {operator!r}: its function {type(function).__name__} cannot be copied for each subtask "
            f"({type(error).__name__}: {error}); create what cannot be copied in open()"
        ) from error


class Function(ABC):  # noqa: B024 - the base class, as in PyFlink; subclasses declare the abstract methods
    """The base of all user functions. PyFlink: Function."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once per subtask before the first record."""
        return

    def close(self) -> None:
        """Called once per subtask at the end of the task."""
        return

    def use_interruptible_timers(self) -> bool:
        """True if event-time timers of this function may yield to mails between two firings, as in Java (rule 9.18).

        Called once, before ``open``, for process functions of keyed streams and for interval joins, when the job has
        ``interruptible_timers``. If True, records may arrive between two timers of one watermark. Flink: RichFunction.
        """
        return False


def has_life_cycle(function: Function) -> bool:
    """True if the function's class defines ``open`` or ``close`` itself."""
    kind = type(function)
    return kind.open is not Function.open or kind.close is not Function.close
