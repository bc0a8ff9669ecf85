"""All laws together: a correct run, all its prefixes, and the page of the laws."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.judge import NOTHING_RECORDED, check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.facts.checkpoint_laws import OF_CHECKPOINTS
from tests.support.facts.event_time_history import History
from tests.support.facts.tiny_job import tiny_job
from tests.support.pages.laws_page import laws_page

PAGE = Path(__file__).parents[3] / "docs" / "laws.md"


def test_every_law_examines_rows_and_holds_on_correct_run() -> None:
    outcomes = check_all(tiny_job())
    assert {one.law for one in outcomes if one.verdict is Verdict.NOT_APPLICABLE} == {
        "joins",
        "state",
        "window-joins",
        *OF_CHECKPOINTS,
    }
    for outcome in outcomes:
        if outcome.law not in ("joins", "state", "window-joins", *OF_CHECKPOINTS):
            assert outcome.verdict is Verdict.HOLDS, outcome
            assert outcome.rows_examined > 0


def test_every_prefix_of_correct_run_violates_no_law() -> None:
    times = sorted(int(row["time_ns"]) for table in tiny_job().tables.values() for row in table if "time_ns" in row)
    for cut in times[::7]:
        facts = tiny_job()
        facts.cut(lambda row, cut=cut: int(row["time_ns"]) < cut)  # type: ignore[misc]
        for outcome in check_all(facts, "running"):
            assert outcome.violations == 0, (cut, outcome)


def test_empty_recording_is_vacuous_for_every_law() -> None:
    for outcome in check_all(MemoryRecorder(Level.FULL), "running"):
        assert (outcome.verdict, outcome.reason) == (Verdict.VACUOUS, NOTHING_RECORDED)


def test_descending_seq_is_refused_as_damaged() -> None:
    history = History().sends(ElementKind.WATERMARK, 1).sends(ElementKind.WATERMARK, 2)
    history.tables["sent"].reverse()
    with pytest.raises(BadInput, match="damaged: seq of task 0 does not ascend in table sent"):
        check_all(history)


def test_facts_of_undescribed_task_are_refused_as_damaged() -> None:
    facts = tiny_job()
    facts.drop("tasks", task=4)
    with pytest.raises(BadInput, match="it has facts of task 4, which it does not describe"):
        check_all(facts)


def test_prefix_checked_as_whole_run_violates_laws() -> None:
    facts = tiny_job(Level.ELEMENTS)
    facts.cut(lambda row: int(row["time_ns"]) < 112)
    broken = {outcome.law for outcome in check_all(facts, "complete") if outcome.verdict is Verdict.VIOLATED}
    assert broken == {"channel-end", "channel-fifo", "conservation", "life-cycle", "task-watermark"}


def test_laws_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == laws_page(), "write it again: make docs"
