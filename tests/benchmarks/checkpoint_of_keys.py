"""A savepoint of a job with many keys, in a directory, and its restore; each job in a process of its own."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

READ_AGAIN = 1000
"""Number of keys that a restored job reads, to compare the state of those that arrive."""


def here(what: str, parallelism: int, keys: int, folder: str) -> dict[str, float]:
    """Runs a job that counts the records of each key in value state, and measures this process."""
    from flowsim.cluster.job_execution import RunOptions
    from flowsim.cluster.mini_cluster import MiniCluster
    from flowsim.cluster.run_actions import CancelJob, RunAction, StopWithSavepoint
    from flowsim.connectors.generator import GeneratorSource, SequenceOf
    from flowsim.connectors.memory import CollectSink
    from flowsim.connectors.sinks.sink import DeliveryGuarantee
    from flowsim.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from flowsim.datastream.common import Types, WatermarkStrategy
    from flowsim.datastream.state import ValueStateDescriptor
    from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
    from flowsim.units import NS_PER_MS

    class Counts(KeyedProcessFunction):
        """Emits the count of each key that has more than one record."""

        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            if count > 1:
                yield ctx.get_current_key(), count

    env = StreamExecutionEnvironment.get_execution_environment()
    records, pace_ns = (READ_AGAIN, NS_PER_MS) if what == "restore" else (keys, 1000)
    source = GeneratorSource(None, {"key": SequenceOf(0, 1, keys)}, pace_ns=pace_ns)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "keys").uid("keys")
    counts = stream.key_by(lambda row: row[0], key_type=Types.LONG()).process(Counts())
    sink = CollectSink(DeliveryGuarantee.AT_LEAST_ONCE)
    counts.set_parallelism(parallelism).set_max_parallelism(128).uid("counts").sink_to(sink).uid("out")
    end_ns = records * pace_ns - pace_ns // 2
    action: RunAction = StopWithSavepoint(end_ns, directory=folder) if what == "store" else CancelJob(end_ns)
    restore = SavepointRestoreSettings(str(Path(folder) / "savepoint-1")) if what == "restore" else None
    started = time.process_time()
    result = MiniCluster(env.stream_graph(), RunOptions(actions=(action,), savepoint=restore)).run()
    cpu_seconds = time.process_time() - started
    if result.error is not None:
        raise result.error
    if what == "restore":
        rows = sink.values()
        assert rows
        assert set(rows) <= {(key, 2) for key in range(READ_AGAIN)}, rows[:3]
    elif what == "store":
        assert result.requested_snapshots[0].error is None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return {"cpu_seconds": cpu_seconds, "megabytes": peak}


def measured(what: str, parallelism: int, keys: int, folder: str) -> dict[str, float]:
    """The job in a process of its own."""
    command = [sys.executable, __file__, "--keys", str(keys), "--here", what, str(parallelism), folder]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"the job failed:\n{finished.stderr}")
    found: dict[str, float] = json.loads(finished.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--here", nargs=3, metavar=("WHAT", "PARALLELISM", "FOLDER"))
    given = parser.parse_args()
    if given.here is not None:
        what, parallelism, folder = given.here
        print(json.dumps(here(what, int(parallelism), given.keys, folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, what, parallelism in [
            ("reads the keys", "read", 2),
            ("reads the keys, savepoint", "store", 2),
            ("restored", "restore", 2),
            ("restored, rescaled", "restore", 3),
        ]:
            found = measured(what, parallelism, given.keys, folder)
            print(
                f"{name:<26} parallelism {parallelism}: "
                f"{found['cpu_seconds']:6.1f} CPU s, {found['megabytes']:6.0f} MB",
                flush=True,
            )
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        print(f"savepoint of {given.keys:,} keys: {size / 1e6:.1f} MB on disk")


if __name__ == "__main__":
    main()
