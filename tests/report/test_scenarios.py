"""Every view of the reports of scenarios: it renders, follows the cursor, and has no violation of axe.

One scenario runs always in dark colours, all of them in both colours with ``--all-reports``. Those of the flights read
only the first ones.
"""

from __future__ import annotations

import pytest

from tests.report.conftest import SCENARIOS, OpenReport
from tests.support.accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALL = sorted(path.name.partition("_")[0] for path in SCENARIOS.glob("*.yaml"))
SAMPLE = [("12", True)]
"""A job with channels, windows, late rows and state."""

CONTENTS = {
    "start": ".look-at",
    "graph": ".vertex",
    "timeline": "canvas",
    "channel": ".picture",
    "event-time": "[aria-label='Watermarks at the cursor']",
    "state": "[aria-label='State at the cursor']",
    "laws": "table.laws",
    "steps": "table.steps",
    "checkpoints": "table.checkpoints",
    "rules": ".rules li",
}
"""A part of each view."""

QUICK_FOR_AXE = ("timeline", "state")
"""Without ``--all-reports``; axe takes longer than the rest."""

SHOW = """
view => new Promise(done => {
    flowsim.store.view.value = view
    requestAnimationFrame(() => requestAnimationFrame(done))
})
"""

EMPTY_PICTURES = """
() => [...document.querySelectorAll('.view canvas')].filter(canvas => {
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return !data.some(value => value)
}).map(canvas => canvas.getAttribute('aria-label'))
"""

CURSORS = """
() => {
    const [from, to] = flowsim.store.range.value
    const at = flowsim.store.valueOf(flowsim.store.place.value)
    return [...document.querySelectorAll('.view .canvas')].map(box => {
        const x = 172 + (at - from) / (to - from) * (box.clientWidth - 12 - 172)
        return Math.abs(new DOMMatrix(getComputedStyle(box.querySelector('.cursor')).transform).e - x)
    })
}
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = [(name, dark) for name in ALL for dark in (False, True)]
    cases = every if metafunc.config.option.all_reports else SAMPLE
    metafunc.parametrize(("name", "dark"), cases, ids=[f"{name}-{'dark' if dark else 'light'}" for name, dark in cases])


def test_every_view_renders_follows_the_cursor_and_passes_axe(
    open_report: OpenReport, pytestconfig: pytest.Config, name: str, dark: bool
) -> None:
    for_axe = CONTENTS if pytestconfig.option.all_reports else QUICK_FOR_AXE
    page = open_report(name, dark=dark)
    views = page.evaluate("[...document.querySelectorAll('[role=tab]')].map(tab => tab.id.replace('tab-', ''))")
    has_checkpoints = page.evaluate("flowsim.model.checkpoints.isKnown")
    assert views == [view for view in CONTENTS if view != "checkpoints" or has_checkpoints]
    middle = page.evaluate("Math.floor(flowsim.model.facts.count / 2)")
    page.evaluate("place => flowsim.store.go(place)", middle)

    for view, content in [(view, CONTENTS[view]) for view in views]:
        page.evaluate(SHOW, view)
        is_missing = page.locator(".view > .missing").count() > 0
        assert page.locator(f".view {content}").count() or is_missing, view
        if is_missing:
            assert len(page.inner_text(".view > .missing")) > 20
        assert page.evaluate(EMPTY_PICTURES) == [], view
        assert all(away < 1 for away in page.evaluate(CURSORS)), view
        assert page.evaluate("flowsim.store.place.value") == middle
        assert view not in for_axe or violations(page) == [], view
    assert page.inner_text("#sentence") == page.evaluate("place => flowsim.model.sentences.at(place).text", middle)
    link: str = page.evaluate("flowsim.store.link")
    page.wait_for_url(lambda url: url.endswith(link))
