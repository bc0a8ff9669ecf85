"""The scripted source: a list of entries per subtask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

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
    splits_of,
    watermark,
)
from flowsim.connectors.script_reader import ScriptPosition, ScriptReader
from flowsim.connectors.split_assignment import Assignment, SplitsOnRequest, checked_assignment
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import checked_timestamp

__all__ = [
    "FREE",
    "EndEntry",
    "Entry",
    "IdleEntry",
    "RecordEntry",
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

    With a watermark strategy, the strategy generates the watermarks, and an ``idle`` entry marks the subtask or split idle
    until the strategy emits its next watermark, as a reader of Flink does.

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
        splits = [list(splits_of(script)) for script in self.scripts]
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
        return SplitsOnRequest(ScriptPosition(index).split for index in range(len(self.scripts)))

    @property
    def has_event_time_entries(self) -> bool:
        """True if an entry is a watermark or idleness; then the strategy does not describe all watermarks."""
        return any(isinstance(entry, WatermarkEntry | IdleEntry) for script in self.scripts for entry in script)

    @property
    def required_parallelism(self) -> int | None:
        return len(self.scripts) if self.assignment == "fixed" else None

    def create_reader(self) -> ScriptReader:
        """Creates a reader for one subtask."""
        return ScriptReader(self.scripts, self.gap_ms, dynamic=self.assignment == "dynamic")


class BadEntry(BadInput):
    """An entry that its script cannot have. ``key``: the part of the entry that is wrong."""

    def __init__(self, subtask: int, index: int, key: str, reason: str) -> None:
        super().__init__(f"scripted source: subtask {subtask}, entry {index}: {reason}")
        self.subtask = subtask
        self.index = index
        self.key = key
        self.reason = reason


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
            try:
                checked_timestamp(entry.timestamp, "timestamp")
            except BadInput as error:
                key = "watermark" if isinstance(entry, WatermarkEntry) else "timestamp"
                raise BadEntry(subtask, index, key, str(error)) from None


def _check_steps(subtask: int, script: Sequence[Entry]) -> None:
    last, before = FREE, 0
    for index, entry in enumerate(script):
        if entry.step < FREE:
            raise BadEntry(subtask, index, "step", f"expected step >= -1, got {entry.step}")
        if entry.step != FREE:
            if entry.step <= last:
                expected = (
                    f"expected a step of at least {last + 1}, because entry {before} of the subtask has step {last}"
                )
                raise BadEntry(subtask, index, "step", f"{expected}, got {entry.step}")
            last, before = entry.step, index


def _as_split(index: int, script: Sequence[Entry]) -> tuple[Entry, ...]:
    """Returns the script as the split ``str(index)``, up to its end."""
    split = str(index)
    entries: list[Entry] = []
    for at, entry in enumerate(script):
        if split_of(entry) is not None:
            raise BadEntry(index, at, "split", "each script is a split: its entries cannot name splits")
        if isinstance(entry, EndEntry):
            return (*entries, replace(entry, split=split))
        entries.append(entry if isinstance(entry, SleepEntry) else replace(entry, split=split))
    return (*entries, EndEntry(split=split))


def _check_splits(subtask: int, script: Sequence[Entry]) -> None:
    ended: set[str] = set()
    for index, entry in enumerate(script):
        split = split_of(entry)
        if split in ended:
            raise BadEntry(subtask, index, "split", f"split {split!r} has already ended")
        if split is not None and isinstance(entry, EndEntry):
            ended.add(split)
