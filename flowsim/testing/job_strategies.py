"""Hypothesis strategy for whole jobs: random graphs of stages.

Examples shrink to one source, one stage and Flink's settings.
"""

from __future__ import annotations

from flowsim.errors import MissingExtra
from flowsim.testing.part_strategies import job_parts
from flowsim.testing.parts import JobPart
from flowsim.testing.random_job import KINDS, PARTITIONINGS, RandomJob, SourceStage, Stage
from flowsim.testing.strategies import network_settings

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError as missing:
    raise MissingExtra("testing", "flowsim.testing.job_strategies") from missing


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
