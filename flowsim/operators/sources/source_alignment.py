"""Limits how far a source is ahead of its watermark group. Flink: SourceOperator, WatermarkSampler."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from flowsim.facts.tracer import TaskTrace
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.recorded_watermarks import WHOLE_OPERATOR
from flowsim.watermark.watermark_strategy import WatermarkAlignmentParams


class WatermarkSampler:
    """Keeps ``capacity`` samples, initially all "none".

    With capacity 0 the oldest sample is the latest value. Flink: WatermarkSampler.

    Flink: WatermarkSampler.
    """

    __slots__ = ("latest", "_samples")

    def __init__(self, capacity: int) -> None:
        if capacity < 0:
            raise ValueError(f"a sampler keeps 0 samples or more, got {capacity}")
        self.latest = NO_TIMESTAMP
        self._samples = deque([NO_TIMESTAMP] * capacity, maxlen=capacity)

    def add_latest(self, watermark: int) -> None:
        self.latest = watermark

    def sample(self) -> None:
        """Samples the latest value at the end of an interval, and drops the oldest sample."""
        self._samples.append(self.latest)

    @property
    def oldest_sample(self) -> int:
        return self._samples[0] if self._samples else self.latest

    @property
    def is_settled(self) -> bool:
        """True if further samples would change nothing."""
        return all(sample == self.latest for sample in self._samples)


PauseOrResumeSplits = Callable[[Sequence[str], Sequence[str]], None]


class SourceAlignment:
    """Samples the watermarks of a source and of its splits, reports the source's, and pauses reading above the limit.

    Listens to the source's outputs (``WatermarkUpdateListener``). ``report`` sends a watermark to the coordinator.
    ``on_wait`` is called when the whole source must wait, ``on_go_on`` when it may read again, and ``pause_or_resume``
    for single splits. Invariant: ``is_waiting`` exactly if ``limit`` is below the oldest sample, since the last check
    while the source was ``reading``. Flink: SourceOperator (rules 8.22-8.24).
    """

    __slots__ = (
        "params",
        "limit",
        "is_waiting",
        "reading",
        "idle",
        "report",
        "_capacity",
        "_latest",
        "_splits",
        "_idle_splits",
        "_paused_splits",
        "_reported",
        "_pause_or_resume",
        "_on_wait",
        "_on_go_on",
        "_index_of",
        "_trace",
        "_operator",
    )

    def __init__(
        self,
        params: WatermarkAlignmentParams,
        sample_count: int,
        on_wait: Callable[[], None],
        on_go_on: Callable[[], None],
        pause_or_resume: PauseOrResumeSplits,
        index_of: Callable[[str], int],
        trace: TaskTrace | None,
        operator: int,
    ) -> None:
        self.params = params
        self.limit = MAX_WATERMARK
        """The coordinator's limit for watermarks, in ms of event time."""
        self.is_waiting = False
        self.reading = False
        """True from the first poll to the end of the data."""
        self.idle = False
        self.report: Callable[[int], None] = _ignore_report
        self._capacity = sample_count
        self._latest = WatermarkSampler(sample_count)
        self._splits: dict[str, WatermarkSampler] = {}
        self._idle_splits: set[str] = set()
        self._paused_splits: set[str] = set()
        self._reported = NO_TIMESTAMP
        self._pause_or_resume = pause_or_resume
        self._on_wait = on_wait
        self._on_go_on = on_go_on
        self._index_of = index_of
        self._trace = trace
        self._operator = operator

    # Calls from the outputs.

    def update_idle(self, idle: bool) -> None:
        self.idle = idle

    def update_current_effective_watermark(self, watermark: int) -> None:
        self._latest.add_latest(watermark)
        self._check()

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        self._sampler_of(split_id).add_latest(watermark)
        if split_id not in self._idle_splits:
            self._maybe_pause(split_id)

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        self._sampler_of(split_id)
        if idle is (split_id in self._idle_splits):
            return
        if idle:
            self._idle_splits.add(split_id)
        else:
            self._idle_splits.discard(split_id)
            self._maybe_pause(split_id)

    def split_finished(self, split_id: str) -> None:
        self._splits.pop(split_id, None)
        self._idle_splits.discard(split_id)

    # Calls from the coordinator and the clock.

    def announce(self, limit: int) -> None:
        """Sets the coordinator's new limit."""
        self.limit = limit
        self._check()
        self._check_splits()

    def sample_and_report(self) -> None:
        """Called at every update interval, in the task's mailbox."""
        for sampler in self._splits.values():
            sampler.sample()
        self._latest.sample()
        self._check()
        self._check_splits()
        watermark = self._to_report()
        # The coordinator does not know a source without a watermark, so that source limits no other source.
        if watermark != NO_TIMESTAMP:
            self._reported = watermark
            self.report(watermark)

    def finished(self) -> None:
        """Called when the source has ended: other sources no longer wait for it (rule 8.24)."""
        self._latest.add_latest(MAX_WATERMARK)
        self.sample_and_report()

    def stopped_reading(self) -> None:
        """Called when the data ended or the source was stopped: the source no longer waits."""
        self.reading = self.is_waiting = False

    def has_pending_effect(self) -> bool:
        """Returns True if the next sample could change the report, or if the source or a split waits (D4)."""
        return (
            self._to_report() != self._reported
            or not self._latest.is_settled
            or any(not sampler.is_settled for sampler in self._splits.values())
        )

    def _to_report(self) -> int:
        latest = self._latest.latest
        return MAX_WATERMARK if self.idle and latest != NO_TIMESTAMP else latest

    # Waiting.

    @property
    def should_wait(self) -> bool:
        """True if the oldest sample is above the limit (rule 8.23)."""
        return self.limit < self._latest.oldest_sample

    def _check(self) -> None:
        if not self.reading or self.should_wait is self.is_waiting:
            return
        self.is_waiting = not self.is_waiting
        self._note(WHOLE_OPERATOR, self.is_waiting, self._latest)
        if self.is_waiting:
            self._on_wait()
        else:
            self._on_go_on()

    def _maybe_pause(self, split_id: str) -> None:
        ahead = self._sampler_of(split_id).oldest_sample > self.limit
        if ahead and split_id not in self._paused_splits:
            self._change([split_id], [])

    def _check_splits(self) -> None:
        """Pauses and resumes splits by the limit; idle splits are not changed (rule 8.24)."""
        ahead: list[str] = []
        behind: list[str] = []
        for split_id, sampler in self._splits.items():
            if split_id in self._idle_splits:
                continue
            if sampler.oldest_sample > self.limit:
                if split_id not in self._paused_splits:
                    ahead.append(split_id)
            elif split_id in self._paused_splits:
                behind.append(split_id)
        if ahead or behind:
            self._change(ahead, behind)

    def _change(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        for split_ids, paused in ((to_resume, False), (to_pause, True)):
            for split_id in split_ids:
                self._note(self._index_of(split_id), paused, self._splits[split_id])
        self._pause_or_resume(to_pause, to_resume)
        self._paused_splits.update(to_pause)
        self._paused_splits.difference_update(to_resume)

    def _sampler_of(self, split_id: str) -> WatermarkSampler:
        sampler = self._splits.get(split_id)
        if sampler is None:
            sampler = self._splits[split_id] = WatermarkSampler(self._capacity)
        return sampler

    def _note(self, split: int, paused: bool, sampler: WatermarkSampler) -> None:
        if self._trace is not None:
            self._trace.alignment(self._operator, split, paused, self.limit, sampler.oldest_sample)


def _ignore_report(watermark: int) -> None:
    """Ignores a report; the default while there is no coordinator."""
