"""Who failed, and over which record: read off the traceback, so that running costs nothing for it."""

from __future__ import annotations

from flowsim.errors import JobFailed
from flowsim.operators.stream_operator import StreamOperator
from flowsim.units import NO_TIMESTAMP

_RECORD_CHARACTERS = 200


def job_failed(task: str, error: BaseException) -> JobFailed:
    """The failure of a task, with its innermost operator and the record that operator was working on."""
    operator: str | None = None
    record: str | None = None
    trace = error.__traceback__
    while trace is not None:
        names = trace.tb_frame.f_locals
        owner = names.get("self")
        if isinstance(owner, StreamOperator):
            operator = owner.ctx.operator_name
            if trace.tb_frame.f_code.co_name.startswith("process_element") and "value" in names:
                record = _shown(names["value"], names.get("timestamp"))
        trace = trace.tb_next
    return JobFailed(task, operator, record, error)


def _shown(value: object, timestamp: object) -> str:
    text = repr(value)
    if len(text) > _RECORD_CHARACTERS:
        text = text[:_RECORD_CHARACTERS] + "..."
    return text if timestamp is None or timestamp == NO_TIMESTAMP else f"{text} @ {timestamp}"
