"""Watches the memory of the process during a run, so that the job ends while its recording can still be closed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow as pa

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

USED: Final = "/proc/self/statm"
"""The size of the address space and the resident memory of this process, in pages; only Linux has this file."""
OWN_CGROUPS: Final = Path("/proc/self/cgroup")
CGROUPS: Final = Path("/sys/fs/cgroup")

_RESERVE_BYTES: Final = 64 << 20
"""Closes the recording: two epochs of rows, and their Parquet files."""
_PERIOD_NS: Final = 5_000_000
"""A reading took 5 to 10 us, so that it costs at most 0.2%; batches can be much shorter than this."""


@dataclass(frozen=True, slots=True)
class _Bound:
    most_bytes: int
    is_address_space: bool
    name: str
    reserve_bytes: int


class MemoryWatch:
    """Compares the memory of the process with ``limit_bytes`` and with what the system lets the process use.

    ``limit_bytes`` bounds the resident memory. The system has RLIMIT_AS (``ulimit -v``), the limits of the control groups
    and the physical memory: here a reserve must remain, as large as what was added between two readings, and 64 MiB more,
    but at most half of what was free at the start. Without ``/proc`` nothing is watched.
    """

    def __init__(self, limit_bytes: int) -> None:
        # The allocator of pyarrow reserves address space at its first use, up to 1 GiB.
        pa.allocate_buffer(1)
        self._limit_bytes = limit_bytes
        self._last_ns = 0
        self._growth_bytes = 0
        self._resident_bytes = 0
        used = _used_bytes()
        self._bounds: list[_Bound] = []
        if used is not None:
            for most_bytes, is_address_space, name in _system_bounds():
                free_bytes = max(0, most_bytes - used[0 if is_address_space else 1])
                self._bounds.append(_Bound(most_bytes, is_address_space, name, min(_RESERVE_BYTES, free_bytes // 2)))
            self._bounds.append(_Bound(limit_bytes, False, "", 0))

    def reached(self) -> str | None:
        """Returns the bound that the process has reached, as text, or None; reads at most every 5 ms."""
        now_ns = time.monotonic_ns()
        if now_ns - self._last_ns < _PERIOD_NS or not self._bounds:
            return None
        is_first, self._last_ns = not self._last_ns, now_ns
        used = _used_bytes()
        if used is None:
            return None
        space_bytes, resident_bytes = used
        # Halves in about five readings, since a restored state or a large checkpoint is added only once.
        growth_bytes = 0 if is_first else resident_bytes - self._resident_bytes
        self._growth_bytes = max(growth_bytes, self._growth_bytes * 7 // 8)
        self._resident_bytes = resident_bytes
        for bound in self._bounds:
            used_bytes = space_bytes if bound.is_address_space else resident_bytes
            kept_bytes = bound.reserve_bytes + self._growth_bytes if bound.name else 0
            if used_bytes + kept_bytes >= bound.most_bytes:
                return bound.name or f"{bound.most_bytes} bytes of memory"
        return None


def _used_bytes() -> tuple[int, int] | None:
    """Returns the size of the address space and of the resident memory, or None if the system does not tell."""
    try:
        with open(USED, "rb", buffering=0) as file:
            space, resident, *_ = file.read(200).split()
    except (OSError, ValueError):
        return None
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    return int(space) * page_bytes, int(resident) * page_bytes


def _system_bounds() -> Iterator[tuple[int, bool, str]]:
    """Returns size, kind (True: of the address space) and description of what the system lets the process use."""
    if resource is not None:
        space_bytes = resource.getrlimit(resource.RLIMIT_AS)[0]
        if space_bytes != resource.RLIM_INFINITY:
            yield space_bytes, True, f"the {space_bytes} bytes of address space (RLIMIT_AS, ulimit -v)"
    physical_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    yield physical_bytes, False, f"the {physical_bytes} bytes of physical memory"
    for limit_bytes in _limits_of_process():
        if limit_bytes < physical_bytes:
            yield limit_bytes, False, f"the {limit_bytes} bytes of memory of the control group"


@cache
def _limits_of_process() -> tuple[int, ...]:
    """Returns the limits of the control groups, read once: reading them took a tenth of a run of 20 records."""
    return tuple(_cgroup_limits())


def _cgroup_limits() -> Iterator[int]:
    """Returns the limits of the control groups of this process, versions 1 and 2, and of the groups above."""
    with suppress(OSError):
        for line in OWN_CGROUPS.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                root, file = CGROUPS, "memory.max"
            elif "memory" in controllers.split(","):
                root, file = CGROUPS / "memory", "memory.limit_in_bytes"
            else:
                continue
            group = root / path.lstrip("/")
            for each in (group, *group.parents):
                if each.is_relative_to(root):
                    with suppress(OSError, ValueError):
                        yield int((each / file).read_text(encoding="ascii"))
