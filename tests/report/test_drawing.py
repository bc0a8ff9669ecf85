"""Drawings of reports, measured: nothing is cut off or outside its box, and no text lies over another one.

Six scenarios always, all of them with ``--all-reports``; those of the flights read only the first ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.recording.reader import Recording
from tests.report.conftest import SCENARIOS, OpenReport, pair_of
from tests.support.drawing import RECORD_TEXTS, drawing_problems

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALL = sorted(path.name.partition("_")[0] for path in SCENARIOS.glob("*.yaml"))
SAMPLE = ["01", "03", "11a", "13", "24", "40b"]
"""Many records and late rows; small intervals; labels close together; a window at the end; long names; a long job."""

SIZES = [(1280, 800), (1920, 1080)]

SHOW = """
([view, part]) => new Promise(done => {
    flowsim.store.view.value = view
    flowsim.store.cutsGaps.value = part > 0
    flowsim.store.go(Math.floor(flowsim.model.facts.count * part))
    requestAnimationFrame(() => requestAnimationFrame(done))
})
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", ALL if metafunc.config.option.all_reports else SAMPLE)


def problems_of(page: Page) -> list[str]:
    """In all views, at the begin of the run, and in its middle with cut gaps."""
    problems: list[str] = []
    width = page.evaluate("innerWidth")
    views = page.evaluate("[...document.querySelectorAll('[role=tab]')].map(tab => tab.id.replace('tab-', ''))")
    for part in (0, 0.5):
        for view in views:
            page.evaluate(SHOW, [view, part])
            problems += [f"{view} at {width} px: {problem}" for problem in drawing_problems(page)]
    return problems


def test_no_text_is_cut_or_covered_and_nothing_leaves_its_box(open_report: OpenReport, name: str) -> None:
    assert [
        problem for size in SIZES for problem in problems_of(open_report(name, size=size, script=RECORD_TEXTS))
    ] == []


def test_two_recordings_show_all_tasks_and_channels_side_by_side(
    browser: Browser, recordings: Callable[[str], Recording], tmp_path: Path
) -> None:
    file = pair_of(recordings("40a"), recordings("40b"), tmp_path)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.add_init_script(RECORD_TEXTS)
    page.goto(f"{file.as_uri()}#view=graph")
    page.wait_for_selector("html[data-ready]")

    for side in page.locator(".side").all():
        graph = side.locator(".graph").bounding_box()
        assert graph is not None
        boxes = [vertex.bounding_box() for vertex in side.locator(".vertex").all()]
        assert len(boxes) == 4
        assert all(
            box and box["x"] >= graph["x"] and box["x"] + box["width"] <= graph["x"] + graph["width"] for box in boxes
        )
    assert problems_of(page) == []
    page.close()


CHANGES = """
label => {
    const canvas = document.querySelector('.timeline canvas')
    const {y, right} = (({top, bottom}) => ({y: Math.round((top + bottom) / 2), right: canvas.width - 12}))(
        textsOf(canvas).filter(({text}) => text.trim() === label).at(-1))
    const {data} = canvas.getContext('2d').getImageData(172, y, right - 172, 1)
    const at = pixel => [0, 1, 2].map(part => data[pixel * 4 + part] >> 4).join()
    return Array.from({length: right - 173}, (_, pixel) => at(pixel) !== at(pixel + 1)).filter(Boolean).length
}
"""
"""How often the colour changes along the last row with a label; small differences do not count."""


def test_bars_that_are_too_narrow_to_tell_apart_are_one_area(open_report: OpenReport) -> None:
    page = open_report("03", "#view=timeline", script=RECORD_TEXTS)

    assert page.evaluate("flowsim.model.timeline.track(1, 'actions').count") > 200
    assert page.evaluate(CHANGES, "actions, waits") < 20


WIDTH_OF_CALLS = """
() => new Promise(done => {
    const at = place => {
        flowsim.store.go(place)
        return new DOMMatrix(getComputedStyle(document.querySelector('.timeline .cursor')).transform).e
    }
    const {facts} = flowsim.model
    const [begin, end] = [facts.placeAt(100e6), facts.placeAt(191e6)].map(at)
    requestAnimationFrame(() => done((end - begin) / (document.querySelector('.timeline canvas').clientWidth - 184)))
})
"""
"""Which part of the axis has the 90 ms in which something happens."""


def test_cut_gaps_leave_the_axis_to_what_happens_and_are_in_the_link(open_report: OpenReport) -> None:
    page = open_report("24", "#view=timeline", script=RECORD_TEXTS)
    assert page.evaluate(WIDTH_OF_CALLS) < 0.2

    page.keyboard.press("g")

    assert page.evaluate(WIDTH_OF_CALLS) > 0.7
    texts = page.evaluate("textsOf(document.querySelector('.timeline canvas')).map(({text}) => text)")
    assert [text for text in texts if text.startswith("cut ")] == ["cut 92 ms", "cut 800 ms"]
    link = page.evaluate("flowsim.store.link")
    assert "&gaps=cut" in link
    again = open_report("24", link, script=RECORD_TEXTS)
    assert again.evaluate(WIDTH_OF_CALLS) > 0.7
    again.get_by_role("button", name="cut gaps").click()
    assert again.evaluate(WIDTH_OF_CALLS) < 0.2


SLIDING = """\
flowsim: 1
name: many-windows
sources:
  readings:
    script:
      fields: {key: string}
      subtasks:
        - - {record: [a], timestamp: 3600000}
          - {watermark: 3600000}
          - {record: [a], timestamp: 60000000}
          - {watermark: 60000000}
          - {record: [a], timestamp: 120000000}
operators:
  counts:
    input: readings
    key_by: key
    window: {sliding: {size: 24 h, slide: 15 min}}
    aggregate: {n: count()}
sinks:
  out: {input: counts, collect: {}}
"""

DARK_PART = """
() => {
    const canvas = document.querySelector('.beside canvas')
    const {data} = canvas.getContext('2d').getImageData(172, 0, canvas.width - 184, canvas.height - 20)
    let dark = 0
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 128 && data[at] + data[at + 1] + data[at + 2] < 330) dark++
    return dark / (data.length / 4)
}
"""


def test_windows_that_hide_each_other_are_counted(open_report: OpenReport, tmp_path: Path) -> None:
    (tmp_path / "sliding.yaml").write_text(SLIDING)
    options = ["--record", "full", "--out", str(tmp_path / "run")]
    ended = CliRunner().invoke(app, ["run", str(tmp_path / "sliding.yaml"), *options])
    assert ended.exit_code == 0, ended.output

    page = open_report(Recording.open(tmp_path / "run"), "#view=event-time", script=RECORD_TEXTS)

    assert page.evaluate(DARK_PART) < 0.03
    texts = page.evaluate("textsOf(document.querySelector('.beside canvas')).map(({text}) => text)")
    assert "up to 96 windows at once" in texts
    assert drawing_problems(page) == []
