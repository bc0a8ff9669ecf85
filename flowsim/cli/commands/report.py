"""``flowsim report``: a recording as one HTML file."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from flowsim.cli.command import Answer, command, size_argument
from flowsim.cli.judging import Judge
from flowsim.cli.options import Json
from flowsim.cli.progress import count_progress
from flowsim.errors import BadInput
from flowsim.recording.parquet_part import write_file
from flowsim.recording.reader import Recording
from flowsim.report.laws import law_data
from flowsim.report.page import page, viewer_bytes
from flowsim.report.payload import BUDGET_BYTES, build_payload

RecordingPath = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="The output directory of 'flowsim run --out'.", show_default=False)
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="The file to write; default: report.html in RECORDING.", show_default=False
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the report in the default browser.")]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="SIZE",
        help="The size of the file; default: 5 MB. The report of a larger recording omits tables, and names them.",
        show_default=False,
    ),
]
Laws = Annotated[bool, typer.Option("--laws/--no-laws", help="Check the laws, and show verdicts and evidence.")]


@command
def report(
    recording: RecordingPath,
    html: Html = None,
    open_: Open = False,
    budget: Budget = None,
    laws: Laws = True,
    json_output: Json = False,
) -> Answer:
    """Write a recording as one HTML file that any browser opens, without a network.

    The file shows the job graph, the states of its tasks, buffers and credits of each channel, the verdicts of the laws
    and every fact, all at one cursor that steps through the run in causal order.
    """
    limit = size_argument("--budget", budget) or BUDGET_BYTES
    document = write_report(recording, html or recording / "report.html", limit, laws=laws, quiet=json_output)
    if open_:
        webbrowser.open(Path(document["report"]).resolve().as_uri())
    return Answer(document, lambda console: console.print(_text(document), soft_wrap=True))


def write_report(
    recording: Path, html: Path, limit: int = BUDGET_BYTES, *, laws: bool = True, quiet: bool
) -> dict[str, Any]:
    """Writes the report of a recording to the file ``html``; returns what the command prints as JSON."""
    opened = Recording.open(recording)
    verdicts = _judged(recording, opened, quiet) if laws else None
    payload = build_payload(opened, str(recording), verdicts, limit - viewer_bytes())
    content = page(payload).encode()
    _write(html, content)
    return {
        "report": str(html),
        "bytes": len(content),
        "facts": payload.facts,
        "omitted": list(payload.omitted),
        "exit_code": 0,
    }


def _text(document: dict[str, Any]) -> str:
    lines = [f"report {document['report']}: {document['facts']:,} facts, {document['bytes'] / 1e6:.2f} MB"]
    if document["omitted"]:
        lines.append(f"note: without {', '.join(document['omitted'])}: they need a larger --budget")
    return "\n".join(lines)


def _judged(path: Path, recording: Recording, quiet: bool) -> dict[str, Any]:
    """The verdicts of the laws, without Spark."""
    with count_progress("judging", quiet) as progress:
        verdicts = Judge("python").judge([path], [recording], [], progress)
    return law_data(recording, str(path), verdicts)


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
    except OSError as error:
        raise BadInput(f"--html: {path}: cannot be written: {error.strerror or error}") from None
