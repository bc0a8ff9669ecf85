"""``flowsim report``: a recording as one HTML file."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from flowsim.cli.command import Answer, command, size_argument
from flowsim.cli.options import Json, Limit
from flowsim.cli.report_file import write_report
from flowsim.errors import BadInput
from flowsim.limits import limits_of
from flowsim.quantities import count_text
from flowsim.report.payload import BUDGET_BYTES, Span
from flowsim.report.picture import find_browser, picture
from flowsim.scenario.new_file import new_file
from flowsim.trace.links import LINK_PARTS, VIEWS
from flowsim.trace.time import moment_ns

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
        help="The size of the file; default: 5.25 MB. Of a larger recording: counts, and all facts of some parts.",
        show_default=False,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Every fact only from this time after the start of the run, e.g. 1.5s; counts of the rest.",
        show_default=False,
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="TIME", help="Every fact only before this time, e.g. '20 ms'.", show_default=False),
]
Other = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="RECORDING",
        help="A second recording, side by side with the first from the first different fact.",
        show_default=False,
    ),
]
Png = Annotated[
    Path | None,
    typer.Option(
        "--png",
        metavar="FILE",
        help="Also draw a view as PNG of 1280 x 900 pixels; needs Chromium.",
        show_default=False,
    ),
]
ViewName = Annotated[
    str | None,
    typer.Option("--view", metavar="NAME", help=f"What --open and --png show: {', '.join(VIEWS)}.", show_default=False),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME|LINK",
        help="Where --open and --png begin: a time such as '1.5 ms', or a link such as 'channel=0&fact=1.302'.",
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
    from_: From = None,
    to: To = None,
    against: Other = None,
    png: Png = None,
    view: ViewName = None,
    at: At = None,
    laws: Laws = True,
    limit: Limit = None,
    json_output: Json = False,
) -> Answer:
    """Write a recording as one HTML file that any browser opens, without a network.

    The file shows the job graph, the states of its tasks, buffers and credits of each channel, the verdicts of the laws
    and every fact, all at one cursor that steps through the run in causal order.
    """
    size, span, limits = size_argument("--budget", budget), _span(from_, to), limits_of(limit or ())
    link, browser = _link(view, at), None if png is None else find_browser()
    path = html or recording / "report.html"
    document = write_report(
        recording, path, size or BUDGET_BYTES, span=span, against=against, laws=laws, quiet=json_output, limits=limits
    )
    if png is not None and browser is not None:
        with new_file("--png", png) as file:
            file.write(picture(browser, path.read_bytes(), link))
        document["png"] = str(png)
    if open_:
        webbrowser.open(path.resolve().as_uri() + link)
    return Answer(document, lambda console: console.print(_text(document), soft_wrap=True))


def _link(view: str | None, at: str | None) -> str:
    """The part of the address from #; '' without options."""
    if view is not None and view not in VIEWS:
        raise BadInput(f"--view {view}: no such view; expected one of {', '.join(VIEWS)}")
    parts = [] if view is None else [f"view={view}"]
    if at is not None and "=" in at:
        parts.append(_checked(at.removeprefix("#")))
    elif at is not None:
        parts.append(f"t={moment_ns('--at', at)}")
    return f"#{'&'.join(parts)}" if parts else ""


def _checked(link: str) -> str:
    for part in link.split("&"):
        name, _, value = part.partition("=")
        if name not in LINK_PARTS or not re.fullmatch(r"[\w.-]+", value):
            raise BadInput(f"--at: {part!r:.60} is no part of a link; expected NAME=VALUE with {', '.join(LINK_PARTS)}")
    return link


def _span(from_: str | None, to: str | None) -> Span | None:
    from_ns, to_ns = moment_ns("--from", from_), moment_ns("--to", to)
    if from_ns is not None and to_ns is not None and from_ns >= to_ns:
        raise BadInput(f"--from {from_} is not before --to {to}")
    return None if from_ns is None and to_ns is None else Span(from_ns, to_ns)


def _text(document: dict[str, Any]) -> str:
    lines = [f"report {document['report']}: {count_text(document['facts'], 'fact')}, {document['bytes'] / 1e6:.2f} MB"]
    if document["png"] is not None:
        lines.append(f"picture {document['png']}")
    if document["parts"] is not None:
        facts = sum(part["end"] - part["first"] for part in document["parts"])
        parts = count_text(len(document["parts"]), "part")
        lines.append(
            f"note: {count_text(facts, 'fact')} in {parts} of the run one by one, and counts of all facts: "
            "a larger --budget has more, --from and --to choose another part"
        )
    if document["against"] is not None:
        step = document["against"]["first_difference"]
        where = "all facts are equal" if step is None else f"the first difference is at step {step:,}"
        lines.append(f"against {document['against']['recording']}: {where}")
    if document["omitted"]:
        lines.append(f"note: without {', '.join(document['omitted'])}: they need a larger --budget")
    return "\n".join(lines)
