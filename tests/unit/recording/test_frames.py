"""Tables for people: names in place of numbers, timestamps, keys and values, from a recording and from memory."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from flowsim import BadInput, MissingExtra, Recording, open_recording, run_scenario
from flowsim.facts import schema
from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, Level, WaitKind
from flowsim.facts.schema import FACT_TABLES, GRAPH_TABLES, TABLES
from flowsim.recording.frames import POINTS_IN_TIME, VALUES_OF
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

VISITS = """\
flowsim: 1
name: visits
settings: {record: full}
sources:
  visits:
    script:
      fields: {page: string, visitor: long}
      subtasks:
        - - {record: [home, 1], timestamp: 1000}
          - {record: [help, 2], timestamp: 2500}
          - {watermark: 2000}
          - {record: [home, 3], timestamp: 500}
          - {idle: true}
          - {record: [home, 4], timestamp: 4000}
operators:
  counts:
    input: visits
    key_by: page
    window: {tumbling: 2 s}
    aggregate: {visits: count()}
sinks:
  all: {input: counts, collect: {}}
"""


@pytest.fixture(scope="module")
def facts() -> MemoryRecorder:
    run = run_scenario(VISITS)
    assert run.facts is not None
    return run.facts


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    out = tmp_path_factory.mktemp("visits")
    run_scenario(VISITS, out=out)
    return open_recording(out)


def moment(ms: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(milliseconds=ms)  # noqa: DTZ001


def made(table: schema.Table, *rows: tuple[int, ...]) -> MemoryRecorder:
    recorder = MemoryRecorder(Level.FULL)
    append = recorder.appender(table)
    for row in rows:
        append(*row)
    return recorder


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("readable", [True, False])
def test_table_in_memory_equals_table_on_disk(
    facts: MemoryRecorder, recording: Recording, table: str, readable: bool
) -> None:
    on_disk = recording.to_arrow(table, readable=readable, keys=True, values=True)
    in_memory = facts.to_arrow(table, readable=readable, keys=True, values=True)
    assert in_memory.schema.equals(on_disk.schema)
    order = [(name, "ascending") for name in ("task", "seq") if {"task", "seq"} <= {*on_disk.column_names}]
    assert (in_memory.sort_by(order) if order else in_memory).to_pylist() == on_disk.to_pylist()


def test_stored_table_of_the_graph_has_its_rows(recording: Recording) -> None:
    for table in GRAPH_TABLES:
        rows = [tuple(row.values()) for row in recording.table(table.name).to_pylist()]
        assert rows == recording.static_rows(table.name)
    assert recording.table("tasks").num_rows == 2


def test_table_without_options_equals_the_stored_table(recording: Recording) -> None:
    assert recording.to_arrow("sent", readable=False).equals(recording.table("sent"))


def test_readable_records_have_names_times_keys_and_values(recording: Recording) -> None:
    sent = recording.to_arrow("sent", keys=True, values=True)
    records = [row for row in sent.to_pylist() if row["kind"] == "RECORD" and row["key"]]
    assert [(row["task_name"], row["timestamp"], row["key_value"], row["value"]) for row in records] == [
        ("Source: visits (1/1)", moment(1000), '"home"', '["home",1]'),
        ("Source: visits (1/1)", moment(2500), '"help"', '["help",2]'),
        ("Source: visits (1/1)", moment(500), '"home"', '["home",3]'),
        ("Source: visits (1/1)", moment(4000), '"home"', '["home",4]'),
    ]
    assert sent["time"].type == pa.timestamp("ns")
    assert sent["time"].cast(pa.int64()).to_pylist() == recording.table("sent")["time_ns"].to_pylist()


def test_elements_that_are_no_times_have_a_status_and_no_timestamp() -> None:
    kinds = [
        (ElementKind.RECORD, NO_TIMESTAMP),
        (ElementKind.WATERMARK, MAX_WATERMARK),
        (ElementKind.WATERMARK, -1),
        (ElementKind.STATUS, 0),
        (ElementKind.STATUS, -1),
        (ElementKind.LATENCY_MARKER, 7),
        (ElementKind.END_OF_DATA, 1),
        (ElementKind.END_OF_DATA, 0),
        (ElementKind.END_OF_PARTITION, 0),
    ]
    facts = made(schema.SENT, *((seq, 0, 0, 0, seq, kind, ts, 0, 0, 0) for seq, (kind, ts) in enumerate(kinds)))
    found = facts.to_arrow("sent").to_pylist()
    assert [(row["kind"], row["timestamp"], row["status"]) for row in found] == [
        ("RECORD", None, None),
        ("WATERMARK", moment(253_402_300_799_999), None),
        ("WATERMARK", moment(-1), None),
        ("STATUS", None, "ACTIVE"),
        ("STATUS", None, "IDLE"),
        ("LATENCY_MARKER", moment(7), None),
        ("END_OF_DATA", None, "DRAIN"),
        ("END_OF_DATA", None, "NO_DRAIN"),
        ("END_OF_PARTITION", None, None),
    ]


def test_actions_and_waits_have_names_of_their_own_kinds() -> None:
    rows = [(ActionPhase.BEGIN, 1), (ActionPhase.WAIT, 1), (ActionPhase.RESUME, 2), (ActionPhase.END, 2)]
    facts = made(schema.ACTIONS, *((seq, 0, 0, phase, kind, 0, -1, 0) for seq, (phase, kind) in enumerate(rows)))
    assert facts.to_arrow("actions")["kind"].to_pylist() == [
        ActionKind.DEFAULT_ACTION.name,
        WaitKind.MAIL.name,
        WaitKind.BUFFER.name,
        ActionKind.MAIL.name,
    ]


def test_operators_have_names_and_the_task_itself_has_none(recording: Recording) -> None:
    rows = recording.to_arrow("lifecycle").to_pylist()
    opened = {(row["task_name"], row["operator"], row["operator_name"]) for row in rows if row["event"] == "OPEN"}
    names = {(row["vertex"], row["operator"]): row["name"] for row in recording.table("operators").to_pylist()}
    tasks = recording.table("tasks").to_pylist()
    assert opened == {
        (task["name"], operator, name) for task in tasks for (v, operator), name in names.items() if v == task["vertex"]
    }
    assert {row["operator_name"] for row in rows if row["operator"] == -1} == {None}


def test_timer_without_a_window_has_no_window_bounds() -> None:
    of_window = (0, 0, 0, 0, 0, 0, 9, 0, 0, 0, NO_TIMESTAMP, 10, 0)
    of_function = (1, 0, 0, 0, 0, 0, 9, 0, 0, 0, NO_TIMESTAMP, 0, 0)
    found = made(schema.TIMERS, of_window, of_function).to_arrow("timers").to_pylist()
    assert [(row["window_start"], row["window_end"]) for row in found] == [(moment(0), moment(10)), (None, None)]
    assert [row["watermark"] for row in found] == [None, None]


def test_value_that_was_not_stored_is_null() -> None:
    facts = made(schema.SENT, (0, 0, 0, 0, 0, ElementKind.RECORD, 5, 12345, 0, 77))
    (row,) = facts.to_arrow("sent", keys=True, values=True).to_pylist()
    assert (row["value"], row["key_value"], row["task_name"]) == (None, None, None)


def test_values_of_both_sides_of_a_join_are_added() -> None:
    row = (0, 0, 0, 0, 0, 0, 1, 2, 3)
    columns = made(schema.JOIN_PAIRS, row).to_arrow("join_pairs", values=True).column_names
    assert columns[-6:] == [
        "left_fingerprint",
        "left_value",
        "right_fingerprint",
        "right_value",
        "timestamp",
        "task_attempt",
    ]


def test_data_frame_has_python_values_and_can_be_grouped_by_key(recording: Recording) -> None:
    frame = recording.to_pandas("sent", keys=True, values=True)
    records = frame[(frame["kind"] == "RECORD") & frame["key_value"].notna()]
    assert records["value"].tolist() == [("home", 1), ("help", 2), ("home", 3), ("home", 4)]
    assert records.groupby("key_value").size().to_dict() == {"help": 1, "home": 3}
    assert str(records["timestamp"].max()) == "1970-01-01 00:00:04"


def test_data_frame_can_be_printed_for_every_table(recording: Recording) -> None:
    for table in TABLES:
        frame = recording.to_pandas(table, keys=True, values=True)
        assert len(frame) == recording.to_arrow(table).num_rows
        assert frame.to_string(max_rows=20, max_cols=30)


def test_arrays_of_a_key_become_tuples_in_a_data_frame() -> None:
    facts = made(schema.LATE_DROP, (0, 0, 0, 0, 0, 5, 0, 0, 0, 0))
    facts.static(schema.KEYS, [(0, 5, 0, "TUPLE", '["a",[1,{"b":[2]}]]')])
    assert facts.to_pandas("late_drop", keys=True)["key_value"].tolist() == [("a", (1, {"b": (2,)}))]


def test_data_frame_without_pandas_names_the_extra_and_arrow_needs_none(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"to_pandas .* needs the extra 'pandas': install it with"):
        recording.to_pandas("sent")
    assert recording.to_arrow("sent").num_rows == recording.row_count("sent")


@pytest.mark.parametrize("method", ["table", "to_arrow", "to_pandas"])
def test_unknown_table_is_refused_with_a_suggestion(recording: Recording, facts: MemoryRecorder, method: str) -> None:
    for source in (recording, facts):
        with pytest.raises(BadInput, match=r"no table 'sents' \(did you mean 'sent'\?\); docs/recording.md lists them"):
            getattr(source, method)("sents")


def number_columns() -> Iterator[tuple[str, str]]:
    """Name and meaning of each column of facts that may be a point in time."""
    for table in FACT_TABLES:
        for column in table.columns:
            if column.code == "q" and (re.search(r"\bms\b", column.meaning) or column.name.endswith(("_ns", "_ms"))):
                yield column.name, column.meaning


DURATIONS = {
    "gap", "latency_ms", "busy_ns", "idle_ns", "soft_backpressured_ns", "hard_backpressured_ns",
    "start_delay_ns", "alignment_ns", "sync_ms", "async_ms", "delay_ms",
}  # fmt: skip


def test_every_column_in_ms_or_ns_is_a_time_or_a_duration() -> None:
    assert {name for name, _ in number_columns()} - DURATIONS - POINTS_IN_TIME.keys() == set()
    used = Counter(column.name for table in FACT_TABLES for column in table.columns)
    assert [name for name in (*DURATIONS, *POINTS_IN_TIME, *VALUES_OF) if not used[name]] == []


def test_every_fingerprint_of_a_record_has_a_column_for_its_value() -> None:
    names = {c.name for t in FACT_TABLES for c in t.columns if c.name.endswith("fingerprint")}
    assert names == VALUES_OF.keys()


def test_summary_is_small_escaped_and_equal_for_equal_runs(recording: Recording, tmp_path: Path) -> None:
    html = recording._repr_html_()
    assert len(html) < 6000
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html)
    assert cells[:4] == ["status", "complete", "level", "full"]
    assert cells[cells.index("window_fire") + 1] == str(recording.row_count("window_fire")) == "3"
    assert "join_pairs" not in cells
    out = tmp_path / "<b>"
    run_scenario(VISITS, out=out)
    again = open_recording(out)._repr_html_()
    assert "&lt;b&gt;/recording</p>" in again
    assert "<b>/" not in again
    assert again.partition("</p>")[2] == html.partition("</p>")[2]
