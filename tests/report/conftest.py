"""A Chromium for the tests of a module, and pages of reports in it."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.recording.reader import Recording
from flowsim.report.against import first_difference
from flowsim.report.laws import law_data
from flowsim.report.page import Against
from flowsim.report.page import page as html_of
from flowsim.report.payload import build_payload
from flowsim.report.picture import BROWSERS
from flowsim.validation.judge import open_runs, validate

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FLIGHTS = "data/nyc_flights_2013.csv.gz"
MOST_FLIGHTS = 1500
UNTIL = "200ms"
"""The observations of the weather of a year have no end before 8 s."""
HOW_TO_INSTALL = (
    "Chromium is missing; install it with: apt-get update && apt-get install -y --no-install-recommends "
    "chromium-headless-shell"
)

OpenReport = Callable[..., Page]
"""Opens the report of a recording: name, address part after #, dark, size of the window, script that runs first."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one module: as long as Playwright runs, the thread has a running event loop, and asyncio refuses a second."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None and os.environ.get("CI"):
        pytest.fail(HOW_TO_INSTALL)
    if path is None:
        pytest.skip(HOW_TO_INSTALL)
    with sync_playwright() as playwright:
        # As root Chromium refuses to start with its sandbox.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recording]:
    """Recordings of scenarios at level full, by the begin of their name; each is made once.

    Those of the flights read only the first ones.
    """
    folder = tmp_path_factory.mktemp("recordings")
    made: dict[str, Recording] = {}
    with gzip.open(SCENARIOS / FLIGHTS, "rb") as whole:
        first = b"".join(islice(whole, MOST_FLIGHTS + 1))
    shutil.copytree(SCENARIOS / "data", folder / "scenarios/data")
    (folder / "scenarios" / FLIGHTS).write_bytes(gzip.compress(first, mtime=0))

    def recording(name: str) -> Recording:
        if name not in made:
            (shipped,) = SCENARIOS.glob(f"{name}_*.yaml")
            scenario = folder / "scenarios" / shipped.name
            for file in [shipped, *SCENARIOS.glob("*_recompute.py")]:
                shutil.copy(file, scenario.parent)
            options = ["--record", "full", "--record-state", "--out", str(folder / name), "--allow-python"]
            if name.startswith("01"):
                options += ["--until", UNTIL]
            ended = CliRunner().invoke(app, ["run", str(scenario), *options])
            assert (folder / name).exists(), ended.output
            made[name] = Recording.open(folder / name)
        return made[name]

    return recording


def pair_of(one: Recording, other: Recording, folder: Path) -> Path:
    """The report of two recordings, side by side from the first different fact."""
    file = folder / "pair.html"
    against = Against(build_payload(other, "b"), first_difference(one, other))
    file.write_text(html_of(build_payload(one, "a"), against))
    return file


@pytest.fixture
def open_report(browser: Browser, recordings: Callable[[str], Recording]) -> Iterator[OpenReport]:
    """Errors and messages on the console, and requests besides that for the file, fail the test."""
    problems: list[str] = []
    pages: list[Page] = []

    def show(
        name: str | Recording,
        place: str = "",
        dark: bool = False,
        size: tuple[int, int] = (1280, 900),
        script: str = "",
    ) -> Page:
        recording = recordings(name) if isinstance(name, str) else name
        file = Path(f"{recording.directory}.html")
        if not file.exists():
            verdicts = law_data(recording, "out/run", validate(open_runs([recording])))
            file.write_text(html_of(build_payload(recording, "out/run", verdicts)))
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
        )
        if script:
            page.add_init_script(script)
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", lambda request: problems.append(request.url) if file.name not in request.url else None)
        page.goto(f"{file.as_uri()}{place}")
        page.wait_for_selector("html[data-ready]")
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.close()
    assert problems == []
