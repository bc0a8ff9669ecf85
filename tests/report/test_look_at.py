"""The moments that a report leads to, and what it says of sinks: computed from the facts, and true of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest

from flowsim.facts.kinds import Level
from flowsim.history.task_states import Doing, waits_of
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.report.laws import law_data
from flowsim.report.look_at import LookAt, look_at
from flowsim.report.payload import build_payload
from flowsim.report.sink_results import sink_results
from flowsim.report.start import start_page
from flowsim.validation.judge import open_runs, validate
from flowsim.why.run_facts import RunFacts
from tests.support.jobs.fault_matrix import CASES, run_case
from tests.unit.report.test_payload import unordered_records

Recordings = Callable[[str], Recording]

MOMENTS = {
    "03": [
        (
            "back-pressure",
            (
                "Source: numbers (1/1) waits for output buffers 95 % of the run: "
                "the longest wait begins at 9.692 ms and takes 10.87 ms"
            ),
        ),
        ("fullest queue", "4 data buffers wait in Source: numbers -> large (1/1) -> Sink: slow (1/1) #0 at 362 us"),
        ("first record", 'record [0,"a",975] reaches Sink: slow (1/1) at 362 us'),
    ],
    "11a": [
        (
            "silent channel",
            (
                "counts (1/1) receives no record from Source: empty (1/1) between 0 ms and 10 s, "
                "but 40 records from other channels"
            ),
        ),
        ("first record", 'record [0,"b"] reaches counts (1/1) at 2 us'),
        ("end", "Source: empty (1/1) finishes at 10 s; no subtask ends later"),
    ],
    "12": [
        (
            "late record",
            (
                'record ["a",4] is late at strict (1/1) at 11 us: '
                "timestamp 5 ms, watermark 11 ms; the first of 5 late records"
            ),
        ),
        ("first fire", '[0, 10) of key "a" fires with 3 records at strict (1/1) at 9 us'),
        ("first record", 'record ["a",1] reaches strict (1/1) at 6 us'),
    ],
    "13": [
        ("first merge", '[0, 10) of key "ann" is merged into [0, 24) at visits (1/1) at 10 us'),
        ("first fire", '[0, 10) of key "bob" fires with 1 record at visits (1/1) at 11 us'),
        ("first record", 'record ["ann","home"] reaches visits (1/1) at 6 us'),
    ],
    "24": [
        ("async result", 'record ["a",3,5] waits 85 ms to be emitted by ordered (1/1): its result is there at 105.004 ms'),
        ("first record", 'record ["a",1,90] reaches ordered (1/1) at 100 ms'),
        ("silent channel", "ordered (1/1) receives no record from Source: asks (1/1) between 100.004 ms and 1.000005 s"),
    ],
    "40b": [
        (
            "failure",
            (
                "slow (1/2) fails at 433.612 ms (operator slow, record (782, 6): RequestedFailure: slow (1/2) fails ...); "
                "a restart of 6 subtasks from checkpoint 1 follows at 483.612 ms"
            ),
        ),
        ("fullest queue", "4 data buffers wait in priced (2/2) -> slow (2/2) #5 at 527.524 ms"),
        ("checkpoint", "checkpoint 1 completes after 1.634 ms, triggered at 150 ms, the slowest of 2"),
    ],
}  # fmt: skip
RESULTS = {
    "03": [("slow", "20,000 rows", ['[0,"a",975]', '[1,"d",996]', '[2,"c",1]', '[3,"d",705]', '[4,"b",412]'], 19_995)],
    "12": [
        ("strict_out", "2 rows", ['["a",0,10,3,6]', '["a",10,20,1,5]'], 0),
        ("late_out", "2 rows", ['["a",4]', '["a",6]'], 0),
        ("kept_out", "2 rows", ['["a",0,10,3,6]', '["a",10,20,1,5]'], 0),
        ("forgiving_out", "3 rows", ['["a",0,10,3,6]', '["a",0,10,4,10]', '["a",10,20,1,5]'], 0),
    ],
    "24": [
        ("ordered_out", "5 rows", ['["a",1]', '["b",1]', '["a",2]', '["a",3]', '["b",2]'], 0),
        ("unordered_out", "5 rows", ['["b",1]', '["a",2]', '["a",1]', '["a",3]', '["b",2]'], 0),
    ],
    "40b": [("out", "1,000 rows committed, 1,536 received", ["[0,1,2]", "[4,5,10]", "[8,2,4]", "[12,6,12]", "[16,3,6]"], 995)],
}  # fmt: skip
WITHOUT_ROWS = {
    "12": [
        ("strict_out", "2 rows", ['[0, 10) of key "a": 3 records', '[10, 20) of key "a": 1 record'], 0),
        ("late_out", "2 rows", ['["a",4]', '["a",6]'], 0),
        ("kept_out", "2 rows", ['[0, 10) of key "a": 3 records', '[10, 20) of key "a": 1 record'], 0),
        (
            "forgiving_out", "3 rows",
            ['[0, 10) of key "a": 3 records', '[0, 10) of key "a": 4 records', '[10, 20) of key "a": 1 record'], 0,
        ),
    ],
    "24": RESULTS["24"],
    "40b": [("out", "1,000 rows committed, 1,536 received", ["[0,1,2]", "[4,5,10]", "[8,2,4]", "[12,6,12]", "[16,3,6]"], 1_531)],
}  # fmt: skip
"""Of sinks that keep their rows in files or nowhere: what the facts say."""


def facts_of(recording: Recording, moments: list[LookAt]) -> list[str]:
    tables = {(fact.task, fact.row[0]): fact.table for fact in merged_facts(recording, Selection())}
    return [tables[one.task, one.seq] for one in moments if one.task is not None and one.seq is not None]


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_of_scenario(recordings: Recordings, name: str) -> None:
    found = look_at(RunFacts(recordings(name)))

    assert [(one.what, one.text) for one in found] == MOMENTS[name]


def test_moments_lead_to_the_facts_they_speak_of(recordings: Recordings) -> None:
    for name, tables in {
        "12": ["late_drop", "window_fire", "received"],
        "13": ["window_merge", "window_fire", "received"],
        "24": ["async_elements", "received", "received"],
        "40b": ["lifecycle", "buffers", "checkpoint_steps"],
    }.items():
        recording = recordings(name)
        assert facts_of(recording, look_at(RunFacts(recording))) == tables, name


def test_back_pressure_is_the_longest_wait_of_the_task_that_waits_most(recordings: Recordings) -> None:
    facts = RunFacts(recordings("03"))
    waits = {
        task: [wait for kind in (Doing.SOFT, Doing.HARD) for wait in waits_of(facts, task)[kind]]
        for task in facts.graph.tasks
    }
    most = max(waits, key=lambda task: sum(end - row["time_ns"] for row, end in waits[task]))
    longest = max(waits[most], key=lambda wait: wait[1] - wait[0]["time_ns"])[0]

    (found,) = [one for one in look_at(facts) if one.what == "back-pressure"]

    assert (found.task, found.seq) == (most, longest["seq"])


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_sinks(recordings: Recordings, name: str) -> None:
    assert results_of(recordings(name)) == RESULTS[name]


@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_results_of_sinks_without_rows_in_the_manifest(recordings: Recordings, name: str) -> None:
    recording = copy(recordings(name))
    recording.manifest = replace(recording.manifest, results={})

    assert results_of(recording) == WITHOUT_ROWS[name]


def results_of(recording: Recording) -> list[tuple[object, ...]]:
    found = sink_results(RunFacts(recording))["sinks"]
    return [(one["name"], one["rows"], one["first"], one["left"]) for one in found]


def test_violation_comes_first_and_job_of_python_says_what_it_is(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name.startswith("drop_element "))
    writer = RecordingWriter(tmp_path / "run", Level.FULL, RunDescription())
    run_case(case, writer)
    writer.finish(RunStatus.COMPLETE)
    recording = Recording.open(tmp_path / "run")
    laws = law_data(recording, "out/run", validate(open_runs([recording])))
    facts = RunFacts(recording)

    found = look_at(facts, laws)

    earliest = min(row["time_ns"] for law in laws["laws"] for row in law["evidence"] if row["time_ns"] is not None)
    assert found[0].what == "violation"
    assert found[0].time_ns == earliest
    assert " is violated: " in found[0].text
    assert start_page(facts, found)["description"][0].startswith("This job was built in Python. It has ")


def test_report_in_parts_has_every_fact_around_each_moment(tmp_path: Path) -> None:
    recording = unordered_records(tmp_path)
    whole = build_payload(recording, "out/run")

    small = build_payload(recording, "out/run", budget_bytes=len(whole.head) + len(whole.body) - 17_000)

    steps = {(fact.task, fact.row[0]): step for step, fact in enumerate(merged_facts(recording, Selection()))}
    assert small.parts is not None
    assert json.loads(small.head)["start"]["look_at"] == [one.as_data() for one in whole.look_at]
    for one in small.look_at:
        assert one.task is not None
        assert one.seq is not None
        assert any(part.first <= steps[one.task, one.seq] < part.end for part in small.parts), one.text
