"""Bugs of watermarks, idleness and watermark alignment."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flowsim.operators.sources.source_alignment import SourceAlignment
from flowsim.operators.sources.split_local_outputs import SplitLocalOutputs
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import MAX_WATERMARK
from flowsim.watermark.combined_watermark_status import CombinedWatermarkStatus, IndexedCombinedWatermarkStatus
from flowsim.watermark.idleness import PausableRelativeClock, WatermarksWithIdleness
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve
from tests.support.faults import Fault
from tests.support.jobs.historical_bugs.bug import Bug, replaced


def _become_idle_without_maximum(self: StatusWatermarkValve, channel: int) -> None:
    self._idle[channel] = True
    self._aligned[channel] = False
    self._active_count -= 1
    held_output = self._watermarks[channel] == self.last_output_watermark
    if self._active_count == 0:
        self.last_output_status = WatermarkStatus.IDLE
        self._output.emit_watermark_status(WatermarkStatus.IDLE)
    elif held_output:
        self._emit_minimum()


def _combine_without_maximum(self: CombinedWatermarkStatus) -> tuple[int, bool]:
    active = [partial.watermark for partial in self.partials if not partial.idle]
    return (min(active), False) if active else (self.combined_watermark, True)


def _become_active_without_alignment(self: StatusWatermarkValve, channel: int) -> None:
    self._idle[channel] = False
    self._active_count += 1
    if self.last_output_status is WatermarkStatus.IDLE:
        self.last_output_status = WatermarkStatus.ACTIVE
        self._output.emit_watermark_status(WatermarkStatus.ACTIVE)


def _only_several_splits_are_paused(patch: pytest.MonkeyPatch) -> None:
    pause = SplitLocalOutputs.pause_or_resume_splits

    def pause_or_resume(
        self: SplitLocalOutputs, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        if len(self._splits) > 1:
            pause(self, splits_to_pause, splits_to_resume)

    patch.setattr(SplitLocalOutputs, "pause_or_resume_splits", pause_or_resume)


def _check_if_idle_since_first_record(self: WatermarksWithIdleness) -> bool:
    if self._inactive_since_ns == 0:
        self._inactive_since_ns = self._clock_ns()
        self._events_seen = self._events
        return False
    idle = self._clock_ns() - self._inactive_since_ns > self._timeout_ns
    if idle and self._events != self._events_seen:
        self._events_seen = self._events
        self._inactive_since_ns = 0
    return idle


def _nothing_combines_to_the_highest(patch: pytest.MonkeyPatch) -> None:
    update = CombinedWatermarkStatus.update_combined_watermark

    def update_combined_watermark(self: CombinedWatermarkStatus) -> bool:
        if self.partials or self.combined_watermark == MAX_WATERMARK:
            return update(self)
        self.combined_watermark = MAX_WATERMARK
        return True

    patch.setattr(CombinedWatermarkStatus, "update_combined_watermark", update_combined_watermark)


def _sample_and_report_without_watermark(self: SourceAlignment) -> None:
    for sampler in self._splits.values():
        sampler.sample()
    self._latest.sample()
    self._check()
    self._check_splits()
    self._reported = self._to_report()
    self.report(self._reported)


BUGS_OF_EVENT_TIME = (
    Bug(
        "FLINK-7728",
        "When the last active channel becomes idle, the valve does not emit the maximum of all channels.",
        replaced(StatusWatermarkValve, "_become_idle", _become_idle_without_maximum),
    ),
    Bug(
        "FLINK-38454",
        "When all splits are idle, their source does not emit the maximum of their watermarks.",
        replaced(CombinedWatermarkStatus, "_combine", _combine_without_maximum),
    ),
    Bug(
        "FLINK-40475",
        "A channel that becomes active is not aligned again when it has caught up.",
        replaced(StatusWatermarkValve, "_become_active", _become_active_without_alignment),
    ),
    Bug(
        "FLINK-18934",
        "An operator with two inputs ignores that one of them is idle.",
        replaced(IndexedCombinedWatermarkStatus, "update_status", lambda self, index, idle: False),
        is_cheap=True,
    ),
    Bug(
        "FLINK-35886",
        "The idle timeout of a source goes on under back pressure.",
        replaced(PausableRelativeClock, "relative_time_ns", lambda self: self._base_clock_ns()),
    ),
    Bug(
        "FLINK-36751",
        "The idle timeout of a subtask's only split goes on while alignment pauses the split.",
        _only_several_splits_are_paused,
    ),
    Bug(
        "FLINK-34252",
        "The idle timeout is measured from the first record instead of the last one.",
        replaced(WatermarksWithIdleness, "_check_if_idle", _check_if_idle_since_first_record),
    ),
    Bug(
        "FLINK-8001",
        "A subtask without a split emits the highest watermark.",
        _nothing_combines_to_the_highest,
    ),
    Bug("FLINK-2577", "A source ends without its last watermark.", Fault("drain_without_max_watermark"), is_cheap=True),
    Bug(
        "FLINK-32496",
        "Other sources of a group wait for a source that has ended.",
        replaced(SourceAlignment, "finished", lambda self: None),
    ),
    Bug(
        "FLINK-35157",
        "Other sources of a group wait for a source that is idle.",
        replaced(SourceAlignment, "_to_report", lambda self: self._latest.latest),
    ),
    Bug(
        "FLINK-32414",
        "Other sources of a group wait for a source that has no watermark yet.",
        replaced(SourceAlignment, "sample_and_report", _sample_and_report_without_watermark),
    ),
)
