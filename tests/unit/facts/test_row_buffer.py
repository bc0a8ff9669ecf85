"""The packed rows of facts."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import ElementKind, FireCause, Level, WindowResult
from flowsim.facts.row_buffer import RowBuffer
from flowsim.facts.schema import CHOICES, JOIN_PAIRS, RECEIVED, SENT, TASK_WATERMARK, WINDOW_FIRE, WINDOW_INTAKE, Table
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.memory import MemoryRecorder
from flowsim.task_clock import TaskClock

LOW, HIGH = -(2**63), 2**63 - 1


@pytest.mark.parametrize("table", [SENT, CHOICES], ids=lambda table: table.name)
def test_rows_are_handed_over_when_they_are_complete(table: Table) -> None:
    taken: list[bytes] = []
    rows = RowBuffer(table, 3, lambda: taken.append(rows.take()))
    for number in range(7):
        rows.append(*[number] * len(table.columns))
    assert ([len(packed) for packed in taken], len(rows)) == ([3 * table.layout.size] * 2, 1)
    assert rows.rows() == [(6,) * len(table.columns)]


def test_facts_of_every_record_write_the_columns_of_their_table() -> None:
    recorder = MemoryRecorder(Level.ELEMENTS)
    trace = TaskTrace(-7, TaskClock(HIGH), recorder)
    trace.sent(2, 3, ElementKind.RECORD, LOW, HIGH, -(2**31), 8)
    trace.received(2, -(2**62), ElementKind.END_OF_PARTITION, HIGH, 5, 6)
    trace.window_intake(1, 2, 3, LOW, 5, LOW, 7, 1)
    trace.join_pair(1, 2**31 - 1, 3, 4, 5, HIGH)
    trace.task_watermark(1, ElementKind.STATUS, -1)
    trace.window_fire(1, -2, 3, LOW, HIGH, 4, 5, 6, 7, WindowResult.FIRE_AND_PURGE, FireCause.ELEMENT, 8)
    assert recorder.rows(SENT.name) == [(0, -7, HIGH, 2, 3, ElementKind.RECORD, LOW, HIGH, -(2**31), 8)]
    assert recorder.rows(RECEIVED.name) == [(1, -7, HIGH, 2, -(2**62), ElementKind.END_OF_PARTITION, HIGH, 5, 6)]
    assert recorder.rows(WINDOW_INTAKE.name) == [(2, -7, 1, HIGH, 2, 3, LOW, 5, LOW, 7, 1)]
    assert recorder.rows(JOIN_PAIRS.name) == [(3, -7, 1, HIGH, 2**31 - 1, 3, 4, 5, HIGH)]
    assert recorder.rows(TASK_WATERMARK.name) == [(4, -7, HIGH, 1, ElementKind.STATUS, -1)]
    assert recorder.rows(WINDOW_FIRE.name) == [
        (5, -7, 1, HIGH, -2, 3, LOW, HIGH, 4, 5, 6, 7, WindowResult.FIRE_AND_PURGE, FireCause.ELEMENT, 8)
    ]
