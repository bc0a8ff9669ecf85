"""Puts an asynchronous function behind a stream. PyFlink: AsyncDataStream."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.datastream.async_functions import AsyncFunction, CoroutineFunction
from flowsim.datastream.common.time import Duration, Time, millis_of
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.isolation import isolated
from flowsim.operators.async_wait.async_retry_strategy import NO_RETRY_STRATEGY, AsyncRetryStrategy
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator, OutputMode
from flowsim.operators.stream_operator import StreamOperator
from flowsim.values import TypeInformation


class AsyncDataStream:
    """Static methods that call an asynchronous function for every record of a stream. PyFlink: AsyncDataStream."""

    @staticmethod
    def unordered_wait(
        data_stream: DataStream, async_function: AsyncFunction, timeout: Duration | Time, capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Results as they come, but never past a watermark (rule 11.11)."""
        return _wait(data_stream, async_function, timeout, capacity, "unordered", NO_RETRY_STRATEGY, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream, async_function: AsyncFunction, timeout: Duration | Time, capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Results in the order of the records (rule 11.5)."""
        return _wait(data_stream, async_function, timeout, capacity, "ordered", NO_RETRY_STRATEGY, output_type)


def _wait(
    stream: DataStream, function: AsyncFunction, timeout: Duration | Time, capacity: int, mode: OutputMode,
    strategy: AsyncRetryStrategy, output_type: TypeInformation | None,
) -> DataStream:  # fmt: skip
    timeout_ms = millis_of(timeout, f"{mode}_wait: timeout")
    isolated(function, f"{mode}_wait")

    def make(name: str) -> StreamOperator:
        return AsyncWaitOperator(CoroutineFunction(isolated(function, name)), timeout_ms, capacity, mode, strategy)

    params: Mapping[str, object] = {
        "mode": mode, "capacity": capacity, "timeout_ms": timeout_ms, "design": "mailbox", "retry": None,
    }  # fmt: skip
    return stream.put_behind("async wait operator", "async_wait", make, output_type, params)
