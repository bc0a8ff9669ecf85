"""Event time of a source that has a strategy. Flink: ProgressiveTimestampsAndWatermarks (rules 8.1-8.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.operators.missing_timestamps import MissingTimestamps
from flowsim.operators.sources.source_output import SourceOutput
from flowsim.operators.sources.source_output_with_watermarks import SourceOutputWithWatermarks
from flowsim.operators.sources.split_local_outputs import SplitLocalOutputs
from flowsim.operators.stream_operator import OperatorContext
from flowsim.streamrecord.output import Output
from flowsim.watermark.idleness import PausableRelativeClock
from flowsim.watermark.recorded_watermarks import ObservedGenerator, RecordedWatermarks
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_strategy import WatermarkStrategy
from flowsim.watermark.watermark_to_data_output import WatermarkUpdateListener


class StreamingReaderOutput(SourceOutputWithWatermarks):
    """The main output of the source; creates the outputs of its splits, and runs periodic emission for all of them.

    Flink: ProgressiveTimestampsAndWatermarks, with its StreamingReaderOutput.
    """

    __slots__ = (
        "back_pressure_clock",
        "input_activity_clock",
        "main_watermarks",
        "missing",
        "splits",
        "_on_first_split",
    )

    def __init__(
        self,
        ctx: OperatorContext,
        output: Output,
        strategy: WatermarkStrategy,
        listener: WatermarkUpdateListener | None,
        on_first_split: Callable[[], None],
    ) -> None:
        clock = ctx.clock
        self.back_pressure_clock = waiting = PausableRelativeClock(lambda: clock.now_ns)
        """The clock that pauses under back pressure; all other clocks are derived from it."""
        self.input_activity_clock = activity = PausableRelativeClock(waiting.relative_time_ns)
        """The clock that also pauses while the source waits for alignment."""
        generator = strategy.create_generator(
            activity.relative_time_ns, lambda: activity.is_paused() or waiting.is_paused()
        )
        facts: RecordedWatermarks | None = None
        stream: ValveOutput = output
        if ctx.trace is not None:
            generator = observed = ObservedGenerator(generator)
            stream = facts = RecordedWatermarks(ctx.trace, ctx.operator_index, observed, output)
        self.main_watermarks = main = ctx.components.create_main_watermark_output(stream, listener)
        self.missing = MissingTimestamps(strategy, output, ctx.operator_name)
        super().__init__(ctx, output.collector, strategy.timestamp_extractor, self.missing, generator, main, main)
        self.splits = SplitLocalOutputs(
            ctx, output.collector, strategy, main.split_local_output, waiting, listener, facts, self.missing
        )
        self._on_first_split = on_first_split

    @property
    def total_records(self) -> int:
        """Number of records of the main output and of all splits."""
        return self.records + self.splits.records

    def set_cost_ns(self, cost_ns: int) -> None:
        """Sets the cost of a record."""
        self.cost_ns = cost_ns
        self.splits.set_cost_ns(cost_ns)

    def create_output_for_split(self, split_id: str) -> SourceOutput:
        if not self.splits.exist:
            self._on_first_split()
        return self.splits.create_output_for_split(split_id, self.cost_ns)

    def release_output_for_split(self, split_id: str) -> None:
        self.splits.release_output_for_split(split_id)

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        self.splits.pause_or_resume_splits(splits_to_pause, splits_to_resume)

    def on_periodic_emit(self) -> None:
        """Runs periodic emission of the splits first, then of the main output."""
        self.splits.emit_periodic_watermark()
        self.emit_periodic_watermark()

    def has_pending_effect(self) -> bool:
        """True if a later periodic call would have an effect without a record (D4)."""
        return self.splits.has_pending_effect() or self.generator.has_pending_effect(
            self.main_watermarks.current_watermark
        )
