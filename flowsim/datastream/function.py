"""What all functions of a user share; ``flowsim.datastream.functions`` gives it out."""

from __future__ import annotations

from abc import ABC

from flowsim.operators.user_functions import RuntimeContext


class Function(ABC):  # noqa: B024 - the base of all, as in PyFlink; what is abstract is said by its children
    """The base of all user functions. PyFlink: Function."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once per subtask before the first record."""
        return

    def close(self) -> None:
        """Called once per subtask at the end."""
        return

    def use_interruptible_timers(self) -> bool:
        """As in Java: whether event-time timers of this function may give way to mails between two firings (rule 9.18).

        Asked once, before ``open``, of process functions of keyed streams and of interval joins, when the job has
        ``interruptible_timers``. Records may then come between two timers of one watermark. Flink: RichFunction.
        """
        return False


def has_life_cycle(function: Function) -> bool:
    """Whether the function defines ``open`` or ``close`` itself."""
    kind = type(function)
    return kind.open is not Function.open or kind.close is not Function.close
