"""The report of a recording as an object that notebooks show in a cell."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from flowsim.quantities import count_text
from flowsim.recording.reader import Recording
from flowsim.report.laws import law_data
from flowsim.report.page import page, viewer_bytes
from flowsim.report.payload import BUDGET_BYTES, build_payload
from flowsim.scenario.new_file import new_file
from flowsim.validation.judge import open_runs, validate

_HEIGHT_PX = 720


@dataclass(frozen=True, slots=True, repr=False)
class RecordingReport:
    """A recording as one HTML page, as of ``flowsim report``; a notebook shows it in a frame."""

    html: str
    """The whole page: it opens from disk and loads nothing."""
    facts: int
    """The number of facts in the recording."""
    omitted: tuple[str, ...]
    """The tables that did not fit into the budget."""
    link: str = ""
    """What the page shows first, as in its address after ``#``; '': the job graph."""

    def at(self, link: str) -> RecordingReport:
        """Returns the report with another first view, such as ``view=channel&channel=0``."""
        return replace(self, link=link.removeprefix("#"))

    def write(self, path: str | Path) -> None:
        """Writes the page to a file; raises BadInput if this is not possible."""
        with new_file("report", Path(path)) as file:
            file.write(self.html.encode())

    def __repr__(self) -> str:
        return f"<RecordingReport {count_text(self.facts, 'fact')}, {len(self.html.encode()) / 1e6:.2f} MB>"

    def _repr_html_(self) -> str:
        """Shows the page in a frame of its own, so its styles and scripts do not affect the notebook."""
        opened = f"this.contentWindow.location.hash = {json.dumps(self.link)}" if self.link else ""
        style = f"width: 100%; height: {_HEIGHT_PX}px; border: 1px solid #ccc"
        return (
            f'<iframe title="flowsim report" style="{style}" onload="{escape(opened)}" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )


def report_of(
    recording: Recording, name: str, *, laws: bool = True, budget_bytes: int = BUDGET_BYTES
) -> RecordingReport:
    """Returns the report of a recording. ``name``: what the page calls it; ``laws``: whether they are checked, in Python."""
    verdicts = law_data(recording, name, validate(open_runs([recording]))) if laws else None
    payload = build_payload(recording, name, verdicts, budget_bytes - viewer_bytes())
    return RecordingReport(page(payload), payload.facts, payload.omitted)
