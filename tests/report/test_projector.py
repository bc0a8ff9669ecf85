"""Projector mode: every text has 16 px and a contrast of 7:1, by a key and by a link, and marks answer where they are.

Two scenarios always, all of them with ``--all-reports``.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.report.conftest import SCENARIOS, OpenReport
from tests.report.test_marks import ONE_OF_EACH, hover_and_click
from tests.support.drawing import RECORD_TEXTS, drawing_problems
from tests.support.readable import unreadable

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALL = sorted(path.name.partition("_")[0] for path in SCENARIOS.glob("*.yaml"))
SAMPLE = ["12", "40b"]
SIZES = [(1280, 720), (1920, 1080)]
LEAST_SIZE = 16
LEAST_CONTRAST = 7

SHOW = """
view => new Promise(done => {
    flowsim.store.view.value = view
    requestAnimationFrame(() => requestAnimationFrame(done))
})
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", ALL if metafunc.config.option.all_reports else SAMPLE)


def problems_of(page: Page) -> list[str]:
    """In all views, at the top and further down."""
    width = page.evaluate("innerWidth")
    problems: list[str] = []
    for view in page.evaluate("[...document.querySelectorAll('[role=tab]')].map(tab => tab.id.replace('tab-', ''))"):
        page.evaluate(SHOW, view)
        found = drawing_problems(page)
        for part in (0, 1):
            page.evaluate("part => scrollTo(0, part * document.documentElement.scrollHeight)", part)
            found += unreadable(page, LEAST_SIZE, LEAST_CONTRAST)
        problems += [f"{view} at {width} px: {problem}" for problem in found]
    return problems


def test_every_text_is_large_and_has_a_high_contrast(open_report: OpenReport, name: str) -> None:
    assert [
        problem
        for size in SIZES
        for problem in problems_of(open_report(name, "#screen=projector", size=size, script=RECORD_TEXTS))
    ] == []


def test_marks_answer_where_they_are_shown(open_report: OpenReport) -> None:
    page = open_report("12", "#view=event-time&screen=projector", size=(1920, 1080))
    marks = page.evaluate(ONE_OF_EACH)
    assert {"fire", "record", "state 3", "watermark", "window"} <= {mark["kind"] for mark in marks}
    for mark in marks:
        hover_and_click(page, mark)


def test_low_window_has_room_for_the_view(open_report: OpenReport) -> None:
    page = open_report("12", "#view=event-time&screen=projector", size=(1280, 720))
    picture = page.locator("#view .canvas").bounding_box()
    assert picture is not None
    assert picture["y"] < 720 * 2 / 3
    assert page.locator(".graph").count() == 0
    page.get_by_role("button", name="graph and subtasks").click()
    assert page.locator(".job .graph").count() == 1
    high = open_report("12", "#view=event-time&screen=projector", size=(1920, 1080))
    assert high.locator(".job .graph").count() == 1


def test_key_switches_the_mode_and_the_link_keeps_it(open_report: OpenReport) -> None:
    page = open_report("12", dark=True, script=RECORD_TEXTS)
    assert unreadable(page, LEAST_SIZE, LEAST_CONTRAST) != []
    assert "screen" not in page.evaluate("flowsim.store.link")

    page.keyboard.press("p")

    page.evaluate(SHOW, "start")
    assert unreadable(page, LEAST_SIZE, LEAST_CONTRAST) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.locator(".look-at a").nth(1).click()
    assert "&screen=projector" in page.evaluate("flowsim.store.link")
    page.keyboard.press("?")
    help_of_keys = page.get_by_role("dialog")
    assert "\np\nlarger, in strong colours, for a projector\n" in help_of_keys.inner_text()
    assert unreadable(page, LEAST_SIZE, LEAST_CONTRAST) == []
    box = help_of_keys.bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 900
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    assert "screen" not in page.evaluate("flowsim.store.link")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
