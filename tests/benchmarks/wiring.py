"""Time and memory of wiring n x n channels, each measured in a process of its own."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import flowsim_variants

_STATM = Path("/proc/self/statm")


class _Channel:
    """The least that two ends can share: who they are and what is between them, the latter made when it is needed."""

    __slots__ = ("backlog", "consumer", "credits", "producer", "queue", "sequence")

    def __init__(self, producer: int, consumer: int) -> None:
        self.producer = producer
        self.consumer = consumer
        self.queue = None
        self.credits = 2
        self.backlog = 0
        self.sequence = 0


def wire_slotted_objects(n: int) -> object:
    """One slotted object per channel, listed at both ends: the limit of an object per channel."""
    outputs = [[_Channel(producer, consumer) for consumer in range(n)] for producer in range(n)]
    inputs = [list(channels) for channels in zip(*outputs, strict=True)]
    return outputs, inputs


WIRINGS: dict[str, Callable[[int], object]] = {"slotted objects": wire_slotted_objects, **flowsim_variants.WIRINGS}


@dataclass(frozen=True, slots=True)
class WiringCost:
    """What it took to wire ``n`` x ``n`` channels."""

    name: str
    n: int
    cpu_seconds: float
    megabytes: float


def measure(name: str, n: int) -> WiringCost:
    """In a fresh process, so that memory freed by others does not hide the growth."""
    finished = subprocess.run([sys.executable, __file__, name, str(n)], capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"wiring {name} {n} x {n} failed:\n{finished.stderr}")
    found = json.loads(finished.stdout)
    return WiringCost(name, n, found["cpu_seconds"], found["megabytes"])


def _megabytes() -> float:
    """Resident memory; where the current figure is not available, the highest so far."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * resource.getpagesize() / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _measure_here(name: str, n: int) -> dict[str, float]:
    WIRINGS[name](2)  # Imports and caches are not what is measured.
    gc.collect()
    before_megabytes = _megabytes()
    started = time.process_time()
    wired = WIRINGS[name](n)
    cpu_seconds = time.process_time() - started
    grown = _megabytes() - before_megabytes
    del wired
    return {"cpu_seconds": cpu_seconds, "megabytes": grown}


if __name__ == "__main__":
    print(json.dumps(_measure_here(sys.argv[1], int(sys.argv[2]))))
