"""Draws random jobs, and failures and actions of their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from flowsim.cluster.failures import FailTask, LoseJobManager, LoseTaskManager, RunFailure
from flowsim.cluster.run_actions import RunAction, TriggerCheckpoint, TriggerSavepoint
from flowsim.graph.checkpoint_settings import CheckpointSettings, ExponentialDelayRestart, FixedDelayRestart
from flowsim.graph.job_settings import BufferDebloatSettings
from flowsim.units import NS_PER_MS
from tests.support.jobs.disturbed_jobs import FILE_FORMATS, ORIGINS, PARTITIONINGS, SINKS, DisturbedJob, Origin, Step
from tests.support.jobs.disturbed_steps import (
    ALL_PAIRS,
    LEGACY,
    MAILBOX,
    OPENED,
    REPEATING,
    STEPS,
    TIMED,
    TWO_INPUTS,
    UNKEYED,
    UNTIMED_RESULTS,
)


def random_job(random: Random) -> DisturbedJob:
    """Draws a job."""
    keeps_bound = random.random() < 0.5
    origins = tuple(random_origin(random, keeps_bound) for _ in range(random.choice([1, 1, 2])))
    widths = [each.parallelism for each in origins]
    is_timed = [True] * len(origins)
    steps: list[Step] = []
    count = random.randint(1, 4)
    exactly_once = random.random() < 0.85
    is_blocking = random.random() < 0.15
    # All exchanges between what is before and behind this position are blocking.
    cut = random.randint(len(origins), len(origins) + count - 1) if is_blocking else None
    # A chain has async operators of one design.
    unused = random.choice([MAILBOX, LEGACY])
    kinds = [kind for kind in (STEPS if exactly_once else (*REPEATING, "join")) if kind not in unused]
    for _ in range(count):
        step = random_step(random, widths, is_timed, cut, kinds)
        steps.append(step)
        if step.kind in ALL_PAIRS:
            kinds = [kind for kind in kinds if kind not in ALL_PAIRS]
        widths.append(step.parallelism)
        is_timed.append(step.kind not in UNTIMED_RESULTS and all(is_timed[each] for each in step.inputs))
    checkpointing = CheckpointSettings(
        random.choice([10, 10, 25]),
        exactly_once=exactly_once,
        max_concurrent=random.choice([1, 1, 2]),
        min_pause_ms=random.choice([0, 0, 5]),
        timeout_ms=random.choice([600_000, 60]),
        retained=random.choice([1, 2]),
        tolerable_failures=1000,
        async_latency_ns=random.choice([0, 4]) * NS_PER_MS,
        sync_latency_ns=random.choice([0, 0, 1]) * NS_PER_MS,
    )
    if exactly_once and random.random() < 0.5:
        timeout_ms = random.choice([0, 0, 2, 10])
        checkpointing = replace(checkpointing, unaligned=True, aligned_timeout_ms=timeout_ms, max_concurrent=1)
    restart = random.choice([FixedDelayRestart(50, 0), FixedDelayRestart(50, 12), ExponentialDelayRestart(5, 40)])
    settings: dict[str, object] = {
        "segment_size_bytes": random.choice([32768, 64]),
        "exclusive_buffers_per_channel": random.choice([2, 1]),
        "floating_buffers_per_gate": random.choice([8, 1]),
        "buffer_timeout_ms": random.choice([100, 1, 0]),
        "cost_ns": random.choice([200_000, 1_000_000]),
        "task_managers": random.choice(["each", "one"]),
        "operator_chaining": random.random() < 0.8,
        "buffer_debloat": random.choice([None, None, BufferDebloatSettings(10, 20, 25, 2, 64, 32)]),
    }
    job = DisturbedJob(origins, tuple(steps), (), settings, None if is_blocking else checkpointing, restart)
    return replace(job, sinks=tuple(random.choice(SINKS) for _ in job.ends))


def random_origin(random: Random, keeps_bound: bool) -> Origin:
    """Splits of one reader come one after the other, so that only a high bound keeps records from being late."""
    kind = random.choice(ORIGINS)
    least = 2 if "files" in kind else 1
    counts = tuple(random.randint(0, 40) for _ in range(1 if kind == "collection" else random.randint(least, 3)))
    if kind == "partitions" and not any(counts):
        counts = (9,)
    parallelism = len(counts) if kind in ("collection", "scripts") else random.randint(1, 3)
    is_split = "requested" in kind or "files" in kind
    bound_ms = 10_000 if is_split or not keeps_bound else 12
    return Origin(kind, counts, parallelism, bound_ms, random.choice(FILE_FORMATS))


def random_step(random: Random, widths: list[int], is_timed: list[bool], cut: int | None, kinds: Sequence[str]) -> Step:
    newest = len(widths) - 1
    kind = random.choice(kinds)
    if kind in TWO_INPUTS:
        inputs = tuple(random.choice(range(newest + 1)) for _ in range(2))
    else:
        some = random.sample(range(newest + 1), k=min(newest + 1, random.choice([1, 2])))
        inputs = tuple(random.choice([[newest], some]))
    if kind in TIMED and not all(is_timed[each] for each in inputs):
        kind = "count"
        inputs = tuple(dict.fromkeys(inputs))
    parallelism = random.randint(1, 3)
    exchanges = tuple(
        "blocking" if cut is not None and each < cut <= newest + 1 else "pipelined_bounded" for each in inputs
    )
    partitioning = random.choice(PARTITIONINGS) if kind in UNKEYED else "default"
    if partitioning == "forward":
        parallelism = widths[inputs[0]]
        partitioning = "forward" if all(widths[each] == parallelism for each in inputs) else "rebalance"
    return Step(kind, inputs, partitioning, exchanges, parallelism, random.random() < 0.8)


def random_failures(
    random: Random, job: DisturbedJob, length_ms: int, managers: Sequence[str]
) -> tuple[RunFailure, ...]:
    """Draws failures: of several attempts in a row too, of later attempts, and at times at which tasks restart."""
    failures: list[RunFailure] = []
    for _ in range(random.randint(1, 4)):
        at_ns = random.randint(0, length_ms * 1000) * 1000
        kind = random.randint(0, 9)
        if kind == 0:
            failures.append(LoseJobManager(at_ns))
        elif kind == 1 and managers:
            failures.append(LoseTaskManager(random.choice(managers), at_ns))
        else:
            failures += random_task_failures(random, job, at_ns)
    return tuple(failures)


def with_failing_opens(random: Random, job: DisturbedJob) -> DisturbedJob:
    """Lets some attempts fail while they are restored."""
    steps = [
        replace(step, failing_opens=random.choice([(0,), (1,), (1, 2)]))
        if step.kind in OPENED and random.random() < 0.2
        else step
        for step in job.steps
    ]
    return replace(job, steps=tuple(steps))


def random_task_failures(random: Random, job: DisturbedJob, at_ns: int) -> list[RunFailure]:
    position = random.randrange(len(job.parallelisms))
    subtask = random.randrange(job.parallelisms[position])
    attempts = random.choice([[0], [0], [1], [2], [0, 1], [0, 1, 2]])
    places = [
        {"at_record": random.randint(0, 30)},
        {"at_ns": at_ns},
        {"in_snapshot": random.randint(1, 5)},
        {"in_notification": random.randint(1, 5)},
    ]
    place = random.choice(places)
    return [FailTask(job.names[position], subtask, attempt=attempt, **place) for attempt in attempts]


def random_actions(random: Random, length_ms: int) -> tuple[RunAction, ...]:
    """Draws checkpoints and savepoints, also while tasks wait for their restart."""
    kinds = random.choice([(), (), (TriggerSavepoint,), (TriggerCheckpoint,), (TriggerSavepoint, TriggerCheckpoint)])
    return tuple(kind(random.randint(0, length_ms) * NS_PER_MS) for kind in kinds)
