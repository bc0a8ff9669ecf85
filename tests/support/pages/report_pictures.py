"""Writes the pictures of README and docs/report.md: reports of shipped scenarios, in light colours, with at most 256 colours.

Run by ``make report-pictures``, which needs Chromium. Fonts of the machine decide about details, so no test compares
the pictures; ``tests/report/test_pictures.py`` compares their list, width and size with the pages.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.report.picture import WIDTH as WIDTH
from flowsim.report.picture import find_browser, picture

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = ROOT / "docs/report"
MOST_BYTES: Final = 150_000
DEMO: Final = "01_nyc_flights"
SHORT_DEMO: Final = "01_nyc_flights until 200ms"
STARTS: Final = {
    "01": SHORT_DEMO, "03": "03_slow_sink_backpressure", "12": "12_three_lateness_settings", "13": "13_sessions_merge",
    "24": "24_async_order", "40b": "40b_unaligned_under_back_pressure",
}  # fmt: skip
"""Scenarios whose start page is shown."""
SIZES: Final = ((1280, 800), (1920, 1080))


@dataclass(frozen=True, slots=True)
class Picture:
    """``name``: of the file; ``link``: the part of the address that opens the view at its moment; sizes in pixels."""

    name: str
    scenario: str
    link: str
    height: int
    width: int = WIDTH


PICTURES: Final = (
    Picture("graph", "03_slow_sink_backpressure", "#view=graph&t=7000000&from=0&to=30000000", 380),
    Picture("timeline", "24_async_order", "#view=timeline&t=120000000&from=95000000&to=200000000&job=hidden", 800),
    Picture(
        "channel", "03_slow_sink_backpressure", "#view=channel&channel=0&t=7000000&from=0&to=30000000&job=hidden", 790
    ),
    Picture("event_time", "12_three_lateness_settings", "#view=event-time&task=3&operator=0&fact=3.55", 740),
    Picture("event_time_relative", DEMO, "#view=event-time&job=hidden", 650),
    Picture("watermarks", "22_watermark_alignment", "#view=event-time&key=0&t=5000000000&job=hidden", 680),
    Picture("state", "13_sessions_merge", "#view=state&key=1&scale=order&step=101&from=80&to=140&job=hidden", 720),
    Picture(
        "checkpoints",
        "33_aligned_checkpoint_under_skew",
        "#view=checkpoints&t=546109000&from=400000000&to=950000000&job=hidden",
        650,
    ),
    Picture(
        "in_flight",
        "42b_late_after_unaligned_restore",
        "#view=checkpoints&checkpoint=1&channel=0&from=0&to=30000000&job=hidden",
        710,
    ),
    Picture("late_payment", "16_two_watermarks", "#view=event-time&job=hidden", 640),
    Picture("steps", "12_three_lateness_settings", "#view=steps&fact=3.55&job=hidden", 560),
    *(
        Picture(f"start_{name}_{width}", scenario, "", height, width)
        for name, scenario in STARTS.items()
        for width, height in SIZES
    ),
)


def main(names: Sequence[str]) -> None:
    """Records each scenario once, and takes the pictures of its report: those with these names, or all."""
    browser = find_browser()
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for one in [picture for picture in PICTURES if picture.name in names or not names]:
            content = _small(
                picture(browser, _report(one.scenario, Path(folder)).read_bytes(), one.link, one.height, one.width)
            )
            target = FOLDER / f"{one.name}.png"
            target.write_bytes(content)
            print(f"{target.relative_to(ROOT)}: {len(content):,} bytes")


def _small(content: bytes) -> bytes:
    """A picture with few colours needs a third of the bytes."""
    found = BytesIO()
    Image.open(BytesIO(content)).convert("RGB").quantize(256).save(found, "PNG", optimize=True)
    return found.getvalue()


def _report(scenario: str, folder: Path) -> Path:
    scenario, _, until = scenario.partition(" until ")
    out = folder / f"{scenario}{until}"
    if not out.exists():
        record = ["--record", "full", "--out", str(out), "--allow-python"]
        if until:
            record += ["--until", until]
        elif scenario != DEMO:
            record.append("--record-state")
        for command in (
            ["run", str(ROOT / "scenarios" / f"{scenario}.yaml"), *record],
            ["report", str(out)],
        ):
            done = CliRunner().invoke(app, command)
            if done.exit_code:
                sys.exit(done.output)
    return out / "report.html"


if __name__ == "__main__":
    main(sys.argv[1:])
