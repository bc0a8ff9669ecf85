"""Opening recordings: the epochs that count, refused recordings, and reports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copytree
from xml.etree import ElementTree

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.laws.judge import NOTHING_RECORDED, Judgement
from flowsim.laws.law import Outcome, Verdict
from flowsim.validation import report as reports
from flowsim.validation.in_process import InProcess, Progress
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.junit import to_junit
from flowsim.validation.recorded_run import Work
from flowsim.validation.verdict import EngineFailed, NotJudged
from tests.support.facts.fact_builder import FactBuilder


def steps(count: int) -> FactBuilder:
    """Actions of one task, one after the other."""
    f = FactBuilder(Level.FULL)
    f.add("tasks", task=0, name="source (1/1)", parallelism=1, max_parallelism=128)
    for action in range(count):
        for phase in (0, 1):
            f.add("actions", task=0, phase=phase, kind=1, action=action)
    return f


def judged(*paths: Path) -> list[Outcome]:
    return [line.outcome for line in validate(open_runs(paths), ["actions"]).lines]


def examined(*paths: Path) -> list[int]:
    return [outcome.rows_examined for outcome in judged(*paths)]


def test_runs_are_numbered_in_order_of_arguments(tmp_path: Path) -> None:
    paths = [steps(n).write(tmp_path / str(n)) for n in (3, 1, 2)]
    assert examined(*paths) == [6, 2, 4]


def test_folder_names_may_have_special_characters(tmp_path: Path) -> None:
    names = ["a b", "[1]", "{x,y}", "50%", "a+b", "ü", "*", "q?", "d=1", "plain"]
    paths = [steps(n + 1).write(tmp_path / name) for n, name in enumerate(names)]
    assert examined(*paths) == [2 * n + 2 for n in range(len(names))]
    assert validate(open_runs(paths), ["actions"]).recordings == tuple(str(path / "recording") for path in paths)


def test_only_complete_epochs_are_read(tmp_path: Path) -> None:
    path = steps(5).write(tmp_path, status="running", epochs=2, open_facts=4)
    assert examined(path) == [6]
    (path / "recording" / "epochs" / "00001.json").unlink()
    assert examined(path) == [2]
    (path / "recording" / "epochs" / "00000.json").unlink()
    (outcome,) = judged(path)
    assert (outcome.verdict, outcome.reason) == (Verdict.VACUOUS, NOTHING_RECORDED)


def test_recording_folder_may_be_given(tmp_path: Path) -> None:
    assert examined(steps(2).write(tmp_path) / "recording") == [4]


def test_moved_recording_gets_same_verdicts(tmp_path: Path) -> None:
    moved = copytree(steps(2).write(tmp_path / "here"), tmp_path / "there")
    assert judged(tmp_path / "here") == judged(moved)


def test_path_without_recording_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no recording given"):
        open_runs([])
    with pytest.raises(BadInput, match="missing: no such recording"):
        open_runs([tmp_path / "missing"])
    with pytest.raises(BadInput, match=r"not a recording: it has no manifest\.json"):
        open_runs([tmp_path])
    path = steps(1).write(tmp_path / "twice")
    with pytest.raises(BadInput, match=r"twice/recording: given twice"):
        open_runs([path, path / "recording"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 99}, "recorded in format 99, but this flowsim reads format"),
        ({"level": "most"}, "damaged manifest: level: expected one of off, elements, full, got 'most'"),
        ({"status": "fine"}, "damaged manifest: status: Invalid enum value 'fine'"),
        ({"epochs": 7}, "has 7 epochs, but 2 are complete, or one of them was changed"),
        ({"last_marker": "0" * 64}, "has 2 epochs, but 2 are complete, or one of them was changed"),
        ({"rows": {"actions": 3}}, "states 3 rows for table actions, but its parts have 2"),
    ],
)
def test_damaged_manifest_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    path = steps(1).write(tmp_path)
    manifest = path / "recording" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    with pytest.raises(BadInput, match=message):
        open_runs([path])


@pytest.mark.parametrize(
    ("table", "epochs", "message"),
    [
        ("actions", 1, r"actions/part-00000.parquet: seq does not ascend at row 1 of those that were read"),
        ("actions", 3, r"actions/part-00002.parquet: task 0 begins with seq 3, but an epoch before has seq 4"),
        ("mails", 3, r"mails/part-00002.parquet: task 0 begins with seq 3, but an epoch before has seq 4"),
    ],
)
def test_descending_seq_is_refused_as_damaged(table: str, epochs: int, message: str, tmp_path: Path) -> None:
    facts = FactBuilder(Level.FULL)
    facts.add("tasks", name="source (1/1)", parallelism=1, max_parallelism=128)
    facts.add("actions", seq=4)
    facts.add(table, seq=3)
    path = facts.write(tmp_path, epochs=epochs, by_seq=False)
    with pytest.raises(BadInput, match=message + ": the recording is damaged"):
        validate(open_runs([path]))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    root = steps(2).write(tmp_path) / "recording"
    part = root / "actions" / "part-00001.parquet"
    content = part.read_bytes()
    part.write_bytes(b"PAR1 no more")
    with pytest.raises(BadInput, match=r"part-00001\.parquet: is not the file that was recorded"):
        judged(tmp_path)
    part.unlink()
    with pytest.raises(BadInput, match=r"part-00001\.parquet: missing, but its epoch has 3 rows of it"):
        judged(tmp_path)
    part.write_bytes(content)
    assert examined(tmp_path) == [4]


def test_damaged_markers_are_refused(tmp_path: Path) -> None:
    marker = steps(2).write(tmp_path) / "recording" / "epochs" / "00001.json"
    content = marker.read_text()
    before = json.loads(content)["before"]
    changes = {
        r"00001\.json: expected the parts of an epoch": [("[]", content), ('"rows":4', '"rows":3')],
        r"00001\.json: is not the marker of epoch 1": [('"epoch":0', '"epoch":1'), (content + " ", content)],
        r"00001\.json: does not follow the marker before it": [("0" * 64, before)],
    }
    for message, replaced in changes.items():
        for new, old in replaced:
            assert old in content
            marker.write_text(content.replace(old, new))
            with pytest.raises(BadInput, match=message):
                open_runs([tmp_path])
    marker.write_text(content.replace('"rows":3,', '"rows":4,').replace("[[0,3]]", "[[0,4]]"))
    with pytest.raises(BadInput, match="or one of them was changed"):
        open_runs([tmp_path])


def test_report_lists_laws_in_order_and_serializes_to_json(tmp_path: Path) -> None:
    broken = steps(3)
    broken.remove("actions", broken.rows("actions")[3])
    paths = [steps(2).write(tmp_path / "good"), broken.write(tmp_path / "bad")]
    progress: list[tuple[int, int, str]] = []
    report = validate(open_runs(paths), ["actions", "credits"], progress=lambda *step: progress.append(step))
    assert progress == [(epochs, 4, "epochs") for epochs in (1, 2, 3, 4)]
    assert not report.passed
    assert [(line.run, line.outcome.law, line.outcome.verdict) for line in report.lines] == [
        (0, "actions", Verdict.HOLDS), (0, "credits", Verdict.NOT_APPLICABLE),
        (1, "actions", Verdict.VIOLATED), (1, "credits", Verdict.NOT_APPLICABLE),
    ]  # fmt: skip
    data = json.loads(reports.to_json(report))
    assert (data["passed"], data["engine"], data["recordings"]) == (
        False, "in this process", [str(path / "recording") for path in paths],
    )  # fmt: skip
    assert data["laws"][2]["violations"] == 2
    assert data["laws"][2]["evidence"][0]["what"] == "an action or wait never ends"
    assert reports.table(report)[0][1:5] == ("actions", "holds", "4", "0")
    assert data["verdict"] == report.line == "actions is violated, 1 law does not apply (2 recordings)"


def test_unknown_law_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no law 'gravity'"):
        validate(open_runs([steps(1).write(tmp_path)]), ["gravity"])


def test_damaged_recording_keeps_verdicts_of_others(tmp_path: Path) -> None:
    paths = [steps(2).write(tmp_path / name) for name in ("first", "second", "third")]
    part = next((paths[1] / "recording" / "actions").iterdir())
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(NotJudged, match="is not the file that was recorded") as refused:
        validate(open_runs(paths), ["actions"])
    report = refused.value.report
    assert [(line.run, line.outcome.verdict) for line in report.lines] == [(0, Verdict.HOLDS), (2, Verdict.HOLDS)]
    assert [run for run, _ in report.errors] == [1]
    assert not report.passed
    suites = ElementTree.fromstring(to_junit(report)).findall("testsuite")
    assert [suite.get("errors") for suite in suites] == ["0", "1", "0"]


class FailsAfterOne:
    """An engine that judges one recording, as this process does, and fails."""

    name = "on trial"

    def examine(self, works: Sequence[Work], progress: Progress) -> Iterator[Judgement | BadInput]:
        yield from InProcess().examine(works[:1], progress)
        raise EngineFailed("out of executors")


def test_failing_engine_keeps_earlier_verdicts(tmp_path: Path) -> None:
    paths = [steps(2).write(tmp_path / name) for name in ("first", "second", "third")]
    with pytest.raises(NotJudged, match=r"^out of executors \(2 recordings\)$") as refused:
        validate(open_runs(paths), ["actions"], FailsAfterOne())
    assert [line.run for line in refused.value.report.lines] == [0]
