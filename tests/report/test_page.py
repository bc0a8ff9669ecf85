"""Pages of other forms: in parts, with a second recording, opened at a link, as a picture."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.report.against import first_difference
from flowsim.report.page import page as html_of
from flowsim.report.payload import build_payload
from flowsim.trace.links import VIEWS
from tests.report.conftest import OpenReport, pair_of
from tests.support.jobs.unordered_records import unordered_records

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Recordings = Callable[[str], Recording]


def test_report_in_parts_goes_to_parts_and_names_the_command_for_the_rest(browser: Browser, tmp_path: Path) -> None:
    recording = unordered_records(tmp_path)
    facts = list(merged_facts(recording, Selection()))
    whole = build_payload(recording, "out/run")
    payload = build_payload(recording, "out/run", budget_bytes=len(whole.head) + len(whole.body) - 18_000)
    assert payload.parts is not None
    (tmp_path / "report.html").write_text(html_of(payload))
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))

    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    assert "flowsim report out/run --from 0ms --to " in page.inner_text(".overview code")
    page.click(".overview summary")
    page.get_by_role("button", name="late record").click()
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


MARKS_OF_OVERVIEW = """
() => {
    const box = document.querySelector('.overview .canvas')
    const {left, top} = box.getBoundingClientRect()
    const marks = flowsim.marksOf(box)
    return Array.from({length: marks.count}, (_, at) => {
        const {kind, x, y, width, height} = marks.mark(at)
        const {title, lines = []} = marks.hit(at)?.tip ?? {title: null}
        return {kind, title, lines, x: left + x + width / 2, y: top + y + height / 2}
    })
}
"""


def test_parts_and_counts_of_a_report_answer_to_the_pointer(open_report: OpenReport, tmp_path: Path) -> None:
    recording = unordered_records(tmp_path)
    whole = build_payload(recording, "out/run")
    payload = build_payload(recording, "out/run", budget_bytes=len(whole.head) + len(whole.body) - 18_000)
    assert payload.parts is not None
    Path(f"{recording.directory}.html").write_text(html_of(payload))
    page = open_report(recording, "#view=event-time")

    marks = page.evaluate(MARKS_OF_OVERVIEW)

    parts = [mark for mark in marks if mark["kind"] == "exact part"]
    assert [mark["title"].rpartition(": ")[2] for mark in parts] == [
        f"{part.end - part.first:,} facts" for part in payload.parts
    ]
    assert {mark["kind"] for mark in marks} == {"exact part", "counts", "lateness"}
    page.mouse.move(parts[1]["x"], parts[1]["y"])
    assert "late record" in page.inner_text(".tooltip")
    page.mouse.click(parts[1]["x"], parts[1]["y"])
    assert page.evaluate("flowsim.model.facts.step[flowsim.store.place.value]") == payload.parts[1].first


def test_cursor_begins_at_first_difference_and_moves_both_recordings(
    browser: Browser, recordings: Callable[[str], Recording], tmp_path: Path
) -> None:
    one, other = recordings("11a"), recordings("11b")
    difference = first_difference(one, other)
    assert difference is not None
    file = pair_of(one, other, tmp_path)
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


def test_links_name_the_views_of_the_page(open_report: OpenReport) -> None:
    page = open_report("12")

    assert [tab.get_attribute("id") for tab in page.locator("[role=tab]").all()] == [
        f"tab-{view}" for view in VIEWS if view != "checkpoints"
    ]


def test_link_of_a_traced_fact_opens_at_this_fact(
    open_report: OpenReport, recordings: Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # on narrow terminals a link has a line of its own
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
