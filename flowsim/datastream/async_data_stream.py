"""Applies an asynchronous function to a stream. PyFlink: AsyncDataStream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from flowsim.datastream.building.operator_factories import MakeOperator
from flowsim.datastream.building.transformation import positive
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions.async_functions import AnyAsyncFunction, checked_function, for_subtask
from flowsim.datastream.functions.function import isolated
from flowsim.errors import BadInput
from flowsim.legacy.async_wait_operator import LegacyAsyncWaitOperator
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator, OutputMode
from flowsim.operators.async_wait.retry_strategies import (
    NO_RETRY_STRATEGY,
    AsyncRetryStrategy,
    NoRetryStrategy,
    checked_strategy,
    retry_params,
)
from flowsim.operators.stream_operator import StreamOperator
from flowsim.values.durations import Duration, Time, millis_of
from flowsim.values.types import TypeInformation

Design = Literal["mailbox", "legacy"]
"""``mailbox``: the async operator of Flink 2.3. ``legacy``: the operator of Flink 1.8 with an emitter thread (rules
11.30 to 11.39)."""


class AsyncDataStream:
    """Static methods that call an asynchronous function for every record of a stream. PyFlink: AsyncDataStream.

    At most ``capacity`` elements, including watermarks, are pending; then the task waits (rules 11.1, 11.2). When
    ``timeout`` passes, the function's ``timeout`` method decides the result; 0 means no timeout. ``design`` is
    flowsim's own: "legacy" selects the operator of Flink 1.8, to show which problems the mailbox removed.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AnyAsyncFunction,
        timeout: Duration | Time,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        design: Design = "mailbox",
    ) -> DataStream:
        """Emits results in order of completion, but never across a watermark (rule 11.11)."""
        return _wait(
            "unordered_wait",
            "unordered",
            data_stream,
            async_function,
            timeout,
            NO_RETRY_STRATEGY,
            capacity,
            output_type,
            design,
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AnyAsyncFunction,
        timeout: Duration | Time,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        design: Design = "mailbox",
    ) -> DataStream:
        """Works as ``unordered_wait``, and retries calls by the strategy within one timeout (rules 11.24 to 11.26)."""
        return _wait(
            "unordered_wait_with_retry",
            "unordered",
            data_stream,
            async_function,
            timeout,
            async_retry_strategy,
            capacity,
            output_type,
            design,
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AnyAsyncFunction,
        timeout: Duration | Time,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        design: Design = "mailbox",
    ) -> DataStream:
        """Emits results in the order of the records (rule 11.5)."""
        return _wait(
            "ordered_wait",
            "ordered",
            data_stream,
            async_function,
            timeout,
            NO_RETRY_STRATEGY,
            capacity,
            output_type,
            design,
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AnyAsyncFunction,
        timeout: Duration | Time,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        design: Design = "mailbox",
    ) -> DataStream:
        """Works as ``ordered_wait``, and retries calls by the strategy within one timeout (rules 11.24 to 11.26)."""
        return _wait(
            "ordered_wait_with_retry",
            "ordered",
            data_stream,
            async_function,
            timeout,
            async_retry_strategy,
            capacity,
            output_type,
            design,
        )


def _wait(
    method: str,
    mode: OutputMode,
    stream: DataStream,
    function: AnyAsyncFunction,
    timeout: Duration | Time,
    strategy: AsyncRetryStrategy,
    capacity: int,
    output_type: TypeInformation | None,
    design: Design,
) -> DataStream:
    """Checks all arguments at the call, so that an error points to the user's line."""
    if not isinstance(stream, DataStream):
        raise TypeError(f"{method}: data_stream: expected a stream, got {stream!r}")
    checked_function(function, method)
    timeout_ms = _checked_timeout(method, timeout)
    checked_strategy(strategy, method)
    retries = not isinstance(strategy, NoRetryStrategy)
    if retries and timeout_ms == 0:
        raise BadInput(
            f"{method}: timeout: expected at least 1 ms for an operator that retries calls (rule 11.24), got {timeout}"
        )
    positive(capacity, f"{method}: capacity")
    isolated(strategy, method)
    params: Mapping[str, object] = {
        "mode": mode,
        "capacity": capacity,
        "timeout_ms": timeout_ms,
        "design": design,
        "retry": retry_params(strategy),
    }
    make = _maker(method, mode, function, timeout_ms, strategy, capacity, design)
    yields = design == "mailbox"
    return stream.add_operator("async wait operator", "async_wait", make, output_type, params, yields=yields)


def _checked_timeout(method: str, timeout: Duration | Time) -> int:
    timeout_ms = millis_of(timeout, f"{method}: timeout")
    if type(timeout_ms) is not int or timeout_ms < 0:
        raise BadInput(f"{method}: timeout: expected 0 (none) or more, got {timeout!r}")
    return timeout_ms


def _maker(
    method: str,
    mode: OutputMode,
    function: AnyAsyncFunction,
    timeout_ms: int,
    strategy: AsyncRetryStrategy,
    capacity: int,
    design: Design,
) -> MakeOperator:
    """Returns the maker of operators.

    Each subtask has its own function and strategy, so retry pauses are shared only within a subtask (rule 11.26).
    """

    def make(name: str) -> StreamOperator:
        return AsyncWaitOperator(for_subtask(function, name), timeout_ms, capacity, mode, isolated(strategy, name))

    def make_legacy(name: str) -> StreamOperator:
        return LegacyAsyncWaitOperator(for_subtask(function, name), timeout_ms, capacity, mode)

    if design == "mailbox":
        return make
    if design != "legacy":
        raise BadInput(f"{method}: design: expected 'mailbox' or 'legacy', got {design!r}")
    if not isinstance(strategy, NoRetryStrategy):
        raise BadInput(f"{method}: design: the legacy design does not retry calls, its functions did that themselves")
    return make_legacy
