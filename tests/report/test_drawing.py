"""Drawings of reports, measured: nothing is cut off or outside its box, and no text lies over another one.

Six scenarios always, all of them with ``--all-reports``; those of the flights read only the first ones.
"""

from __future__ import annotations

import pytest

from tests.report.conftest import SCENARIOS, OpenReport
from tests.support.drawing import RECORD_TEXTS, drawing_problems

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALL = sorted(path.name.partition("_")[0] for path in SCENARIOS.glob("*.yaml"))
SAMPLE = ["01", "03", "11a", "13", "24", "40b"]
"""Many records and late rows; small intervals; labels close together; a window at the end; long names; a long job."""

SIZES = [(1280, 800), (1920, 1080)]

SHOW = """
([view, part]) => new Promise(done => {
    flowsim.store.view.value = view
    flowsim.store.go(Math.floor(flowsim.model.facts.count * part))
    requestAnimationFrame(() => requestAnimationFrame(done))
})
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", ALL if metafunc.config.option.all_reports else SAMPLE)


def test_no_text_is_cut_or_covered_and_nothing_leaves_its_box(open_report: OpenReport, name: str) -> None:
    problems: list[str] = []
    for size in SIZES:
        page = open_report(name, size=size, script=RECORD_TEXTS)
        views = page.evaluate("[...document.querySelectorAll('[role=tab]')].map(tab => tab.id.replace('tab-', ''))")
        for part in (0, 0.5):
            for view in views:
                page.evaluate(SHOW, [view, part])
                problems += [f"{view} at {size[0]} px: {problem}" for problem in drawing_problems(page)]

    assert problems == []
