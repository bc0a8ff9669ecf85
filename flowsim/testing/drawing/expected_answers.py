"""The results of a scenario's asynchronous calls, if no schedule changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flowsim.scenario.features.async_answers import ATTEMPT
from flowsim.scenario.language.expressions import compile_expression, compile_record
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.units import NS_PER_MS, duration_ns

Record = tuple[Any, ...]
Results = tuple[Record, ...]
Block = Mapping[str, Any]

_LONG_MS: Final = 10_000
"""A timeout that the retries of no drawn scenario reach."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What calls return: the results of each attempt, and those after a timeout."""

    schema: RecordSchema
    of: Callable[[Record], Results | None]
    """Returns the results for a record; None if they depend on the schedule."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """``results`` None: an error. ``latency_ms`` None: not known; infinite: there is no answer."""

    results: Results | None
    latency_ms: float | None


def answered(call: Block, schema: RecordSchema) -> Answered | None:
    """Returns the results of the calls of an operator; None if they are not simulated by expressions."""
    if not {"add", "select", "answers"} & call.keys():
        return None
    result, replies = _written(call, schema) if "answers" in call else _simulated(call, schema)
    on_timeout = call.get("on_timeout", "fail")
    timed_out: Callable[[Record], Results] | None = None
    if isinstance(on_timeout, Mapping):
        _, timed_out = _record(on_timeout, schema)
    elif on_timeout == "drop":
        timed_out = lambda record: ()  # noqa: E731
    timeout_ms = milliseconds(call.get("timeout"))
    again = _retried(call.get("retry"), result)

    def outcome(record: Record) -> Results | None:
        attempt, repeated = 1, False
        while (reply := replies(record, attempt)).results is None and reply.latency_ms != float("inf"):
            attempt, repeated = attempt + 1, True
        results = reply.results or ()
        repeated = repeated or again(results)
        after_timeout = None if timed_out is None else timed_out(record)
        if reply.latency_ms == float("inf"):
            return after_timeout
        is_in_time = reply.latency_ms is not None and reply.latency_ms < timeout_ms and not repeated
        may_time_out = timeout_ms and not is_in_time and timeout_ms < _LONG_MS and on_timeout != "nothing"
        return results if not may_time_out or results == after_timeout else None

    return Answered(result, outcome)


def milliseconds(duration: object) -> float:
    """Returns the milliseconds of a duration of a scenario; 0 if there is none.

    >>> milliseconds("50 us"), milliseconds(0), milliseconds("never")
    (0.05, 0, 0)
    """
    return duration_ns(duration) / NS_PER_MS if isinstance(duration, str) and duration != "never" else 0


def _latency(latency: object, schema: RecordSchema) -> Callable[[Record], float | None]:
    if not isinstance(latency, Mapping):
        return lambda record: milliseconds(latency)
    if "each" not in latency:
        return lambda record: None
    each = compile_expression(latency["each"], schema).function
    return lambda record: each(record)


def _record(block: Block, schema: RecordSchema) -> tuple[RecordSchema, Callable[[Record], Results]]:
    columns = block["add"] if "add" in block else block["select"]
    compiled = compile_record(list(columns.items()), schema, keep="add" in block)
    return compiled.schema, lambda record: (compiled.function(record),)


def _simulated(call: Block, schema: RecordSchema) -> tuple[RecordSchema, Callable[[Record, int], _Reply]]:
    result, results = _record(call, schema)
    latency = _latency(call["latency"], schema) if "spikes" not in call else lambda record: None
    silent, fails = (_condition(call.get(name), schema) for name in ("silent", "fails"))

    def reply(record: Record, attempt: int) -> _Reply:
        if silent(record):
            return _Reply(None, float("inf"))
        if fails(record) and attempt <= call["fails"].get("first_attempts", 0):
            return _Reply(None, latency(record))
        return _Reply(results(record), latency(record))

    return result, reply


def _condition(block: Block | None, schema: RecordSchema) -> Callable[[Record], Any]:
    return (lambda record: False) if block is None else compile_expression(block["when"], schema).function


def _written(call: Block, schema: RecordSchema) -> tuple[RecordSchema, Callable[[Record, int], _Reply]]:
    of_call = schema.with_fields((ATTEMPT,), (FieldType.LONG,))
    answers = [(compile_expression(each.get("when", "True"), of_call).function, each) for each in call["answers"]]
    made = [
        [compile_record(list(one.items()), of_call, keep=False) for one in each.get("results", ())]
        for _, each in answers
    ]
    latencies = [_latency(each.get("latency"), of_call) for _, each in answers]

    def reply(record: Record, attempt: int) -> _Reply:
        asked = (*record, attempt)
        number = next(number for number, (when, _) in enumerate(answers) if when(asked))
        answer = answers[number][1]
        if "silent" in answer:
            return _Reply(None, float("inf"))
        results = None if "error" in answer else tuple(one.function(asked) for one in made[number])
        return _Reply(results, latencies[number](asked))

    return next(one.schema for each in made for one in each), reply


def _retried(retry: Block | None, result: RecordSchema) -> Callable[[Sequence[Record]], bool]:
    """Returns whether results are retried, which gives the same results again."""
    when = _condition({"when": retry["when"]} if retry and "when" in retry else None, result)
    when_empty = bool(retry and retry.get("when_empty"))
    return lambda results: any(when(each) for each in results) if results else when_empty
