"""Links that commands print open at their fact; pictures show the view that was asked for."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.recording.reader import Recording
from flowsim.trace.links import VIEWS
from tests.report.conftest import OpenReport

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Recordings = Callable[[str], Recording]


def test_links_name_the_views_of_the_page(open_report: OpenReport) -> None:
    page = open_report("12")

    assert [tab.get_attribute("id") for tab in page.locator("[role=tab]").all()] == [f"tab-{view}" for view in VIEWS]


def test_link_of_a_traced_fact_opens_at_this_fact(open_report: OpenReport, recordings: Recordings) -> None:
    path = str(recordings("12").directory)
    traced = CliRunner().invoke(app, ["trace", path, "--kinds", "late_drop", "--links"]).output
    link = re.findall(r"\] +(view=\S+)$", traced, re.MULTILINE)[1]

    page = open_report("12", f"#{link}")

    assert "late record" in page.inner_text("#sentence")
    assert page.inner_text("#sentence") in traced
    assert page.evaluate("flowsim.store.view.value") == "steps"


def test_picture_has_its_size(recordings: Recordings, tmp_path: Path) -> None:
    file = tmp_path / "timeline.png"
    options = ["--no-laws", "--html", str(tmp_path / "r.html"), "--png", str(file), "--view", "timeline"]
    done = CliRunner().invoke(app, ["report", str(recordings("12").directory), *options])
    picture = file.read_bytes()

    assert done.output.endswith(f"picture {file}\n")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (1280, 900)
