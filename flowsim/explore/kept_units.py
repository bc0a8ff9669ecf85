"""The finished units of an exploration in a file, from which another command continues it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from flowsim.errors import BadInput
from flowsim.explore.job_exploration import Worker
from flowsim.explore.plan import States
from flowsim.explore.unit import Unit, UnitResult

_FORMAT: Final = 3


class KeptUnits:
    """A line about the exploration, and a line for each unit. ``about``: what must be the same to continue it.

    Raises BadInput for a file of another exploration.
    """

    def __init__(self, file: Path, about: Mapping[str, Any]) -> None:
        self._file = file
        self._about = msgspec.to_builtins({"flowsim_exploration": _FORMAT, **about})
        self._kept = deque(self._read())
        self._is_writing = False
        """True after the kept units, as long as none is missing."""

    def _read(self) -> Iterator[UnitResult]:
        try:
            lines = self._file.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise BadInput(f"--resume {self._file}: {error.strerror}") from None
        try:
            header = msgspec.json.decode(lines[0])
            if not isinstance(header, dict) or "flowsim_exploration" not in header:
                raise BadInput(f"--resume {self._file}: it has no exploration, and is not replaced")
            for name, value in self._about.items():
                if header.get(name) != value:
                    raise BadInput(
                        f"--resume {self._file}: it has another exploration: {name} was {header.get(name)}, and is now {value}"
                    )
            for line in lines[1:]:
                yield msgspec.json.decode(line, type=UnitResult)
        except IndexError:
            return
        except msgspec.DecodeError:
            # A line that was not written to its end is left out; the unit is made again.
            if not isinstance(lines[0], bytes) or not lines[0].startswith(b'{"flowsim_exploration"'):
                raise BadInput(f"--resume {self._file}: it has no exploration, and is not replaced") from None

    def continued(self, worker: Worker) -> Worker:
        """Returns a worker that yields the kept results of the units that have one, before it makes further runs."""

        def work(units: Iterable[Unit | None], states: States) -> Iterator[UnitResult]:
            planned, matching = iter(units), list[UnitResult]()
            unit = None
            for unit in planned:
                if unit is None:
                    continue
                if not self._kept or self._kept[0].unit != unit:
                    break
                result = self._kept.popleft()
                states[unit.chain] = result.state
                matching.append(result)
                yield result
                unit = None
            self._kept.clear()
            self._begin(matching)
            if unit is not None:
                yield from worker(_after(unit, planned), states)

        return work

    def _begin(self, results: Iterable[UnitResult]) -> None:
        """Writes the file again: the units of a plan with other bounds can differ from the kept ones."""
        try:
            self._file.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in (self._about, *results)))
        except OSError as error:
            raise BadInput(f"--resume {self._file}: {error.strerror}") from None
        self._is_writing = True

    def add(self, result: UnitResult) -> None:
        """Keeps a unit that was merged, if it and all before it are whole."""
        self._is_writing &= result.is_whole and not result.follows_gap
        if self._is_writing:
            with self._file.open("ab") as lines:
                lines.write(msgspec.json.encode(replace(result, is_interrupted=False)) + b"\n")


def _after(unit: Unit, units: Iterator[Unit | None]) -> Iterator[Unit | None]:
    yield unit
    yield from units
