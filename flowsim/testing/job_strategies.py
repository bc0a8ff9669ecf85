"""Hypothesis strategies for whole jobs: random graphs of stages, with and without async operators.

Examples shrink to one source, one stage and Flink's settings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from flowsim.datastream.async_data_stream import Design
from flowsim.errors import MissingExtra
from flowsim.testing.async_strategies import async_steps
from flowsim.testing.part_strategies import job_parts
from flowsim.testing.parts import JobPart
from flowsim.testing.random_job import KINDS, PARTITIONINGS, RandomJob, SourceStage, Stage
from flowsim.testing.strategies import network_settings

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError as missing:
    raise MissingExtra("testing", "flowsim.testing.job_strategies") from missing

UNTIL_ALL_IS_ANSWERED_MS: Final = 3_000_000
"""A pause in ms before the end of the input, because there are no retries after the end (rule 11.27)."""


@st.composite
def random_jobs(
    draw: st.DrawFn,
    *,
    max_sources: int = 2,
    max_stages: int = 4,
    max_parallelism: int = 3,
    max_records: int = 12,
    max_fan_out: int = 4,
    settings: SearchStrategy[dict[str, object]] | None = None,
    parts: SearchStrategy[tuple[JobPart, ...]] | None = None,
) -> RandomJob:
    """Draws acyclic jobs over numbers.

    The jobs have sources, unions, two inputs, fan-outs, every partitioner, parallelism, and small networks. ``parts``
    adds streams with other features, by default some of ``job_parts``; a job with given ``settings`` has none by default.

    Examples shrink to one source, one stage and Flink's settings. ``RandomJob.expected`` gives the output under any
    schedule.
    """
    numbers = st.lists(st.integers(0, 99), max_size=max_records).map(tuple)
    source = st.builds(
        SourceStage,
        st.lists(numbers, min_size=1, max_size=max_parallelism).map(tuple),
        st.sampled_from([1, 10, 150]),
    )
    sources = tuple(draw(st.lists(source, min_size=1, max_size=max_sources)))
    stages: list[Stage] = []
    for _ in range(draw(st.integers(1, max_stages))):
        widths = [*(s.parallelism for s in sources), *(s.parallelism for s in stages)]
        stages.append(draw(_stages(widths, max_parallelism, max_fan_out)))
    if parts is None:
        parts = job_parts() if settings is None else st.just(())
    return RandomJob(sources, tuple(stages), draw(network_settings() if settings is None else settings), draw(parts))


@st.composite
def _stages(draw: st.DrawFn, widths: list[int], max_parallelism: int, max_fan_out: int) -> Stage:
    newest = len(widths) - 1
    # Mostly the newest, so that jobs become deep; sometimes several, which are united.
    some = st.lists(st.integers(0, newest), min_size=1, max_size=3, unique=True)
    inputs = tuple(draw(st.just([newest]) | some))
    kind = draw(st.sampled_from(KINDS))
    second = tuple(draw(some)) if kind == "co_map" else ()
    parallelism = draw(st.integers(1, max_parallelism))
    may_forward = all(widths[position] == parallelism for position in (*inputs, *second))
    possible = ["hash"] if kind == "count" else [p for p in PARTITIONINGS if p != "forward" or may_forward]
    fan_out = draw(st.integers(0, max_fan_out)) if kind == "flat_map" else 1
    return Stage(inputs, draw(st.sampled_from(possible)), kind, parallelism, fan_out, not draw(st.booleans()), second)


@st.composite
def async_jobs(
    draw: st.DrawFn,
    *,
    max_sources: int = 2,
    max_stages: int = 4,
    max_records: int = 12,
    designs: tuple[Design, ...] = ("mailbox",),
) -> RandomJob:
    """Draws ``random_jobs`` with async stages: in chains, between exchanges, several in a row.

    ``RandomJob.expected`` gives the output: the answers of the calls, and the replacement results after timeouts.
    """
    without_parts: SearchStrategy[tuple[JobPart, ...]] = st.just(())
    job = draw(
        random_jobs(max_sources=max_sources, max_stages=max_stages, max_records=max_records, parts=without_parts)
    )
    which = draw(st.sets(st.integers(0, len(job.stages) - 1), min_size=1))
    # One chain cannot contain both designs.
    design = draw(st.sampled_from(designs))
    stages: list[Stage] = []
    for position, stage in enumerate(job.stages):
        # A stage with two inputs is not replaced; of the others only ``count`` needs a specific partitioning.
        if position in which and stage.kind != "co_map":
            stage = replace(stage, kind="async", fan_out=1, calls=draw(async_steps(designs=(design,))))
        stages.append(stage)
    waits = any(stage.calls is not None and stage.calls.retry is not None for stage in stages)
    pause_ms = UNTIL_ALL_IS_ANSWERED_MS if waits else 0
    sources = tuple(replace(source, last_pause_ms=pause_ms) for source in job.sources)
    # Without a flush a buffer would be sent only at the end of the input, after which there are no retries.
    flushed = {"buffer_timeout_ms": 100} if waits and job.settings["buffer_timeout_ms"] == -1 else {}
    # Some parts need checkpoints or markers every few milliseconds, too many during the long pause.
    parts = draw(without_parts if waits else job_parts())
    return RandomJob(sources, tuple(stages), {**job.settings, **flushed}, parts)
