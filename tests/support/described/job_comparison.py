"""One described job on both sides.

Run as a program it compares one job alone, given by the seed that a test printed (behind ``async:`` for one with async
operators) or by a file with its description, and prints the first difference of every probe and the smallest job that
still differs:

    python tests/support/described/job_comparison.py 1234
    python tests/support/described/job_comparison.py async:1234
    python tests/support/described/job_comparison.py job.json
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from flowsim.errors import JobFailed
from tests.support.described import described_jobs
from tests.support.described.described_jobs import Job, Log
from tests.support.described.job_shrinker import shrunk
from tests.support.described.job_writer import JobWriter
from tests.support.flink.gateway import Flink

Answer = Log | str
"""What the probes saw; or that the job failed, and then Flink does not determine what came before."""

FAILED = "failed"


def theirs(flink: Flink, job: Job) -> Answer:
    result: dict[str, Any] = flink.job("described.DescribedJob", job)
    if result["error"] is not None:
        is_own = "Async function call has timed out" in result["error"]
        if (
            ("TimeoutException" in result["error"] and not is_own)
            or "ClassCastException" in result["error"]
            or "NotSerial" in result["error"]
        ):
            raise AssertionError(f"the interpreter is wrong: {result['error']}")
        return FAILED
    return {place: [json.loads(event) for event in events] for place, events in result["log"].items()}


def ours(job: Job, **run_settings: object) -> Answer:
    try:
        return described_jobs.run(job, **run_settings)
    except JobFailed:
        return FAILED


def difference(expected: Answer, seen: Answer) -> str:
    """Where the answers part, probe by probe; empty where they are the same."""
    if isinstance(expected, str) or isinstance(seen, str):
        return "" if expected == seen else f"Flink {_brief(expected)}, ours {_brief(seen)}"
    told = []
    for place in sorted(expected.keys() | seen.keys()):
        real, mine = expected.get(place, []), seen.get(place, [])
        if real != mine:
            pairs = enumerate(zip(real, mine, strict=False))
            at = next((at for at, (left, right) in pairs if left != right), min(len(real), len(mine)))
            told.append(f"{place} from element {at} on:\n  Flink {real[at : at + 4]}\n  ours  {mine[at : at + 4]}")
    return "\n".join(told)


def _brief(answer: Answer) -> str:
    return answer if isinstance(answer, str) else "finished"


def report(flink: Flink, job: Job, told: str) -> str:
    """What to say of a job that differs: how to run it again, and the smallest one that does so, too."""

    def still_differs(smaller: Job) -> bool:
        try:
            return bool(difference(theirs(flink, smaller), ours(smaller)))
        except Exception:
            return False  # smaller, but no job that either side accepts

    smallest = shrunk(job, still_differs)
    again = difference(theirs(flink, smallest), ours(smallest))
    return (
        f"seed {job['seed']} ({job['family']}): python tests/support/described/job_comparison.py {named(job)}\n{told}\n"
        f"the smallest that differs:\n{json.dumps(smallest)}\n{again}"
    )


def named(job: Job) -> str:
    """What the program takes; a job on the wall clock only goes as a file."""
    if job["kind"] != "async":
        return str(job["seed"])
    return f"async:{job['seed']}" if job["manual_time"] else "job.json"


def described(argument: str) -> Job:
    from tests.support.described.async_job_writer import AsyncJobWriter

    if argument.endswith(".json"):
        job: Job = json.loads(Path(argument).read_text())
        return job
    kind, _, seed = argument.rpartition(":")
    return AsyncJobWriter(int(seed)).job() if kind == "async" else JobWriter(int(seed)).job()


def main(argument: str) -> int:
    job = described(argument)
    flink = Flink(Path(tempfile.gettempdir(), "flowsim-flink-classes"))
    try:
        told = difference(theirs(flink, job), ours(job))
        print(report(flink, job, told) if told else f"the same on both sides:\n{json.dumps(job)}")
    finally:
        flink.close()
    return bool(told)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
