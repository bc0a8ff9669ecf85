"""The marks of pictures answer to the pointer and to the keyboard: with their text, their facts, and the cursor after a click.

A job with windows, late rows and timers runs always, all scenarios with ``--all-reports``.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.report.conftest import SCENARIOS, OpenReport

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALL = sorted(path.name.partition("_")[0] for path in SCENARIOS.glob("*.yaml"))
SAMPLE = ["12"]
AREAS = ("cells", "narrow", "shares")
"""Kinds whose text depends on the pointer, and that say nothing where there is nothing."""

SHOW = """
view => new Promise(done => {
    flowsim.store.view.value = view
    requestAnimationFrame(() => requestAnimationFrame(done))
})
"""

SILENT = """
areas => [...document.querySelectorAll('.canvas')].flatMap(box => {
    const marks = flowsim.marksOf(box)
    const {count} = flowsim.model.facts
    return Array.from({length: marks.count}, (_, at) => marks.mark(at)).filter((mark, at) => {
        const hit = marks.hit(at)
        if (areas.includes(mark.kind.split(' ')[0]) && !hit) return false
        const answer = marks.at(mark.x + mark.width / 2, mark.y + mark.height / 2)
        const isFact = place => place === Infinity || (Number.isInteger(place) && 0 <= place && place < count)
        return !answer || !hit.tip.title || !(hit.tip.facts ?? []).every(isFact)
    })
})
"""
"""Marks that do not answer at their own middle, or name no facts of the report."""

ONE_OF_EACH = """
() => [...document.querySelectorAll('.canvas')].flatMap((box, picture) => {
    const marks = flowsim.marksOf(box)
    const found = new Map()
    for (let at = 0; at < marks.count; at++) {
        const mark = marks.mark(at)
        if (found.has(mark.kind)) continue
        const hit = marks.at(mark.x + mark.width / 2, mark.y + mark.height / 2)
        if (!hit || hit.mark.kind !== mark.kind || hit.mark.number !== mark.number) continue
        const {title, lines = [], facts = []} = hit.tip
        const places = facts.filter(place => place < Infinity)
        found.set(mark.kind, {picture, ...mark, title, lines, facts: places, isArea: !!hit.tip.at})
    }
    return [...found.values()]
})
"""

IS_INSIDE = """
box => {
    const {left, top, right, bottom} = box.getBoundingClientRect()
    return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight
}
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scenario" in metafunc.fixturenames:
        metafunc.parametrize("scenario", ALL if metafunc.config.option.all_reports else SAMPLE)


def test_every_mark_answers_to_the_pointer_and_a_click_goes_to_its_fact(open_report: OpenReport, scenario: str) -> None:
    page = open_report(scenario)
    views = page.evaluate("[...document.querySelectorAll('[role=tab]')].map(tab => tab.id.replace('tab-', ''))")

    for view in views:
        page.evaluate(SHOW, view)
        assert page.evaluate(SILENT, list(AREAS)) == [], view
        for mark in page.evaluate(ONE_OF_EACH):
            hover_and_click(page, mark)


def hover_and_click(page: Page, mark: dict[str, Any]) -> None:
    x, y = middle(page, mark)
    before = page.evaluate("flowsim.store.place.value")
    page.mouse.move(x, y)
    tooltip = page.locator(".tooltip")
    shown = tooltip.inner_text()
    assert shown.startswith("\n\n".join([mark["title"], *mark["lines"]])), mark
    assert tooltip.evaluate(IS_INSIDE), mark
    for place in mark["facts"][:4]:
        assert page.evaluate("place => flowsim.model.sentences.at(place).text", place) in shown
    assert page.evaluate("flowsim.store.place.value") == before

    page.mouse.click(x, y)

    if mark["facts"]:
        assert page.evaluate("flowsim.store.place.value") == mark["facts"][0], mark
    page.mouse.move(1, 1)
    assert not tooltip.is_visible()
    if not mark["isArea"]:
        assert page.locator(".mark-frame.selected:visible").count() == 1, mark


def middle(page: Page, mark: dict[str, Any]) -> tuple[float, float]:
    picture = page.locator(".canvas").nth(mark["picture"])
    picture.evaluate(
        "(box, y) => scrollBy(0, box.getBoundingClientRect().top + y - innerHeight / 2)", mark["y"] + mark["height"] / 2
    )
    box = picture.bounding_box()
    assert box is not None
    return box["x"] + mark["x"] + mark["width"] / 2, box["y"] + mark["y"] + mark["height"] / 2


def test_dragging_moves_the_cursor_without_text_over_marks(open_report: OpenReport) -> None:
    page = open_report("12", "#view=event-time")
    window = next(mark for mark in page.evaluate(ONE_OF_EACH) if mark["kind"] == "window")
    x, y = middle(page, window)

    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=6)

    assert not page.locator(".tooltip").is_visible()
    expected = page.evaluate(
        "x => { const [from, to] = flowsim.store.range.value; const width = document.querySelector('.view .canvas').clientWidth;"
        " return flowsim.model.facts.placeAt(from + (x - 172) * (to - from) / (width - 12 - 172)) }",
        x + 60 - page.locator(".view .canvas").evaluate("box => box.getBoundingClientRect().left"),
    )
    assert page.evaluate("flowsim.store.place.value") == expected
    page.mouse.up()
    assert page.evaluate("flowsim.store.place.value") == expected


def test_window_names_its_records(open_report: OpenReport) -> None:
    page = open_report("12", "#view=event-time")

    window = next(mark for mark in page.evaluate(ONE_OF_EACH) if mark["kind"] == "window")

    assert window["title"] == 'window [0, 10) of key "a"'
    assert window["lines"] == ['3 records: ["a",1], ["a",2], ["a",3]']


def test_arrows_go_through_the_marks_of_a_focused_picture(open_report: OpenReport) -> None:
    page = open_report("12", "#view=event-time")
    page.locator(".view .canvas").focus()

    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".tooltip .tip-title") == 'window [0, 10) of key "a"'
    page.keyboard.press("ArrowUp")
    assert page.inner_text(".tooltip .tip-title") == 'record ["a",1]: in time'
    page.keyboard.press("Enter")

    assert "processes record" in page.inner_text("#sentence")
    assert page.locator(".mark-frame.selected:visible").count() == 1
    page.keyboard.press("Escape")
    assert not page.locator(".tooltip").is_visible()


def test_tab_and_enter_lead_through_the_graph(open_report: OpenReport) -> None:
    page = open_report("12", "#view=graph&step=0")
    vertices, edges = page.locator(".vertex").count(), page.locator(".edge-label[role]").count()
    graph = ".graph [role=button]"
    assert page.locator(graph).count() == vertices + edges
    page.locator(".graph").focus()

    names = []
    for number in range(vertices + edges):
        page.keyboard.press("Tab")
        assert page.locator(graph).nth(number).evaluate("element => element === document.activeElement")
        names.append(page.inner_text(".tooltip .tip-title"))
    assert names[-1] == page.evaluate("flowsim.model.names.task([...flowsim.model.names.tasks.keys()].at(-1))").replace(
        " (1/1)", ""
    )
    page.keyboard.press("Enter")

    vertex = page.locator(".vertex").nth(vertices - 1)
    assert vertex.get_attribute("aria-expanded") == "true"
    assert "selected" in (vertex.get_attribute("class") or "")
    page.keyboard.press("Space")
    assert vertex.get_attribute("aria-expanded") == "false"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("flowsim.store.place.value") == 1
    for _ in range(vertices):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("flowsim.store.view.value") == "channel"


def test_button_opens_help_and_escape_returns_the_focus(open_report: OpenReport) -> None:
    page = open_report("12", "#view=graph")

    page.get_by_role("button", name="?").focus()
    page.keyboard.press("Enter")
    assert page.locator(".help button").evaluate("element => element === document.activeElement")
    assert "through its marks" in page.inner_text(".help")
    page.keyboard.press("Escape")

    assert page.locator(".help").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "?"
