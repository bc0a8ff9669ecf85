"""Plays the scripts of a scripted source."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from flowsim.connectors.script_entries import (
    EndEntry,
    Entry,
    IdleEntry,
    RecordEntry,
    SleepEntry,
    WatermarkEntry,
    split_of,
    splits_of,
)
from flowsim.connectors.source import unexpected_state
from flowsim.connectors.split_assignment import SplitRequests
from flowsim.operators.sources.source_output import ReaderOutput, SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.task_clock import TaskClock
from flowsim.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class ScriptPosition:
    """Where a script continues."""

    script: int
    at: int = 0
    """The index of the next entry."""
    previous: int | None = None
    """The timestamp of the previous record."""
    held: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """The entries before ``at`` that wait for a paused split, by split."""
    elapsed_ns: int = 0
    """The time since the start of the script."""
    wait_ns: int | None = None
    """The rest of a pause."""

    @property
    def split(self) -> object:
        """The position as a value."""
        return self.script, self.at, self.previous, self.held, self.elapsed_ns, self.wait_ns


class ScriptReader:
    """Emits the script of a subtask, or the scripts that it gets, one after the other.

    Entries of a paused split are held in order, and emitted first when the split resumes. A split is a script and the
    position in it. Its time stands still between a checkpoint and the restart from it; a split of the script that was
    idle before is marked idle again.
    """

    __slots__ = (
        "_scripts",
        "_gap_ns",
        "_clock",
        "_requests",
        "_waiting",
        "_script",
        "_entries",
        "_at",
        "_opened_ns",
        "_previous",
        "_outputs",
        "_paused",
        "_held",
        "wake_time_ns",
    )

    hands_over = False
    """False: the script keeps its values and may emit them again."""

    def __init__(self, scripts: Sequence[Sequence[Entry]], gap_ms: int, *, dynamic: bool = False) -> None:
        self._scripts = scripts
        self._gap_ns = gap_ms * NS_PER_MS
        self._requests = SplitRequests() if dynamic else None
        self._waiting: deque[ScriptPosition] | None = None
        self._script: int | None = None
        self._entries: Sequence[Entry] = ()
        self._at = 0
        self._previous: int | None = None
        self._outputs: dict[str, SourceOutput] | None = None
        self._paused: set[str] = set()
        self._held: dict[str, deque[int]] = {}
        self.wake_time_ns: int | None = None

    def open(self, ctx: OperatorContext) -> None:
        self._clock: TaskClock = ctx.clock
        if self._requests is not None:
            self._requests.open(ctx)
        if self._waiting is None:
            self._waiting = deque([] if self._requests is not None else [ScriptPosition(ctx.subtask_index)])
        if self._waiting:
            self._begin(self._waiting.popleft())

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        clock = self._clock
        while True:
            if self._outputs is None:
                self._outputs = self._create_outputs(output)
            index = self._released_entry() if self._held else None
            if index is None:
                if self._at >= len(self._entries):
                    status = self._end(output)
                    if status is None:
                        continue
                    return status
                index = self._at
                if not self._is_time_for(self._entries[index]):
                    return DataInputStatus.NOTHING_AVAILABLE
                self._at += 1
            entry = self._entries[index]
            split = split_of(entry)
            if split is None and isinstance(entry, EndEntry):
                self._at = len(self._entries)
                continue
            if split in self._paused:
                self._held.setdefault(split, deque()).append(index)
                continue
            self._play(entry, output if split is None else self._outputs[split], output)
            if clock.now_ns >= clock.batch_end_ns:
                return DataInputStatus.MORE_AVAILABLE

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        self._paused.update(splits_to_pause)
        self._paused.difference_update(splits_to_resume)

    def add_splits(self, splits: Sequence[object]) -> None:
        waiting = self._waiting = deque() if self._waiting is None else self._waiting
        waiting.extend(position_of(split, self._scripts) for split in splits)
        if self._requests is not None:
            self._requests.answered()

    def notify_no_more_splits(self) -> None:
        if self._requests is not None:
            self._requests.notify_no_more_splits()

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        waiting = [position.split for position in self._waiting or ()]
        now_ns, wake_ns = self._clock.now_ns, self.wake_time_ns
        if self._script is None or (self._at >= len(self._entries) and not self._held and wake_ns is None):
            return waiting
        current = ScriptPosition(
            self._script,
            self._at,
            self._previous,
            tuple((split, tuple(indexes)) for split, indexes in self._held.items()),
            now_ns - self._opened_ns,
            None if wake_ns is None else wake_ns - now_ns,
        )
        return [current.split, *waiting]

    def position_of(self, split: object) -> tuple[str, int]:
        position = position_of(split, self._scripts)
        return f"script {position.script}", position.at

    def close(self) -> None:
        """Does nothing: there are no resources."""

    def _begin(self, position: ScriptPosition) -> None:
        now_ns = self._clock.now_ns
        self._script = position.script
        self._entries = self._scripts[position.script]
        self._at = position.at
        self._previous = position.previous
        self._held = {split: deque(indexes) for split, indexes in position.held}
        self._opened_ns = now_ns - position.elapsed_ns
        self.wake_time_ns = None if position.wait_ns is None else now_ns + position.wait_ns
        self._outputs = None

    def _create_outputs(self, output: ReaderOutput) -> dict[str, SourceOutput]:
        """Creates the outputs of the splits that have not ended; those that are idle at the position are marked."""
        restored = {index for indexes in self._held.values() for index in indexes}
        played = [entry for index, entry in enumerate(self._entries[: self._at]) if index not in restored]
        ended = {entry.split for entry in played if isinstance(entry, EndEntry)}
        splits = [split for split in splits_of(self._entries) if split not in ended]
        outputs: dict[str, SourceOutput] = {split: output.create_output_for_split(split) for split in splits}
        last = {split_of(entry): entry for entry in played if not isinstance(entry, SleepEntry)}
        for split, entry in last.items():
            if isinstance(entry, IdleEntry):
                (output if split is None else outputs[split]).mark_idle()
        return outputs

    def _released_entry(self) -> int | None:
        """Returns the first held entry of a split that may continue.

        Splits are checked in the order in which they were held.
        """
        for split, indexes in self._held.items():
            if split not in self._paused:
                index = indexes.popleft()
                if not indexes:
                    del self._held[split]
                return index
        return None

    def _is_time_for(self, entry: Entry) -> bool:
        if entry.step >= 0:
            self._not_before(self._opened_ns + (entry.step + 1) * self._gap_ns)
        if self.wake_time_ns is not None and self._clock.now_ns < self.wake_time_ns:
            return False
        self.wake_time_ns = None
        return True

    def _play(self, entry: Entry, output: SourceOutput, main: ReaderOutput) -> None:
        match entry:
            case RecordEntry(value, timestamp):
                if timestamp is not None:
                    self._previous = timestamp
                output.collect(value, self._previous)
            case WatermarkEntry(timestamp):
                output.emit_watermark(timestamp)
            case IdleEntry():
                output.mark_idle()
            case SleepEntry(millis):
                self.wake_time_ns = self._clock.now_ns + millis * NS_PER_MS
            case EndEntry(split=split):
                if split is not None:
                    main.release_output_for_split(split)
            case _:
                assert_never(entry)

    def _not_before(self, due_ns: int) -> None:
        if self._clock.now_ns < due_ns:
            self.wake_time_ns = due_ns if self.wake_time_ns is None else max(due_ns, self.wake_time_ns)

    def _end(self, output: ReaderOutput) -> DataInputStatus | None:
        """Ends the script; returns None if another one begins."""
        if self.wake_time_ns is not None and self._clock.now_ns < self.wake_time_ns:
            return DataInputStatus.NOTHING_AVAILABLE
        self.wake_time_ns = None
        if self._held:
            # Held entries are emitted when alignment resumes their split; alignment must not wait for splits that have
            # ended.
            for split in self._outputs or ():
                if split not in self._held:
                    output.release_output_for_split(split)
            return DataInputStatus.NOTHING_AVAILABLE
        if self._waiting:
            self._begin(self._waiting.popleft())
            return None
        if self._requests is not None and self._requests.next_may_follow():
            return DataInputStatus.NOTHING_AVAILABLE
        return DataInputStatus.END_OF_DATA


def position_of(split: object, scripts: Sequence[Sequence[Entry]]) -> ScriptPosition:
    match split:
        case (
            int(script),
            int(at),
            None | int() as previous,
            tuple(held),
            int(elapsed_ns),
            None | int() as wait_ns,
        ) if script < len(scripts) and at <= len(scripts[script]):
            return ScriptPosition(script, at, previous, held, elapsed_ns, wait_ns)
        case _:
            raise unexpected_state(split, f"a position in one of {len(scripts)} scripts")
