"""The start page in Chromium, the views below graph and lanes, and how they fill the window."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.trace.sentences import sentence
from flowsim.trace.time import moment_text
from tests.report.conftest import OpenReport
from tests.report.test_scenarios import ALL

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Recordings = Callable[[str], Recording]

SIX = ("03", "11a", "12", "13", "24", "40b")
"""Without ``--all-reports``."""
SIZES = ((1280, 800), (1920, 1080))
TIMES_NS = (
    0, 1, 999, 1_000, 12_300, 999_999, 1_000_000, 7_000_000, 12_316_000, 123_456_789, 1_000_000_000, 1_000_362_000,
    10_000_000_000, 10_000_000_001, 61_500_000_000, 3_600_000_000_000,
)  # fmt: skip

USED = """
() => {
    const shown = [...document.querySelectorAll('#view canvas, #view table, #view p, #view li, #view pre, #view svg')]
    return Math.max(...shown.map(one => one.getBoundingClientRect().bottom)) / innerHeight
}
"""
ABOVE = """
() => ['.job .graph', '.job .lanes'].map(one => document.querySelector(one)?.getBoundingClientRect())
    .filter(box => box && box.top >= 0 && box.height > 30)
    .map(box => box.bottom <= document.querySelector('#view').getBoundingClientRect().top)
"""


def sentences_of(recording: Recording) -> dict[tuple[int, int], str]:
    names = Names(recording)
    return {
        (fact.task, fact.row[0]): sentence(names, fact.table, fact.row, fact.depth).text
        for fact in merged_facts(recording, Selection())
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scenario" in metafunc.fixturenames:
        metafunc.parametrize("scenario", ALL if metafunc.config.option.all_reports else SIX)


def test_start_page_shows_the_run_and_leads_to_its_moments(
    open_report: OpenReport, recordings: Recordings, scenario: str
) -> None:
    recording = recordings(scenario)
    texts = sentences_of(recording)
    page = open_report(scenario)
    head = page.evaluate("({start: flowsim.model.head.start, verdict: flowsim.model.head.laws.verdict})")
    moments, sinks = head["start"]["look_at"], head["start"]["results"]["sinks"]
    written = recording.manifest.run.scenario
    assert written is not None

    shown = page.inner_text(".start")
    assert f"\nname: {head['start']['name']}\n" in written.text
    assert head["start"]["description"][0].startswith("Teaches ")
    for text in (
        head["start"]["name"],
        *(text.replace("`", "") for text in head["start"]["description"]),
        head["verdict"],
        *(one["rows"] for one in sinks),
    ):
        assert text in shown
    assert page.text_content(".scenario pre") == written.text
    assert 3 <= len(moments) <= 5
    if moments[0]["task"] is not None:
        assert page.text_content("#sentence") == texts[moments[0]["task"], moments[0]["seq"]]

    for number, moment in enumerate(moments):
        page.locator(".look-at a").nth(number).click()
        page.wait_for_selector(f"#tab-{moment['link'].split('&')[0].removeprefix('view=')}[aria-selected=true]")
        if moment["task"] is not None:
            assert page.text_content("#sentence") == texts[moment["task"], moment["seq"]]
        page.evaluate("flowsim.store.view.value = 'start'")
        page.wait_for_selector(".look-at")


def test_link_without_moment_opens_at_the_first_one_and_with_moment_there(open_report: OpenReport) -> None:
    first = open_report("12").evaluate("flowsim.model.head.start.look_at[0]")
    page = open_report("12", "#view=steps")
    assert page.evaluate("flowsim.store.place.value === flowsim.model.facts.placeOf(1, " + str(first["seq"]) + ")")
    assert page.evaluate("flowsim.store.selection.value.task") is None

    page = open_report("12", "#view=channel&step=3&job=hidden")

    assert page.evaluate("[flowsim.store.place.value, flowsim.store.view.value]") == [3, "channel"]
    assert page.locator(".job .lanes").count() == 0
    page.locator(".job .fold").click()
    page.wait_for_selector(".job .lanes canvas")


def test_back_returns_from_a_moment_to_the_start_page(open_report: OpenReport) -> None:
    page = open_report("12")
    page.wait_for_url("**view=start*")

    page.locator(".look-at a").first.click()
    page.wait_for_selector("#tab-event-time[aria-selected=true]")
    page.go_back()

    page.wait_for_selector("#tab-start[aria-selected=true]")


def test_views_fill_the_window_below_graph_and_lanes(open_report: OpenReport, scenario: str) -> None:
    page = open_report(scenario)
    views = page.evaluate("[...document.querySelectorAll('[role=tab]')].map(tab => tab.id.replace('tab-', ''))")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for view in views:
            page.evaluate(
                "view => new Promise(done => { flowsim.store.view.value = view; "
                "requestAnimationFrame(() => requestAnimationFrame(done)) })",
                view,
            )
            if view != "start" and not page.locator("#view > .missing").count():
                assert page.evaluate(USED) >= 0.9, (view, width)
            if view == "event-time":
                bottom = page.evaluate("document.querySelector('#view canvas')?.getBoundingClientRect().bottom ?? 0")
                assert bottom <= height, width
            if view != "graph":
                assert page.evaluate(ABOVE) == [True, True], (view, width)


def test_charts_follow_the_size_of_the_window(open_report: OpenReport) -> None:
    page = open_report("12", "#view=event-time")
    sizes = []
    for width, height in (*SIZES, SIZES[0]):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"innerHeight === {height}")
        page.wait_for_timeout(100)
        sizes.append(
            page.evaluate("(canvas => [canvas.clientHeight, canvas.height])(document.querySelector('#view canvas'))")
        )

    assert sizes[0] == sizes[2]
    assert sizes[1][0] >= sizes[0][0] + 100
    assert all(shown == drawn for shown, drawn in sizes)


def test_lanes_and_chart_have_the_same_axis(open_report: OpenReport) -> None:
    page = open_report("12")
    for view in ("timeline", "event-time", "channel"):
        page.evaluate("view => { flowsim.store.view.value = view }", view)
        page.wait_for_selector("#view canvas")
        page.wait_for_timeout(100)
        widths = page.evaluate(
            "['.job .lanes canvas', '#view canvas'].map(one => document.querySelector(one).clientWidth)"
        )
        assert widths[0] == widths[1], view


def test_times_have_the_format_of_the_commands(open_report: OpenReport) -> None:
    found = open_report("12").evaluate("times => times.map(flowsim.moment)", list(TIMES_NS))

    assert found == [moment_text(ns) for ns in TIMES_NS]
