"""The page of ``flowsim play`` in a browser: a puzzle is solved by clicks and by keys, and the report follows."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.accessibility import violations
from tests.support.played import Played
from tests.support.watched import PATIENCE_S

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE_MS = PATIENCE_S * 1000


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    played = Played(tmp_path, "fourth_result")
    yield played
    played.close()


@pytest.fixture
def page(browser: Browser, played: Played) -> Iterator[Page]:
    """Errors and messages on the console, and requests to other addresses, fail the test."""
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", lambda message: problems.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("request", lambda request: None if request.url.startswith(played.url) else problems.append(request.url))
    page.goto(played.url)
    wait_for_choices(page, 0)
    yield page
    page.close()
    assert problems == []


def wait_for_choices(page: Page, made: int) -> None:
    page.wait_for_selector(f"html[data-made='{made}']")


def wait_for_report(page: Page) -> None:
    page.wait_for_function(
        "() => document.querySelector('iframe').contentDocument?.documentElement?.dataset.ready", timeout=PATIENCE_MS
    )


def choose(page: Page, made: int, text: str) -> None:
    page.locator("#options button").filter(has_text=text).click()
    wait_for_choices(page, made + 1)


def test_puzzle_is_solved_by_clicks_and_its_command_repeats_the_run(page: Page, played: Played, tmp_path: Path) -> None:
    expect(page.locator("#task")).to_contain_text("Reach the fourth result")
    for made, record in enumerate(("record [3]", "record [1]", "record [4]")):
        expect(page.locator("#line")).to_contain_text("events are possible")
        choose(page, made, record)
    expect(page.locator("#sinks")).to_contain_text("[4]")
    page.locator("#finish").click()
    expect(page.locator("#solved")).to_be_visible()
    expect(page.locator("#lesson")).to_contain_text("six results")
    command = page.locator("#command").inner_text()
    flowsim, *arguments = shlex.split(command)
    assert flowsim == "flowsim"
    ended = subprocess.run(
        [sys.executable, "-m", *([flowsim, *arguments]), "--json", "--out", "again"],
        cwd=tmp_path, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert "[3]" not in ended.stderr
    assert '"status": "finished"' in ended.stdout


def test_keys_choose_step_back_and_start_again(page: Page) -> None:
    page.keyboard.press("2")
    wait_for_choices(page, 1)
    page.keyboard.press("1")
    wait_for_choices(page, 2)
    expect(page.locator("#sinks")).to_contain_text("[3]")
    page.keyboard.press("b")
    wait_for_choices(page, 1)
    page.keyboard.press("r")
    wait_for_choices(page, 0)
    expect(page.locator("#sinks")).not_to_contain_text("[3]")
    expect(page.locator("#back")).to_be_disabled()
    page.locator("#options button").first.focus()
    page.keyboard.press("Enter")
    wait_for_choices(page, 1)
    assert page.evaluate("document.querySelector('#options').contains(document.activeElement)"), "the focus stays"


def test_report_follows_the_run_in_the_view_of_the_reader(page: Page) -> None:
    wait_for_report(page)
    frame = page.frame_locator("iframe")
    expect(frame.locator("#tab-graph")).to_have_attribute("aria-selected", "true")
    frame.locator("#tab-channel").click()
    choose(page, 0, "record [3]")
    wait_for_report(page)
    expect(frame.locator("#tab-channel")).to_have_attribute("aria-selected", "true")
    is_last = "(({ place, model }) => place.value === model.facts.count - 1)"
    # The frame may still load the report of this position.
    page.wait_for_function(
        f"() => {{ const one = document.querySelector('iframe').contentWindow.flowsim; return one && {is_last}(one.store) }}",
        timeout=PATIENCE_MS,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_breaks_no_accessibility_rule(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    assert violations(page) == []
    page.keyboard.press("f")
    expect(page.locator("#end")).to_be_visible()
    assert violations(page) == []


def test_server_ends_when_the_page_is_closed(page: Page, played: Played) -> None:
    page.reload()
    wait_for_choices(page, 0)
    assert played.process.poll() is None
    page.goto("about:blank")
    assert played.process.wait(PATIENCE_S) == 0
    assert played.printed().endswith("the page was closed\n")
    assert played.errors() == ""
