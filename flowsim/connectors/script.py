"""The scripted source: says per subtask what happens, record by record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from flowsim.errors import BadInput
from flowsim.operators.data_input_status import DataInputStatus
from flowsim.operators.source_output import SourceOutput
from flowsim.operators.stream_operator import OperatorContext, TaskClock
from flowsim.units import NS_PER_MS

FREE: Final = -1
"""The step of an entry that waits for nobody."""


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """Emit a record."""

    value: object
    timestamp: int | None
    step: int = FREE


@dataclass(frozen=True, slots=True)
class WatermarkEntry:
    """Emit a watermark."""

    timestamp: int
    step: int = FREE


@dataclass(frozen=True, slots=True)
class IdleEntry:
    """Declare the subtask idle until its next record or watermark."""

    step: int = FREE


@dataclass(frozen=True, slots=True)
class SleepEntry:
    """Do nothing for some virtual time."""

    millis: int
    step: int = FREE


@dataclass(frozen=True, slots=True)
class EndEntry:
    """End the input here; whatever follows is not played."""

    step: int = FREE


Entry = RecordEntry | WatermarkEntry | IdleEntry | SleepEntry | EndEntry
"""The closed set of script entries."""


def record(value: object, timestamp: int | None = None, *, step: int = FREE) -> RecordEntry:
    """A record; without a timestamp (ms) it takes that of the record before it in its subtask."""
    return RecordEntry(value, timestamp, step)


def watermark(timestamp: int, *, step: int = FREE) -> WatermarkEntry:
    """A watermark in ms."""
    return WatermarkEntry(timestamp, step)


def idle(*, step: int = FREE) -> IdleEntry:
    """Idleness, until the next record or watermark."""
    return IdleEntry(step)


def sleep(millis: int, *, step: int = FREE) -> SleepEntry:
    """A pause in ms of virtual time; raises BadInput below 0."""
    if millis < 0:
        raise BadInput(f"sleep: expected 0 ms or more, got {millis}")
    return SleepEntry(millis, step)


def end(*, step: int = FREE) -> EndEntry:
    """The end of the input."""
    return EndEntry(step)


class ScriptedSource:
    """Plays one script per subtask: ``ScriptedSource([record("a", 1), watermark(5)], [idle()])`` has parallelism 2.

    An entry with ``step`` >= 0 happens ``(step + 1) * gap_ms`` of virtual time after the source opened, so steps order
    entries over all subtasks and all scripted sources of a job; an entry without one follows its predecessor at once.
    The source speaks for itself as Flink's legacy ``SourceContext`` does: watermarks pass as they are, and a subtask
    that ends while idle sends no last watermark.
    """

    kind = "script"
    emits_watermarks = True
    needs_cost = False

    def __init__(self, *scripts: Sequence[Entry], gap_ms: int = 10) -> None:
        if not scripts:
            raise BadInput("scripted source: expected one script per subtask, got none")
        if gap_ms < 1:
            raise BadInput(f"scripted source: expected gap_ms >= 1, got {gap_ms}")
        self.scripts = tuple(tuple(script) for script in scripts)
        self.gap_ms = gap_ms
        for subtask, script in enumerate(self.scripts):
            _check_steps(subtask, script)

    def __repr__(self) -> str:
        scripts = ", ".join(f"[{', '.join(map(spelled, script))}]" for script in self.scripts)
        return f"ScriptedSource({scripts}, gap_ms={self.gap_ms})"

    @property
    def params(self) -> Mapping[str, object]:
        return {"entries": [len(script) for script in self.scripts]}

    @property
    def required_parallelism(self) -> int | None:
        return len(self.scripts)

    def create_reader(self) -> ScriptReader:
        """A reader for one subtask."""
        return ScriptReader(self)


def spelled(entry: Entry) -> str:
    """The entry as a program writes it.

    >>> spelled(record("a", 5)), spelled(end(step=3))
    ("record('a', 5)", 'end(step=3)')
    """
    match entry:
        case RecordEntry(value, timestamp):
            text = f"record({value!r}, {timestamp})"
        case WatermarkEntry(timestamp):
            text = f"watermark({timestamp})"
        case IdleEntry():
            text = "idle()"
        case SleepEntry(millis):
            text = f"sleep({millis})"
        case EndEntry():
            text = "end()"
        case _:
            assert_never(entry)
    if entry.step == FREE:
        return text
    return f"{text[:-1]}{'' if text.endswith('()') else ', '}step={entry.step})"


class ScriptReader:
    """Plays one subtask's script."""

    __slots__ = ("_source", "_clock", "_entries", "_at", "_opened_ns", "_previous", "wake_time_ns")

    hands_over = False
    """The script may be played again."""

    def __init__(self, source: ScriptedSource) -> None:
        self._source = source
        self._at = 0
        self._previous: int | None = None
        self.wake_time_ns: int | None = None

    def open(self, ctx: OperatorContext) -> None:
        self._entries = self._source.scripts[ctx.subtask_index]
        self._clock: TaskClock = ctx.clock
        self._opened_ns = ctx.clock.now_ns

    def poll_next(self, output: SourceOutput) -> DataInputStatus:
        clock = self._clock
        while self._at < len(self._entries):
            entry = self._entries[self._at]
            if entry.step >= 0:
                self._not_before(self._opened_ns + (entry.step + 1) * self._source.gap_ms * NS_PER_MS)
            if self.wake_time_ns is not None:
                if clock.now_ns < self.wake_time_ns:
                    return DataInputStatus.NOTHING_AVAILABLE
                self.wake_time_ns = None
            self._at += 1
            if isinstance(entry, EndEntry):
                break
            self._play(entry, output)
            if clock.now_ns >= clock.batch_end_ns:
                return DataInputStatus.MORE_AVAILABLE
        self._at = len(self._entries)
        return self._end()

    def close(self) -> None:
        """Nothing is held."""

    def _play(self, entry: RecordEntry | WatermarkEntry | IdleEntry | SleepEntry, output: SourceOutput) -> None:
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
            case _:
                assert_never(entry)

    def _not_before(self, due_ns: int) -> None:
        if self._clock.now_ns < due_ns:
            self.wake_time_ns = due_ns if self.wake_time_ns is None else max(due_ns, self.wake_time_ns)

    def _end(self) -> DataInputStatus:
        if self.wake_time_ns is not None and self._clock.now_ns < self.wake_time_ns:
            return DataInputStatus.NOTHING_AVAILABLE
        self.wake_time_ns = None
        return DataInputStatus.END_OF_DATA


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
