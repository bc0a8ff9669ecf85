"""``flowsim validate`` and ``flowsim replay``: verdicts on recordings, and equal facts of a second run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.laws.law_ids import LAW_IDS
from flowsim.recording.directory_lock import DirectoryLock
from flowsim.recording.reader import Recording
from tests.support.facts.signed_manifest import signed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DROP = "faults: [{fault: drop_element, operator: sums, at: 5}]\n"
PYTHON = ("--engine", "python")

CSV = """\
flowsim: 1
name: from-file
sources:
  rows: {csv: {path: rows.csv, columns: {n: long}}}
sinks:
  kept: {input: rows, parquet: {}}
recompute:
  pyspark: again.py:compare
  input: rows
"""
AGAIN = """\
def compare(spark, input_path, out_dir):
    expected = spark.read.csv(input_path, header=True).count()
    found = spark.read.parquet(f"{out_dir}/sinks/kept").count()
    return {"rows_examined": expected + found, "violations": abs(expected - found), "evidence": []}
"""


@pytest.fixture
def from_file(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("n\n1\n2\n3\n")
    (tmp_path / "again.py").write_text(AGAIN)
    (tmp_path / "from_file.yaml").write_text(CSV)
    return Path("from_file.yaml")


def test_both_engines_give_same_verdicts(flowsim: Any, spark: SparkSession) -> None:
    flowsim("run", "tiny.yaml")
    in_process, on_spark, chosen = (
        flowsim("validate", "out/tiny", "--json", *options).document for options in (PYTHON, ("--engine", "spark"), ())
    )
    assert in_process["laws"] == on_spark["laws"] == chosen["laws"]
    assert in_process["engine"] == "in this process: --engine python"
    assert on_spark["engine"].startswith("on Spark: --engine spark")
    assert chosen["engine"].startswith("in this process: ")


def test_violated_law_exits_1_with_replay_command(flowsim: Any, write: Any) -> None:
    flowsim("run", write("f.yaml", append=DROP))
    called = flowsim("validate", "out/f", *PYTHON, "--json")
    assert (called.code, called.document["passed"]) == (1, False)
    line = next(line for line in called.document["laws"] if line["law"] == "channel-fifo")
    assert line["verdict"] == "violated"
    assert line["replay"] == "flowsim replay out/f"
    assert line["evidence"]


def test_law_option_selects_laws(flowsim: Any) -> None:
    flowsim("run", "tiny.yaml")
    document = flowsim("validate", "out/tiny", *PYTHON, "--law", "credits", "--law", "actions", "--json").document
    assert [line["law"] for line in document["laws"]] == ["actions", "credits"]
    refused = flowsim("validate", "out/tiny", *PYTHON, "--law", "credit")
    assert (refused.code, refused.err) == (2, "error: --law: there is no law 'credit' (did you mean 'credits'?)\n")


def test_several_recordings_are_validated_together(flowsim: Any) -> None:
    flowsim("run", "tiny.yaml", "--out", "a")
    flowsim("run", "tiny.yaml", "--out", "b", "--seed", 4)
    document = flowsim("validate", "a", "b", *PYTHON, "--law", "credits", "--json").document
    assert [line["recording"] for line in document["laws"]] == ["a", "b"]


def test_path_without_recording_exits_2(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in ("nowhere", "empty"):
        assert flowsim("validate", path, *PYTHON).code == 2
        assert flowsim("replay", path).code == 2


def test_recompute_adds_one_law_and_runs_only_when_allowed(flowsim: Any, from_file: Path, spark: SparkSession) -> None:
    flowsim("run", from_file)
    refused = flowsim("validate", "out/from_file", "--json", "--law", "recompute").document["laws"]
    assert [(line["law"], line["verdict"], line["reason"]) for line in refused] == [
        ("recompute:again", "not applicable", "not run: needs --allow-python")
    ]
    allowed = flowsim("validate", "out/from_file", "--json", "--law", "recompute", "--allow-python").document["laws"]
    assert [(line["law"], line["verdict"], line["rows_examined"]) for line in allowed] == [
        ("recompute:again", "holds", 6)
    ]


def test_recompute_is_not_applicable_without_spark(flowsim: Any, from_file: Path) -> None:
    flowsim("run", from_file)
    laws = flowsim("validate", "out/from_file", "--json", *PYTHON, "--allow-python").document["laws"]
    assert laws[-1]["reason"] == "not run: needs Spark (--engine spark)"


def test_run_validate_includes_recompute(flowsim: Any, from_file: Path, spark: SparkSession) -> None:
    called = flowsim("run", from_file, "--validate", "--allow-python", "--json")
    assert called.document["validation"]["laws"][-1]["verdict"] == "holds"


def test_replay_gives_same_digest_and_writes_run_to_out(flowsim: Any, tmp_path: Path) -> None:
    recorded = flowsim("run", "tiny.yaml", "--policy", "random", "--seed", 9, "--set", "operators.sums.parallelism=3")
    assert recorded.code == 0
    called = flowsim("replay", "out/tiny", "--out", "again", "--json")
    assert (called.code, called.document["same"]) == (0, True)
    assert (tmp_path / "again/sinks/kept").is_dir()


def test_replay_records_state_changes_exactly_when_run_did(flowsim: Any, tmp_path: Path) -> None:
    assert flowsim("run", "tiny.yaml", "--record", "full", "--record-state").code == 0
    assert len(list(Recording.open(tmp_path / "out/tiny").rows("state_changes"))) > 0
    assert flowsim("replay", "out/tiny", "--out", "again", "--json").document["same"] is True
    assert len(list(Recording.open(tmp_path / "again").rows("state_changes"))) > 0
    setting = ("--set", "settings.record_state=true", "--set", "settings.record=full")
    assert flowsim("run", "tiny.yaml", *setting, "--no-record-state").code == 0
    assert len(list(Recording.open(tmp_path / "out/tiny").rows("state_changes"))) == 0
    assert flowsim("replay", "out/tiny", "--json").document["same"] is True


def test_record_state_below_level_full_is_refused(flowsim: Any) -> None:
    called = flowsim("run", "tiny.yaml", "--record", "elements", "--record-state")
    assert called.code == 2
    assert "--record-state: state changes are recorded at level full only; add --record full" in called.err


def test_stopped_and_failed_runs_replay_equal(flowsim: Any, write: Any) -> None:
    flowsim("run", "tiny.yaml", "--until", "50 us", "--out", "stopped")
    assert flowsim("replay", "stopped").code == 0
    failing = write(
        "bad.yaml",
        ("operators:", 'operators:\n  broken: {input: numbers, map: {add: {m: "100 // (n - 150)"}}}'),
        ("input: numbers, key_by", "input: broken, key_by"),
    )
    assert flowsim("run", failing, "--out", "failed").code == 3
    assert flowsim("replay", "failed").code == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table_digests": {}}, "its digests of tables do not fit its digest of facts"),
        ({"facts_digest": "0" * 64}, "its digests of tables do not fit its digest of facts"),
        ({"status": "stopped"}, "its digest does not fit its content"),
        ({"digest": "0" * 64}, "its digest does not fit its content"),
        ({"last_marker": "0" * 64}, "are complete, or one of them was changed"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "validate", "why", "report", "trace", "metrics"])
def test_changed_manifest_is_refused(
    flowsim: Any, command: str, change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    flowsim("run", "tiny.yaml")
    path = tmp_path / "out/tiny/recording/manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    called = flowsim(command, "out/tiny")
    assert (called.code, message in called.err) == (2, True), called.err


@pytest.mark.parametrize(
    "name", ["notes.txt", "sent/part-00007.parquet", "epochs/00003.json", "more/part-00000.parquet"]
)
def test_replay_refuses_file_that_is_not_part_of_the_recording(flowsim: Any, name: str, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml")
    file = tmp_path / "out/tiny/recording" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"")
    called = flowsim("replay", "out/tiny")
    assert called.code == 2
    assert "which is not part of the recording: remove it" in called.err or "was changed" in called.err


def test_versions_and_wall_clock_do_not_matter_to_a_replay(flowsim: Any, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml")
    folder = tmp_path / "out/tiny/recording"
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"versions": {"flowsim": "0.0.1"}}))
    wall = json.loads((folder / "wall.json").read_text())
    (folder / "wall.json").write_text(json.dumps(wall | {"started_s": 0, "machine": "another"}))
    assert flowsim("replay", "out/tiny").code == 0


def test_replay_of_a_run_that_goes_on_says_so(flowsim: Any, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml")
    folder = tmp_path / "out/tiny/recording"
    manifest = json.loads((folder / "manifest.json").read_text())
    begun = {key: manifest[key] for key in ("format_version", "level", "run", "versions")}
    (folder / "manifest.json").write_text(json.dumps(begun | {"status": "running"}))
    called = flowsim("replay", "out/tiny")
    assert (called.code, "the run was killed" in called.err) == (2, True)
    lock = DirectoryLock(folder)
    try:
        for command in ("replay", "trace", "why"):
            called = flowsim(command, "out/tiny", *(["no-output"] if command == "why" else []))
            text = called.out + called.err
            assert "the run goes on (another run (process" in text
            assert "killed" not in text
    finally:
        lock.release()


def test_different_replay_exits_1_and_names_tables(flowsim: Any, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml")
    path = tmp_path / "out/tiny/recording/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["table_digests"]["sent"] = "0" * 64
    path.write_text(json.dumps(signed(manifest)))
    called = flowsim("replay", "out/tiny", "--json")
    assert (called.code, called.document["same"], called.document["different_tables"]) == (1, False, ["sent"])

    assert called.document["first_differences"] == []
    assert (
        "no row differs: the digests in the manifest were changed, the facts were not"
        in flowsim("replay", "out/tiny").out
    )


def test_different_replay_prints_first_different_row_in_words(flowsim: Any, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml")
    path = tmp_path / "out/tiny/recording/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["run"]["seed"] = 4
    path.write_text(json.dumps(signed(manifest)))
    called = flowsim("replay", "out/tiny", "--json")
    assert (called.code, called.document["same"]) == (1, False)
    found = {one["table"]: one for one in called.document["first_differences"]}
    assert set(found) == set(called.document["different_tables"])
    sent = found["sent"]
    assert sent["where"].startswith("Source: numbers (1/1) (task 0), at 2 us, seq ")
    assert sent["recorded"].startswith('writes record [1,"')
    assert sent["replayed"].startswith('writes record [1,"')
    assert sent["recorded"] != sent["replayed"]
    assert set(sent["columns"]) >= {"fingerprint", "key"}
    text = flowsim("replay", "out/tiny").out
    assert "- first different row of table" in text
    assert f"  recorded: {called.document['first_differences'][0]['recorded']}\n" in text


def test_replay_of_damaged_recording_is_refused(flowsim: Any, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml")
    part = tmp_path / "out/tiny/recording/sent/part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    called = flowsim("replay", "out/tiny")
    assert (called.code, "is not the file that was recorded" in called.err) == (2, True)


def test_replay_with_changed_input_file_is_refused(flowsim: Any, from_file: Path, tmp_path: Path) -> None:
    flowsim("run", from_file)
    (tmp_path / "rows.csv").write_text("n\n1\n2\n4\n")
    called = flowsim("replay", "out/from_file")
    assert called.code == 2
    assert "input rows.csv: the recorded run read a file with SHA-256" in called.err


def test_folder_option_finds_moved_scenario(flowsim: Any, from_file: Path, tmp_path: Path) -> None:
    flowsim("run", from_file)
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("rows.csv", "again.py", "from_file.yaml"):
        (tmp_path / name).rename(moved / name)
    assert flowsim("replay", "out/from_file").code == 2
    assert flowsim("replay", "out/from_file", "--folder", "moved").code == 0


def test_replay_refuses_to_overwrite_its_recording(flowsim: Any) -> None:
    flowsim("run", "tiny.yaml")
    called = flowsim("replay", "out/tiny", "--out", "out/tiny")
    assert called.code == 2
    assert flowsim("replay", "out/tiny").code == 0


def test_replay_of_real_clock_run_is_refused(flowsim: Any) -> None:
    flowsim("run", "tiny.yaml", "--clock", "real")
    called = flowsim("replay", "out/tiny")
    assert called.code == 2
    assert "cannot be replayed: it ran on the real clock" in called.err


def test_recording_of_python_job_is_validated_but_not_replayed(flowsim: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().flowsim_recording("job")
    assert list(env.from_collection([1, 2, 3]).execute_and_collect()) == [1, 2, 3]
    assert flowsim("validate", "job", *PYTHON, "--law", "conservation").code == 0
    called = flowsim("replay", "job")
    assert called.code == 2
    assert "it was recorded by a Python program, not from a scenario" in called.err


def test_validate_prints_the_verdict_in_one_line_and_all_laws_with_v(flowsim: Any) -> None:
    flowsim("run", "tiny.yaml")
    lines = flowsim("validate", "out/tiny", *PYTHON).out.strip().splitlines()
    assert re.fullmatch(r"\d+ laws hold, \d+ do not apply", lines[0])
    assert lines[1:] == [lines[1]]
    assert lines[1].startswith("checked in this process")
    verbose = flowsim("validate", "out/tiny", *PYTHON, "-v").out.strip()
    assert verbose.splitlines()[0] == lines[0]
    for law in LAW_IDS:
        assert re.search(rf"^{law} +(holds|not applicable) ", verbose, re.M), law
    assert "async-timers: not applicable: the job has no async operator" in " ".join(verbose.split())


def test_validate_shows_violated_laws_below_the_line(flowsim: Any, write: Any) -> None:
    flowsim("run", "tiny.yaml", "--out", "good")
    flowsim("run", write("f.yaml", append=DROP), "--out", "bad")
    out = flowsim("validate", "good", "bad", *PYTHON).out.strip()
    assert re.match(r"channel-fifo is violated, \d+ laws hold, \d+ do not apply \(2 recordings\)\n", out)
    assert re.findall(r"^(\S+) is violated in (\w+): ", out, re.M) == [("channel-fifo", "bad")]
    assert "reproduce: flowsim replay bad" in out


def test_recomputation_that_did_not_run_is_shown_without_v(flowsim: Any, from_file: Path) -> None:
    flowsim("run", from_file)
    out = flowsim("validate", "out/from_file", *PYTHON).out
    assert "recompute:again: not applicable: not run: needs --allow-python" in out
    assert "the job has no" not in out


def test_run_shows_vacuous_laws_with_their_sentence(flowsim: Any) -> None:
    rows = "{collection: {fields: {n: long, key: string}, rows: []}}"
    empty = ("--set", f"sources.numbers={rows}", "--set", "expect.rows.kept=0")
    called = flowsim("run", "tiny.yaml", "--validate", *PYTHON, *empty)
    assert called.code == 1
    assert re.search(r"^distribution and key-routing are vacuous, \d+ laws hold", called.out, re.M), called.out
    assert re.search(r"^key-routing is vacuous in .*: 0 rows examined\n  \S", called.out, re.M)
