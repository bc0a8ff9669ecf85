"""Reports of recordings that lack something, and of two recordings: every view opens, and late records have their causes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from flowsim.why.event_time.late_chain import late_chains
from flowsim.why.run_facts import RunFacts
from tests.report.conftest import SCENARIOS, OpenReport, pair_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHAINS = """
name => {
    const {[name]: viewer} = flowsim
    const {facts, lateCauses} = viewer.model
    return [...facts.of("late_drop").places].map(place => {
        const {statement, causes} = lateCauses.at(place)
        return [statement, ...causes].map(cause => cause.text)
    })
}
"""
SHOWN = """
name => {
    const {[name]: viewer} = flowsim
    return [...viewer.model.facts.of("late_drop").places].map(place => {
        viewer.go(place)
        return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
            done([...document.querySelectorAll(".late-record h2")].map(title => title.textContent)))))
    }).reduce(async (before, next) => [...await before, await next], [])
}
"""
INTERRUPTED = """
flowsim: 1
name: interrupted
settings: {record: full, clock: real, buffer_timeout: 0}
sources:
  readings:
    script:
      fields: {key: string, n: long}
      subtasks:
        - - {record: [a, 1], timestamp: 3}
          - {watermark: 19}
          - {record: [a, 2], timestamp: 4}
          - {record: [a, 3], timestamp: 25}
          - {sleep: 600 s}
operators:
  counts: {input: readings, key_by: key, window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, jsonl: {}}
"""


def expected_chains(recording: Recording) -> list[list[str]]:
    facts = RunFacts(recording)
    found: list[list[str]] = [
        [cause.text for cause in chain] for chain in late_chains(facts, facts.all_rows("late_drop")).all()
    ]
    return found


def check_views(page: Page, name: str = "store") -> None:
    """Opens every view at the end of the run, and at its begin."""
    for tab in page.locator("[role=tab]").all():
        tab.click()
        for key in ("Home", "End"):
            page.keyboard.press(key)
        page.wait_for_function(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
        )
        assert page.locator(".view").inner_text().strip()


@pytest.mark.parametrize("name", ["12", "42a", "42b", "13"])
def test_recording_of_elements_opens_with_causes(open_report: OpenReport, tmp_path: Path, name: str) -> None:
    (scenario,) = SCENARIOS.glob(f"{name}_*.yaml")
    done = CliRunner().invoke(app, ["run", str(scenario), "--record", "elements", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    recording = Recording.open(tmp_path / "out")

    page = open_report(recording)

    check_views(page)
    assert page.evaluate(CHAINS, "store") == expected_chains(recording)


def interrupted(folder: Path) -> Recording:
    """A run that waits when it gets Ctrl-C."""
    (folder / "job.yaml").write_text(INTERRUPTED)
    command = [sys.executable, "-m", "flowsim", "run", "job.yaml", "--out", "out"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = folder / "out" / "sinks"
    for _ in range(600):
        if any(path.stat().st_size for path in out.rglob("*") if path.is_file()):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    return Recording.open(folder / "out")


def killed(folder: Path) -> Recording:
    """As a killed run leaves it: the description of a run that goes on."""
    recording = interrupted(folder)
    manifest = recording.directory / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "status": "running"}))
    return Recording.open(folder / "out")


@pytest.mark.parametrize(("record", "status"), [(interrupted, RunStatus.CANCELED), (killed, RunStatus.RUNNING)])
def test_recording_without_its_end_opens_with_causes(
    open_report: OpenReport, tmp_path: Path, record: Callable[[Path], Recording], status: RunStatus
) -> None:
    recording = record(tmp_path)
    assert recording.status is status

    page = open_report(recording)

    check_views(page)
    chains: Any = page.evaluate(CHAINS, "store")
    assert chains == expected_chains(recording)
    assert len(chains) == 1
    # The window of the last record: that it never fires is not known.
    page.locator("#tab-state").click()
    page.keyboard.press("End")
    assert page.locator("[aria-label='State at the cursor'] td", has_text="has not fired").count() == 2
    assert page.get_by_text("does not fire").count() == 0


def test_each_of_two_recordings_has_its_causes(
    browser: Browser, recordings: Callable[[str], Recording], tmp_path: Path
) -> None:
    one, other = recordings("42a"), recordings("42b")
    file = pair_of(one, other, tmp_path)
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")

    check_views(page)
    page.locator("#tab-event-time").click()
    for name, recording in (("store", one), ("other", other)):
        expected = expected_chains(recording)
        assert page.evaluate(CHAINS, name) == expected
        assert all(chain[0] in shown for chain, shown in zip(expected, page.evaluate(SHOWN, name), strict=True))
    page.close()
    assert problems == []
