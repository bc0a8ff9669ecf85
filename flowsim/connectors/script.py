"""The scripted source: a list of entries per subtask."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from flowsim.connectors.script_entries import (
    FREE,
    EndEntry,
    Entry,
    IdleEntry,
    RecordEntry,
    SleepEntry,
    WatermarkEntry,
    end,
    idle,
    record,
    sleep,
    spelled,
    split_of,
    watermark,
)
from flowsim.errors import BadInput
from flowsim.operators.sources.source_output import ReaderOutput, SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, TaskClock, checked_timestamp
from flowsim.units import NS_PER_MS

__all__ = [
    "FREE",
    "EndEntry",
    "Entry",
    "IdleEntry",
    "RecordEntry",
    "ScriptReader",
    "ScriptedSource",
    "SleepEntry",
    "WatermarkEntry",
    "end",
    "idle",
    "record",
    "sleep",
    "spelled",
    "watermark",
]


class ScriptedSource:
    """Emits one script per subtask: ``ScriptedSource([record("a", 1), watermark(5)], [idle()])`` has parallelism 2.

    An entry with ``step`` >= 0 happens ``(step + 1) * gap_ms`` of virtual time after the source opened. So steps order
    the entries of all subtasks and all scripted sources of a job. An entry without a step follows the entry before it
    at once. The source emits event time itself, as Flink's legacy ``SourceContext`` does: watermarks pass unchanged,
    and a subtask that ends while idle sends no last watermark.

    Entries may name a split: ``record("a", 1, split="p0")``. All splits of a subtask exist from the beginning, and
    ``end(split="p0")`` ends one. While alignment pauses a split, the entries of that split wait and the entries of
    other splits continue. When only waiting entries are left, the splits without entries have ended.
    """

    kind = "script"
    emits_watermarks = True
    needs_cost = False

    def __init__(self, *scripts: Sequence[Entry], gap_ms: int = 10) -> None:
        if not scripts:
            raise BadInput("scripted source: expected one script per subtask, got none")
        if gap_ms < 1:
            raise BadInput(f"scripted source: expected gap_ms >= 1, got {gap_ms}")
        self.scripts: tuple[tuple[Entry, ...], ...] = tuple(
            _script(subtask, script) for subtask, script in enumerate(scripts)
        )
        self.gap_ms = gap_ms
        for subtask, script in enumerate(self.scripts):
            _check_entries(subtask, script)
            _check_steps(subtask, script)
            _check_splits(subtask, script)

    def __repr__(self) -> str:
        scripts = ", ".join(f"[{', '.join(map(spelled, script))}]" for script in self.scripts)
        return f"ScriptedSource({scripts}, gap_ms={self.gap_ms})"

    @property
    def params(self) -> Mapping[str, object]:
        params: dict[str, object] = {"entries": [len(script) for script in self.scripts]}
        splits = [list(_splits_of(script)) for script in self.scripts]
        if any(splits):
            params["splits"] = splits
        return params

    @property
    def has_event_time_entries(self) -> bool:
        """True if an entry is a watermark or idleness; then the strategy does not describe all watermarks."""
        return any(isinstance(entry, WatermarkEntry | IdleEntry) for script in self.scripts for entry in script)

    @property
    def required_parallelism(self) -> int | None:
        return len(self.scripts)

    def create_reader(self) -> ScriptReader:
        """Creates a reader for one subtask."""
        return ScriptReader(self)


class ScriptReader:
    """Emits one subtask's script.

    Entries of a paused split are held in order, and emitted first when the split resumes.
    """

    __slots__ = (
        "_source",
        "_clock",
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

    def __init__(self, source: ScriptedSource) -> None:
        self._source = source
        self._at = 0
        self._previous: int | None = None
        self._outputs: dict[str, SourceOutput] | None = None
        self._paused: set[str] = set()
        self._held: dict[str, deque[Entry]] = {}
        self.wake_time_ns: int | None = None

    def open(self, ctx: OperatorContext) -> None:
        self._entries = self._source.scripts[ctx.subtask_index]
        self._clock: TaskClock = ctx.clock
        self._opened_ns = ctx.clock.now_ns

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        clock = self._clock
        if self._outputs is None:
            self._outputs = {split: output.create_output_for_split(split) for split in _splits_of(self._entries)}
        while True:
            entry = self._released_entry() if self._held else None
            if entry is None:
                if self._at >= len(self._entries):
                    return self._end(output)
                entry = self._entries[self._at]
                if not self._is_time_for(entry):
                    return DataInputStatus.NOTHING_AVAILABLE
                self._at += 1
            split = split_of(entry)
            if split is None and isinstance(entry, EndEntry):
                self._at = len(self._entries)
                return self._end(output)
            if split in self._paused:
                self._held.setdefault(split, deque()).append(entry)
                continue
            self._play(entry, output if split is None else self._outputs[split], output)
            if clock.now_ns >= clock.batch_end_ns:
                return DataInputStatus.MORE_AVAILABLE

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        self._paused.update(splits_to_pause)
        self._paused.difference_update(splits_to_resume)

    def close(self) -> None:
        """Does nothing: there are no resources."""

    def _released_entry(self) -> Entry | None:
        """Returns the first held entry of a split that may continue.

        Splits are checked in the order in which they were held.
        """
        for split, held in self._held.items():
            if split not in self._paused:
                entry = held.popleft()
                if not held:
                    del self._held[split]
                return entry
        return None

    def _is_time_for(self, entry: Entry) -> bool:
        if entry.step >= 0:
            self._not_before(self._opened_ns + (entry.step + 1) * self._source.gap_ms * NS_PER_MS)
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

    def _end(self, output: ReaderOutput) -> DataInputStatus:
        if self.wake_time_ns is not None and self._clock.now_ns < self.wake_time_ns:
            return DataInputStatus.NOTHING_AVAILABLE
        self.wake_time_ns = None
        if not self._held:
            return DataInputStatus.END_OF_DATA
        # Held entries are emitted when alignment resumes their split; alignment must not wait for splits that have
        # ended.
        for split in self._outputs or ():
            if split not in self._held:
                output.release_output_for_split(split)
        return DataInputStatus.NOTHING_AVAILABLE


def _splits_of(script: Sequence[Entry]) -> dict[str, None]:
    """Returns the splits of the script, in the order in which the script first names them."""
    return {split: None for entry in script if (split := split_of(entry)) is not None}


def _script(subtask: int, script: Sequence[Entry]) -> tuple[Entry, ...]:
    if isinstance(script, Entry) or not isinstance(script, Iterable):
        raise TypeError(f"scripted source: subtask {subtask}: expected a list of entries, got {script!r:.100}")
    return tuple(script)


def _check_entries(subtask: int, script: Sequence[object]) -> None:
    for index, entry in enumerate(script):
        if not isinstance(entry, Entry):
            hint = ": pass the list of each subtask as a separate argument" if isinstance(entry, list | tuple) else ""
            raise TypeError(
                f"scripted source: subtask {subtask}, entry {index}: expected record(...), watermark(...), idle(), "
                f"sleep(...) or end(), got {entry!r:.100} of type {type(entry).__name__}{hint}"
            )
        if isinstance(entry, WatermarkEntry) or (isinstance(entry, RecordEntry) and entry.timestamp is not None):
            checked_timestamp(entry.timestamp, f"scripted source: subtask {subtask}, entry {index}: timestamp")


def _check_steps(subtask: int, script: Sequence[Entry]) -> None:
    last = FREE
    for index, entry in enumerate(script):
        if entry.step < FREE:
            raise BadInput(f"scripted source: subtask {subtask}, entry {index}: expected step >= -1, got {entry.step}")
        if entry.step != FREE:
            if entry.step <= last:
                raise BadInput(
                    f"scripted source: subtask {subtask}, entry {index}: step {entry.step} does not follow step {last}"
                )
            last = entry.step


def _check_splits(subtask: int, script: Sequence[Entry]) -> None:
    ended: set[str] = set()
    for index, entry in enumerate(script):
        split = split_of(entry)
        if split in ended:
            raise BadInput(f"scripted source: subtask {subtask}, entry {index}: split {split!r} has already ended")
        if split is not None and isinstance(entry, EndEntry):
            ended.add(split)
