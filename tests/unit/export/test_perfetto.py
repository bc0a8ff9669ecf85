"""A Perfetto trace shows the facts: tracks, slices, flows and counters, computed here a second time from the tables."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flowsim import MissingExtra, Recording, open_recording, run_scenario
from flowsim.cli.main import app
from flowsim.export.perfetto import export_perfetto
from flowsim.facts.kinds import BufferSide, CreditKind, ElementKind, Level
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.writer import RecordingWriter
from flowsim.units import MAX_WATERMARK
from tests.support.jobs.unaligned_job import run_unaligned
from tests.support.perfetto_trace import ReadTrace, read_trace

SCENARIOS = Path(__file__).parents[3] / "scenarios"
START_NS = 1_000_000_000
NAMES = (
    "03_slow_sink_backpressure", "16_two_watermarks", "11b_silent_partition_idle", "12_three_lateness_settings",
    "25_async_capacity_one", "28_async_two_designs",
)  # fmt: skip
ACTIONS = ("life cycle", "default action", "mail", "lock holder")
WAITS = ("cost", "idle", "hard back pressure", "yield", "without lock")
ELEMENTS = ("record", "watermark", "status", "latency marker", "EndOfData", "EndOfPartition", "checkpoint barrier")
Rows = dict[int, list[dict[str, int]]]


class Run:
    """A recording, its trace, and its tables by task."""

    def __init__(self, name: str, out: Path) -> None:
        until_ns = 40_000_000 if name.startswith("03") else None
        run_scenario(SCENARIOS / f"{name}.yaml", out=out, record="full", until_ns=until_ns)
        self.recording = open_recording(out)
        self.trace = written(self.recording)
        self.tasks = {row["task"]: row for row in self.recording.table("tasks").to_pylist()}
        self.channels = self.recording.table("channels").to_pylist()

    def rows(self, *tables: str) -> Rows:
        """The rows of tables by task, in the order in which they were recorded."""
        found: Rows = defaultdict(list)
        for table in tables:
            for row in self.recording.table(table).to_pylist():
                found[row["task"]].append({**row, "table": table, "at": row["time_ns"] - START_NS})
        return {task: sorted(rows, key=lambda row: row["seq"]) for task, rows in found.items()}

    def track(self, task: int, *below: str) -> tuple[str, ...]:
        name = self.tasks[task]["name"]
        return name.rpartition(" (")[0], name, *below

    def target(self, channel: dict[str, int]) -> str:
        return f"to {self.short(channel['target_task'])} #{channel['channel']}"

    def short(self, task: int) -> str:
        """A task by the first operator of its chain."""
        chain, _, subtask = self.tasks[task]["name"].rpartition(" (")
        return f"{chain.split(' -> ')[0]} ({subtask}"


def written(recording: Recording) -> ReadTrace:
    file = io.BytesIO()
    export_perfetto(recording, file)
    return read_trace(file.getvalue())


@pytest.fixture(scope="module", params=NAMES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(request.param, tmp_path_factory.mktemp("perfetto"))


def test_every_subtask_has_a_track_below_its_task(run: Run) -> None:
    subtasks = {run.track(task): row for task, row in run.tasks.items()}
    assert {path: track for path, track in run.trace.tracks.items() if len(path) == 2}.keys() == subtasks.keys()
    for path, row in subtasks.items():
        assert run.trace.tracks[path].sibling_order_rank == row["subtask"]
        assert run.trace.tracks[path[:1]].sibling_order_rank == row["vertex"]


def test_slices_are_the_actions_and_waits_of_each_subtask(run: Run) -> None:
    expected: dict[Any, list[tuple[str, int, int, int]]] = {}
    for task, rows in run.rows("actions").items():
        stack: list[tuple[str, int]] = []
        found = expected[run.track(task)] = []
        for row in rows:
            if row["phase"] in (0, 2):
                stack.append((name_of(row, len(stack)), row["at"]))
            else:
                name, start = stack.pop()
                found.append((name, start, row["at"], len(stack)))
        while stack:
            name, start = stack.pop()
            found.append((name, start, rows[-1]["at"], len(stack)))
    assert run.trace.slices == expected
    assert run.trace.open_slices == 0


def name_of(row: dict[str, int], depth: int) -> str:
    if row["phase"] == 0:
        return ACTIONS[row["kind"]]
    if row["priority"] == -2:
        return "soft back pressure"
    return "wait for a mail" if row["kind"] == 1 and depth else WAITS[row["kind"]]


def test_flows_connect_sent_with_received_elements_and_put_with_run_mails(run: Run) -> None:
    begins, ends, mails = {}, {}, {}
    expected = set()
    for task, rows in run.rows("sent").items():
        for row in rows:
            what = f"send {ELEMENTS[row['kind']]}"
            begins[row["channel"], row["position"]] = (run.track(task, "elements"), row["at"], what)
    for task, rows in run.rows("received").items():
        for row in rows:
            what = f"receive {ELEMENTS[row['kind']]}"
            ends[row["channel"], row["position"]] = (run.track(task, "elements"), row["at"], what)
    for task, rows in run.rows("mails").items():
        for row in rows:
            place = (run.track(task, "mails"), row["at"], ("put", "run")[row["action"]])
            if row["action"] == 0:
                mails[task, row["mail"]] = place
            else:
                expected.add((mails.pop((task, row["mail"])), place))
    expected |= {(begins.pop(element), ends[element]) for element in ends}
    assert run.trace.flows == expected
    assert run.trace.open_flows == len(begins) + len(mails)


def test_instants_of_elements_have_channel_and_timestamp(run: Run) -> None:
    for task, rows in run.rows("sent", "received").items():
        expected = []
        for row in rows:
            timed = row["kind"] in (ElementKind.RECORD, ElementKind.WATERMARK) and row["timestamp"] != -(2**63)
            values = {"channel": row["channel"]} | ({"timestamp": row["timestamp"]} if timed else {})
            what = "send" if row["table"] == "sent" else "receive"
            expected.append((row["at"], f"{what} {ELEMENTS[row['kind']]}", values))
        assert run.trace.instants[run.track(task, "elements")] == expected


def test_instants_of_event_time_are_watermarks_fires_and_late_records(run: Run) -> None:
    for task, rows in run.rows("task_watermark", "window_fire", "late_drop").items():
        names = {
            "task_watermark": lambda row: ("active", "idle")[row["timestamp"]] if row["kind"] == 2 else "watermark",
            "window_fire": lambda row: "window fires",
            "late_drop": lambda row: "late record",
        }
        found = [(at, name) for at, name, _ in run.trace.instants[run.track(task, "event time")]]
        assert found == [(row["at"], names[row["table"]](row)) for row in rows]


def test_counters_of_channels_equal_a_count_of_their_facts(run: Run) -> None:
    rows = run.rows("buffers", "credits")
    for channel in run.channels:
        sender = [row for row in rows.get(channel["source_task"], ()) if row["channel"] == channel["channel"]]
        receiver = [row for row in rows.get(channel["target_task"], ()) if row["channel"] == channel["channel"]]
        credits, backlog, queue, received = [], [], [], []
        queued, in_use = 0, 0
        for row in sender:
            if row["table"] == "credits":
                if row["kind"] in (CreditKind.INITIAL_GOT, CreditKind.GOT):
                    credits.append((row["at"], row["balance"]))
                continue
            if row["side"] in (BufferSide.RECEIVED, BufferSide.RECYCLED):
                continue
            backlog.append((row["at"], row["backlog"]))
            change = {"QUEUED": 1, "SENT": -row["whole"], "SKIPPED": -row["whole"]}.get(BufferSide(row["side"]).name, 0)
            if change:
                queued += change
                queue.append((row["at"], queued))
            if row["side"] == BufferSide.SENT and row["credits"] >= 0:
                credits.append((row["at"], row["credits"]))
        for row in receiver:
            change = {"RECEIVED": 1, "RECYCLED": -1}.get(BufferSide(row["side"]).name, 0) if "side" in row else 0
            if change and row["table"] == "buffers" and row["kind"] == 0:
                in_use += change
                received.append((row["at"], in_use))
        to, counters = run.target(channel), run.trace.counters
        source, target = channel["source_task"], channel["target_task"]
        assert counters[run.track(source, f"credits {to}")] == credits
        assert counters[run.track(source, f"backlog {to}")] == backlog
        assert counters[run.track(source, f"queue {to}")] == queue
        assert min((value for _, value in queue), default=0) >= 0
        of_source = f"buffers from {run.short(source)} #{channel['channel']}"
        assert counters[run.track(target, of_source)] == received


def test_watermark_lag_is_highest_timestamp_minus_least_watermark_of_active_inputs(run: Run) -> None:
    for task, rows in run.rows("received", "task_watermark").items():
        highest, watermark, expected = None, None, []
        inputs = [[None, True] for _ in range(run.tasks[task]["inputs"])]
        for row in rows:
            before = highest, watermark
            if row["table"] == "task_watermark":
                if row["kind"] == ElementKind.STATUS:
                    inputs[row["input"]][1] = row["timestamp"] == 0
                else:
                    inputs[row["input"]] = [row["timestamp"], True]
                active = [time for time, is_active in inputs if is_active]
                known = [time for time, _ in inputs if time is not None]
                if None not in active and known:
                    merged = min(active) if active else max(known)
                    watermark = max(merged, merged if watermark is None else watermark)
            elif row["kind"] == ElementKind.RECORD and row["timestamp"] != -(2**63):
                highest = max(row["timestamp"], row["timestamp"] if highest is None else highest)
            if None not in (highest, watermark) and (highest, watermark) != before:
                expected.append((row["at"], 0 if watermark == MAX_WATERMARK else highest - watermark))
        assert run.trace.counters[run.track(task, "watermark lag")] == expected


def test_async_queue_is_a_counter(run: Run) -> None:
    operators = {(row["vertex"], row["operator"]): row["name"] for row in run.recording.table("operators").to_pylist()}
    expected = defaultdict(list)
    for task, rows in run.rows("async_elements").items():
        for row in rows:
            name = operators[run.tasks[task]["vertex"], row["operator"]]
            expected[run.track(task, f"async queue of {name}")].append((row["at"], row["queued"]))
    assert {path: found for path, found in run.trace.counters.items() if path[-1].startswith("async")} == expected


def test_recording_of_level_elements_has_elements_and_event_time_only(tmp_path: Path) -> None:
    run_scenario(SCENARIOS / "12_three_lateness_settings.yaml", out=tmp_path, record="elements")
    trace = written(open_recording(tmp_path))
    assert {path[2] for path in trace.tracks if len(path) > 2} == {"elements", "event time", "watermark lag"}
    assert trace.slices == {}
    assert trace.flows


def test_command_writes_equal_bytes_and_compresses_by_suffix(tmp_path: Path) -> None:
    run_scenario(SCENARIOS / "12_three_lateness_settings.yaml", out=tmp_path / "run", record="full")
    paths = [tmp_path / "new" / name for name in ("a.pftrace", "b.pftrace", "c.pftrace.gz", "d.pftrace.gz")]
    for path in paths:
        called = CliRunner().invoke(app, ["export", str(tmp_path / "run"), "--perfetto", str(path)])
        assert called.exit_code == 0, called.output
        assert called.stdout.startswith(f"wrote {path}: 330 facts, 0.0")
    first, second, third, fourth = [path.read_bytes() for path in paths]
    assert first == second == gzip.decompress(third)
    assert hashlib.sha256(third).digest() == hashlib.sha256(fourth).digest()
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in paths)


def test_export_without_format_or_with_unwritable_file_is_refused(tmp_path: Path) -> None:
    run_scenario(SCENARIOS / "12_three_lateness_settings.yaml", out=tmp_path / "run", record="full")
    called = CliRunner().invoke(app, ["export", str(tmp_path / "run")])
    assert (called.exit_code, "give --perfetto FILE" in called.stderr) == (2, True)
    (tmp_path / "file").write_text("")
    called = CliRunner().invoke(app, ["export", str(tmp_path / "run"), "--perfetto", str(tmp_path / "file" / "a")])
    assert (called.exit_code, "--perfetto: " in called.stderr) == (2, True)


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_scenario(SCENARIOS / "12_three_lateness_settings.yaml", out=tmp_path / "run", record="full")
    monkeypatch.setitem(__import__("sys").modules, "perfetto.protos.perfetto.trace", None)
    with pytest.raises(MissingExtra, match="needs the extra 'perfetto'"):
        export_perfetto(open_recording(tmp_path / "run"), io.BytesIO())


def test_trace_of_restored_job_has_restored_elements_and_barriers_that_overtake(tmp_path: Path) -> None:
    run = RunDescription()
    writer = RecordingWriter(tmp_path / "recording", Level.FULL, run)
    run_unaligned(writer)
    writer.finish(RunStatus.COMPLETE)
    file, recording = io.BytesIO(), open_recording(tmp_path)
    assert any(position < 0 for position in recording.table("received").column("position").to_pylist())
    assert export_perfetto(recording, file) > 0
    assert b"receive unaligned barrier" in file.getvalue()
