"""Writes the pictures of docs/report.md: views of reports of shipped scenarios, in light colours, 1,280 pixels wide.

Run by ``make report-pictures``, which needs Chromium. Fonts of the machine decide about details, so no test compares
the pictures; ``tests/report/test_pictures.py`` compares their list, width and size with the page.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright
from typer.testing import CliRunner

from flowsim.cli.main import app

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = ROOT / "docs/report"
WIDTH: Final = 1280
MOST_BYTES: Final = 150_000
DEMO: Final = "01_nyc_flights"


@dataclass(frozen=True, slots=True)
class Picture:
    """``name``: of the file; ``link``: the part of the address that opens the view at its moment; ``height``: at most."""

    name: str
    scenario: str
    link: str
    height: int


PICTURES: Final = (
    Picture("graph", "03_slow_sink_backpressure", "#view=graph&t=7000000&from=0&to=30000000", 640),
    Picture("timeline", "24_async_order", "#view=timeline&t=120000000&from=95000000&to=200000000", 800),
    Picture("channel", "03_slow_sink_backpressure", "#view=channel&channel=0&t=7000000&from=0&to=30000000", 900),
    Picture("event_time", "12_three_lateness_settings", "#view=event-time&task=3&operator=0&fact=3.55", 760),
    Picture("event_time_relative", DEMO, "#view=event-time", 660),
    Picture("watermarks", "22_watermark_alignment", "#view=event-time&key=0&t=5000000000", 700),
    Picture("state", "13_sessions_merge", "#view=state&key=1&scale=order&step=101&from=80&to=140", 720),
    Picture("steps", "12_three_lateness_settings", "#view=steps&fact=3.55", 560),
)


def main() -> None:
    """Records each scenario once, and takes the pictures of its report."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        sys.exit("Chromium is missing: apt-get update && apt-get install -y --no-install-recommends chromium")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for picture in PICTURES:
            _write(browser, picture, _report(picture.scenario, Path(folder)))
        browser.close()


def _report(scenario: str, folder: Path) -> Path:
    out = folder / scenario
    if not out.exists():
        record = ["--record", "full", "--out", str(out), "--allow-python"]
        if scenario != DEMO:
            record.append("--record-state")
        for command in (
            ["run", str(ROOT / "scenarios" / f"{scenario}.yaml"), *record],
            ["report", str(out)],
        ):
            done = CliRunner().invoke(app, command)
            if done.exit_code:
                sys.exit(done.output)
    return out / "report.html"


def _write(browser: Browser, picture: Picture, report: Path) -> None:
    page = browser.new_page(viewport={"width": WIDTH, "height": picture.height}, color_scheme="light")
    page.goto(f"{report.as_uri()}{picture.link}")
    page.wait_for_selector("html[data-ready]")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    target = FOLDER / f"{picture.name}.png"
    bottom = page.evaluate("document.getElementById('view').getBoundingClientRect().bottom")
    height = min(picture.height, int(bottom) + 12)
    page.screenshot(path=target, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    page.close()
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
