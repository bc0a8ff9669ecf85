"""``flowsim run``: its files, its output, and its exit codes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from flowsim.faults.catalogue import FAULT_KINDS
from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording

SCENARIOS = Path(__file__).parents[3] / "scenarios"
PYTHON_ENGINE = ("--validate", "--engine", "python")
DROP = "faults: [{fault: drop_element, operator: sums, at: 5}]\n"
FAILING = (
    ("operators:", 'operators:\n  broken: {input: numbers, map: {add: {m: "100 // (n - 150)"}}}'),
    ("input: numbers, key_by", "input: broken, key_by"),
)


def test_run_writes_sink_results_and_complete_recording(flowsim: Any, tmp_path: Path) -> None:
    called = flowsim("run", "tiny.yaml", "--out", "o")
    assert called.code == 0
    assert "tiny: finished" in called.out
    assert Recording.open(tmp_path / "o").status is RunStatus.COMPLETE
    assert pq.read_table(tmp_path / "o/sinks/kept").num_rows == 200


def test_run_without_out_writes_below_out_named_after_scenario_file(flowsim: Any, tmp_path: Path) -> None:
    assert flowsim("run", "tiny.yaml").code == 0
    assert sorted(path.name for path in (tmp_path / "out/tiny").iterdir()) == ["recording", "run.json", "sinks"]


def test_option_overrides_set_and_set_overrides_scenario(flowsim: Any) -> None:
    def seed(*options: object) -> object:
        return flowsim("run", "tiny.yaml", "--json", *options).document["seed"]

    assert seed() == 3
    assert seed("--set", "settings.seed=4") == 4
    assert seed("--set", "settings.seed=4", "--seed", 5) == 5


def test_json_output_is_one_document_although_sink_prints(flowsim: Any, write: Any) -> None:
    called = flowsim("run", write("p.yaml", ("parquet: {}", "print: {}")), "--json")
    document = called.document
    assert (called.code, document["exit_code"], document["status"]) == (0, 0, "finished")
    assert document["sinks"] == [{"name": "kept", "kind": "print", "rows": 200}]
    assert "kept> (" in called.err


def test_json_document_has_tasks_expectations_and_digest(flowsim: Any) -> None:
    document = flowsim("run", "tiny.yaml", "--json").document
    assert [task["name"] for task in document["tasks"]] == [
        "Source: numbers (1/1)", "sums (1/2)", "sums (2/2)", "Sink: kept (1/1)",
    ]  # fmt: skip
    assert sum(task["records_in"] for task in document["tasks"][1:3]) == 200
    assert {e["what"]: e["met"] for e in document["expectations"]} == {"job": True, "rows of sink kept": True}
    assert len(document["digest"]) == 64


def test_json_document_has_collect_sink_records_by_field(flowsim: Any, write: Any) -> None:
    scenario = write("c.yaml", ("parquet: {}", "collect: {}"))
    records = flowsim("run", scenario, "--json", "--set", "settings.policy=fifo").document["sinks"][0]["records"]
    assert len(records) == 200
    assert set(records[0]) == {"n", "key"}


def test_run_reports_checkpoints_and_savepoints(flowsim: Any) -> None:
    actions = "actions=[{checkpoint: {at: 20 us}}, {savepoint: {at: 9 h}}]"
    options = ["--set", actions, "--set", "settings.checkpointing={interval: 10 h, min_pause: 10 h}"]
    reported = flowsim("run", "tiny.yaml", *options)
    lines = [line for line in reported.out.splitlines() if " requested at " in line or line.startswith("checkpoints")]
    assert lines == [
        "checkpoints 1 completed, 0 failed, 0 restored",
        "checkpoint requested at 20 us: completed as number 1",
        "savepoint requested at 9 h 0 min 0 s: the job ended before the snapshot was complete",
    ]
    document = flowsim("run", "tiny.yaml", "--json", *options).document
    assert document["checkpoints"] == {"completed": 1, "failed": 0, "restored": 0}
    assert [one["checkpoint"] for one in document["requested_snapshots"]] == [1, None]
    assert (document["failures"], document["restarts"]) == ([], 0)
    assert {attempt["number"] for attempt in document["attempts"]} == {0}


@pytest.mark.parametrize("scenario", ["37a_stop_with_savepoint_drain.yaml", "37b_stop_with_savepoint_no_drain.yaml"])
def test_stop_reports_its_savepoint(flowsim: Any, scenario: str) -> None:
    """The savepoint completes and the tasks end at the same time."""
    called = flowsim("run", str(SCENARIOS / scenario), "--json")
    [requested] = called.document["requested_snapshots"]
    assert (requested["checkpoint"], requested["error"]) == (3, None)


def test_progress_is_not_printed_without_terminal(flowsim: Any) -> None:
    assert flowsim("run", "tiny.yaml").err == ""


def test_run_with_validation_reports_each_law(flowsim: Any) -> None:
    called = flowsim("run", "tiny.yaml", *PYTHON_ENGINE, "--json")
    lines = called.document["validation"]["laws"]
    assert called.code == 0
    assert {line["law"]: line["verdict"] for line in lines}["channel-fifo"] == "holds"
    assert next(line for line in lines if line["law"] == "key-routing")["rows_examined"] == 200


def test_violated_law_exits_1_with_evidence_and_replay_command(flowsim: Any, write: Any) -> None:
    called = flowsim("run", write("f.yaml", ("rows: {kept: 200}", "rows: {kept: 199}"), append=DROP), *PYTHON_ENGINE)
    assert called.code == 1
    assert "channel-fifo is violated" in called.out
    assert "reproduce: flowsim replay out/f" in called.out
    link = r"view=channel&task=\d+&channel=\d+&fact=\d+\.\d+&t=\d+"
    assert re.search(rf"in the report: flowsim report out/f --open --at '{link}'", called.out)
    [see, *_] = re.findall(r"see: flowsim (trace .*)", called.out)
    shown = flowsim(*shlex.split(see))
    assert (shown.code, "writes record" in shown.out) == (0, True)
    assert "expected law channel-fifo: holds, found: violated" in called.out


def test_expected_violation_is_not_an_unexpected_one(flowsim: Any, write: Any) -> None:
    expected = ("rows: {kept: 200}", "rows: {kept: 199}\n  laws: {channel-fifo: violated, conservation: violated}")
    called = flowsim("run", write("f.yaml", expected, append=DROP), *PYTHON_ENGINE, "--json")
    verdicts = {line["law"]: line["verdict"] for line in called.document["validation"]["laws"]}
    assert verdicts["channel-fifo"] == "violated"
    assert called.document["validation"]["unexpected"] == (
        [] if verdicts["conservation"] == "violated" else ["expected law conservation: violated, found: holds"]
    )


def test_missing_expected_violation_exits_1(flowsim: Any, write: Any) -> None:
    scenario = write("e.yaml", append="  laws: {channel-fifo: violated}\n")
    called = flowsim("run", scenario, *PYTHON_ENGINE)
    assert called.code == 1
    assert "expected law channel-fifo: violated, found: holds" in called.out


def test_expectation_beyond_recording_level_is_reported_as_not_checked(flowsim: Any) -> None:
    called = flowsim("run", SCENARIOS / "04_partial_buffers.yaml", "--record", "elements")
    assert called.code == 0
    assert "not checked: messages with data from patient (buffers): 1: needs recording level full" in called.out


def test_unexpected_row_count_exits_1(flowsim: Any, write: Any) -> None:
    called = flowsim("run", write("r.yaml", ("kept: 200}", "kept: 7}")))
    assert called.code == 1
    assert "expected rows of sink kept: 7, found: 200" in called.out


def test_failed_job_exits_3_and_recording_names_the_cause(flowsim: Any, write: Any, tmp_path: Path) -> None:
    called = flowsim("run", write("bad.yaml", *FAILING), "--out", "o")
    assert called.code == 3
    assert "operator broken, record (150, " in called.out
    recording = Recording.open(tmp_path / "o")
    assert recording.status is RunStatus.FAILED
    assert recording.manifest.failure is not None
    assert recording.manifest.failure.operator == "broken"
    assert recording.manifest.failure.cause.startswith("ZeroDivisionError")
    assert not list((tmp_path / "o/sinks").rglob("part-*"))


def test_expected_failure_exits_0(flowsim: Any, write: Any) -> None:
    scenario = write("bad.yaml", *FAILING, ("rows: {kept: 200}", "job: failed"))
    assert flowsim("run", scenario).code == 0


def test_until_stops_job_and_leaves_expectations_unchecked(flowsim: Any) -> None:
    called = flowsim("run", "tiny.yaml", "--until", "50 us", "--json")
    assert called.code == 0
    assert called.document["status"] == "stopped"
    assert [e["met"] for e in called.document["expectations"]] == [None, None]


def test_stopped_run_keeps_all_rows_that_sinks_received(flowsim: Any, tmp_path: Path) -> None:
    called = flowsim(
        "run",
        SCENARIOS / "01_nyc_flights.yaml",
        "--until",
        "50 ms",
        "--out",
        tmp_path / "o",
        "--record",
        "off",
        "--json",
    )
    assert (called.code, called.document["status"]) == (0, "stopped")
    rows = pq.read_table(tmp_path / "o" / "sinks" / "windows").num_rows
    sink = next(task for task in called.document["tasks"] if task["name"].startswith("Sink: windows"))
    assert rows == sink["records_in"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.yaml",), "missing.yaml: there is no such file (did you mean"),
        (("tiny.yaml", "--until", "10"), "--until: expected a duration such as '100 ms'"),
        (("tiny.yaml", "--until", "0 s"), "--until: expected more than 0"),
        (("tiny.yaml", "--set", "operators.sums.parallelsm=2"), "did you mean 'parallelism'?"),
        (("tiny.yaml", "--validate", "--record", "off"), "--validate needs a recording"),
        (("tiny.yaml", "--clock", "real", "--policy", "random"), "--policy: applies to the virtual clock only"),
        (("tiny.yaml", "--validate", "--engine", "python", "--master", "local"), "--engine python uses no Spark"),
    ],
)
def test_bad_input_exits_2_with_message(flowsim: Any, arguments: tuple[str, ...], message: str) -> None:
    called = flowsim("run", *arguments)
    assert called.code == 2
    assert message in called.err
    assert "Traceback" not in called.err
    assert called.out == ""


def test_scenario_error_has_position_in_text_and_json(flowsim: Any, write: Any) -> None:
    scenario = write("e.yaml", append="faults: [{fault: drop_elemnt}]\n")
    called = flowsim("run", scenario, "--json")
    assert called.code == 2
    assert called.err == (
        "error: e.yaml:17:18 faults[0].fault: there is no fault 'drop_elemnt' (did you mean 'drop_element'?); there are: "
        f"{', '.join(FAULT_KINDS)}\n"
    )
    assert (called.document["exit_code"], called.document["error"]["line"]) == (2, 17)


def test_unknown_option_exits_2(flowsim: Any) -> None:
    assert flowsim("run", "tiny.yaml", "--bogus").code == 2


def test_python_code_runs_only_with_allow_python(flowsim: Any, write: Any, tmp_path: Path) -> None:
    (tmp_path / "doubling_of_cli_tests.py").write_text("def double(value):\n    return (value[0] * 2, value[1])\n")
    twice = "map: {python: 'doubling_of_cli_tests:double', fields: {n: long, key: string}}"
    scenario = write(
        "py.yaml",
        ("operators:", f"operators:\n  twice: {{input: numbers, {twice}}}"),
        ("input: numbers, key_by", "input: twice, key_by"),
    )
    refused = flowsim("run", scenario)
    assert refused.code == 2
    assert "runs only with --allow-python" in refused.err
    assert flowsim("run", scenario, "--allow-python").code == 0
    assert flowsim("replay", "out/py").code == 2
    assert flowsim("replay", "out/py", "--allow-python").code == 0


def test_run_replaces_earlier_run_and_refuses_foreign_file(flowsim: Any, write: Any, tmp_path: Path) -> None:
    assert flowsim("run", "tiny.yaml", "--out", "o").code == 0
    other = write("other.yaml", ("kept: {input", "rest: {input"), ("kept: 200", "rest: 200"))
    assert flowsim("run", other, "--out", "o").code == 0
    assert [path.name for path in (tmp_path / "o/sinks").iterdir()] == ["rest"]
    (tmp_path / "o/notes.txt").write_text("mine")
    before = sorted(path for path in (tmp_path / "o").rglob("*"))
    called = flowsim("run", "tiny.yaml", "--out", "o")
    assert called.code == 2
    assert "holds notes.txt, which no run of flowsim wrote" in called.err
    assert sorted(path for path in (tmp_path / "o").rglob("*")) == before


def test_run_on_real_clock_is_recorded_and_validated(flowsim: Any) -> None:
    called = flowsim("run", "tiny.yaml", "--clock", "real", *PYTHON_ENGINE, "--json")
    assert called.code == 0
    assert called.document["clock"] == "real"


def test_recorded_run_ends_with_commands_that_explain_it(flowsim: Any, write: Any) -> None:
    ran = flowsim("run", "tiny.yaml", "--out", "a run")
    failed = flowsim("run", write("bad.yaml", *FAILING), "--out", "o")

    unrecorded = flowsim("run", "tiny.yaml", "--record", "off")

    assert ran.out.endswith("next      flowsim why 'a run'\n          flowsim report 'a run' --open\n")
    assert "next      flowsim why o failed\n" in failed.out
    assert "next " not in unrecorded.out
    for line in ran.out.splitlines()[-2:]:
        _, command, *arguments = shlex.split(line.removeprefix("next"))
        assert flowsim(command, *[each for each in arguments if each != "--open"]).code == 0


def test_record_off_gives_no_recording_and_no_digest(flowsim: Any, tmp_path: Path) -> None:
    document = flowsim("run", "tiny.yaml", "--record", "off", "--out", "o", "--json").document
    assert (document["digest"], document["recording"]) == (None, None)
    assert not (tmp_path / "o/recording").exists()


def test_back_pressure_expectation_is_unchecked_on_real_clock(flowsim: Any, tmp_path: Path) -> None:
    text = (tmp_path / "tiny.yaml").read_text() + "  back_pressured_at_least: {numbers: 1.0}\n"
    (tmp_path / "pressed.yaml").write_text(text)
    called = flowsim("run", "pressed.yaml", "--clock", "real", "--json")
    assert called.code == 0
    judged = next(e for e in called.document["expectations"] if e["what"] == "back-pressured share of numbers")
    assert (judged["met"], judged["reason"]) == (None, "costs take no time on the real clock")
    assert flowsim("run", "pressed.yaml").code == 1


@pytest.mark.parametrize("name", ["02_wordcount_inline", "03_slow_sink_backpressure"])
def test_shipped_scenario_meets_its_expectations(name: str, flowsim: Any) -> None:
    """Those over the flights are run in tests/spark."""
    called = flowsim("run", SCENARIOS / f"{name}.yaml", *PYTHON_ENGINE, "--json")
    assert called.code == 0
    assert called.document["expectations"]
    assert all(expectation["met"] for expectation in called.document["expectations"])
    verdicts = {line["law"]: line["verdict"] for line in called.document["validation"]["laws"]}
    assert set(verdicts.values()) == {"holds", "not applicable"}
    assert verdicts["credits"] == verdicts["actions"] == "holds"


def test_slow_sink_makes_source_run_out_of_credit(flowsim: Any) -> None:
    called = flowsim("run", SCENARIOS / "03_slow_sink_backpressure.yaml", "--until", "100 ms", "--json")
    source, sink = called.document["tasks"]
    assert source["times_out_of_credit"] > 5
    assert source["soft_backpressured"] > 0.8
    assert sink["busy"] > 0.9


def test_run_prints_async_queues_and_wait_reasons(flowsim: Any) -> None:
    scenario = SCENARIOS / "25_async_capacity_one.yaml"
    text = flowsim("run", scenario).out
    assert "async     words_asked in words -> words_asked -> Sink: words_out (1/1): at most 1 of 1 element" in text
    assert "waits     Source: lines (1/1): data from its source 100.0%" in text
    document = flowsim("run", scenario, "--json").document
    assert [(queue["operator"], queue["peak"]) for queue in document["async_queues"]] == [
        ("words_asked", 1),
        ("alarms_asked", 1),
    ]
    assert document["tasks"][0]["waits"] == [{"reason": "data from its source", "share": 1.0}]


def test_run_without_recording_reports_waits_as_unknown(flowsim: Any) -> None:
    assert "waits     unknown: the run was not recorded" in flowsim("run", "tiny.yaml", "--record", "off").out
    assert flowsim("run", "tiny.yaml", "--record", "off", "--json").document["tasks"][0]["waits"] is None


def test_expectations_are_counted_only_where_declared(flowsim: Any, tmp_path: Path) -> None:
    assert "expected  1 met" in flowsim("run", "tiny.yaml").out
    text = (tmp_path / "tiny.yaml").read_text()
    (tmp_path / "none.yaml").write_text(text.partition("expect:")[0])
    assert "expected" not in flowsim("run", "none.yaml").out
    (tmp_path / "job.yaml").write_text(text.partition("expect:")[0] + "expect: {job: finished}\n")
    assert "expected  1 met" in flowsim("run", "job.yaml").out


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_run_and_metrics_output_fits_terminal_width(width: int, flowsim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = flowsim("run", "tiny.yaml", "--out", "run").out + flowsim("metrics", "run").out
    assert "…" not in text
    tables = [line for line in text.splitlines() if not line.startswith(("sink", "digest", "recording"))]
    assert max(map(len, tables)) <= width
    document = flowsim("run", "tiny.yaml", "--json").document
    for task in document["tasks"]:
        assert task["name"] in text
        assert f"{task['records_in']:,}" in text.split()


def test_output_width_of_pipe_is_fixed_without_columns_variable(flowsim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = flowsim("run", "tiny.yaml").out
    monkeypatch.setenv("COLUMNS", "120")
    assert flowsim("run", "tiny.yaml").out == piped
