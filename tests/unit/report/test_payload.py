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

from flowsim.cli.main import app
from flowsim.facts.schema import TABLES
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.report.encoding import bounded
from flowsim.report.page import page
from flowsim.report.payload import build_payload
from flowsim.trace.names import Names
from flowsim.trace.time import start_of
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
    assert {column["name"]: column["bytes"] for column in received["columns"]}["timestamp"] == received["rows"]


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


def test_budget_omits_tables_and_names_them(recording: Recording) -> None:
    whole, small = build_payload(recording, "out/run"), build_payload(recording, "out/run", budget_bytes=30_000)
    found = decode(small)

    assert whole.omitted == ()
    assert small.omitted[:2] == ("segments", "mails")
    assert list(small.omitted) == found.head["omitted"]
    assert {"window_fire", "late_drop", "lifecycle"} <= found.tables.keys()
    assert not found.tables.keys() & set(small.omitted)
    steps = found.tables["steps"]
    tables = [found.head["table_names"][number] for number in steps["table"].tolist()]
    assert not set(tables) & set(small.omitted)
    assert steps["step"].max() > len(steps["step"])


def test_page_has_no_markup_from_the_recording_and_forbids_connections(recording: Recording) -> None:
    payload = build_payload(recording, "</script><script>alert(1)</script>")
    html = page(payload)

    assert "</script><script>alert" not in html
    assert html.count("<script") == 3
    assert "default-src 'none'; script-src 'sha256-" in html
    assert "http://" not in html.replace("http://www.w3.org/", "")
