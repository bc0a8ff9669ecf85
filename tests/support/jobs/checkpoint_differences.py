"""One scripted job with checkpoints on both sides.

Run as a program it compares the job of a seed alone:

    python tests/support/jobs/checkpoint_differences.py 1234
    python tests/support/jobs/checkpoint_differences.py 1234 unaligned
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.support.flink.gateway import Flink
from tests.support.flink.machine import Differential, Tallies
from tests.support.jobs.checkpoint_comparison import (
    ENDS,
    answered,
    committed,
    different_attempts,
    is_last,
    without_late_snapshots,
)
from tests.support.jobs.checkpoint_job_writer import CheckpointJobWriter
from tests.support.jobs.checkpoint_jobs import Board, Event, run_phases
from tests.support.jobs.lineages import different_keys, without_order_of_channels
from tests.support.jobs.unaligned_job_writer import UnalignedJobWriter

REPETITIONS = 3
"""How often Flink repeats a job that differs, to see whether its own runs agree."""
SUBJECT = "jobs: checkpoints, failures and rescaling"
UNDETERMINED = "jobs with checkpoints left open by Flink"


@dataclass
class Answer:
    """What Flink did in all phases of a case."""

    ends: list[str] = field(default_factory=list)
    checkpoints: list[Event] = field(default_factory=list)
    commits: list[Event] = field(default_factory=list)
    attempts: dict[str, list[Event]] = field(default_factory=dict)

    @property
    def events(self) -> int:
        return len(self.checkpoints) + sum(map(len, self.attempts.values()))


def theirs(flink: Flink, case: dict[str, Any], folder: Path) -> Answer:
    """Runs all phases of a case on the cluster; each starts from the snapshot of the one before."""
    answer = Answer()
    snapshot: str | None = None
    for number, phase in enumerate(case["phases"]):
        given = {**case, "phase": number, "parallelism": phase["parallelism"], "folder": folder.as_uri()}
        if snapshot is not None:
            given["restore"] = snapshot
        result = flink.job("checkpointed.CheckpointedJob", given)
        answer.ends.append("CANCELED" if result["canceled"] else result["error"] or "FINISHED")
        snapshot = result["snapshot"]
        for name, events in result["log"].items():
            parsed = [json.loads(event) for event in events]
            if name == "checkpoints":
                answer.checkpoints += parsed
            elif name == "commits":
                answer.commits += parsed
            else:
                answer.attempts[name] = parsed
    return answer


def difference(case: dict[str, Any], answer: Answer, board: Board, ends: list[str]) -> str:
    """Where a run here differs from ``answer``; empty if it does not."""
    compared = case.get("compared", "order")
    different = []
    if ends != answer.ends:
        different.append(f"ends: {ends}\n  Flink: {answer.ends}")
    taken, expected = answered(board.checkpoints), answered(answer.checkpoints)
    if taken != expected:
        different.append(f"checkpoints: {taken}\n  Flink: {expected}")
    ours, real = committed(board.commits), committed(answer.commits)
    if compared != "order":
        ours, real = (
            {json.dumps(without_order_of_channels(json.loads(value))) for value in each} for each in (ours, real)
        )
    if ours != real:
        different.append(f"committed only here: {sorted(ours - real)}\n  only by Flink: {sorted(real - ours)}")
    log, attempts = (without_late_snapshots(case, each) for each in (board.log, answer.attempts))
    if compared == "committed" or different:
        return "\n".join(different)
    if compared == "key":
        return "\n".join(different_keys(log, attempts))
    if case["params"].get("ordered") is False:
        log, attempts = without_order(log), without_order(attempts)
    return "\n".join(different_attempts(log, attempts))


def without_order(log: dict[str, list[Event]]) -> dict[str, list[Event]]:
    """Sorts calls, and records between other events: the unordered queue stores its elements in hash order.

    Leaves attempts out that failed: which elements they still emitted depends on timing.
    """
    return {
        name: [
            event for _, run in groupby(events, key=lambda event: event[0] == "rec") for event in sorted(run, key=str)
        ]
        if name.startswith("out@")
        else sorted(events)
        for name, events in log.items()
        if is_last(name, log)
    }


def differences(differential: Differential, case: dict[str, Any], folder: Path) -> str:
    """What differs; empty, and counted, where Flink's own runs differ."""
    board, ended = run_phases(case, folder / "ours")
    ends = [ENDS.get(status, status.name) for status in ended]
    answer = theirs(differential.flink, case, folder / "real")
    reported = difference(case, answer, board, ends)
    for number in range(REPETITIONS if reported else 0):
        again = theirs(differential.flink, case, folder / f"again{number}")
        if not difference(case, again, board, ends):
            differential.tallies.count(UNDETERMINED, sequences=1)
            return ""
    differential.tallies.count(SUBJECT, sequences=1, commands=answer.events, divergences=int(bool(reported)))
    return reported


def main(seed: int, writer: type[CheckpointJobWriter]) -> int:
    case = writer(seed).case()
    flink = Flink(Path(tempfile.gettempdir(), "flowsim-flink-classes"))
    try:
        with tempfile.TemporaryDirectory() as folder:
            reported = differences(Differential(flink, Tallies({}), None, None), case, Path(folder))
    finally:
        flink.close()
    print(json.dumps(case))
    print(reported or "no difference")
    return bool(reported)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), UnalignedJobWriter if "unaligned" in sys.argv[2:] else CheckpointJobWriter))
