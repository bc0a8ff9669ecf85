"""A long run, recorded in full, and a long sliding window: time and memory, each measured in a process of its own.

The long run reads records of a generator with 10,000 keys and puts them into tumbling windows. Its memory must not grow
with the number of records. The sliding window has 100 windows per record; its cost is printed as a ratio to a tumbling
window over the same records.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KEYS = 10_000
LIMIT_MEGABYTES = 600
_RECORDS = """\
flowsim: 1
name: soak
settings: {{record: {level}}}
sources:
  rows:
    generator:
      count: {count}
      fields:
        key: {{uniform: {{low: 1, high: {keys}}}}}
        number: {{uniform: {{low: 0, high: 1000000}}}}
        at: {{event_time: {{start: 0, step: 1 ms}}}}
    watermarks: {{timestamp: at, max_out_of_orderness: 10ms}}
operators:
  sums:
    input: rows
    key_by: [key]
    parallelism: 2
    window: {window}
    aggregate: {{total: sum(number)}}
sinks: {{kept: {{input: sums, parquet: {{}}}}}}
"""
TUMBLING = "{tumbling: 60s}"
SLIDING = "{sliding: {size: 100s, slide: 1s}}"


def measured(count: int, window: str, level: str) -> dict[str, float]:
    """The scenario in a process of its own."""
    command = [sys.executable, __file__, "--here", window, level, "--records", str(count)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"the soak of {count} records failed:\n{finished.stderr}")
    found: dict[str, float] = json.loads(finished.stdout)
    return found


def here(count: int, window: str, level: str) -> dict[str, float]:
    """CPU seconds and the highest memory of a run in this process."""
    from flowsim.api import run_scenario

    text = _RECORDS.format(level=level, count=count, keys=KEYS, window=window)
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        run = run_scenario(text, out=Path(folder) / "out")
        cpu_seconds = time.process_time() - started
        if run.result.error is not None:
            raise run.result.error
        assert run.manifest is None or run.manifest.status.value == "complete"
        facts = 0 if run.manifest is None else sum(run.manifest.rows.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return {"cpu_seconds": cpu_seconds, "megabytes": peak, "facts": facts, "records": run.result.records_read}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--here", nargs=2, metavar=("WINDOW", "LEVEL"))
    given = parser.parse_args()
    if given.here is not None:
        print(json.dumps(here(given.records, *given.here)))
        return
    few, many = (measured(count, TUMBLING, "full") for count in (given.records // 10, given.records))
    for one in (few, many):
        print(
            f"{one['records']:>11,} records, {KEYS:,} keys, level full: {one['facts']:>13,.0f} facts, "
            f"{one['cpu_seconds']:8.1f} CPU s, {one['megabytes']:6.0f} MB, x {one['megabytes'] / LIMIT_MEGABYTES:.2f} of "
            f"{LIMIT_MEGABYTES} MB",
            flush=True,
        )
    print(f"memory of ten times the records: x {many['megabytes'] / few['megabytes']:.2f}")
    some = given.records // 250
    tumbling, sliding = measured(some, TUMBLING, "off"), measured(some, SLIDING, "off")
    print(
        f"{some:>11,} records, 100 windows per record, not recorded: {sliding['cpu_seconds']:.1f} CPU s, "
        f"x {sliding['cpu_seconds'] / tumbling['cpu_seconds']:.1f} of a tumbling window"
    )


if __name__ == "__main__":
    main()
