"""``async``: calls that are simulated or made by Python; failures, timeouts and retries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, model_validator

from flowsim.datastream.async_data_stream import AsyncDataStream
from flowsim.datastream.async_retry_predicates import has_exception_predicate
from flowsim.datastream.async_retry_strategies import AsyncRetryStrategy
from flowsim.datastream.common.time import Duration
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions.async_functions import AsyncFunction, ResultFutureFunction
from flowsim.operators.async_wait import retry_strategies as core
from flowsim.operators.async_wait.answered_calls import AnsweredAsyncFunction
from flowsim.operators.async_wait.simulated_calls import NO_CALLS, OnTimeout, SimulatedAsyncFunction, SomeCalls
from flowsim.scenario.context import CompileContext, CompiledStream, declared
from flowsim.scenario.features.async_answers import AnswerModel, compile_answers
from flowsim.scenario.features.async_latency import (
    A_FUNCTION,
    Latency,
    LatencyModel,
    Share,
    SpikesModel,
    compile_latency,
    compile_spikes,
)
from flowsim.scenario.features.async_results import (
    LookupModel,
    Results,
    TimedOutModel,
    compile_answer,
    compile_lookup,
    compile_timed_out,
    no_results,
)
from flowsim.scenario.features.inputs import Incoming
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.types import (
    Columns,
    Count,
    ExpressionSource,
    FieldTypes,
    PositiveMs,
    PythonReference,
    Strict,
    TimeoutMs,
    chosen_of,
    exactly_one_of,
    needs_fields,
    one_of,
)
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path

RESULTS = ("select", "add", "lookup", "answers", "python")


class SilentModel(Strict):
    """Calls that never complete; share, when or both."""

    share: Share | None = Field(default=None, description="Random share of the calls; without it all.")
    when: ExpressionSource | None = Field(default=None, description="Only for records for which this is true.")

    @model_validator(mode="after")
    def _some(self) -> SilentModel:
        if self.share is None and self.when is None:
            raise ValueError("expected share or when, got neither")
        return self


class FailsModel(Strict):
    """Calls that complete with an error; at least one of share, when, first_attempts. Several are combined with "and"."""

    share: Share | None = Field(default=None, description="Random share of the calls; without it all.")
    when: ExpressionSource | None = Field(default=None, description="Only for records for which this is true.")
    first_attempts: Count | None = Field(
        default=None, description="Only this number of first calls for a record; needs `retry`."
    )

    @model_validator(mode="after")
    def _some(self) -> FailsModel:
        if self.share is None and self.when is None and self.first_attempts is None:
            raise ValueError("expected share, when or first_attempts, got none of them")
        return self


class FixedRetryModel(Strict):
    """The same delay each time."""

    max_attempts: Count = Field(description="Number of retries of a record; the first call is not counted.")
    delay: Annotated[PositiveMs, FlinkNames("backoff_time_millis")] = Field(
        description="Time between a result and the next call."
    )


class ExponentialRetryModel(Strict):
    """Longer delays each time, up to a limit; all records of a subtask share the last one."""

    max_attempts: Count = Field(description="Number of retries of a record; the first call is not counted.")
    initial: Annotated[PositiveMs, FlinkNames("initial_delay")] = Field(
        description="Delay before the first retry of each record."
    )
    max: Annotated[PositiveMs, FlinkNames("max_retry_delay")] = Field(
        description="The longest delay between two attempts."
    )
    multiplier: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        description="The next delay is the last delay times this. As in Flink, all records of the subtask share the "
        "last delay (rule 11.26)."
    )


class RetryModel(Strict, json_schema_extra=exactly_one_of("fixed", "exponential")):
    """Which calls are retried, and when; exactly one of fixed, exponential."""

    fixed: Annotated[FixedRetryModel | None, FlinkNames("fixed_delay", "FixedDelayRetryStrategy")] = Field(
        default=None, description="The same delay before each retry."
    )
    exponential: Annotated[
        ExponentialRetryModel | None, FlinkNames("exponential_backoff", "ExponentialBackoffDelayRetryStrategy")
    ] = Field(default=None, description="A delay that increases with each retry, up to a limit.")
    when: Annotated[ExpressionSource | None, FlinkNames("result_predicate", "if_result")] = Field(
        default=None, description="Calls with a result for which this is true, over the fields of the result."
    )
    when_empty: bool = Field(default=False, description="Calls without results are repeated.")
    on_error: Annotated[bool, FlinkNames("exception_predicate", "if_exception")] = Field(
        default=True, description="Calls that complete with an error are repeated."
    )

    @property
    def delays(self) -> FixedRetryModel | ExponentialRetryModel:
        """Returns the delays that are set, fixed or exponential."""
        value: FixedRetryModel | ExponentialRetryModel
        _, value = chosen_of(self, ("fixed", "exponential"))
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> RetryModel:
        one_of(self, ("fixed", "exponential"))
        if self.when is None and not self.when_empty and not self.on_error:
            raise ValueError("expected a retry condition: when, when_empty or on_error")
        return self


class AsyncModel(Strict, json_schema_extra=exactly_one_of(*RESULTS)):
    """Asynchronous calls, several at a time; exactly one of select, add, lookup, answers, python gives the results."""

    mode: Annotated[
        Literal["ordered", "unordered"], FlinkNames(("ordered_wait", "ordered"), ("unordered_wait", "unordered"))
    ] = Field(
        description="`ordered`: results in the order of the records; `unordered`: in the order of completion, but "
        "never past a watermark."
    )
    capacity: Count = Field(
        default=100, description="The highest number of records and watermarks in the queue of a subtask."
    )
    timeout: TimeoutMs = Field(
        default=-1,
        description="The longest time of a record from its place in the queue to its result, for all attempts together.",
    )
    design: Literal["mailbox", "legacy"] = Field(
        default="mailbox",
        description="`mailbox`: the current design; `legacy`: the design before Flink 1.10 with an emitter thread "
        "and the checkpoint lock, for teaching.",
    )
    latency: Latency | None = Field(
        default=None, description="How long calls take; required without `python` and `answers`."
    )
    spikes: SpikesModel | None = Field(default=None, description="A share of the calls has another latency.")
    fails: FailsModel | None = Field(
        default=None, description="Which calls complete with an error. Without `retry`, the first error fails the job."
    )
    silent: SilentModel | None = Field(
        default=None,
        description="Which calls never complete. Without `timeout`, the job waits for ever, and the run names the "
        "record.",
    )
    select: Columns | None = Field(default=None, description="The result: one record with these fields.")
    add: Columns | None = Field(
        default=None,
        description="The result: the record with these fields after its own; a known name replaces that field.",
    )
    lookup: LookupModel | None = Field(default=None, description="The result: the record with columns of a table.")
    answers: Annotated[list[AnswerModel], Field(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description="The answers of the calls, as written: a call takes the first [answer](#answer) whose `when` is true, "
        "and fails without one.",
    )
    python: PythonReference | None = Field(
        default=None,
        description="An `AsyncFunction` class of coroutines, or a `ResultFutureFunction` class; only with "
        "`--allow-python`.",
    )
    fields: FieldTypes | None = Field(
        default=None,
        description="Names and types of the fields of the tuples that the Python function returns; required with "
        "`python`.",
    )
    on_timeout: Literal["fail", "drop", "nothing"] | TimedOutModel = Field(
        default="fail",
        description="The effect of a timeout: the job fails, the record has no results, the record continues to wait "
        "for its call, or it has these results.",
    )
    retry: Annotated[RetryModel | None, FlinkNames("async_retry_strategy")] = Field(
        default=None, description="Which calls are repeated, and when; needs `timeout`. Without it no call is repeated."
    )

    @property
    def timeout_ms(self) -> int:
        """The timeout in ms; 0: no timeout."""
        return max(self.timeout, 0)

    @property
    def simulated_latency(self) -> int | LatencyModel:
        """Returns the latency of simulated calls."""
        assert self.latency is not None
        return self.latency

    @model_validator(mode="after")
    def _consistent(self) -> AsyncModel:
        form = one_of(self, RESULTS)
        needs_fields(form, self.fields)
        self._check_calls(form)
        if self.timeout_ms == 0 and self.on_timeout != "fail":
            raise ValueError("on_timeout needs a timeout")
        if self.retry is not None and self.timeout_ms == 0:
            raise ValueError("retry needs a timeout, which all attempts of a record share")
        if self.retry is not None and self.design == "legacy":
            raise ValueError("the legacy design has no retry, remove retry or design")
        return self

    def file_names(self) -> list[str]:
        """Returns the files of the lookup table and of the latencies."""
        latencies = [self.latency, *(each.latency for each in self.answers or ())]
        latencies.append(None if self.spikes is None else self.spikes.latency)
        traces = [each.trace.path for each in latencies if isinstance(each, LatencyModel) and each.trace is not None]
        return ([] if self.lookup is None else [self.lookup.csv]) + traces

    def _check_calls(self, form: str) -> None:
        if form not in ("python", "answers"):
            if self.latency is None:
                raise ValueError("expected latency: how long calls take")
        else:
            present = [key for key in ("latency", "spikes", "fails", "silent") if getattr(self, key) is not None]
            present += ["on_timeout"] if form == "python" and self.on_timeout != "fail" else []
            if present:
                what = "a Python function makes its own calls" if form == "python" else "each answer has its own"
                raise ValueError(f"{what}, remove {' and '.join(present)}")
        if self.fails is not None and self.fails.first_attempts is not None and self.retry is None:
            raise ValueError("fails.first_attempts needs retry: without retry there is only one attempt")


UserDefined = AsyncFunction | ResultFutureFunction


def compile_async(context: CompileContext, path: Path, model: AsyncModel, incoming: Incoming) -> CompiledStream:
    """Compiles ``async``: returns the stream of the calls' results, ordered or unordered; raises Failed."""
    function: UserDefined | SimulatedAsyncFunction
    if model.python is not None:
        schema = declared(model.fields)
        function = _user_defined(context, (*path, "python"), model.python)
    elif model.answers is not None:
        answers, schema = compile_answers(context, (*path, "answers"), model.answers, incoming.schema)
        on_timeout = _on_timeout(context, (*path, "on_timeout"), model, incoming.schema, schema)
        function = AnsweredAsyncFunction(answers, on_timeout)
    else:
        results, schema = _results(context, path, model, incoming.schema)
        function = _simulated(context, path, model, results, incoming.schema, schema)
    strategy = None if model.retry is None else _strategy(context, (*path, "retry"), model.retry, schema)
    stream = context.attempt(path, lambda: _waiting(model, incoming.stream, function, strategy))
    return CompiledStream(stream, schema)


def _waiting(
    model: AsyncModel,
    stream: DataStream,
    function: UserDefined | SimulatedAsyncFunction,
    strategy: core.AsyncRetryStrategy | None,
) -> DataStream:
    timeout, capacity, api = Duration.of_millis(model.timeout_ms), model.capacity, AsyncDataStream
    if strategy is None:
        wait = api.ordered_wait if model.mode == "ordered" else api.unordered_wait
        return wait(stream, function, timeout, capacity, design=model.design)
    again = api.ordered_wait_with_retry if model.mode == "ordered" else api.unordered_wait_with_retry
    return again(stream, function, timeout, strategy, capacity, design=model.design)


def _user_defined(context: CompileContext, path: Path, reference: str) -> UserDefined:
    function = context.function(path, reference, object)
    if not isinstance(function, AsyncFunction | ResultFutureFunction):
        raise context.fail(path, f"expected the class of an AsyncFunction or ResultFutureFunction, got {reference}")
    return function


def _results(
    context: CompileContext, path: Path, model: AsyncModel, schema: RecordSchema
) -> tuple[Results, RecordSchema]:
    """Returns the results of a call, and their fields."""
    if model.lookup is not None:
        return compile_lookup(context, (*path, "lookup"), model.lookup, schema)
    if model.add is not None:
        return compile_answer(context, (*path, "add"), model.add, schema, keep=True)
    return compile_answer(context, (*path, "select"), model.select or {}, schema, keep=False)


def _simulated(
    context: CompileContext, path: Path, model: AsyncModel, results: Results, record: RecordSchema, result: RecordSchema
) -> SimulatedAsyncFunction:
    latency = compile_latency(context, (*path, "latency"), model.simulated_latency, record)
    if model.spikes is not None:
        latency = compile_spikes(context, (*path, "spikes"), model.spikes, latency, record)
    return SimulatedAsyncFunction(
        results,
        latency,
        failure=_some_calls(context, (*path, "fails"), model.fails, record),
        silence=_some_calls(context, (*path, "silent"), model.silent, record),
        on_timeout=_on_timeout(context, (*path, "on_timeout"), model, record, result),
    )


def _some_calls(
    context: CompileContext, path: Path, model: FailsModel | SilentModel | None, schema: RecordSchema
) -> SomeCalls:
    if model is None:
        return NO_CALLS
    when = None if model.when is None else _condition(context, (*path, "when"), model.when, schema)
    share = 1.0 if model.share is None else model.share
    return SomeCalls(share, when, model.first_attempts if isinstance(model, FailsModel) else None)


def _on_timeout(
    context: CompileContext, path: Path, model: AsyncModel, record: RecordSchema, result: RecordSchema
) -> OnTimeout:
    match model.on_timeout:
        case TimedOutModel() as answer:
            return compile_timed_out(context, path, answer, record, result)
        case "drop":
            return no_results
        case "fail" | "nothing" as reaction:
            return reaction
        case unreachable:
            assert_never(unreachable)


def _strategy(context: CompileContext, path: Path, model: RetryModel, result: RecordSchema) -> core.AsyncRetryStrategy:
    when = None if model.when is None else _condition(context, (*path, "when"), model.when, result)
    results = None if when is None and not model.when_empty else RetryOnExpression(when, when_empty=model.when_empty)
    errors = has_exception_predicate if model.on_error else None
    match model.delays:
        case FixedRetryModel() as fixed:
            return AsyncRetryStrategy.fixed_delay(fixed.max_attempts, fixed.delay, results, errors)
        case ExponentialRetryModel() as growing:
            return AsyncRetryStrategy.exponential_backoff(
                growing.max_attempts, growing.initial, growing.max, growing.multiplier, results, errors
            )
        case unreachable:
            assert_never(unreachable)


def _condition(context: CompileContext, path: Path, source: str, schema: RecordSchema) -> Callable[[Any], object]:
    return context.condition(path, context.record_expression(path, source, schema, A_FUNCTION)).function


class RetryOnExpression:
    """Decides whether a call is retried: it has no results, or one of its results meets a condition."""

    def __init__(self, when: Callable[[Any], object] | None, *, when_empty: bool) -> None:
        self._when = when
        self._when_empty = when_empty

    def __call__(self, results: Sequence[object]) -> bool:
        if not results:
            return self._when_empty
        when = self._when
        return when is not None and any(when(result) for result in results)
