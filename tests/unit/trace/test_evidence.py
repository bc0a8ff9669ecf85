"""Evidence in words: names, keys, values and times of every recorded fault, and the command that shows it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.facts.kinds import Level
from flowsim.history.run_span import start_of
from flowsim.laws.law import Verdict
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.trace.evidence import EvidenceReader, EvidenceText
from flowsim.trace.places import Place
from flowsim.trace.time import moment_ns
from flowsim.validation.judge import open_runs, validate
from tests.support.jobs.fault_matrix import CASES, FaultCase, run_case

ENDS = {JobStatus.FINISHED: RunStatus.COMPLETE, JobStatus.STOPPED: RunStatus.STOPPED}
FAULTS = (
    "drop_element", "window_loses_row", "late_row_vanishes", "join_repeats_pair", "timer_fires_early", "lose_credit",
    "async_results_swapped", "valve_takes_maximum", "leak_segment", "misroute_keys", "watermark_after_end_of_data",
)  # fmt: skip
"""One for every way in which laws say where they are."""
CHOSEN = [next(case for case in CASES if case.name.startswith(f"{fault} ")) for fault in FAULTS]


def judged(case: FaultCase, directory: Path) -> dict[str, list[EvidenceText]]:
    """The evidence of a run with a fault, by law."""
    writer = RecordingWriter(directory, Level.FULL, RunDescription())
    result = run_case(case, writer)
    writer.finish(ENDS.get(result.status, RunStatus.FAILED))
    reader = EvidenceReader(Recording.open(directory), "out/a run")
    outcomes = validate(open_runs([directory])).of(0).values()
    return {o.law: reader.texts(o.evidence) for o in outcomes if o.verdict is Verdict.VIOLATED}


def found_by(command: str, recording: Recording) -> list[tuple[int, int]]:
    """(task, seq) of the facts that a ``flowsim trace`` command selects."""
    words = shlex.split(command)
    assert words[:3] == ["flowsim", "trace", "out/a run"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    bounds = [moment_ns(name, options.pop(name, None)) for name in ("--from", "--to")]
    start_ns = start_of(recording)
    tasks = frozenset({int(options.pop("--task"))}) if "--task" in options else None
    channels = frozenset({int(options.pop("--channel"))}) if "--channel" in options else None
    assert set(options) <= {"--kinds"}
    first, last = (None if ns is None else start_ns + ns for ns in bounds)
    selection = Selection(tasks=tasks, channels=channels, from_ns=first, to_ns=last)
    return [(fact.task, fact.row[0]) for fact in merged_facts(recording, selection)]


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_evidence_names_place_and_trace_command_shows_the_fact(case: FaultCase, tmp_path: Path) -> None:
    evidence = judged(case, tmp_path)
    recording = Recording.open(tmp_path)
    assert evidence
    for law, texts in evidence.items():
        for text in texts[:5]:
            facts = found_by(text.trace, recording)
            assert facts, (law, text)
            place = re.search(r"\(task (\d+)\), at \d.* m?s, seq (\d+)$", text.where)
            if place is not None:
                assert (int(place[1]), int(place[2])) in facts, (law, text)
            named = dict(text.with_)
            assert not {"task", "seq", "time ns", "fingerprint"} & set(named), (law, text)
            assert not re.fullmatch(r"#?\d{10,}", named.get("key", "")), (law, text)


def test_changed_record_is_reported_with_both_values(tmp_path: Path) -> None:
    [case] = [case for case in CASES if case.name.startswith("corrupt_element")]
    [text, *_] = judged(case, tmp_path)["channel-fifo"]
    assert text.what == "the element at position 1 of channel 0 was changed"
    sent, received = re.fullmatch(
        r"sent record (\[.*\]) \(timestamp 8 ms\), received record (\[.*\]) \(timestamp 9 ms\)", text.expected
    ).groups()  # type: ignore[union-attr]
    assert sent == received == '["a",1]'
    assert re.fullmatch(r"window \(1/2\) \(task \d+\), at 100\.\d+ ms, seq \d+", text.where)
    assert dict(text.with_)["channel"] == "Source: Custom Source -> map (1/2) -> window (1/2) #0"
    assert text.as_data()["trace"] == text.trace


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("drop_element", 'the element at position 1 of channel 0, record ["a",1] (timestamp 8 ms), was sent and never received'),
        ("duplicate_element", 'the element at position 2 of channel 0, record ["a",1] (timestamp 8 ms), was received again'),
        ("swap_elements", "the elements at positions 1 and 2 of channel 0 were exchanged"),
        ("corrupt_element", "the element at position 1 of channel 0 was changed"),
    ],
)  # fmt: skip
def test_each_broken_channel_has_one_violation_that_says_what_happened(fault: str, what: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == f"{fault} in window")
    first, *others = judged(case, tmp_path)["channel-fifo"]
    assert first.what == what
    assert not {"side", "position", "sent", "received"} & set(dict(first.with_))
    assert len({dict(text.with_)["channel"] for text in (first, *others)}) == len(others) + 1 == 4


def test_rows_of_custom_law_need_no_column(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, Level.ELEMENTS, RunDescription())
    writer.finish(RunStatus.COMPLETE)
    [text] = EvidenceReader(Recording.open(tmp_path), "r").texts([{"name": "x", "n": 7, "none": None, "list": [1, 2]}])
    assert text == EvidenceText("a violation", "", "", (("n", "7"), ("list", "1, 2")), "flowsim trace r", "", Place())
