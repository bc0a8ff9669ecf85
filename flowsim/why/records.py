"""Finds records by their values, as the user gives them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsim.errors import BadInput, did_you_mean
from flowsim.facts.schema import RECORD_VALUES
from flowsim.recording.parquet_part import as_numpy
from flowsim.trace.sentence import record_text
from flowsim.units import NO_TIMESTAMP
from flowsim.why.run_facts import Ints, RunFacts

_MOST_SHOWN: Final = 8
_MOST_COMPARED: Final = 2000
_TIMESTAMP: Final = re.compile(r"(.+)@(-?[0-9]{1,19})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded value with its timestamp."""

    fingerprint: int
    timestamp: int
    value: str

    def __str__(self) -> str:
        return record_text("record", self.timestamp, self.value)

    @property
    def argument(self) -> str:
        """The record as ``Records.find`` reads it."""
        return self.value if self.timestamp == NO_TIMESTAMP else f"{self.value}@{self.timestamp}"


class Records:
    """The values in table ``record_values``."""

    def __init__(self, facts: RunFacts) -> None:
        stored = facts.recording.table(RECORD_VALUES.name)
        self._fingerprints: Ints = as_numpy(stored["fingerprint"]).astype(np.int64)
        self._timestamps: Ints = as_numpy(stored["timestamp"]).astype(np.int64)
        self._values: list[str] = stored["value"].to_pylist()
        values = facts.recording.manifest.record_values
        self._is_complete = values is None or values.is_complete

    def find(self, text: str, among: Ints | None = None) -> list[Record]:
        """The records whose value is ``text`` as JSON; if there are none, those that contain the text.

        ``@7`` at the end of the text selects the timestamp 7. ``among``: only these fingerprints. Raises BadInput if
        no recorded value matches.
        """
        given = _TIMESTAMP.fullmatch(text.strip())
        value, timestamp = (text.strip(), None) if given is None else (given[1], int(given[2]))
        is_wanted = np.ones(len(self._values), dtype=np.bool_)
        if timestamp is not None:
            is_wanted &= self._timestamps == timestamp
        if among is not None:
            is_wanted &= np.isin(self._fingerprints, among)
        places, whole = np.flatnonzero(is_wanted).tolist(), _parsed(value)
        found = [place for place in places if self._values[place] == whole]
        found = found or [place for place in places if value in self._values[place]]
        if not found and among is None:
            raise BadInput(self._unknown(text))
        return [self._record(place) for place in found]

    def one(self, text: str) -> Record:
        """The only record with this value; raises BadInput."""
        return self._only(text, self.find(text))

    def one_of(self, text: str, among: Ints) -> Record | None:
        """The only one of some records with this value; None if a recorded value matches, but none of them. Raises BadInput."""
        found = self.find(text, among)
        if found:
            return self._only(text, found)
        self.find(text)
        return None

    def _only(self, text: str, found: list[Record]) -> Record:
        if len(found) > 1:
            shown = "\n".join(f"  {record.argument}" for record in found[:_MOST_SHOWN])
            more = f"\n  and {len(found) - _MOST_SHOWN:,} more" if len(found) > _MOST_SHOWN else ""
            raise BadInput(f"{text!r} matches {len(found):,} records; give one of them:\n{shown}{more}")
        return found[0]

    def some(self, count: int) -> list[Record]:
        """The first recorded values."""
        return [self._record(place) for place in range(min(count, len(self._values)))]

    def _record(self, place: int) -> Record:
        return Record(int(self._fingerprints[place]), int(self._timestamps[place]), self._values[place])

    def _unknown(self, text: str) -> str:
        hint = did_you_mean(text, list(dict.fromkeys(self._values))[:_MOST_COMPARED])
        examples = "" if hint or not self._values else f"; records look like {self._values[0]}"
        sample = "" if self._is_complete else "; the recording has only a sample of the values (see --record-values)"
        return f"no recorded value is or contains {text!r}{hint}{examples}{sample}"


def _parsed(text: str) -> str:
    """The text as the recording writes it: JSON without spaces between tokens."""
    try:
        return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return text
