"""Measures ``flowsim report``: time to write, size, time to open, and frames per second while each view plays.

``python tests/benchmarks/bench_report.py`` prints the table of docs/performance.md; needs Chromium.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from flowsim.report.picture import BROWSERS

ROOT: Final = Path(__file__).parents[2]
SCENARIOS: Final = (
    "28_async_two_designs", "03_slow_sink_backpressure", "22_watermark_alignment", "01_nyc_flights",
)  # fmt: skip
PLAYED_MS: Final = 2500

SHOW: Final = """
view => new Promise(done => {
    flowsim.store.view.value = view
    requestAnimationFrame(() => requestAnimationFrame(done))
})
"""
PLAY: Final = """
length => new Promise(done => {
    flowsim.store.go(0)
    flowsim.store.playing.value = true
    const start = performance.now()
    let frames = 0
    const frame = () => {
        frames++
        const elapsed = performance.now() - start
        if (elapsed < length) return requestAnimationFrame(frame)
        flowsim.store.playing.value = false
        done(frames / elapsed * 1000)
    }
    requestAnimationFrame(frame)
})
"""


def main() -> None:
    """Prints one line per recording."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        sys.exit("Chromium is missing: apt-get update && apt-get install -y --no-install-recommends chromium")
    print("scenario, CPU s to write, MB, s to open, frames per second by view")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for scenario in SCENARIOS:
            out = Path(folder) / scenario
            _flowsim("run", f"scenarios/{scenario}.yaml", "--record", "full", "--out", str(out), "--allow-python")
            cpu_s = _flowsim("report", str(out))
            file = out / "report.html"
            print(f"{scenario}, {cpu_s:.1f}, {file.stat().st_size / 1e6:.2f}, {_played(browser, file)}", flush=True)
        browser.close()


def _flowsim(*arguments: str) -> float:
    """Runs the command; returns its CPU time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "flowsim", *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _played(browser: Browser, file: Path) -> str:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    start = time.perf_counter()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    opened_s = time.perf_counter() - start
    rates = []
    for view in page.evaluate("[...document.querySelectorAll('[role=tab]')].map(tab => tab.id.replace('tab-', ''))"):
        page.evaluate(SHOW, view)
        rates.append(f"{view} {page.evaluate(PLAY, PLAYED_MS):.0f}")
    page.close()
    return f"{opened_s:.2f}, {' '.join(rates)}"


if __name__ == "__main__":
    main()
