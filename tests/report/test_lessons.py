"""The links of a lesson open the report at the moment that the lesson names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from flowsim.cli.main import app

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ANSWERS = {"strict": "3,6; 1,5", "late": "4,6", "forgiving": "3,6; 4,10; 1,5", "dropped": 1}


def test_link_of_a_lesson_opens_the_report_at_its_moment(browser: Browser, tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps(ANSWERS))
    options = ["--answers", str(answers), "--dir", str(tmp_path / "learn"), "--json"]
    done = CliRunner().invoke(app, ["learn", "06", *options])
    assert done.exit_code == 0, done.output
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(json.loads(done.stdout)["moments"][0]["link"])
    page.wait_for_selector("html[data-ready]")
    text = page.inner_text("body")
    assert 'strict drops late record ["a",4] (timestamp 5 ms)' in text
    assert "The watermark of the operator was 11 ms when the record arrived" in text, "the view of event time"
    page.close()
