"""Limits of what one scenario may use. The caller changes them; a scenario cannot.

A limit that is exceeded at load refuses the scenario; one that is exceeded by a record fails the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from flowsim.errors import BadInput, did_you_mean
from flowsim.units import duration_ms

_MOST: Final = 2**62
_UNITS: Final = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_INSTEAD: Final = {
    "state_bytes": ": use memory_bytes, which bounds the memory of the process with the state of the job"
}
_VALUE: Final = re.compile(r"([0-9]{1,19}) ?(|KiB|MiB|GiB)", re.ASCII)


def _limit(default: int, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits with their defaults. Each limit is an integer of at least 1.

    Names that end in ``_bytes`` are sizes in bytes.

    >>> Limits(scenario_bytes=4 << 20).scenario_bytes
    4194304
    """

    scenario_bytes: int = _limit(256 << 10, "Size of a scenario file.")
    scenario_values: int = _limit(20_000, "Values in a scenario file, lists and mappings included.")
    value_bytes: int = _limit(1 << 20, "Size of one value that an expression computes.")
    record_bytes: int = _limit(16 << 20, "Size of one record that expressions compute.")
    flat_map_rows: int = _limit(100_000, "Records that flat_map gives for one record.")
    flat_map_bytes: int = _limit(64 << 20, "Size of all records that flat_map gives for one record.")
    windows_per_record: int = _limit(10_000, "Sliding windows to which one record belongs.")
    file_bytes: int = _limit(1 << 30, "Size of an input file, and of the content of a `.gz` file.")
    gzip_ratio: int = _limit(250, "Size of the content of a `.gz` file divided by the size of the file, from 4 MiB on.")
    row_bytes: int = _limit(1 << 20, "Size of a row of a CSV or JSON Lines file, and of a text in a Parquet file.")
    row_group_bytes: int = _limit(256 << 20, "Size of the columns to read in a row group of a Parquet file.")
    footer_bytes: int = _limit(8 << 20, "Size of the footer of a Parquet file, which describes its row groups.")
    columns: int = _limit(10_000, "Columns of an input file.")
    searched_names: int = _limit(100_000, "Names in the folders that a path with wildcards searches.")
    matched_files: int = _limit(10_000, "Files that a path with wildcards matches.")
    subtasks: int = _limit(1 << 16, "Subtasks of a job.")
    channels: int = _limit(1_100_000, "Channels between the subtasks of a job.")
    network_buffers: int = _limit(1 << 24, "Network buffers that the pools of a job are guaranteed.")
    shared_pools: int = _limit(2_000, "Buffer pools of one task manager that has too little memory for all of them.")
    steps: int = _limit(100_000_000, "Callbacks of the event loop in one run on the virtual clock.")
    virtual_time: int = _limit(
        3_660 * 86_400_000, "Virtual time of one run on the virtual clock, in ms or with a unit such as `1 h`."
    )
    restarts: int = _limit(1_000, "Restarts after failures in one run.")
    memory_bytes: int = _limit(1 << 40, "Resident memory of the process during a run; less if the system has less.")
    recording_rows: int = _limit(1 << 22, "Rows of one Parquet file of a recording or checkpoint.")
    recording_bytes: int = _limit(256 << 20, "Size of such a Parquet file, and of its columns in memory.")
    graph_bytes: int = _limit(64 << 20, "Size of the execution graph of a recording.")
    description_bytes: int = _limit(
        16 << 20, "Size of a manifest (recording or checkpoint), and of each marker of an epoch."
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if type(value) is not int or not 1 <= value <= _MOST:
                raise BadInput(f"limit {each.name}: expected an integer from 1 to 2^62, got {value!r:.60}")


DEFAULT_LIMITS: Final = Limits()


def limits_of(settings: Iterable[str]) -> Limits:
    """Returns the limits with these changes, such as ``scenario_bytes=4 MiB``. Raises BadInput.

    >>> limits_of(["scenario_bytes=4 MiB"]).scenario_bytes
    4194304
    """
    names = [each.name for each in fields(Limits)]
    changed: dict[str, int] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if name not in names:
            instead = _INSTEAD.get(name) or did_you_mean(name, names)
            raise BadInput(f"--limit {text!r:.80}: there is no limit {name!r:.60}{instead}")
        match = _VALUE.fullmatch(value)
        if name == "virtual_time" and match is None:
            changed[name] = _milliseconds(text, value)
            continue
        if not equals or match is None:
            raise BadInput(f"--limit {text!r:.80}: expected NAME=VALUE, such as {name}={getattr(DEFAULT_LIMITS, name)}")
        changed[name] = int(match[1]) * _UNITS[match[2]]
    return replace(DEFAULT_LIMITS, **changed)


def _milliseconds(text: str, value: str) -> int:
    try:
        return duration_ms(value)
    except ValueError as error:
        raise BadInput(f"--limit {text!r:.80}: {error}") from None


def to_raise(name: str) -> str:
    """Returns the end of a message about a limit, which explains how the caller raises the limit."""
    return f"(--limit {name}=N raises the limit)"
