"""The page of ``flowsim watch`` in a browser: it follows saves, keeps the view, shows errors, and offers choices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.accessibility import violations
from tests.support.watched import PATIENCE_S, Watched
from tests.unit.cli.conftest import TINY

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE_MS = PATIENCE_S * 1000


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    (tmp_path / "s.yaml").write_text(TINY)
    watched = Watched(tmp_path, "--set", "settings.seed=3,4")
    yield watched
    watched.close()


@pytest.fixture
def page(browser: Browser, watched: Watched) -> Iterator[Page]:
    """Errors and messages on the console, and requests to other addresses, fail the test."""
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", lambda message: problems.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("request", lambda request: None if request.url.startswith(watched.url) else problems.append(request.url))
    page.goto(watched.url)
    yield page
    page.close()
    assert problems == []


def wait_for_report(page: Page, name: str, seed: int = 3) -> None:
    """Waits until the frame shows the report of the scenario with this name, run with this seed."""
    page.wait_for_function(
        """([name, seed]) => {
            const { document: report, flowsim } = document.querySelector("iframe").contentWindow;
            const { start, recording } = flowsim?.model.head ?? {};
            return report.documentElement?.dataset.ready && start?.name === name && recording.seed === seed;
        }""",
        arg=[name, seed],
        timeout=PATIENCE_MS,
    )


def place_in_report(page: Page) -> str:
    place: str = page.evaluate("document.querySelector('iframe').contentWindow.flowsim.store.link")
    return place


def test_page_follows_a_save_and_keeps_view_cursor_and_selection(page: Page, watched: Watched) -> None:
    wait_for_report(page, "tiny")
    page.wait_for_function("document.activeElement.tagName === 'IFRAME'")
    first = place_in_report(page)
    page.keyboard.press("ArrowRight")
    assert place_in_report(page) != first, "the keys of the report work without a click"
    frame = page.frame_locator("iframe")
    frame.locator("#tab-channel").click()
    page.evaluate(
        "document.querySelector('iframe').contentDocument.activeElement.blur()"
    )  # of the tabs, which use arrows
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    before = place_in_report(page)
    assert before.startswith("#view=channel&")
    page.evaluate("window.marked = true")

    watched.save(TINY.replace("name: tiny", "name: saved"))
    wait_for_report(page, "saved")
    assert place_in_report(page) == before
    expect(frame.locator("#tab-channel")).to_have_attribute("aria-selected", "true")
    assert page.evaluate("window.marked"), "only the frame is loaded again"
    page.keyboard.press("ArrowRight")
    after = place_in_report(page)
    assert after != before, "keys still go to the report"

    page.wait_for_function("place => location.hash === place", arg=after)
    page.reload()
    wait_for_report(page, "saved")
    assert place_in_report(page) == after


def test_view_of_what_is_not_there_any_more_shows_the_report_all_the_same(page: Page, watched: Watched) -> None:
    wait_for_report(page, "tiny")
    page.evaluate(
        "document.querySelector('iframe').contentWindow.location.hash ="
        " 'view=channel&task=2&channel=1&operator=1&step=1500&from=1000&to=2000000'"
    )
    page.wait_for_function("document.querySelector('iframe').contentWindow.flowsim.store.selection.value.task === 2")
    small = TINY.replace("count: 200", "count: 2").replace("rows: {kept: 200}", "rows: {kept: 2}")
    watched.save(
        small.replace(
            "  sums: {input: numbers, key_by: key, parallelism: 2, reduce: {n: sum}}",
            "  sums: {input: numbers, filter: n > -1}",
        ).replace("name: tiny", "name: small")
    )
    wait_for_report(page, "small")
    frame = page.frame_locator("iframe")
    for view in ("start", "channel", "timeline", "steps"):
        frame.locator(f"#tab-{view}").click()
        expect(frame.locator(f"#tab-{view}")).to_have_attribute("aria-selected", "true")


def test_error_of_a_save_is_above_the_last_report_until_the_next_save(page: Page, watched: Watched) -> None:
    wait_for_report(page, "tiny")
    watched.save(TINY.replace("parallelism: 2", "paralelism: 2"))
    problems = page.locator("#problems")
    expect(problems).to_contain_text(
        "s.yaml:12:39 operators.sums.paralelism: unknown key 'paralelism'", timeout=PATIENCE_MS
    )
    expect(page.locator("#line")).to_have_text("not run")
    expect(page.locator("#note")).to_have_text("Below is the report of an earlier run.")
    frame = page.locator("iframe")
    above, below = problems.bounding_box(), frame.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] + above["height"] <= below["y"]
    assert below["y"] + below["height"] == 900
    wait_for_report(page, "tiny")
    assert violations(page) == []
    watched.save(TINY.replace("name: tiny", "name: right"))
    wait_for_report(page, "right")
    expect(problems).to_be_hidden()
    expect(page.locator("#note")).to_be_hidden()


def test_choice_runs_with_the_value_and_the_end_is_shown(page: Page, watched: Watched) -> None:
    wait_for_report(page, "tiny", seed=3)
    group = page.get_by_role("group", name="seed")
    expect(group.get_by_label("3")).to_be_checked()
    group.get_by_label("4").check()
    wait_for_report(page, "tiny", seed=4)
    expect(page.get_by_role("group", name="seed").get_by_label("4")).to_be_checked()
    expect(page.locator("#line")).to_contain_text("finished: ")
    assert violations(page) == []
