"""The scripted source: a list of entries per subtask."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from flowsim.connectors.source import unexpected_state
from flowsim.connectors.split_assignment import Assignment, SplitRequests, SplitsOnRequest, checked_assignment
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

    With ``assignment="dynamic"`` the source has any parallelism, and each script is a split: a subtask that has none
    requests the next one. The time of a script starts with its first entry, and its entries name no splits.
    """

    kind = "script"
    emits_watermarks = True
    needs_cost = False

    def __init__(self, *scripts: Sequence[Entry], gap_ms: int = 10, assignment: Assignment = "fixed") -> None:
        if not scripts:
            raise BadInput("scripted source: expected one script per subtask, got none")
        if gap_ms < 1:
            raise BadInput(f"scripted source: expected gap_ms >= 1, got {gap_ms}")
        self.scripts: tuple[tuple[Entry, ...], ...] = tuple(
            _script(subtask, script) for subtask, script in enumerate(scripts)
        )
        self.gap_ms = gap_ms
        self.assignment = checked_assignment(assignment, "scripted source")
        for subtask, script in enumerate(self.scripts):
            _check_entries(subtask, script)
            _check_steps(subtask, script)
            _check_splits(subtask, script)
        self._spelled = ", ".join(f"[{', '.join(map(spelled, script))}]" for script in self.scripts)
        if assignment == "dynamic":
            self.scripts = tuple(_as_split(index, script) for index, script in enumerate(self.scripts))

    def __repr__(self) -> str:
        assignment = "" if self.assignment == "fixed" else f", assignment={self.assignment!r}"
        return f"ScriptedSource({self._spelled}, gap_ms={self.gap_ms}{assignment})"

    @property
    def params(self) -> Mapping[str, object]:
        params: dict[str, object] = {"entries": [len(script) for script in self.scripts]}
        splits = [list(_splits_of(script)) for script in self.scripts]
        if self.assignment != "fixed":
            params["assignment"] = self.assignment
        elif any(splits):
            params["splits"] = splits
        return params

    @property
    def enumerator_factory(self) -> SplitsOnRequest | None:
        """Makes the enumerator that assigns the scripts; None with fixed assignment."""
        if self.assignment == "fixed":
            return None
        return SplitsOnRequest(_Position(index).split for index in range(len(self.scripts)))

    @property
    def has_event_time_entries(self) -> bool:
        """True if an entry is a watermark or idleness; then the strategy does not describe all watermarks."""
        return any(isinstance(entry, WatermarkEntry | IdleEntry) for script in self.scripts for entry in script)

    @property
    def required_parallelism(self) -> int | None:
        return len(self.scripts) if self.assignment == "fixed" else None

    def create_reader(self) -> ScriptReader:
        """Creates a reader for one subtask."""
        return ScriptReader(self)


@dataclass(frozen=True, slots=True)
class _Position:
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
        "_source",
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

    def __init__(self, source: ScriptedSource) -> None:
        self._source = source
        self._requests = SplitRequests() if source.enumerator_factory is not None else None
        self._waiting: deque[_Position] | None = None
        self._script: int | None = None
        self._entries: tuple[Entry, ...] = ()
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
            self._waiting = deque([] if self._requests is not None else [_Position(ctx.subtask_index)])
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
        waiting.extend(_position_of(split, self._source.scripts) for split in splits)
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
        current = _Position(
            self._script,
            self._at,
            self._previous,
            tuple((split, tuple(held)) for split, held in self._held.items()),
            now_ns - self._opened_ns,
            None if wake_ns is None else wake_ns - now_ns,
        )
        return [current.split, *waiting]

    def close(self) -> None:
        """Does nothing: there are no resources."""

    def _begin(self, position: _Position) -> None:
        now_ns = self._clock.now_ns
        self._script = position.script
        self._entries = self._source.scripts[position.script]
        self._at = position.at
        self._previous = position.previous
        self._held = {split: deque(held) for split, held in position.held}
        self._opened_ns = now_ns - position.elapsed_ns
        self.wake_time_ns = None if position.wait_ns is None else now_ns + position.wait_ns
        self._outputs = None

    def _create_outputs(self, output: ReaderOutput) -> dict[str, SourceOutput]:
        """Creates the outputs of the splits that have not ended; those that are idle at the position are marked."""
        held = {index for indexes in self._held.values() for index in indexes}
        played = [entry for index, entry in enumerate(self._entries[: self._at]) if index not in held]
        ended = {entry.split for entry in played if isinstance(entry, EndEntry)}
        splits = [split for split in _splits_of(self._entries) if split not in ended]
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
        for split, held in self._held.items():
            if split not in self._paused:
                index = held.popleft()
                if not held:
                    del self._held[split]
                return index
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


def _splits_of(script: Sequence[Entry]) -> dict[str, None]:
    """Returns the splits of the script, in the order in which the script first names them."""
    return {split: None for entry in script if (split := split_of(entry)) is not None}


def _position_of(split: object, scripts: Sequence[Sequence[Entry]]) -> _Position:
    match split:
        case (
            int(script),
            int(at),
            None | int() as previous,
            tuple(held),
            int(elapsed_ns),
            None | int() as wait_ns,
        ) if script < len(scripts) and at <= len(scripts[script]):
            return _Position(script, at, previous, held, elapsed_ns, wait_ns)
        case _:
            raise unexpected_state(split, f"a position in one of {len(scripts)} scripts")


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


def _as_split(index: int, script: Sequence[Entry]) -> tuple[Entry, ...]:
    """Returns the script as the split ``str(index)``, up to its end."""
    split = str(index)
    entries: list[Entry] = []
    for entry in script:
        if split_of(entry) is not None:
            raise BadInput(f"scripted source: script {index}: each script is a split: its entries cannot name splits")
        if isinstance(entry, EndEntry):
            return (*entries, replace(entry, split=split))
        entries.append(entry if isinstance(entry, SleepEntry) else replace(entry, split=split))
    return (*entries, EndEntry(split=split))


def _check_splits(subtask: int, script: Sequence[Entry]) -> None:
    ended: set[str] = set()
    for index, entry in enumerate(script):
        split = split_of(entry)
        if split in ended:
            raise BadInput(f"scripted source: subtask {subtask}, entry {index}: split {split!r} has already ended")
        if split is not None and isinstance(entry, EndEntry):
            ended.add(split)
