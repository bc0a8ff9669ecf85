"""Finds the failed operator, and its record or timer, in a traceback; without a failure this costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flowsim.errors import AnswerFromThread, ElementFailed, EscapedExit, JobFailed, NullKey
from flowsim.network.writers.partitioner import KeyGroupStreamPartitioner
from flowsim.operators.null_fields import named, null_fields, null_fields_of
from flowsim.operators.sources.manual_source_output import ManualSourceOutput
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_output_with_watermarks import SourceOutputWithWatermarks
from flowsim.operators.stream_operator import StreamOperator
from flowsim.timers.internal_timer import InternalTimer
from flowsim.units import NO_TIMESTAMP

_RECORD_CHARACTERS: Final = 200
_PACKAGE: Final = Path(__file__).parents[1]


def job_failed(task: str, error: BaseException) -> JobFailed:
    """Returns the JobFailed of a task, with the innermost operator, its record or timer, and the line of user code."""
    if isinstance(error, EscapedExit):
        error = error.cause
    operator: str | None = None
    record: str | None = None
    timer: str | None = None
    source: SourceOperator | None = None
    nulls: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        names = trace.tb_frame.f_locals
        owner = names.get("self")
        nulls = null_fields_of(trace.tb_frame.f_globals, names.get("v")) or nulls
        if isinstance(owner, SourceOperator):
            source = owner
        if isinstance(owner, SourceOutputWithWatermarks | ManualSourceOutput) and "value" in names:
            record = _shown(names["value"], None)
        if isinstance(owner, StreamOperator):
            operator = owner.ctx.operator_name
            if "value" in names and "timestamp" in names:
                record, timer = _shown(names["value"], names["timestamp"]), None
            elif isinstance(due := names.get("timer"), InternalTimer):
                record, timer = None, _shown(due.key, due.timestamp)
        trace = trace.tb_next
    if isinstance(error, AnswerFromThread):
        operator, record, timer = error.operator, _shown(error.record, None), None
    if record is not None and source is not None and (place := source.place_of_record()) is not None:
        record = f"{record} from {place}"
    # The cause of a failed element is the error of the user's call.
    raised = error.__cause__ if isinstance(error, ElementFailed) and error.__cause__ is not None else error
    advice = _null_key(error) if isinstance(error, NullKey) else named(nulls) if nulls else None
    return JobFailed(task, operator, record, error, _place_in_user_code(raised), timer, advice)


def _null_key(error: NullKey) -> str | None:
    """Returns the operator whose key is None, and the null fields of its key."""
    value: object = None
    trace = error.__traceback__
    while trace is not None:
        names = trace.tb_frame.f_locals
        value = names.get("value", value)
        partitioner = names.get("self")
        if isinstance(partitioner, KeyGroupStreamPartitioner):
            nulls = null_fields(partitioner.key_selector, value)
            return f"it is the key of {partitioner.target}" + (f", whose {named(nulls)}" if nulls else "")
        trace = trace.tb_next
    return None


def _place_in_user_code(error: BaseException) -> str | None:
    """Returns the file and line of the last frame of user code; None if there is none."""
    place: str | None = None
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if _PACKAGE in file.parents:
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
