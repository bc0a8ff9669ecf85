"""Opening recordings: which parts count, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.schema import TABLES
from flowsim.laws.law import Verdict
from flowsim.validation import report as reports
from flowsim.validation.judge import validate
from flowsim.validation.recordings import open_recording, open_recordings
from tests.support.facts.fact_builder import FactBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def steps(count: int) -> FactBuilder:
    """Actions of one task, one after the other."""
    f = FactBuilder(Level.FULL)
    for action in range(count):
        for phase in (0, 1):
            f.add("actions", task=0, phase=phase, kind=1, action=action)
    return f


def counts(spark: SparkSession, *paths: Path) -> dict[int, int]:
    rows = open_recordings(spark, paths)["actions"].groupBy("run").count().collect()
    return {row["run"]: row["count"] for row in rows}


def test_runs_are_numbered_in_the_order_of_the_arguments(spark: SparkSession, tmp_path: Path) -> None:
    paths = [steps(n).write(tmp_path / str(n)) for n in (3, 1, 2)]
    assert counts(spark, *paths) == {0: 6, 1: 2, 2: 4}


def test_many_runs_in_folders_with_odd_names_keep_their_numbers(spark: SparkSession, tmp_path: Path) -> None:
    names = ["a b", "[1]", "{x,y}", "50%", "a+b", "ü", "*", "q?", "d=1", "plain"]
    paths = [steps(n + 1).write(tmp_path / name) for n, name in enumerate(names)]
    assert counts(spark, *paths) == {n: 2 * n + 2 for n in range(len(names))}
    assert counts(spark, *paths[:8]) == {n: 2 * n + 2 for n in range(8)}


def test_only_complete_epochs_are_read(spark: SparkSession, tmp_path: Path) -> None:
    path = steps(5).write(tmp_path, status="running", epochs=2, open_facts=4)
    assert counts(spark, path) == {0: 6}
    (path / "recording" / "epochs" / "00000.json").unlink()
    assert counts(spark, path) == {}


def test_the_recording_folder_itself_may_be_given(spark: SparkSession, tmp_path: Path) -> None:
    assert counts(spark, steps(2).write(tmp_path) / "recording") == {0: 4}


def test_tables_that_were_not_recorded_are_empty_with_their_columns(spark: SparkSession, tmp_path: Path) -> None:
    facts = open_recordings(spark, [steps(1).write(tmp_path)])
    for name, table in TABLES.items():
        assert facts[name].columns == [*table.names, "run"]
    assert facts["keys"].count() == 0


def test_what_is_no_recording_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no recording given"):
        open_recordings(spark, [])
    with pytest.raises(BadInput, match="missing: no such recording"):
        open_recordings(spark, [tmp_path / "missing"])
    with pytest.raises(BadInput, match=r"not a recording: it has no manifest\.json"):
        open_recordings(spark, [tmp_path])
    path = steps(1).write(tmp_path / "twice")
    with pytest.raises(BadInput, match="given twice"):
        open_recordings(spark, [path, path / "recording"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 99}, "recorded in format 99, but this flowsim reads format"),
        ({"level": "most"}, "level: expected one of off, elements, full, got 'most'"),
        ({"status": "fine"}, "status: expected one of running, complete, .* got 'fine'"),
        ({"epochs": 7}, "has 2 complete epochs, but its manifest says 7: the recording is damaged"),
    ],
)
def test_a_damaged_manifest_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    path = steps(1).write(tmp_path)
    manifest = path / "recording" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    with pytest.raises(BadInput, match=message):
        open_recording(0, path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    root = steps(2).write(tmp_path) / "recording"
    part = root / "actions" / "part-00001.parquet"
    content = part.read_bytes()
    part.write_bytes(b"PAR1 no more")
    with pytest.raises(BadInput, match=r"part-00001\.parquet: cannot be read as Parquet"):
        open_recording(0, tmp_path)
    part.unlink()
    with pytest.raises(BadInput, match=r"part-00001\.parquet: missing, but epoch 1 says 2 rows"):
        open_recording(0, tmp_path)
    part.write_bytes(content)
    (root / "epochs" / "00001.json").write_text('{"rows": {"actions": 3}}')
    with pytest.raises(BadInput, match="has 2 rows, but epoch 1 says 3"):
        open_recording(0, tmp_path)
    (root / "epochs" / "00001.json").write_text("[]")
    with pytest.raises(BadInput, match=r"00001\.json: expected a JSON object"):
        open_recording(0, tmp_path)


def test_a_report_tells_laws_in_order_and_fits_into_json(spark: SparkSession, tmp_path: Path) -> None:
    broken = steps(3)
    broken.remove("actions", broken.rows("actions")[3])
    paths = [steps(2).write(tmp_path / "good"), broken.write(tmp_path / "bad")]
    told: list[tuple[str, int, int]] = []
    report = validate(spark, paths, ["actions", "credits"], lambda *step: told.append(step))
    assert told == [("credits", 0, 2), ("actions", 1, 2), ("", 2, 2)]
    assert not report.passed
    assert [(line.run, line.outcome.law, line.outcome.verdict) for line in report.lines] == [
        (0, "credits", Verdict.NOT_APPLICABLE), (0, "actions", Verdict.HOLDS),
        (1, "credits", Verdict.NOT_APPLICABLE), (1, "actions", Verdict.VIOLATED),
    ]  # fmt: skip
    data = json.loads(reports.to_json(report))
    assert data["laws"][3]["violations"] == 2
    assert data["laws"][3]["evidence"][0]["what"] == "never ends"
    assert reports.table(report)[1][1:5] == ("actions", "holds", "4", "0")
    ((recording, law, sentence, rows),) = reports.evidence(report)
    assert (recording, law, len(rows)) == (str(tmp_path / "bad" / "recording"), "actions", 2)
    assert sentence.startswith("The actions of a task never overlap")


def test_an_unknown_law_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unknown law 'gravity'; known are channel-fifo, "):
        validate(spark, [steps(1).write(tmp_path)], ["gravity"])
