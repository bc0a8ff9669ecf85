"""A source whose splits are all idle emits the highest of their watermarks (rule 8.6), and `why late` says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.why.late import why_late
from flowsim.why.run_facts import RunFacts

SCENARIO = Path(__file__).parent / "inputs" / "why_minimum_of_idle_splits.yaml"


@pytest.mark.parametrize("record", [None, '[11,"behind"]', '[20,"behind"]'])
def test_flushed_watermark_is_the_highest_of_the_idle_splits(record: str | None, tmp_path: Path) -> None:
    flowsim.run_scenario(SCENARIO, out=tmp_path / "out")
    facts = RunFacts(flowsim.open_recording(tmp_path / "out"))

    *_, made, behind = why_late(facts, record).causes

    assert made.text == (
        "Source: topic (1/1) generated watermark 99 ms after 2 records: its 2 splits are all idle, so the highest of their "
        "watermarks."
    )
    assert made.rules == ("8.6",)
    assert made.details == ('split "quick": watermark 99 ms, idle', 'split "behind": watermark 9 ms, idle')
    assert behind.text == 'The record is of split "behind", which did not hold back this watermark: it was idle.'
