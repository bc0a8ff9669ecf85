"""The state of the files that match patterns: when they were changed, and how large they are."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

FileStamp = tuple[str, int, int, int]
"""One state of a file: its path, the time of its last change in ns, its size in bytes, its inode."""
Stamps = dict[str, tuple[FileStamp, ...]]
"""The files that match each pattern, in the order of their names."""

_SUFFIXES: Final = (".py", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
_ESCAPED: Final = re.compile(r"\[([*?[])\]")


def exactly(path: Path) -> str:
    """Returns the pattern that only this file matches."""
    return glob.escape(str(path.absolute()))


def inputs_in(folder: Path) -> list[str]:
    """Returns the patterns of files that a scenario in this folder may read: by their suffix, here and one folder below."""
    return [os.path.join(exactly(folder), below, f"*{suffix}") for below in ("", "*") for suffix in _SUFFIXES]


def stamps_of(patterns: Iterable[str]) -> Stamps:
    """Returns the state of the files that match each pattern."""
    return {pattern: tuple(_stamps(pattern)) for pattern in patterns}


def _stamps(pattern: str) -> Iterator[FileStamp]:
    for path in sorted(glob.glob(pattern)):
        try:
            found = os.stat(path)
        except OSError:
            continue
        if not os.path.isdir(path):
            yield path, found.st_mtime_ns, found.st_size, found.st_ino


def folder_of(pattern: str) -> str:
    """Returns the folder of the files that match; it has no wildcard."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(_ESCAPED.sub("", folder)):
        folder = os.path.dirname(folder)
    return _ESCAPED.sub(r"\1", folder)
