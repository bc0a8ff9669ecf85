"""``async.answers``: calls that are answered as written, per record and attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from flowsim.operators.async_wait.answered_calls import Call, CallAnswer
from flowsim.scenario.context import CompileContext, without_timestamp
from flowsim.scenario.features.async_latency import A_FUNCTION, Latency, compile_latency
from flowsim.scenario.features.async_results import fits
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import Columns, ExpressionSource, Strict, exactly_one_of, one_of
from flowsim.scenario.yaml.positions import Path

ATTEMPT: Final = "attempt"
_KINDS: Final = ("results", "error", "silent")


class AnswerModel(Strict, json_schema_extra=exactly_one_of(*_KINDS)):
    """One answer: results, an error, or none; for all calls or for some."""

    when: ExpressionSource | None = Field(
        default=None,
        description="Only calls for which this is true: an expression over the record and `attempt`, the number of the "
        "call for the record, from 1. Without it every call.",
    )
    latency: Latency = Field(
        default=0, description="How long the call takes; `0`: it completes before the function returns (rule 11.4)."
    )
    results: Annotated[list[Columns], Field(max_length=100)] | None = Field(
        default=None, description="The results: one record for each entry, `[]` for none. All have the same fields."
    )
    error: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="The call completes with an error that has this message."
    )
    silent: Literal[True] | None = Field(default=None, description="The call never completes.")

    @model_validator(mode="after")
    def _one_kind(self) -> AnswerModel:
        one_of(self, _KINDS)
        return self


def compile_answers(
    context: CompileContext, path: Path, models: Sequence[AnswerModel], record: RecordSchema
) -> tuple[list[CallAnswer], RecordSchema]:
    """Returns the answers at ``path`` and the fields of their results. Raises Failed."""
    call = record if ATTEMPT in record.names else record.with_fields((ATTEMPT,), (FieldType.LONG,))
    answers: list[CallAnswer] = []
    result: RecordSchema | None = None
    for index, model in enumerate(models):
        at = (*path, index)
        results = None
        if model.results is not None:
            functions = []
            for number, columns in enumerate(model.results):
                of_result = (*at, "results", number)
                compiled = context.record(of_result, columns, call, keep=False)
                if compiled.uses_timestamp:
                    raise context.fail(of_result, without_timestamp(A_FUNCTION))
                if result is not None and not fits(compiled.schema, result):
                    raise context.fail(
                        of_result,
                        f"expected the fields of the first result, {result.text()}, got {compiled.schema.text()}",
                    )
                result = result or compiled.schema
                functions.append(compiled.function)
            results = SeveralResults(functions)
        when = None
        if model.when is not None:
            condition = context.record_expression((*at, "when"), model.when, call, A_FUNCTION)
            when = context.condition((*at, "when"), condition).function
        latency = compile_latency(context, (*at, "latency"), model.latency, call)
        answers.append(CallAnswer(latency, when, results, model.error))
    if result is None:
        raise context.fail(path, "expected an answer with a result, which gives the fields of the results")
    return answers, result


class SeveralResults:
    """Returns the records that expressions compute from a call."""

    def __init__(self, records: Sequence[Callable[[Any], object]]) -> None:
        self._records = tuple(records)

    def __call__(self, call: Call) -> Sequence[object]:
        return tuple(record(call) for record in self._records)
