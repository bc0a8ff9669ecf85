"""The actions and waits of a recording as a profile that speedscope.app opens."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import Any, Final

from flowsim.distribution import __version__
from flowsim.errors import BadInput
from flowsim.export.facts import each_fact
from flowsim.export.job import job_name
from flowsim.export.slices import SLICE_NAMES, opened_slice
from flowsim.facts.schema import ACTIONS
from flowsim.recording.merged_facts import Selection
from flowsim.recording.reader import Recording

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
_CLOSE: Final = -1
_FRAMES: Final = {name: number for number, name in enumerate(SLICE_NAMES)}


@dataclass(slots=True)
class _Profile:
    """The events of a subtask; ``frames``: a number opens a frame, -1 closes the innermost one."""

    times_ns: array[int] = field(default_factory=lambda: array("q"))
    frames: array[int] = field(default_factory=lambda: array("b"))
    open_frames: int = 0

    def add(self, time_ns: int, name: str | None) -> None:
        if name is None and not self.open_frames:
            return
        self.open_frames += 1 if name is not None else -1
        self.times_ns.append(time_ns)
        self.frames.append(_CLOSE if name is None else _FRAMES[name])

    def document(self, name: str) -> dict[str, Any]:
        """Closes open frames at the last event. Times are nanoseconds since the start of the run."""
        events, stack = [], []
        for time_ns, frame in zip(self.times_ns, self.frames, strict=True):
            if frame != _CLOSE:
                stack.append(frame)
                events.append({"type": "O", "frame": frame, "at": time_ns})
            else:
                events.append({"type": "C", "frame": stack.pop(), "at": time_ns})
        end_ns = self.times_ns[-1] if self.times_ns else 0
        events += [{"type": "C", "frame": frame, "at": end_ns} for frame in reversed(stack)]
        start_ns = self.times_ns[0] if self.times_ns else 0
        about = {"type": "evented", "name": name, "unit": "nanoseconds"}
        return {**about, "startValue": start_ns, "endValue": end_ns, "events": events}


def export_speedscope(recording: Recording, file: BufferedIOBase) -> int:
    """Writes a profile per subtask and returns the number of facts in them. Equal recordings give equal bytes.

    Memory holds 9 bytes per action or wait, and the events of one subtask. Raises BadInput for a recording without
    actions, and for a damaged one.
    """
    if recording.level < ACTIONS.level:
        level = recording.level.name.lower()
        raise BadInput(
            f"--speedscope: {recording.directory} has level {level}, without actions: run with --record full"
        )
    profiles = {int(row[0]): (str(row[3]), _Profile()) for row in recording.static_rows("tasks")}
    facts = each_fact(
        recording,
        Selection(tables=(ACTIONS.name,)),
        lambda fact, time_ns: profiles[fact.task][1].add(time_ns, opened_slice(fact)),
    )
    head = {
        "$schema": _SCHEMA,
        "exporter": f"flowsim {__version__}",
        "name": job_name(recording),
        "shared": {"frames": [{"name": name} for name in _FRAMES]},
    }
    file.write(_json(head)[:-1] + b',"profiles":[')
    for number, (name, profile) in enumerate(profiles.values()):
        file.write((b"," if number else b"") + _json(profile.document(name)))
    file.write(b"]}\n")
    return facts


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
