"""Two recordings side by side: one cursor, from the first difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from flowsim.recording.reader import Recording
from flowsim.report.against import first_difference
from flowsim.report.page import Against
from flowsim.report.page import page as html_of
from flowsim.report.payload import build_payload

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_cursor_begins_at_first_difference_and_moves_both_recordings(
    browser: Browser, recordings: Callable[[str], Recording], tmp_path: Path
) -> None:
    one, other = recordings("11a"), recordings("11b")
    difference = first_difference(one, other)
    assert difference is not None
    file = tmp_path / "pair.html"
    file.write_text(html_of(build_payload(one, "a"), Against(build_payload(other, "b"), difference)))
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    places = "[flowsim.store.place.value, flowsim.other.place.value]"

    assert page.evaluate(places) == [difference, difference]
    assert page.inner_text("#sentence") in page.inner_text("main > .note")
    assert page.inner_text("#sentence-b") in page.inner_text("main > .note")
    page.keyboard.press("Shift+ArrowLeft")
    assert page.evaluate(places) == [difference - 100, difference - 100]
    assert page.inner_text("#sentence") == page.inner_text("#sentence-b")

    page.evaluate("flowsim.other.go(flowsim.other.model.facts.count - 1)")
    times = page.evaluate("[flowsim.store.time.value, flowsim.other.time.value]")
    assert times[0] == times[1]
    page.evaluate("flowsim.store.zoom(1 / 8)")
    assert page.evaluate("flowsim.store.range.value") == page.evaluate("flowsim.other.range.value")
    keys = page.evaluate(
        """() => {
            const {store, other} = flowsim
            return Array.from({length: store.model.names.keyCount}, (_, at) => {
                store.select({key: at + 1})
                return [store, other].map(one => one.model.names.key(one.selection.value.key))
            })
        }"""
    )
    assert keys
    assert all(key == same for key, same in keys)
    for tab in page.locator("[role=tab]").all():
        tab.click()
        assert page.locator(".side").count() == 2
    page.close()
    assert problems == []
