"""`idle` entries of a script mark its splits idle beside a watermark strategy, as a reader of Flink does (rule 8.6)."""

from __future__ import annotations

from pathlib import Path

import flowsim
from flowsim.cluster.job_execution import JobStatus
from flowsim.facts.kinds import ElementKind

SCENARIO = Path(__file__).with_name("inputs") / "friction_idle_entry_refused.yaml"
WATERMARK, STATUS, IDLE = ElementKind.WATERMARK, ElementKind.STATUS, -1


def test_splits_that_their_script_marks_idle_release_their_maximum_and_stay_behind(tmp_path: Path) -> None:
    run = flowsim.run_scenario(SCENARIO, out=tmp_path)
    assert run.result.status is JobStatus.FINISHED
    rows = flowsim.open_recording(tmp_path).table("sent").to_pylist()
    topic = [(row["kind"], row["timestamp"]) for row in rows if row["task"] == 0 and row["kind"] in (WATERMARK, STATUS)]
    # The highest watermark passes when the last split becomes idle. The splits resume behind it, so the source stays idle.
    assert topic == [(WATERMARK, 9), (WATERMARK, 99), (STATUS, IDLE)]
    results = {sink.name: [value for value, _ in sink.records or ()] for sink in run.sinks}
    assert results["out"] == [("all", 0, 1000, 4), ("all", 1000, 2000, 1), ("all", 2000, 3000, 1)]
    assert results["late"] == [(20, "behind"), (60, "behind")]
