"""The report of a recording as an object: the page of ``flowsim report``, in a frame for notebooks."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim import BadInput, RecordingReport, open_recording, report_recording, run_scenario
from flowsim.cli.main import app

SCENARIO = Path(__file__).parents[3] / "scenarios/12_three_lateness_settings.yaml"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inline") / "run"
    run_scenario(SCENARIO, out=folder, record="full")
    return folder


@pytest.fixture(scope="module")
def report(out: Path) -> RecordingReport:
    return report_recording(out, laws=False)


def test_page_equals_that_of_the_command(out: Path, report: RecordingReport, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(out), "--no-laws", "--html", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    report.write(tmp_path / "new" / "same.html")
    assert (tmp_path / "new" / "same.html").read_bytes() == (tmp_path / "page.html").read_bytes()


def test_notebook_shows_the_whole_page_in_a_frame(report: RecordingReport) -> None:
    shown = report._repr_html_()
    before, _, rest = shown.partition('srcdoc="')
    content, _, after = rest.partition('"')
    assert before.startswith('<iframe title="flowsim report" ')
    assert unescape(content) == report.html
    assert after == "></iframe>"
    assert 'onload=""' in before
    linked = report.at("#view=channel&channel=0")._repr_html_()
    assert "location.hash = &quot;view=channel&amp;channel=0&quot;" in linked.partition("srcdoc")[0]
    assert repr(report).startswith("<RecordingReport 465 facts, 0.")


def test_report_has_verdicts_and_omits_tables_above_its_budget(out: Path, report: RecordingReport) -> None:
    judged = report_recording(open_recording(out))
    assert '"law":"late-rows"' in judged.html
    assert '"law":"late-rows"' not in report.html
    assert report.omitted == ()
    assert "buffers" in report_recording(out, laws=False, budget_bytes=1).omitted


def test_unwritable_file_is_refused(report: RecordingReport, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        report.write(tmp_path / "file" / "page.html")
