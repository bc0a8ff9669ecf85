"""A report as JUnit XML for build servers: a suite per recording, a test case per law."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from flowsim.errors import printable
from flowsim.laws.law import Verdict
from flowsim.quantities import count_text
from flowsim.validation.report import SENTENCES
from flowsim.validation.verdict import Line, Report


def to_junit(report: Report) -> str:
    """Returns the XML document. Violated and vacuous laws are failures; laws that do not apply are skipped."""
    root = ElementTree.Element("testsuites", name="flowsim")
    for run, recording in enumerate(map(printable, report.recordings)):
        lines = [line for line in report.lines if line.run == run]
        skipped = sum(line.outcome.verdict is Verdict.NOT_APPLICABLE for line in lines)
        errors = [text for errors_run, text in report.errors if errors_run == run]
        tests, failures = len(lines) + len(errors), sum(line.broken for line in lines)
        counts = {"tests": tests, "failures": failures, "errors": len(errors), "skipped": skipped}
        numbers = {name: str(count) for name, count in counts.items()}
        suite = ElementTree.SubElement(root, "testsuite", {"name": recording, **numbers})
        for line in lines:
            _add_case(suite, recording, line)
        for text in errors:
            case = ElementTree.SubElement(suite, "testcase", classname=recording, name="not checked")
            ElementTree.SubElement(case, "error", message=printable(text))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ElementTree.Element, recording: str, line: Line) -> None:
    outcome = line.outcome
    case = ElementTree.SubElement(suite, "testcase", classname=recording, name=outcome.law)
    if line.broken:
        message = f"{count_text(outcome.violations, 'violation')}, {count_text(outcome.rows_examined, 'row')} examined"
        failure = ElementTree.SubElement(case, "failure", type=outcome.verdict.value, message=message)
        evidence = [json.dumps(row, default=str) for row in outcome.evidence]
        failure.text = "\n".join([SENTENCES.get(outcome.law, outcome.law), *filter(None, [outcome.reason]), *evidence])
    elif outcome.verdict is Verdict.NOT_APPLICABLE:
        ElementTree.SubElement(case, "skipped", message=outcome.reason)
    output = ElementTree.SubElement(case, "system-out")
    output.text = f"{count_text(outcome.rows_examined, 'row')} examined"
