"""The shapes of disturbed jobs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from flowsim.cluster.failures import FailTask, LoseJobManager, RunFailure
from flowsim.cluster.run_actions import RunAction, TriggerSavepoint
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from tests.support.conform.job_shapes import Life, Shapes, add, add_exchange
from tests.support.jobs.disturbed_draws import random_actions, random_failures, random_job, with_failing_opens
from tests.support.jobs.disturbed_jobs import DisturbedJob

STEPS: Final = {
    "tumbling": "window", "sliding": "window", "session": "window", "lists": "window", "count_window": "window",
    "waits": "keyed process function", "count": "keyed process function", "delays": "keyed process function",
    "join": "interval join", "connect": "keyed co process function", "broadcast": "keyed broadcast process function",
    "map": "map", "filter": "filter", "flat_map": "flat map", "ordered": "async", "unordered": "async",
    "legacy ordered": "legacy async", "legacy unordered": "legacy async",
}  # fmt: skip
STEP_WINDOWS: Final = {
    "tumbling": "tumbling event time", "sliding": "sliding event time", "session": "session event time",
    "lists": "session event time", "count_window": "count",
}  # fmt: skip
SOURCES: Final = {
    "collection": "collection", "generator": "generator", "scripts": "source function",
    "requested scripts": "splits assigned on request", "partitions": "log with partitions", "files": "files",
    "requested files": "splits assigned on request", "legacy generator": "legacy generator", "legacy files": "legacy files",
}  # fmt: skip


def shapes_of_disturbed(seed: int) -> Shapes:
    """Of the job, failures and actions of a seed of ``test_disturbed_jobs``; the length of a run is assumed."""
    random = Random(seed)
    job = random_job(random)
    random.choice(["fifo", "random"]), random.choice([1, 3, 4096])
    job = with_failing_opens(random, job)
    failures = random_failures(random, job, 100, ("a", "b"))
    actions = () if job.checkpointing is None else random_actions(random, 100)
    end = {1: "stop", 3: "retained checkpoint"}.get(seed % 5)
    if job.checkpointing is None or (end == "retained checkpoint" and not job.checkpointing.exactly_once):
        end = None
    other = job.rescaled(random) if end == "stop" else job.rescaled_evenly(random)
    shapes: Shapes = set()
    for position, step in enumerate(job.steps):
        operator = STEPS[step.kind]
        add(shapes, "operator", operator)
        if step.kind in STEP_WINDOWS:
            add(shapes, "window", STEP_WINDOWS[step.kind])
        if operator == "async":
            add(shapes, "async", step.kind)
        exchange = (
            step.partitioning if STEPS[step.kind] in ("map", "filter", "flat map", "async", "legacy async") else "hash"
        )
        name = "stateless function" if operator in ("map", "filter", "flat map") else operator
        for each in step.inputs:
            add_exchange(shapes, name, exchange, job.parallelisms[each], step.parallelism)
        add(shapes, "exchange", *("blocking" if each == "blocking" else "pipelined" for each in step.exchanges))
        if len(step.inputs) > 1 and step.kind not in ("join", "connect", "broadcast"):
            add(shapes, "input", "union")
        readers = [each for each in job.steps if len(job.origins) + position in each.inputs]
        if len(readers) > 1:
            add(shapes, "stream", "several readers")
        if not step.is_chained:
            add(shapes, "chaining", "operator that is not chained")
    for origin in job.origins:
        add(shapes, "source", SOURCES[origin.kind], "several subtasks" if origin.parallelism > 1 else "one subtask")
        add(shapes, "watermarks", "bounded out of orderness")
    add(
        shapes,
        "sink",
        *("collected" if sink == "collect" else "files" if sink != "sqlite" else "database" for sink in job.sinks),
    )
    _add_settings(shapes, job)
    _add_life(shapes, job, failures, actions, end, other)
    return shapes


def _add_life(
    shapes: Shapes,
    job: DisturbedJob,
    failures: Sequence[RunFailure],
    actions: Sequence[RunAction],
    end: str | None,
    other: DisturbedJob,
) -> None:
    words = [_failure_word(each) for each in failures]
    words += ["while an operator opens" for step in job.steps if step.failing_opens]
    if any(isinstance(each, FailTask) and each.attempt > 0 for each in failures):
        words.append("of a later attempt")
    checkpoints = _checkpoints(job.checkpointing)
    ends = () if end is None else (end,)
    operators = {
        "stateless function" if STEPS[each.kind] in ("map", "filter", "flat map") else STEPS[each.kind]
        for each in job.steps
    }
    before, behind = sum(job.parallelisms), sum(other.parallelisms)
    Life(checkpoints, tuple(words), ends, (before, behind) if ends else (before,)).add_to(shapes, operators)
    add(shapes, "action", *("savepoint" if isinstance(each, TriggerSavepoint) else "checkpoint" for each in actions))


def _checkpoints(settings: CheckpointSettings | None) -> str:
    if settings is None:
        return "none"
    if not settings.exactly_once:
        return "at least once"
    if settings.unaligned:
        return "unaligned after a timeout" if settings.aligned_timeout_ms else "unaligned"
    return "aligned"


def _failure_word(failure: RunFailure) -> str:
    if not isinstance(failure, FailTask):
        return "of the job manager" if isinstance(failure, LoseJobManager) else "of a task manager"
    if failure.at_record is not None:
        return "at a record"
    if failure.in_snapshot is not None:
        return "in a snapshot"
    return "at a time" if failure.at_ns is not None else "in a notification"


def _add_settings(shapes: Shapes, job: DisturbedJob) -> None:
    settings = job.settings
    add(shapes, "restart", "fixed delay" if isinstance(job.restart, FixedDelayRestart) else "exponential delay")
    add(shapes, "segments", "default" if settings["segment_size_bytes"] == 32768 else "small")
    add(shapes, "exclusive buffers", str(settings["exclusive_buffers_per_channel"]))
    add(shapes, "floating buffers", str(settings["floating_buffers_per_gate"]))
    add(shapes, "buffer timeout", "some ms" if settings["buffer_timeout_ms"] else "after every record")
    add(shapes, "task managers", "one" if settings["task_managers"] == "one" else "each subtask")
    if not settings["operator_chaining"]:
        add(shapes, "chaining", "disabled")
    if settings["buffer_debloat"] is not None:
        add(shapes, "buffers", "debloated")
    checkpointing = job.checkpointing
    if checkpointing is None:
        return
    add(shapes, "checkpoint", "periodic")
    facts = {
        "several at once": checkpointing.max_concurrent > 1,
        "with a pause between": checkpointing.min_pause_ms > 0,
        "that expires": checkpointing.timeout_ms < 1_000,
        "several retained": checkpointing.retained > 1,
        "whose asynchronous part takes time": checkpointing.async_latency_ns > 0,
        "whose synchronous part takes time": checkpointing.sync_latency_ns > 0,
    }
    add(shapes, "checkpoint", *(word for word, is_so in facts.items() if is_so))
