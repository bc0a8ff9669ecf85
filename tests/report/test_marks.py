"""The marks of pictures answer to the pointer and to the keyboard: with their text, their facts, and the cursor after a click.

Six scenarios always, all of them with ``--all-reports``; those of the flights read only the first ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from flowsim.recording.reader import Recording
from tests.report.conftest import SCENARIOS, OpenReport, pair_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALL = sorted(path.name.partition("_")[0] for path in SCENARIOS.glob("*.yaml"))
SAMPLE = ["03", "11a", "12", "13", "24", "40b"]
"""Channels without credits; watermarks of channels; late rows and timers; sessions; async calls; unaligned checkpoints."""

AREAS = ("cells", "counts", "crowd", "lateness", "narrow", "shares")
"""Kinds whose text depends on the pointer, and that say nothing where there is nothing."""

KINDS = {
    ("03", "channel"): {"entry", "buffer", "transfer", "shortage", "credits", "backlog"},
    ("03", "timeline"): {"state", "actions"},
    ("11a", "event-time"): {"window", "watermark from Source: partitions (1/2)", "record"},
    ("12", "event-time"): {"window", "fire", "watermark", "record"},
    ("12", "state"): {
        "part windows", "fire windows", "part contents of windows", "part event-time timers", "fire event-time timers",
    },
    ("12", "timeline"): {"timers"},
    ("24", "timeline"): {"async"},
    ("40b", "timeline"): {"attempt", "barrier", "checkpoints"},
    ("40b", "checkpoints"): {"checkpoint", "part", "element", "barrier", "attempt"},
}  # fmt: skip
"""Marks that views must have, without numbers of tasks and channels."""

TEXTS = [
    ("03", "channel", "buffer 1 in the queue of the sender", '1,024 bytes, 61 elements end in it: [62,"c",293], [63,"'),
    ("03", "channel", "no credit: up to 4 data buffers wait at the sender", ""),
    ("12", "state", 'window [0, 10) of key "a"', '3 records: ["a",1], ["a",2], ["a",3]'),
    ("12", "state", "event-time timer 9 ms, window [0, 10): fires", ""),
    (
        "13",
        "state",
        'window [0, 24) of key "ann"',
        '3 records: ["ann","home"], ["ann","search"], ["ann","item"], merged',
    ),
    ("13", "state", "contents of window [0, 10): [1,", ""),
    ("24", "timeline", "async element 3, watermark 3: waits to be emitted", "lasts 90 ms"),
    ("24", "timeline", 'async element 5, ["b",2,50]: waits to be emitted', "lasts 40 ms"),
    ("40b", "checkpoints", "checkpoint 1: completed after 1.634 ms, unaligned, 6 subtasks", ""),
    ("40b", "checkpoints", "slow (1/2), checkpoint 1: synchronous part", "lasts"),
    ("40b", "checkpoints", "in front of the barrier of checkpoint 1, stored by the receiver", ""),
    ("40b", "checkpoints", "barrier of checkpoint 1 in channel 0: Source: orders (1/1)", "read in the instant"),
]
"""By scenario and view: parts of the text of a mark."""

PICTURES_OF_VIEWS = {"graph": 1, "timeline": 1, "channel": 2, "event-time": 1, "state": 1, "checkpoints": 1}
"""Canvases below graph and lanes."""

ELEMENTS = "#view svg [aria-describedby=tooltip], #view button[aria-describedby=tooltip]"
MOST_ELEMENTS = 16

SHOW = """
view => new Promise(done => {
    const {store} = flowsim
    store.view.value = view
    store.selection.value = {task: null, channel: null, operator: null, key: null, checkpoint: null}
    store.setRange(store.whole)
    store.go(Math.floor(flowsim.model.facts.count / 2))
    requestAnimationFrame(() => requestAnimationFrame(done))
})
"""
"""A view of the whole run with the cursor in its middle, where nothing is selected."""

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

DESCRIBED = """
const described = ({mark, tip: {title, lines = [], facts = [], place = null, at}}, picture) => {
    const places = facts.filter(place => place < Infinity)
    return {picture, ...mark, title, lines, facts: places, to: places[0] ?? place, isArea: !!at}
}
"""

ONE_OF_EACH = f"""
() => {{
    {DESCRIBED}
    return [...document.querySelectorAll('.canvas')].flatMap((box, picture) => {{
        const marks = flowsim.marksOf(box)
        const found = new Map()
        for (let at = 0; at < marks.count; at++) {{
            const mark = marks.mark(at)
            if (found.has(mark.kind)) continue
            const hit = marks.at(mark.x + mark.width / 2, mark.y + mark.height / 2)
            if (!hit || hit.mark.kind !== mark.kind || hit.mark.number !== mark.number) continue
            found.set(mark.kind, described(hit, picture))
        }}
        return [...found.values()]
    }})
}}
"""

AT = f"""
([picture, x, y]) => {{
    {DESCRIBED}
    const box = document.querySelectorAll('.canvas')[picture]
    const {{left, top}} = box.getBoundingClientRect()
    const hit = flowsim.marksOf(box).at((x - left) / box.currentCSSZoom, (y - top) / box.currentCSSZoom)
    return hit && described(hit, picture)
}}
"""
"""What a picture has at a point of the window."""

ALL_TEXTS = """
() => [...document.querySelectorAll('#view .canvas')].flatMap(box => {
    const marks = flowsim.marksOf(box)
    const tips = Array.from({length: marks.count}, (_, at) => marks.hit(at)?.tip).filter(Boolean)
    return tips.map(({title, lines = []}) => [title, lines.join(', ')])
})
"""

SCROLL = """
(box, y) => {
    const lanes = box.parentElement
    lanes.scrollTop = y - lanes.clientHeight / 2
    scrollBy(0, box.getBoundingClientRect().top + y - innerHeight * 0.8)
}
"""
"""In lanes that scroll by themselves, and in the page, below graph and lanes that stay above."""

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
        is_missing = page.locator("#view > .missing").count() > 0
        assert page.locator("#view .canvas").count() == (0 if is_missing else PICTURES_OF_VIEWS.get(view, 0)), view
        kinds = [(mark["picture"], mark["kind"]) for mark in page.evaluate(ONE_OF_EACH)]
        assert len({picture for picture, _ in kinds}) == page.locator(".canvas").count(), view
        assert {re.sub(r" #?\d+( \d+)?$", "", kind) for _, kind in kinds} >= KINDS.get((scenario, view), set()), view
        for kind in kinds:
            page.evaluate(SHOW, view)
            hover_and_click(page, {(mark["picture"], mark["kind"]): mark for mark in page.evaluate(ONE_OF_EACH)}[kind])
        page.evaluate(SHOW, view)
        for number in range(min(MOST_ELEMENTS, page.locator(ELEMENTS).count())):
            page.evaluate(SHOW, view)
            hover_and_click_element(page, number)


def hover_and_click_element(page: Page, number: int) -> None:
    """A mark that is an element of the page: of a picture, of the graph, or a button."""
    element = page.locator(ELEMENTS).nth(number)
    element.evaluate(
        "element => { element.scrollIntoView(); scrollBy(0, element.getBoundingClientRect().top - innerHeight * 0.7) }"
    )
    box = element.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    tooltip = page.locator(".tooltip")
    assert tooltip.locator(".tip-title").inner_text(), number
    assert tooltip.evaluate(IS_INSIDE), number
    sentences = tooltip.locator(".faint").all_inner_texts()
    if element.evaluate("element => !!element.closest('.picture')") and sentences:
        page.mouse.click(x, y)
        assert sentences[0].endswith(page.inner_text("#sentence"))
    page.mouse.move(1, 1)


def hover_and_click(page: Page, mark: dict[str, Any]) -> None:
    x, y = middle(page, mark)
    if mark["isArea"]:
        # Its text is that of the pixel; beside a thing that is narrower than a pixel there is none.
        mark = page.evaluate(AT, [mark["picture"], x, y])
        if mark is None:
            return
    before = page.evaluate("flowsim.store.place.value")
    page.mouse.move(x, y)
    tooltip = page.locator(".tooltip")
    shown = in_one_line(tooltip.inner_text())
    assert shown.startswith(in_one_line(" ".join([mark["title"], *mark["lines"]]))), mark
    assert tooltip.evaluate(IS_INSIDE), mark
    for place in mark["facts"][:4]:
        assert in_one_line(page.evaluate("place => flowsim.model.sentences.at(place).text", place)) in shown
    assert page.evaluate("flowsim.store.place.value") == before

    page.mouse.click(x, y)

    if mark["to"] is not None:
        assert page.evaluate("flowsim.store.place.value") == mark["to"], mark
    page.mouse.move(1, 1)
    assert not tooltip.is_visible()
    if not mark["isArea"]:
        assert page.locator(".mark-frame.selected:visible").count() == 1, mark


def in_one_line(text: str) -> str:
    """As a browser shows it: several spaces are one."""
    return " ".join(text.split())


def middle(page: Page, mark: dict[str, Any]) -> tuple[float, float]:
    picture = page.locator(".canvas").nth(mark["picture"])
    zoom = picture.evaluate("box => box.currentCSSZoom")
    x, y = zoom * (mark["x"] + mark["width"] / 2), zoom * (mark["y"] + mark["height"] / 2)
    picture.evaluate(SCROLL, y)
    box = picture.bounding_box()
    assert box is not None
    return box["x"] + x, box["y"] + y


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


@pytest.mark.parametrize(("name", "view", "title", "line"), TEXTS)
def test_mark_names_what_it_shows(open_report: OpenReport, name: str, view: str, title: str, line: str) -> None:
    page = open_report(name)
    page.evaluate(SHOW, view)

    texts = page.evaluate(ALL_TEXTS)

    assert [text for text in texts if title in text[0] and line in text[1]], [
        text for text in texts if title in text[0]
    ]


def test_boxes_of_a_channel_lead_to_their_buffers(open_report: OpenReport) -> None:
    page = open_report("03", "#view=channel&t=7000000")
    full = page.get_by_role("button", name="full 4")

    full.hover()
    assert "buffer 4 in the queue of the sender" in page.inner_text(".tooltip .tip-title")
    full.focus()
    page.keyboard.press("Enter")

    assert page.inner_text("#sentence").startswith("queues buffer 4 for ")
    assert page.inner_text("section[aria-label='Elements of the buffer'] h2").startswith("Buffer 4: 1,024 bytes, ")


def test_marks_of_the_second_recording_have_its_facts(
    browser: Browser, recordings: Callable[[str], Recording], tmp_path: Path
) -> None:
    file = pair_of(recordings("40a"), recordings("40b"), tmp_path)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{file.as_uri()}#view=checkpoints")
    page.wait_for_selector("html[data-ready]")
    page.evaluate("flowsim.store.select({checkpoint: 1}); flowsim.other.select({checkpoint: 1})")
    pictures = page.locator(".canvas").count()
    mark = next(
        mark
        for mark in page.evaluate(ONE_OF_EACH)
        if mark["picture"] >= pictures // 2 and mark["kind"].startswith("barrier ")
    )

    page.mouse.move(*middle(page, mark))
    assert page.evaluate("place => flowsim.other.model.sentences.at(place).text", mark["to"]) in page.inner_text(
        ".tooltip"
    )
    page.mouse.click(*middle(page, mark))

    assert page.evaluate("flowsim.other.place.value") == mark["to"]
    page.close()


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
