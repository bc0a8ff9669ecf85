"""The outputs of the splits of one source subtask. Flink: ProgressiveTimestampsAndWatermarks.SplitLocalOutputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowsim.facts.kinds import ElementKind
from flowsim.operators.missing_timestamps import MissingTimestamps
from flowsim.operators.sources.source_output_with_watermarks import SourceOutputWithWatermarks
from flowsim.operators.stream_operator import OperatorContext
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.output import Output
from flowsim.watermark.idleness import PausableRelativeClock
from flowsim.watermark.recorded_watermarks import ObservedGenerator, RecordedWatermarks
from flowsim.watermark.watermark_output import WatermarkOutput
from flowsim.watermark.watermark_strategy import WatermarkStrategy
from flowsim.watermark.watermark_to_data_output import WatermarkUpdateListener


@dataclass(frozen=True, slots=True)
class _Split:
    output: SourceOutputWithWatermarks
    activity_clock: PausableRelativeClock


class SplitLocalOutputs:
    """Keeps a generator and an idleness clock for each split, and merges the watermarks of the splits (rule 8.6).

    Splits are numbered in order of creation, from 0, also in recordings. ``input_clock`` pauses under back pressure;
    the clock of a split also pauses while alignment pauses the split. Flink:
    ProgressiveTimestampsAndWatermarks.SplitLocalOutputs.
    """

    __slots__ = (
        "index_of",
        "released_records",
        "_ctx",
        "_collector",
        "_strategy",
        "_input_clock",
        "_multiplexer",
        "_listener",
        "_facts",
        "_missing",
        "_splits",
        "_created",
    )

    def __init__(
        self,
        ctx: OperatorContext,
        collector: Output,
        strategy: WatermarkStrategy,
        output: WatermarkOutput,
        input_clock: PausableRelativeClock,
        listener: WatermarkUpdateListener | None,
        facts: RecordedWatermarks | None,
        missing: MissingTimestamps,
    ) -> None:
        self.index_of: dict[str, int] = {}
        """The number of every split so far; a split that is created again gets a new number."""
        self.released_records = 0
        self._ctx = ctx
        self._collector = collector
        self._strategy = strategy
        self._input_clock = input_clock
        self._multiplexer = ctx.components.create_multiplexer(output)
        self._listener = listener
        self._facts = facts
        self._missing = missing
        self._splits: dict[str, _Split] = {}
        self._created = 0

    @property
    def records(self) -> int:
        """The number of records of all splits so far."""
        return self.released_records + sum(split.output.records for split in self._splits.values())

    def set_cost_ns(self, cost_ns: int) -> None:
        for split in self._splits.values():
            split.output.cost_ns = cost_ns

    def create_output_for_split(self, split_id: str, cost_ns: int) -> SourceOutputWithWatermarks:
        split = self._splits.get(split_id)
        if split is None:
            split = self._splits[split_id] = self._create(split_id)
            split.output.cost_ns = cost_ns
        return split.output

    def _create(self, split_id: str) -> _Split:
        index = self.index_of[split_id] = self._created
        self._created += 1
        clock = PausableRelativeClock(self._input_clock.relative_time_ns)
        generator = self._strategy.create_generator(
            clock.relative_time_ns, lambda: clock.is_paused() or self._input_clock.is_paused()
        )
        if self._facts is not None:
            generator = ObservedGenerator(generator)
            self._facts.add_split(generator)
        listener = None
        if self._facts is not None or self._listener is not None:
            listener = _SplitListener(split_id, index, self._listener, self._facts)
        self._multiplexer.register_new_output(split_id, listener)
        immediate = self._multiplexer.immediate_output(split_id)
        deferred = self._multiplexer.deferred_output(split_id)
        extract = self._strategy.timestamp_extractor
        output = SourceOutputWithWatermarks(
            self._ctx, self._collector, extract, self._missing, generator, immediate, deferred
        )
        return _Split(output, clock)

    def release_output_for_split(self, split_id: str) -> None:
        split = self._splits.pop(split_id, None)
        if split is None:
            return
        if self._listener is not None:
            self._listener.split_finished(split_id)
        self.released_records += split.output.records
        self._multiplexer.unregister_output(split_id)
        if self._facts is not None:
            self._facts.release_split(self.index_of[split_id])

    def emit_periodic_watermark(self) -> None:
        for split in self._splits.values():
            split.output.emit_periodic_watermark()
        self._multiplexer.on_periodic_emit()

    def has_pending_effect(self) -> bool:
        """Returns True if a split would emit something new periodically, or an ended split held back others."""
        return self._multiplexer.has_pending_effect() or any(
            split.output.generator.has_pending_effect(self._multiplexer.watermark_of(split_id))
            for split_id, split in self._splits.items()
        )

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        """Pauses and resumes the idleness clocks of splits."""
        for split_id in splits_to_pause:
            self._splits[split_id].activity_clock.pause()
        for split_id in splits_to_resume:
            self._splits[split_id].activity_clock.un_pause()

    @property
    def exist(self) -> bool:
        """True if any split was ever created."""
        return self._created > 0


class _SplitListener:
    """Notifies alignment of a split's watermarks, and records these watermarks."""

    __slots__ = ("_split_id", "_index", "_listener", "_facts", "_idle")

    def __init__(
        self, split_id: str, index: int, listener: WatermarkUpdateListener | None, facts: RecordedWatermarks | None
    ) -> None:
        self._split_id = split_id
        self._index = index
        self._listener = listener
        self._facts = facts
        self._idle = False

    def on_watermark_update(self, watermark: int) -> None:
        if self._facts is not None:
            self._facts.record_split_mark(self._index, ElementKind.WATERMARK, watermark)
        if self._listener is not None:
            self._listener.update_current_split_watermark(self._split_id, watermark)

    def on_idle_update(self, idle: bool) -> None:
        if idle is not self._idle:
            self._idle = idle
            if self._facts is not None:
                status = WatermarkStatus.IDLE if idle else WatermarkStatus.ACTIVE
                self._facts.record_split_mark(self._index, ElementKind.STATUS, status.value)
        if self._listener is not None:
            self._listener.update_current_split_idle(self._split_id, idle)
