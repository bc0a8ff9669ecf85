"""The shapes of ``random_jobs()``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from flowsim.connectors.script import EndEntry, Entry, IdleEntry, RecordEntry, SleepEntry, WatermarkEntry
from flowsim.testing.alignment_parts import AlignedSources
from flowsim.testing.async_calls import AsyncStep
from flowsim.testing.parts import (
    AsyncPart,
    JobPart,
    PendingTimers,
    Recovery,
    SlowReader,
    SplitsWithIdleness,
    TwoInputs,
)
from flowsim.testing.random_job import RandomJob
from tests.support.conform.job_shapes import Life, Shapes, add, add_exchange, pair

KINDS: Final = {"flat_map": "flat map", "count": "keyed process function", "co_map": "co map"}
ANSWERS: Final = {
    "one": "one result", "two": "two results", "none": "no result", "error": "error", "silent": "none",
    "late": "after the timeout", "near": "near the timeout",
}  # fmt: skip
WITHOUT_UNALIGNED: Final = ("forward", "rescale", "broadcast", "custom")
"""Exchanges whose barriers stay in order (rule 12.19)."""


def shapes_of_random(job: RandomJob) -> Shapes:
    shapes: Shapes = set()
    parallelisms = [each.parallelism for each in (*job.sources, *job.stages)]
    for source in job.sources:
        add(shapes, "source", "source function", "several subtasks" if source.parallelism > 1 else "one subtask")
    for position, stage in enumerate(job.stages, len(job.sources)):
        operator = KINDS.get(stage.kind, stage.kind)
        add(shapes, "operator", operator)
        name = "stateless function" if stage.kind in ("map", "flat_map", "filter") else operator
        if name == "co map" and stage.partitioning == "hash":
            name = "keyed co map"
        for each in stage.reads:
            add_exchange(shapes, name, stage.partitioning, parallelisms[each], stage.parallelism)
        if len(stage.inputs) > 1 or len(stage.second) > 1:
            add(shapes, "input", "union")
        if set(stage.inputs) & set(stage.second):
            add(shapes, "input", "one stream on both inputs")
        if not stage.chained:
            add(shapes, "chaining", "operator that is not chained")
        readers = [each for each in job.stages if position in each.reads]
        if len(readers) > 1:
            add(shapes, "stream", "several readers")
    _add_settings(
        shapes, {**job.settings, **{key: value for part in job.parts for key, value in part.settings.items()}}
    )
    for part in job.parts:
        _add_part(shapes, part)
    return shapes


def _add_settings(shapes: Shapes, settings: Mapping[str, object]) -> None:
    timeout_ms = settings.get("buffer_timeout_ms", 100)
    add(shapes, "buffer timeout", {0: "after every record", -1: "never"}.get(timeout_ms, "some ms"))  # type: ignore[call-overload]
    add(shapes, "segments", "default" if settings.get("segment_size_bytes", 32768) == 32768 else "small")
    for key, aspect in (
        ("exclusive_buffers_per_channel", "exclusive buffers"),
        ("floating_buffers_per_gate", "floating buffers"),
    ):
        if key in settings:
            add(shapes, aspect, str(settings[key]))
    if settings.get("overdraft_buffers") == 0:
        add(shapes, "overdraft buffers", "none")
    if settings.get("max_buffers_per_channel", 10) != 10:
        add(shapes, "max buffers per channel", "few")
    if "task_managers" in settings:
        add(shapes, "task managers", "one" if settings["task_managers"] == "one" else "each subtask")
    if settings.get("operator_chaining") is False:
        add(shapes, "chaining", "disabled")
    if "exchange" in settings:
        add(shapes, "exchange", "pipelined" if settings["exchange"] == "pipelined_bounded" else "pipelined, unbounded")
    if settings.get("object_reuse"):
        add(shapes, "objects", "reused")


def _add_async(shapes: Shapes, calls: AsyncStep) -> None:
    operator = "async" if calls.design == "mailbox" else "legacy async"
    add(shapes, "operator", operator)
    if operator != "async":
        return
    mode = calls.mode
    add(shapes, "async", mode)
    capacity = "1" if calls.capacity == 1 else "few" if calls.capacity < 10 else "many"
    pair(shapes, "async x capacity", [mode], [capacity])
    timeout = "without timeout" if not calls.timeout_ms else "replace" if calls.replaces else "drop"
    pair(shapes, "async x on timeout", [mode], [timeout])
    answers = {ANSWERS[answer.outcome] for answer in calls.answers}
    if any(answer.latency_us == 0 for answer in calls.answers):
        answers.add("at once")
    add(shapes, "async answer", *answers)
    pair(shapes, "async x answer", [mode], answers)
    if calls.retry is not None:
        kind = "exponential" if calls.retry.multiplier else "fixed"
        causes = [
            name for name, is_one in (("result", calls.retry.on_empty), ("exception", calls.retry.on_error)) if is_one
        ]
        pair(shapes, "async retry x cause", [kind], [" or ".join(causes)])
        pair(shapes, "async x retry", [mode], [kind])
        pair(shapes, "async retry x on timeout", [kind], [timeout])


def _add_recovery(shapes: Shapes, recovery: Recovery, operators: Iterable[str]) -> None:
    checkpoints = recovery.checkpoints
    kind = "aligned"
    if checkpoints.unaligned:
        kind = "unaligned after a timeout" if checkpoints.aligned_timeout_ms else "unaligned"
    failures = () if recovery.fails_at is None else ("at a record",)
    Life(kind, failures, (), ()).add_to(shapes, operators)
    add(shapes, "checkpoint", "periodic")
    add(shapes, "restart", "fixed delay")


def _add_part(shapes: Shapes, part: JobPart) -> None:
    match part:
        case AsyncPart():
            for calls in (part.calls, part.chained):
                if calls is not None:
                    _add_async(shapes, calls)
            if part.chained is not None:
                pair(shapes, "async x before", [part.chained.mode], ["async operator"])
            if part.reuses_records:
                add(shapes, "objects", "reused before an async operator")
            if part.recovery is not None:
                _add_recovery(shapes, part.recovery, ["async"])
                pair(shapes, "in-flight data x operator", ["async"])
            _add_scripts(shapes, part.scripts)
        case SlowReader():
            add(shapes, "cost", "slow operator")
            _add_recovery(shapes, part.recovery, ["stateless function"])
            if part.recovery.checkpoints.unaligned and part.partitioning in WITHOUT_UNALIGNED:
                add(shapes, "checkpoint", "aligned by force beside unaligned exchanges")
            if part.recovery.checkpoints.unaligned:
                add(shapes, "checkpoint", "with data in flight")
            if part.has_few_credits:
                add(shapes, "cost", "slow operator with few credits")
        case PendingTimers():
            _add_recovery(shapes, part.recovery, ["keyed process function"])
            add(shapes, "timers", "processing time")
            pair(shapes, "timers x checkpoint", ["processing time"], ["aligned"])
        case SplitsWithIdleness():
            _add_scripts(shapes, part.scripts)
            add(shapes, "watermarks", "bounded out of orderness")
            add(shapes, "cost", "slow operator")
            if part.idle_ms is not None:
                add(shapes, "watermarks", "idle timeout", "idle timeout of splits")
            if part.drift_ms is not None:
                add(shapes, "watermarks", "alignment", "alignment of splits")
            if part.is_narrow:
                add(shapes, "cost", "source that waits for output")
        case AlignedSources():
            add(shapes, "watermarks", "alignment", "idle timeout", "alignment with a source that becomes idle")
            if part.split is not None:
                add(shapes, "source", "splits")
        case TwoInputs():
            add(shapes, "operator", "keyed co process function")
            add(shapes, "timers", "event time")
            _add_scripts(shapes, (*part.first, *part.second))
        case _:
            raise TypeError(f"a part without shapes: {part}")


def _add_scripts(shapes: Shapes, scripts: Iterable[Iterable[Entry]]) -> None:
    for script in scripts:
        mark = None
        for entry in script:
            match entry:
                case RecordEntry():
                    if mark is not None and entry.timestamp is not None and entry.timestamp <= mark:
                        add(shapes, "record", "late")
                case WatermarkEntry():
                    mark = entry.timestamp
                    add(shapes, "watermarks", "written")
                case IdleEntry():
                    add(shapes, "source", "idle")
                case EndEntry():
                    add(shapes, "source", "split that ends")
                case SleepEntry():
                    add(shapes, "timing", "pauses")
            if getattr(entry, "split", None) is not None:
                add(shapes, "source", "splits")
