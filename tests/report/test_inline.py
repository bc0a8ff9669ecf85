"""The report in a frame of a notebook page works as it does in a file."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser

from flowsim import report_recording
from flowsim.recording.reader import Recording

pytestmark = pytest.mark.browser


def test_report_in_a_frame_draws_and_reports_no_error(browser: Browser, recordings: Callable[[str], Recording]) -> None:
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    report = report_recording(recordings("12"), laws=False).at("#view=channel&channel=1")
    page.set_content(f"<h1>Notebook</h1>{report._repr_html_()}")

    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(timeout=10_000)
    frame.locator(".picture").first.wait_for()
    frame.locator("h1").click()
    page.keyboard.press("ArrowRight")
    page.frames[1].wait_for_url(re.compile("#view=channel&channel=1&step=246$"), wait_until="commit", timeout=10_000)

    assert problems == []
    page.close()
