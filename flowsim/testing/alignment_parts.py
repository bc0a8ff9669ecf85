"""A part of random jobs: two sources in one group of watermark alignment, one of which lags and then becomes idle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowsim.connectors.script import Entry, ScriptedSource, record, sleep
from flowsim.datastream.common import Duration
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.datastream.functions import ProcessFunction
from flowsim.testing.parts import Output
from flowsim.testing.strategies import keys

_INTERVAL_MS: Final = 10
"""Between periodic watermarks, and between the reports of alignment."""
_IDLE_FOR_MS: Final = 2_000
"""How long the lagging source is silent before its last record: much longer than its idle timeout."""
_IN_TIME_MS: Final = 1_500
"""The source ahead needs less time for its records if it does not wait for the one that is idle."""


class _InTime(ProcessFunction):
    """Adds to each value whether it came soon after the first one."""

    def __init__(self) -> None:
        self._first_ms: int | None = None

    def process_element(self, value: object, ctx: ProcessFunction.Context) -> Iterator[tuple[object, bool]]:
        now_ms = ctx.timer_service().current_processing_time()
        if self._first_ms is None:
            self._first_ms = now_ms
        yield value, now_ms - self._first_ms < _IN_TIME_MS


@dataclass(frozen=True, slots=True)
class AlignedSources:
    """A source that waits for a lagging one, and continues when the lagging one is idle.

    ``split``: the only split of both; None: no splits. ``drift_ms``: the greatest drift of watermark alignment.
    """

    ahead: tuple[str, ...]
    lagging: tuple[str, ...]
    split: str | None
    drift_ms: int
    idle_ms: int

    @property
    def settings(self) -> Mapping[str, object]:
        return {"auto_watermark_interval_ms": _INTERVAL_MS}

    def add_to(self, env: StreamExecutionEnvironment) -> DataStream:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
        strategy = strategy.with_idleness(Duration.of_millis(self.idle_ms)).with_watermark_alignment(
            "aligned sources", Duration.of_millis(self.drift_ms), Duration.of_millis(_INTERVAL_MS)
        )
        *first, last = self._records(self.lagging, "lagging", pace_ms=2, gap_ms=30)
        scripts = {
            "ahead": self._records(self.ahead, "ahead", pace_ms=20, gap_ms=5),
            "lagging": [*first, sleep(_IDLE_FOR_MS), last],
        }
        sources = [env.from_source(ScriptedSource(script), strategy, name) for name, script in scripts.items()]
        # The last operator reads both sources, so that the part has one end.
        return sources[0].process(_InTime()).union(sources[1].map(lambda value: (value, True))).map(lambda value: value)

    def _records(self, values: Sequence[str], source: str, pace_ms: int, gap_ms: int) -> list[Entry]:
        entries: list[Entry] = []
        for number, key in enumerate(values):
            entries += [sleep(gap_ms), record((source, key), number * pace_ms, split=self.split)]
        return entries

    def expected(self) -> Output:
        made: Output = Counter()
        for source, values in (("ahead", self.ahead), ("lagging", self.lagging)):
            made.update(((source, key), True) for key in values)
        return made


def aligned_sources() -> SearchStrategy[AlignedSources]:
    """Draws two aligned sources with idle timeouts, one of which lags and becomes idle while the other one waits."""
    return st.builds(
        AlignedSources,
        st.lists(keys(3), min_size=8, max_size=10).map(tuple),
        st.lists(keys(3), min_size=5, max_size=7).map(tuple),
        st.sampled_from(["p", None]),
        st.sampled_from([20, 10, 30]),
        st.sampled_from([40, 60]),
    )
