"""A view of a report as a PNG file, drawn by a Chromium of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from flowsim.errors import BadInput

BROWSERS: Final = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
)  # fmt: skip
"""The first one needs half of the time: it has no windows."""
WIDTH: Final = 1280
HEIGHT: Final = 900

_TIME_MS: Final = 20_000
"""The page's own time after which Chromium takes the picture; it passes at once when the page has nothing to do."""
_LIMIT_S: Final = 120


def find_browser() -> str:
    """Returns the path of a Chromium; raises BadInput if there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise BadInput(
            f"--png needs Chromium, and the PATH has none of {', '.join(BROWSERS)}; on Debian install it with: "
            "apt-get install chromium"
        )
    return found


def picture(browser: str, html: bytes, link: str, height: int = HEIGHT, width: int = WIDTH) -> bytes:
    """Returns the page at ``link`` in a window of this size as PNG; raises BadInput if Chromium fails."""
    with TemporaryDirectory(prefix="flowsim-png-") as directory:
        page, file = Path(directory, "report.html"), Path(directory, "report.png")
        page.write_bytes(html)
        command = [
            browser, "--headless", "--hide-scrollbars", "--disable-dev-shm-usage", f"--user-data-dir={directory}/profile",
            f"--window-size={width},{height}", f"--virtual-time-budget={_TIME_MS}", f"--screenshot={file}",
            f"{page.as_uri()}{link}",
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # As root Chromium refuses to start with its sandbox.
        try:
            done = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            raise BadInput(f"--png: {browser} did not draw the page within {_LIMIT_S} s") from None
        except OSError as error:
            raise BadInput(f"--png: {browser} cannot be started: {error.strerror or error}") from None
        if not file.exists():
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise BadInput(f"--png: {browser} ended with {done.returncode} and wrote no picture: {lines[-1][:200]}")
        return file.read_bytes()
