"""Recordings of random jobs with failures, restarts, blocking exchanges, checkpoints and both designs of async operators."""

from __future__ import annotations

from pathlib import Path
from random import Random

import flowsim
from flowsim.errors import FlowsimError
from flowsim.facts.kinds import Level
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from tests.support.jobs.disturbed_draws import random_actions, random_failures, random_job, with_failing_opens
from tests.support.jobs.disturbed_jobs import Run, run

LENGTH_MS = 80


def recording_of(seed: int, folder: Path) -> Recording:
    """The recording of a seed's job; every second one has failures."""
    random = Random(seed)
    job = random_job(random)
    job = with_failing_opens(random, job) if seed % 2 else job
    failures = random_failures(random, job, LENGTH_MS, ()) if seed % 2 else ()
    actions = () if job.checkpointing is None else random_actions(random, LENGTH_MS)
    how = Run(seed, "random", random.choice([1, 4, 1000]), failures, actions)
    described = RunDescription(seed=seed, policy="random")
    writer = RecordingWriter(folder / "recording", Level.FULL, described)
    status = RunStatus.COMPLETE
    try:
        run(job, how, folder / "rows", recorder=writer)
    except FlowsimError:
        status = RunStatus.FAILED
    writer.finish(status)
    return flowsim.open_recording(folder)
