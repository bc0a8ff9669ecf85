"""Evidence of a violated law as text: names, keys and values instead of numbers, its position, and a command to show it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.history.run_span import start_of
from flowsim.recording.reader import Recording
from flowsim.trace.links import evidence_link, report_command
from flowsim.trace.names import Names
from flowsim.trace.places import Place, find_places
from flowsim.trace.sentence import element_text, joined, record_text, window_text
from flowsim.trace.time import event_time, moment_text

_KINDS: Final = {kind.name.lower(): kind for kind in ElementKind}
_OF_PLACE: Final = ("task", "seq", "time_ns", "intakes_before")
_FINGERPRINTS: Final = ("fingerprint", "left_fingerprint", "right_fingerprint", "fingerprint_xor")
_TIMES: Final = ("timestamp", "watermark", "max_timestamp", "before", "cause_at")
_LABELS: Final = {
    "fingerprint": "value",
    "left_fingerprint": "left",
    "right_fingerprint": "right",
    "fingerprint_xor": "contents",
}
_FOUND: Final = ("found", "counted", "queued", "emitted", "put")
"""The columns that laws compare with ``expected``."""


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """One row of evidence as text.

    ``where``: task, time since the start, seq; ``trace``: the command that shows this position.
    """

    what: str
    expected: str
    """The expected and found values; '' if the row has no such pair."""
    where: str
    with_: tuple[tuple[str, str], ...]
    """The other columns of the row."""
    trace: str
    report: str
    """The command that opens the report at this position; '' if the evidence has no position."""
    place: Place

    def as_data(self) -> dict[str, object]:
        """Returns the row as JSON values."""
        return {
            "expected": self.expected, "where": self.where, "with": dict(self.with_), "trace": self.trace,
            "report": self.report,
        }  # fmt: skip


class EvidenceReader:
    """Formats rows of evidence from one recording; ``path`` is the recording's name for the user."""

    def __init__(self, recording: Recording, path: str) -> None:
        self._recording = recording
        self._path = path
        self._names = Names(recording)
        self._start_ns = start_of(recording)

    def texts(self, rows: Sequence[Mapping[str, object]]) -> list[EvidenceText]:
        """Returns the rows as text. Raises BadInput for a damaged recording."""
        return [self._text(row, place) for row, place in zip(rows, find_places(self._recording, rows), strict=True)]

    def _text(self, row: Mapping[str, object], place: Place) -> EvidenceText:
        what, left = str(row.get("what", "a violation")), {name: row[name] for name in row if name != "what"}
        of_channel = f" of channel {left.get('channel')} "
        if of_channel in what:
            what = self._with_value(what, of_channel.rstrip(), left, place.task)
        if left.get("rows") != 1 or left.get("expected_rows", 1) != 1:
            left.pop("expected_fingerprint_xor", None)
        # Sums of fingerprints are not those of values.
        left = {name: value for name, value in left.items() if not name.endswith("_sum")}
        expected = self._expected(left, place.task)
        self._combine(left)
        shown = {name: self._value(name, value, place.task) for name, value in left.items() if name not in _OF_PLACE}
        with_ = tuple((_LABELS.get(name, name.replace("_", " ")), text) for name, text in shown.items() if text)
        return EvidenceText(
            what,
            expected,
            self._where(place),
            with_,
            self._trace(row, place),
            self._report(row, place),
            place,
        )

    def _with_value(self, what: str, of_channel: str, left: dict[str, object], task: int | None) -> str:
        """Moves the element that was only sent, or only received, from ``left`` into the sentence, which has its position."""
        for name in ("side", "position", "number"):
            left.pop(name, None)
        ends = [name for name in ("sent", "received") if name in left]
        if len(ends) != 1:
            return what
        return what.replace(of_channel, f"{of_channel}, {self._value(ends[0], left.pop(ends[0]), task)},", 1)

    def _where(self, place: Place) -> str:
        parts = [] if place.task is None else [f"{self._names.task(place.task)} (task {place.task})"]
        if place.time_ns is not None:
            parts.append(f"at {moment_text(place.time_ns - self._start_ns)}")
        if place.seq is not None:
            parts.append(f"seq {place.seq}")
        return ", ".join(parts)

    def _trace(self, row: Mapping[str, object], place: Place) -> str:
        command = ["flowsim", "trace", self._path]
        if place.task is not None:
            command += ["--task", str(place.task)]
        if place.time_ns is not None:
            since_ns = place.time_ns - self._start_ns
            command += ["--from", _argument(since_ns), "--to", _argument(since_ns + 1)]
        elif "table" in row:
            command += ["--kinds", str(row["table"])]
        elif "pool" in row:
            command += ["--kinds", "pools"]
        elif isinstance(row.get("channel"), int):
            command += ["--channel", str(row["channel"])]
        return shlex.join(command)

    def _report(self, row: Mapping[str, object], place: Place) -> str:
        if place.time_ns is None and place.seq is None:
            return ""
        since_ns = None if place.time_ns is None else place.time_ns - self._start_ns
        return report_command(self._path, evidence_link(row, place.task, place.seq, since_ns))

    def _expected(self, left: dict[str, object], task: int | None) -> str:
        """Removes the expected and found values from ``left`` and returns them as text."""
        for name in _FOUND:
            if "expected" in left and name in left:
                values = (self._value("expected", left.pop("expected"), task), self._value(name, left.pop(name), task))
                return f"expected {values[0]}, {name} {values[1]}"
        if "sent" in left and "received" in left:
            sent, received = (self._value(name, left.pop(name), task) for name in ("sent", "received"))
            return f"sent {sent}, received {received}"
        pairs = [name.removeprefix("expected_") for name in left if name.startswith("expected_")]
        pairs = [name for name in pairs if name in left and left[name] != left[f"expected_{name}"]]
        for name in [*left]:
            if name.startswith("expected_") and left[name] == left.get(name.removeprefix("expected_")):
                del left[name]
        texts = []
        for name in pairs:
            expected, found = (self._value(name, left.pop(key), task) for key in (f"expected_{name}", name))
            texts.append(f"{name.replace('_', ' ')}: expected {expected}, found {found}")
        return "; ".join(texts)

    def _combine(self, left: dict[str, object]) -> None:
        """Combines related columns into one text: an element, a window, a key."""
        kind, timestamp = _KINDS.get(str(left.get("kind"))), left.get("timestamp")
        if kind is not None and isinstance(timestamp, int):
            left["element"] = self._element(left)
            for name in ("kind", "timestamp", "fingerprint"):
                left.pop(name, None)
        start, end = left.get("window_start"), left.get("window_end")
        if isinstance(start, int) and isinstance(end, int):
            del left["window_start"], left["window_end"]
            if (start, end) != (0, 0):
                left["window"] = window_text(start, end).removeprefix("window ")
        if isinstance(left.get("fingerprint_xor"), int) and left.get("rows") != 1:
            del left["fingerprint_xor"]  # With several records the fingerprint is not that of a value.
        left.pop("name", None)

    def _element(self, row: Mapping[str, object]) -> str:
        kind, timestamp = _KINDS[str(row["kind"])], int(str(row["timestamp"]))
        if kind is ElementKind.RECORD:
            fingerprint = row.get("fingerprint")
            return record_text(
                "record", timestamp, self._names.value(fingerprint) if isinstance(fingerprint, int) else ""
            )
        return joined(kind.name.lower().replace("_", " "), element_text(kind, timestamp))

    def _value(self, name: str, value: object, task: int | None) -> str:
        if isinstance(value, Mapping):
            if str(value.get("kind")) in _KINDS and isinstance(value.get("timestamp"), int):
                return self._element(value)
            return ", ".join(f"{key} {self._value(str(key), item, task)}" for key, item in value.items())
        if isinstance(value, list | tuple):
            return ", ".join(self._value(name, item, task) for item in value) or "nothing"
        if not isinstance(value, int) or isinstance(value, bool):
            return "" if value is None else str(value)
        return self._number(name, value, task)

    def _number(self, name: str, value: int, task: int | None) -> str:
        names = self._names
        if name in _FINGERPRINTS:
            return names.value(value) or (f"#{value}" if value else "none")
        if name in _TIMES:
            return event_time(value)
        match name:
            case "channel":
                return names.channel(value)
            case "edge":
                return f"{names.edge(value)} (edge {value})"
            case "pool":
                return names.pool(value)
            case "key":
                return names.key(value) or "none"
            case "operator" if task is not None:
                return names.operator(task, value)
        return f"{value:,}" if name in ("expected", "found", "rows") else str(value)


def _argument(ns: int) -> str:
    return moment_text(ns).replace(" ", "")
