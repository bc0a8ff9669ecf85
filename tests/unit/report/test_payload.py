"""What a report embeds equals the recording, is the same in every process, and stays within its budget."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import flowsim.report.payload as payload_module
from flowsim.cli.main import app
from flowsim.facts.schema import TABLES
from flowsim.history.run_span import start_of
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.report.encoding import bounded
from flowsim.report.overview import LATE
from flowsim.report.page import page
from flowsim.report.payload import Payload, Span, build_payload
from flowsim.trace.names import Names
from tests.support.jobs.unordered_records import unordered_records
from tests.support.report_payload import DecodedPayload, decode

SCENARIO = Path(__file__).parents[3] / "scenarios/12_three_lateness_settings.yaml"
RECORDS = {"record": "fingerprint", "left_record": "left_fingerprint", "right_record": "right_fingerprint"}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    out = tmp_path_factory.mktemp("report") / "run"
    done = CliRunner().invoke(app, ["run", str(SCENARIO), "--record", "full", "--record-state", "--out", str(out)])
    assert done.exit_code == 0, done.output
    return Recording.open(out)


@pytest.fixture(scope="module")
def decoded(recording: Recording) -> DecodedPayload:
    return decode(build_payload(recording, "out/run"))


def test_every_fact_is_in_the_payload_at_its_step(recording: Recording, decoded: DecodedPayload) -> None:
    names, start_ns = Names(recording), start_of(recording)
    rows = dict.fromkeys(decoded.tables, 0)
    steps = decoded.tables["steps"]

    facts = list(merged_facts(recording, Selection()))

    assert len(facts) == len(steps["step"]) == decoded.head["facts"]
    for step, fact in enumerate(facts):
        of = decoded.head["table_names"][steps["table"][step]]
        assert (steps["step"][step], steps["time"][step], steps["task"][step], of) == (
            step, fact.time_ns - start_ns, fact.task, fact.table,
        )  # fmt: skip
        row, given = rows[of], dict(zip(TABLES[of].names, fact.row, strict=True))
        rows[of] += 1
        for column, values in decoded.tables[of].items():
            found = int(values[row])
            if column == "key":
                assert (decoded.keys[found - 1] if found else "") == names.key(given["key"])
            elif column in RECORDS:
                assert decoded.records.get(found, "") == names.value(given[RECORDS[column]]), (fact, column)
            else:
                assert found == int(bounded(given[column])), (fact, column)  # type: ignore[arg-type]


def test_seq_is_the_number_of_the_fact_in_its_task(recording: Recording) -> None:
    """Links such as ``#fact=2.17`` need no column for it."""
    seqs: dict[int, list[int]] = {}
    for fact in merged_facts(recording, Selection()):
        seqs.setdefault(fact.task, []).append(fact.row[0])

    assert all(found == list(range(len(found))) for found in seqs.values())


def test_received_elements_of_intact_channels_are_zeros(recording: Recording) -> None:
    payload = build_payload(recording, "out/run")
    received = json.loads(payload.head)["sections"]["received"]

    decode(payload)
    assert {column["name"]: column["bytes"] for column in received["columns"]}["timestamp"] == 1


PROGRAM = """
import hashlib, sys
from flowsim.recording.reader import Recording
from flowsim.report.page import page
from flowsim.report.payload import build_payload
print(hashlib.sha256(page(build_payload(Recording.open(sys.argv[1]), "out/run")).encode()).hexdigest())
"""


def test_report_is_the_same_in_another_process(recording: Recording) -> None:
    command = [sys.executable, "-c", PROGRAM, str(recording.directory)]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}

    other = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert other == hashlib.sha256(page(build_payload(recording, "out/run")).encode()).hexdigest()


@pytest.fixture(scope="module")
def unordered(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return unordered_records(tmp_path_factory.mktemp("unordered"))


def test_small_budget_gives_counts_of_all_facts_and_parts_around_points_of_interest(unordered: Recording) -> None:
    whole = build_payload(unordered, "out/run")
    budget = size(whole) - 18_700
    small = build_payload(unordered, "out/run", budget_bytes=budget)
    found, facts = decode(small), list(merged_facts(unordered, Selection()))

    assert whole.parts is None
    assert size(small) <= budget
    assert small.parts is not None
    assert [part.why for part in small.parts] == [
        ("begin of the run",), ("late record",), ("end of the run",),
    ]  # fmt: skip
    is_whole = {name for name, about in found.head["sections"].items() if about.get("coverage") == "all"}
    assert {"actions", "buffers", "credits", "window_fire", "late_drop"} <= is_whole
    assert found.tables["steps"]["step"].tolist() == [
        step
        for step, fact in enumerate(facts)
        if fact.table in is_whole or any(part.first <= step < part.end for part in small.parts)
    ]
    assert found.counts["overview_facts"]["count"].sum() == len(facts)
    assert found.counts["overview_elements"]["count"].sum() == unordered.row_count("sent")
    lateness = found.counts["overview_lateness"]
    assert lateness["count"][lateness["timing"] == LATE].sum() == unordered.row_count("late_drop") > 0
    assert lateness["count"][lateness["timing"] != LATE].sum() == unordered.row_count("window_intake")


def test_span_has_every_fact_between_its_times_as_in_the_whole_report(
    recording: Recording, decoded: DecodedPayload
) -> None:
    facts = list(merged_facts(recording, Selection()))
    start_ns, middle = start_of(recording), facts[len(facts) // 2].time_ns
    payload = build_payload(recording, "out/run", span=Span(middle - start_ns, middle - start_ns + 1))

    found = decode(payload)
    (part,) = found.head["parts"]
    of = {name: found.tables[name] for name in ("sent", "received") if name in found.tables}
    is_in_part = range(part["first"], part["end"])

    assert all(step in is_in_part for step, fact in enumerate(facts) if fact.time_ns == middle)
    assert len(is_in_part) < len(facts)
    assert "received" in of
    for name, columns in of.items():
        places = [step for step, fact in enumerate(facts) if fact.table == name]
        for column in ("channel", "position", "timestamp"):
            expected = [
                value for step, value in zip(places, decoded.tables[name][column], strict=True) if step in is_in_part
            ]
            assert columns[column].tolist() == expected, (name, column)
    for task, seq in enumerate(part["seqs"]):
        assert seq == sum(fact.task == task for fact in facts[: part["first"]])


def test_number_of_facts_in_a_report_is_limited(unordered: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload_module, "_MOST_FACTS", 900)

    payload = build_payload(unordered, "out/run")

    assert payload.parts is not None
    assert 800 <= sum(map(len, payload.parts)) <= 900


def test_violation_is_in_a_part(unordered: Recording) -> None:
    facts = list(merged_facts(unordered, Selection()))
    step = next(step for step, fact in enumerate(facts) if fact.table == "received" and step > len(facts) // 3)
    evidence = {"task": facts[step].task, "seq": facts[step].row[0], "time_ns": None, "channel": None, "what": "lost"}
    laws = {"laws": [{"law": "channel-fifo", "evidence": [evidence]}]}
    budget = size(build_payload(unordered, "out/run", laws)) - 16_000

    payload = build_payload(unordered, "out/run", laws, budget)

    (part,) = [part for part in payload.parts or () if "violation of channel-fifo" in part.why]
    assert part.first <= step < part.end


def size(payload: Payload) -> int:
    return len(payload.head.encode()) + len(payload.body)


def test_page_has_no_markup_from_the_recording_and_forbids_connections(recording: Recording) -> None:
    payload = build_payload(recording, "</script><script>alert(1)</script>")
    html = page(payload)

    assert "</script><script>alert" not in html
    assert html.count("<script") == 3
    assert "default-src 'none'; script-src 'sha256-" in html
    assert "http://" not in html.replace("http://www.w3.org/", "")
