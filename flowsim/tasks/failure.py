"""Describes the failure of a task: operator, record or timer, and the line of user code."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flowsim.errors import AnswerFromThread, ElementFailed, EscapedExit, JobFailed, NullKey
from flowsim.failure_location import take_location
from flowsim.operators.null_fields import named, null_fields, null_fields_of
from flowsim.units import NO_TIMESTAMP

_RECORD_CHARACTERS: Final = 200
_PACKAGE: Final = f"{__name__.partition('.')[0]}."


def job_failed(task: str, error: BaseException) -> JobFailed:
    """Returns the JobFailed of a task, with the innermost operator, its record or timer, and the line of user code."""
    if isinstance(error, EscapedExit):
        error = error.cause
    location = take_location(error)
    operator = location.operator
    record = None if location.record is None else _shown(*location.record)
    timer = None if location.timer is None else _shown(*location.timer)
    if isinstance(error, AnswerFromThread):
        operator, record, timer = error.operator, _shown(error.record, None), None
    elif record is not None and location.place is not None:
        record = f"{record} from {location.place}"
    # The cause of a failed element is the error of the user's call.
    raised = error.__cause__ if isinstance(error, ElementFailed) and error.__cause__ is not None else error
    nulls = _null_fields(error)
    advice = _null_key(error) if isinstance(error, NullKey) else named(nulls) if nulls else None
    return JobFailed(task, operator, record, error, _place_in_user_code(raised), timer, advice)


def _null_fields(error: BaseException) -> list[str]:
    """Returns the null fields that the innermost failed expression of a scenario reads."""
    nulls: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        nulls = null_fields_of(trace.tb_frame.f_globals, trace.tb_frame.f_locals.get("v")) or nulls
        trace = trace.tb_next
    return nulls


def _null_key(error: NullKey) -> str | None:
    """Returns the operator whose key is None, and the null fields of its key."""
    if error.target is None:
        return None
    nulls = null_fields(error.key_selector, error.value)
    return f"it is the key of {error.target}" + (f", whose {named(nulls)}" if nulls else "")


def _place_in_user_code(error: BaseException) -> str | None:
    """Returns the file and line of the last frame of user code; None if there is none."""
    place: str | None = None
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.startswith(_PACKAGE):
            place = None
        elif place is None and file.suffix == ".py":
            # Only the file name: a recording must not depend on directories.
            place = f"{file.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _shown(value: object, timestamp: object) -> str:
    text = repr(value)
    if len(text) > _RECORD_CHARACTERS:
        text = text[:_RECORD_CHARACTERS] + "..."
    return text if timestamp is None or timestamp == NO_TIMESTAMP else f"{text} @ {timestamp}"
