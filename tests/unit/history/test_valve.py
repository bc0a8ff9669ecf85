"""States of channels without statuses are read by columns, and are the same as element by element."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flowsim.facts.kinds import ElementKind
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Rows
from flowsim.history.valve import ChannelHistory
from flowsim.laws.job_graph import Channel
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

CHANNELS = [
    Channel(
        number,
        edge=0,
        source_task=number,
        subpartition=0,
        target_task=9,
        input=number // 2,
        input_channel=number,
        local=1,
    )
    for number in range(3)
]
ELEMENTS = st.lists(
    st.tuples(
        st.sampled_from([channel.channel for channel in CHANNELS]),
        st.sampled_from([ElementKind.WATERMARK, ElementKind.WATERMARK, ElementKind.RECORD, ElementKind.END_OF_DATA]),
        st.sampled_from([NO_TIMESTAMP, -3, 0, 1, 2, MAX_WATERMARK]),
    ),
    max_size=30,
)


class Received:
    """The received elements of task 9."""

    def __init__(self, elements: list[tuple[int, int, int]]) -> None:
        table = np.array(elements, dtype=np.int64).reshape(-1, 3)
        names = ("channel", "kind", "timestamp")
        columns = {name: np.ascontiguousarray(table[:, at]) for at, name in enumerate(names)}
        self._rows = Rows({"seq": np.arange(len(table)), **columns})

    def rows(self, table: str, task: int) -> Rows:
        return self._rows

    def received_by(self, task: int) -> list[Channel]:
        return CHANNELS


def history(elements: list[tuple[int, int, int]]) -> ChannelHistory:
    return ChannelHistory(cast(RecordedFacts, Received(elements)), 9)


def shown(elements: list[tuple[int, int, int]], count: int) -> list[Any]:
    """The states before each of the first elements, in both forms."""
    before = history(elements)
    columns = history(elements).states(np.arange(count + 1))
    found: list[Any] = [
        (one.watermark.tolist(), one.is_idle.tolist(), one.is_aligned.tolist(), one.has_ended.tolist())
        for one in columns
    ]
    for seq in range(count + 1):
        for state in before.before(seq):
            mark, end = (None if row is None else row["seq"] for row in (state.watermark_row, state.end_of_data))
            found.append((state.watermark, state.is_idle, state.is_aligned, mark, state.status_row, end))
    return found


@given(ELEMENTS)
def test_states_do_not_depend_on_how_the_elements_are_read(elements: list[tuple[int, int, int]]) -> None:
    # With a status among the elements, they are read one by one.
    with_status = [*elements, (0, int(ElementKind.STATUS), 1)]

    assert shown(elements, len(elements)) == shown(with_status, len(elements))
