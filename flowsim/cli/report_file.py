"""Writes the report of a recording, for every command that has one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowsim.cli.judging import Judge
from flowsim.cli.progress import count_progress
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.reader import Recording
from flowsim.report.against import first_difference
from flowsim.report.exact_parts import ExactPart
from flowsim.report.laws import law_data
from flowsim.report.page import Against, page, viewer_bytes
from flowsim.report.payload import BUDGET_BYTES, Span, build_payload
from flowsim.scenario.new_file import new_file
from flowsim.validation.verdict import Report


def write_report(
    recording: Path,
    html: Path,
    budget_bytes: int = BUDGET_BYTES,
    *,
    span: Span | None = None,
    against: Path | None = None,
    laws: bool = True,
    verdicts: Report | None = None,
    quiet: bool,
    limits: Limits = DEFAULT_LIMITS,
) -> dict[str, Any]:
    """Writes the report of a recording to the file ``html``; returns what the command prints as JSON.

    ``verdicts``: those of the laws on the recording, if they are known; otherwise the laws are checked unless ``laws`` is
    False. Raises BadInput if the recording is damaged, or the file cannot be written.
    """
    paths = [recording] if against is None else [recording, against]
    opened = [Recording.open(path, limits=limits) for path in paths]
    difference = first_difference(*opened) if len(opened) == 2 else None
    payload, *others = [
        build_payload(
            one,
            str(path),
            law_data(one, str(path), known or _judged(path, one, quiet)) if laws else None,
            (budget_bytes - viewer_bytes()) // len(paths),
            span,
            difference,
        )
        for path, one, known in zip(paths, opened, (verdicts, None), strict=False)
    ]
    content = page(payload, Against(others[0], difference) if others else None).encode()
    with new_file("--html", html) as file:
        file.write(content)
    return {
        "report": str(html),
        "bytes": len(content),
        "facts": payload.facts,
        "omitted": list(payload.omitted),
        "look_at": [one.as_data() for one in payload.look_at],
        "parts": None if payload.parts is None else [_part_data(part) for part in payload.parts],
        "against": None if against is None else {"recording": str(against), "first_difference": difference},
        "png": None,
        "exit_code": 0,
    }


def _part_data(part: ExactPart) -> dict[str, Any]:
    return {"first": part.first, "end": part.end, "why": list(part.why)}


def _judged(path: Path, recording: Recording, quiet: bool) -> Report:
    """The verdicts of the laws, without Spark."""
    with count_progress("judging", quiet) as progress:
        return Judge("python").judge([path], [recording], [], progress)
