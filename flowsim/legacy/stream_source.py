"""The operator around a source function. Flink: StreamSource, StreamSourceContexts.ManualWatermarkContext (deprecated there)."""

from __future__ import annotations

from flowsim.failure_location import OperatorCall
from flowsim.legacy.source_function import ReaderSourceFunction, SourceContext, SourceFunction
from flowsim.operators.checkpointed_function import initialize_function, snapshot_function
from flowsim.operators.observed_function_states import function_states
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.sources.latency_marker_emitter import LatencyMarkerEmitter
from flowsim.operators.sources.manual_source_output import ManualReaderOutput
from flowsim.operators.sources.reader_state import ReaderState
from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value
from flowsim.state.snapshots.operator_state_backend import OperatorStateBackend
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.streamrecord.output import Output
from flowsim.units import MAX_WATERMARK


class StreamSource(StreamOperator):
    """Runs a source function, which emits its own watermarks and idleness. Flink: StreamSource."""

    is_source = True

    __slots__ = (
        "function",
        "source_output",
        "_latency_ms",
        "_markers",
        "_is_open",
        "_is_cancelled",
        "_is_initialized",
        "_reader_state",
    )

    source_output: ManualReaderOutput

    def __init__(self, function: SourceFunction, latency_interval_ms: int = 0) -> None:
        self.function = function
        self._latency_ms = latency_interval_ms
        self._markers: LatencyMarkerEmitter | None = None
        self._is_open = False
        self._is_cancelled = False
        self._is_initialized = False
        self._reader_state: ReaderState | None = None

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self.source_output = ManualReaderOutput(ctx, output)

    def set_cost_ns(self, cost_ns: int) -> None:
        """Sets the cost that the outputs add for each record."""
        super().set_cost_ns(cost_ns)
        self.source_output.set_cost_ns(cost_ns)

    def initialize_state(self, context: StateInitializationContext) -> None:
        """Restores the state of the function (rule 12.116)."""
        self._is_initialized = True
        if isinstance(self.function, ReaderSourceFunction):
            self._reader_state = ReaderState(self.function.reader, context, self.ctx)
        else:
            initialize_function(self.function, context, states=function_states(self.ctx))

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        """Stores the state of the function; the task holds the checkpoint lock (rule 12.116)."""
        if self._reader_state is not None:
            self._reader_state.snapshot(context.checkpoint_id)
        else:
            snapshot_function(self.function, context)

    def open(self) -> None:
        if not self._is_initialized:
            without_checkpoints = StateInitializationContext(OperatorStateBackend(self.ctx.operator_name))
            initialize_function(self.function, without_checkpoints, states=function_states(self.ctx))
        self._is_open = True
        self.function.open(RuntimeContext(self.ctx, None))
        if isinstance(self.function, ReaderSourceFunction):
            self.function.open_reader(self.ctx)

    def run(self, context: SourceContext) -> None:
        """Runs the source function on its own thread; returns when the function ends."""
        if self._latency_ms:
            self._markers = LatencyMarkerEmitter(self.ctx, self.output, self._latency_ms)
        if not self._is_cancelled:
            with OperatorCall(self.ctx.operator_name):
                self.function.run(context)

    def cancel(self) -> None:
        """Requests, once, that the function returns."""
        if not self._is_cancelled:
            self._is_cancelled = True
            self.function.cancel()

    def advance_to_end_of_event_time(self) -> None:
        """Emits the task's last watermark when the task drains (rule 4.10)."""
        self.output.emit_watermark(MAX_WATERMARK)

    def finish(self) -> None:
        """Stops the latency markers; there is nothing to emit."""
        if self._markers is not None:
            self._markers.close()

    def process_element(self, value: Value, timestamp: int | None) -> None:
        raise TypeError(f"{self.ctx.operator_name} is a source: it takes no records")

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.function.close()
