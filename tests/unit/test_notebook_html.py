"""What notebooks display: runs, jobs and reports as small HTML without anything from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from flowsim import StreamExecutionEnvironment, open_recording, run_scenario, validate_recording
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.laws.catalogue import LAWS
from flowsim.laws.law import Outcome, Verdict
from flowsim.notebook_html import html_block, html_table
from flowsim.testing import JobRun, Schedule, run_job
from flowsim.validation.verdict import Line, Report

WORDS = """\
flowsim: 1
name: words
sources: {lines: {collection: {fields: {word: string}, rows: [[to], [be]]}}}
sinks: {all: {input: lines, collect: {}}}
expect: {rows: {all: 3}}
"""


class Tags(HTMLParser):
    """The tags of a text, with their attributes; fails unless all are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.names: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def cells(html: str) -> list[list[str]]:
    """The rows of all tables, without their headings."""
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    return [row for row in rows if row]


def job(schedule: Schedule, *faults: Fault) -> JobRun:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["<a>", "b"]).map(str.upper).name("<upper>").set_parallelism(2)
    return run_job(env, schedule=schedule, faults=faults)


def report(*outcomes: tuple[int, Outcome], recordings: int = 1) -> Report:
    names = tuple(f"out/<{number}>" for number in range(recordings))
    return Report(names, tuple(Line(run, outcome) for run, outcome in outcomes))


def test_html_of_every_object_is_closed_escaped_and_loads_nothing(tmp_path: Path) -> None:
    shown = [
        run_scenario(WORDS)._repr_html_(),
        job(Schedule())._repr_html_(),
        report((0, Outcome("fifo", Verdict.VIOLATED, 3, 1, ({"what": "<script>"},))))._repr_html_(),
        report(recordings=2).with_error(1, BadInput("<lost>"))._repr_html_(),
    ]
    for html in shown:
        tags = Tags(html)
        assert tags.names <= {"div", "p", "b", "table", "tr", "th", "td"}
        assert tags.attributes <= {"style"}
        assert len(html) < 6000


def test_number_has_separators_and_text_is_escaped() -> None:
    assert cells(html_block("a", "b", html_table(["<"], [["<td>", 1234]]))) == [["&lt;td&gt;", "1,234"]]


def test_table_without_headings_has_no_heading_line() -> None:
    assert "<th" not in html_table((), [["a", 1]])
    assert html_table(("b",), []).count("<tr>") == 1


def test_runs_and_reports_have_a_short_text_without_addresses(tmp_path: Path) -> None:
    run = run_scenario(WORDS, out=tmp_path)
    shown = [repr(run), repr(open_recording(tmp_path)), repr(validate_recording(tmp_path, engine="python"))]
    assert shown == [
        "<ScenarioRun words finished after 0.000004 s, 2 records read>",
        f"<Recording {tmp_path / 'recording'}: complete>",
        f"<Report: 2 laws hold, {len(LAWS) - 2} do not apply>",
    ]


def test_scenario_run_shows_status_sinks_and_expectations() -> None:
    html = run_scenario(WORDS)._repr_html_()
    assert html.startswith("<div><p><b>ScenarioRun</b> words finished after 0.000004 s, 2 records read</p>")
    assert cells(html) == [
        ["sink all", "2 rows"],
        ["job", "met: expected finished, found finished"],
        ["rows of sink all", "not met: expected 3, found 2"],
    ]


def test_scenario_run_with_a_directory_shows_its_recording(tmp_path: Path) -> None:
    run = run_scenario(WORDS, out=tmp_path)
    assert cells(run._repr_html_())[-1] == ["recording", str(tmp_path / "recording")]


def test_job_run_shows_its_ends_its_facts_and_how_to_repeat_it() -> None:
    run = job(Schedule(seed=7))
    html = run._repr_html_()
    assert "run_job(job, schedule=Schedule(policy=&#x27;fifo&#x27;, seed=7, budget_records=4096))</p>" in html
    assert cells(html)[0] == ["&lt;upper&gt;", "2", "2"]
    counts = {row[0]: int(row[1].replace(",", "")) for row in cells(html)[1:]}
    assert counts["sent"] == len(run.facts.rows("sent"))
    assert "window_fire" not in counts
    assert "outcomes" not in vars(run)
    assert html == job(Schedule(seed=7))._repr_html_()


def test_job_run_shows_the_error_of_a_failed_job() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([0]).map(lambda number: 1 // number)
    html = run_job(env, level=Level.OFF)._repr_html_()
    assert "failed after" in html
    assert "ZeroDivisionError" in html


def test_job_run_has_the_tables_of_its_facts() -> None:
    run = job(Schedule())
    assert run.to_arrow("sent", values=True).equals(run.facts.to_arrow("sent", values=True))
    frame = run.to_pandas("received", values=True)
    assert sorted(frame["value"].dropna()) == ["<a>", "b"]


def test_report_of_one_recording_has_a_row_per_law(tmp_path: Path) -> None:
    run_scenario(WORDS, out=tmp_path)
    found = validate_recording(tmp_path, engine="python")
    html = found._repr_html_()
    assert html.startswith(f"<div><p><b>Report</b> {found.line}</p>\n<details><summary>all laws</summary>")
    assert str(tmp_path) not in html
    assert [row[:2] for row in cells(html)] == [[line.outcome.law, line.outcome.verdict.value] for line in found.lines]


def test_report_shows_the_first_evidence_of_a_violation() -> None:
    violated = Outcome("fifo", Verdict.VIOLATED, 1000, 2, ({"what": "gap", "at": 3}, {"what": "gap", "at": 5}))
    html = report((0, violated))._repr_html_()
    assert "<b>Report</b> fifo is violated</p>\n<table>" in html
    assert cells(html) == [["fifo", "violated", "1,000", "2", "{&quot;what&quot;: &quot;gap&quot;, &quot;at&quot;: 3}"]]


def test_report_of_several_recordings_shows_only_what_is_not_a_pass() -> None:
    holds, vacuous = Outcome("fifo", Verdict.HOLDS, 5, 0), Outcome("end", Verdict.VACUOUS, 0, 0, reason="no rows")
    html = report((0, holds), (1, holds), (1, vacuous), recordings=2)._repr_html_()
    assert cells(html) == [["out/&lt;1&gt;", "end", "vacuous", "0", "0", "no rows"]]


@pytest.mark.parametrize("number", [100, 101])
def test_report_shows_at_most_a_hundred_rows_and_their_number(number: int) -> None:
    lines = [(0, Outcome("fifo", Verdict.VIOLATED, 1, 1)) for _ in range(number)]
    html = report(*lines, recordings=2)._repr_html_()
    assert len(cells(html)) == 100
    assert ("the first 100 of 101 are shown" in html) == (number == 101)


def test_report_shows_recordings_that_were_not_judged() -> None:
    html = report(recordings=2).with_error(1, BadInput("damaged"))._repr_html_()
    assert cells(html) == [["out/&lt;1&gt;", "damaged"]]
