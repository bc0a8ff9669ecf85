"""Fewer records, settings and parallel subtasks of a scenario that still show a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Final

from flowsim.scenario.yaml.positions import Path, YamlValue

TRIES: Final = 100
"""The most scenarios that are tried."""

_SECTIONS: Final = ("sources", "operators", "sinks")

Document = dict[str, YamlValue]


def smaller(document: Document, still_has: Callable[[Document], bool], tries: int = TRIES) -> Document:
    """Returns a document with fewer parts; ``still_has`` returns False for one that is no valid scenario.

    Of each list of records or script entries of a source, parts are left out, from halves to single ones (delta debugging:
    Zeller and Hildebrandt, 2002). Then numbers of records are halved, and each setting and parallelism is left out.
    """
    reduction = _Reduction(document, still_has, tries)
    for path, value in list(_values(document, "sources")):
        if _has_records(value):
            reduction.shorten(path)
        elif path[-1] == "count":
            reduction.halve(path)
    settings = document.get("settings")
    for key in list(settings) if isinstance(settings, dict) else []:
        reduction.leave_out(("settings", key))
    for section in _SECTIONS:
        for path, _ in list(_values(document, section)):
            if path[-1] == "parallelism":
                reduction.leave_out(path)
    return reduction.document


def records_of(document: Document) -> int:
    """Returns how many records and script entries the sources of a scenario have."""
    return sum(_size(value, path) for path, value in _values(document, "sources"))


class _Reduction:
    def __init__(self, document: Document, still_has: Callable[[Document], bool], tries: int) -> None:
        self.document = document
        self._still_has = still_has
        self._left = tries

    def shorten(self, path: Path) -> None:
        size = self._size(path)
        while size:
            start = 0
            while start < self._size(path):
                candidate = deepcopy(self.document)
                entries = _at(candidate, path)
                if isinstance(entries, list):
                    del entries[start : start + size]
                if not self._is_smaller(candidate):
                    start += size
            size = min(size // 2, self._size(path))

    def halve(self, path: Path) -> None:
        while (size := self._size(path)) > 1:
            candidate = deepcopy(self.document)
            _mapping(candidate, path)[str(path[-1])] = size // 2
            if not self._is_smaller(candidate):
                return

    def leave_out(self, path: Path) -> None:
        candidate = deepcopy(self.document)
        del _mapping(candidate, path)[str(path[-1])]
        if candidate.get("settings") == {}:
            del candidate["settings"]
        self._is_smaller(candidate)

    def _size(self, path: Path) -> int:
        return _size(_at(self.document, path), path)

    def _is_smaller(self, candidate: Document) -> bool:
        self._left -= 1
        if self._left < 0 or not self._still_has(candidate):
            return False
        self.document = candidate
        return True


def _size(value: YamlValue, path: Path) -> int:
    """Returns the length of a list of records, or a count of generated ones; 0 for other values."""
    if isinstance(value, list) and _has_records(value):
        return len(value)
    return value if type(value) is int and path[-1] == "count" else 0


def _has_records(value: YamlValue) -> bool:
    """True for rows, and for the entries of a script; False for the scripts of several subtasks."""
    if not isinstance(value, list) or not value:
        return False
    first = value[0]
    if isinstance(first, list):
        return bool(first) and not any(isinstance(one, dict | list) for one in first)
    return isinstance(first, dict)


def _values(document: Document, section: str) -> Iterator[tuple[Path, YamlValue]]:
    """Yields all values below a section with their paths, outer ones first; those of records not."""
    open_: list[Path] = [(section,)]
    while open_:
        path = open_.pop(0)
        value = _at(document, path)
        yield path, value
        if isinstance(value, dict):
            open_ += [(*path, key) for key in value]
        elif isinstance(value, list) and not _has_records(value):
            open_ += [(*path, index) for index in range(len(value))]


def _at(document: Document, path: Path) -> YamlValue:
    here: YamlValue = document
    for part in path:
        if isinstance(here, dict):
            here = here.get(str(part))
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            return None
    return here


def _mapping(document: Document, path: Path) -> dict[str, YamlValue]:
    """Returns the mapping that has the last key of a path."""
    here = _at(document, path[:-1])
    return here if isinstance(here, dict) else {}
