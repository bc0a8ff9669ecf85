"""Where in a job an exception was raised, noted on the exception.

In Flink, ExceptionInChainedOperatorException names the operator.

The code that calls an operator notes it while the exception passes, so the innermost call notes first, and a later note
only adds what is missing. Without a failure this costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final

_ATTRIBUTE: Final = "_flowsim_location"


@dataclass(slots=True)
class FailureLocation:
    """The innermost operator, and the record or timer that it processed."""

    operator: str | None = None
    record: tuple[object, object] | None = None
    """Value and timestamp."""
    timer: tuple[object, int] | None = None
    """Key and timestamp."""
    place: str | None = None
    """Where the source found the record, such as ``in.csv:7``."""


def location_of(error: BaseException) -> FailureLocation:
    """Returns what was noted on the exception so far."""
    noted = error.__dict__.get(_ATTRIBUTE)
    if isinstance(noted, FailureLocation):
        return noted
    created = FailureLocation()
    # The exception's own __setattr__ may refuse, as that of a frozen dataclass does.
    error.__dict__[_ATTRIBUTE] = created
    return created


def note_operator(error: BaseException, operator: str) -> None:
    """Notes the operator that was called."""
    location = location_of(error)
    if location.operator is None:
        location.operator = operator


def note_record(error: BaseException, operator: str, value: object, timestamp: object) -> None:
    """Notes the operator and its record."""
    note_operator(error, operator)
    location = location_of(error)
    if location.record is None and location.timer is None:
        location.record = (value, timestamp)


def note_timer(error: BaseException, key: object, timestamp: int) -> None:
    """Notes the timer that fired."""
    location = location_of(error)
    if location.record is None and location.timer is None:
        location.timer = (key, timestamp)


def note_place(error: BaseException, place_of_record: Callable[[], str | None]) -> None:
    """Notes where the source found the record, if the record is known."""
    location = location_of(error)
    if location.record is not None and location.place is None:
        location.place = place_of_record()


def take_location(error: BaseException) -> FailureLocation:
    """Returns what was noted, and removes it: user code may raise the same exception again."""
    location = location_of(error)
    del error.__dict__[_ATTRIBUTE]
    return location


class OperatorCall:
    """A call of an operator's method, outside of the fast path: ``with OperatorCall(name): ...``.

    ``record``: value and timestamp, for a call that belongs to a record.
    """

    __slots__ = ("_operator", "_record")

    def __init__(self, operator: str, record: tuple[object, object] | None = None) -> None:
        self._operator = operator
        self._record = record

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            return
        if self._record is None:
            note_operator(error, self._operator)
        else:
            note_record(error, self._operator, *self._record)
