"""The report of a recording that is larger than its budget: exact parts, and counts in between."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.report.page import page as html_of
from flowsim.report.payload import build_payload
from tests.support.jobs.unordered_records import unordered_records

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_report_in_parts_goes_to_parts_and_names_the_command_for_the_rest(browser: Browser, tmp_path: Path) -> None:
    recording = unordered_records(tmp_path)
    facts = list(merged_facts(recording, Selection()))
    whole = build_payload(recording, "out/run")
    payload = build_payload(recording, "out/run", budget_bytes=len(whole.head) + len(whole.body) - 16_000)
    assert payload.parts is not None
    (tmp_path / "report.html").write_text(html_of(payload))
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))

    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    assert "flowsim report out/run --from 0.000000ms --to " in page.inner_text(".overview code")
    page.click(".overview summary")
    page.get_by_role("button", name="fire 1 of its operator").click()
    assert page.evaluate("flowsim.model.facts.step[flowsim.store.place.value]") == payload.parts[1].first
    assert page.locator(".overview code").count() == 0

    inside, outside = payload.parts[1].first + 100, payload.parts[1].end + 100
    for step, expected in ((inside, inside), (outside, None)):
        place = page.evaluate(
            "([task, seq]) => flowsim.model.facts.placeOf(task, seq)", [facts[step].task, facts[step].row[0]]
        )
        assert (None if place is None else page.evaluate("place => flowsim.model.facts.step[place]", place)) == expected
    for tab in page.locator("[role=tab]").all():
        tab.click()
        page.wait_for_selector("#view > *")
    page.close()
    assert problems == []
