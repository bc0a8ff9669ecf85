"""``flowsim report``: the file that it writes, its answers and its errors."""

from __future__ import annotations

import json
import re
import webbrowser
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Flowsim


def head_of(html: Path) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="head">(.*?)</script>', html.read_text())
    assert found is not None
    head: dict[str, object] = json.loads(found.group(1))
    return head


def test_report_is_written_beside_the_recording_with_verdicts(flowsim: Flowsim, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml", "--out", "out")

    called = flowsim("report", "out", "--json")

    html = tmp_path / "out/report.html"
    head = head_of(html)
    assert called.code == 0
    assert called.document == {
        "report": "out/report.html", "bytes": html.stat().st_size, "facts": head["facts"], "omitted": [],
        "look_at": head["start"]["look_at"], "parts": None, "against": None, "png": None, "exit_code": 0,
    }  # fmt: skip
    laws = head["laws"]["laws"]  # type: ignore[index]
    assert {law["verdict"] for law in laws} <= {"holds", "not applicable"}
    assert flowsim("validate", "out").code == 0


def test_options_choose_file_and_browser_and_skip_laws(
    flowsim: Flowsim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    flowsim("run", "tiny.yaml", "--out", "out")

    called = flowsim("report", "out", "--html", "pages/r.html", "--open", "--no-laws")

    assert re.match(r"report pages/r.html: [\d,]+ facts, \d\.\d\d MB\n", called.out)
    assert opened == [(tmp_path / "pages/r.html").as_uri()]
    assert head_of(tmp_path / "pages/r.html")["laws"] is None


def test_report_of_a_part_is_noted(flowsim: Flowsim, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml", "--out", "out")

    called = flowsim("report", "out", "--from", "0", "--to", "1us", "--no-laws")

    assert re.search(r"note: \d+ facts in 1 part of the run one by one, and counts of all facts", called.out)
    (part,) = head_of(tmp_path / "out/report.html")["parts"]  # type: ignore[misc]
    assert part["why"] == ["asked for"]


def test_report_against_another_recording_names_the_first_difference(flowsim: Flowsim, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml", "--out", "out")
    flowsim("run", "tiny.yaml", "--out", "other", "--policy", "random")

    called = flowsim("report", "out", "--against", "other", "--no-laws", "--json")
    again = flowsim("report", "out", "--against", "out", "--no-laws")

    document = called.document
    assert document["against"]["recording"] == "other"
    assert isinstance(document["against"]["first_difference"], int)
    assert again.out.endswith("against out: all facts are equal\n")
    html = (tmp_path / "out/report.html").read_text()
    assert html.count('id="head-b"') == html.count('id="against">{"difference": null}') == 1


def test_view_and_moment_are_part_of_the_opened_address(flowsim: Flowsim, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    flowsim("run", "tiny.yaml", "--out", "out")

    flowsim("report", "out", "--no-laws", "--open", "--view", "timeline", "--at", "1.5 us")
    flowsim("report", "out", "--no-laws", "--open", "--at", "#view=channel&channel=0&fact=1.5")

    assert [address.partition("#")[2] for address in opened] == [
        "view=timeline&t=1500", "view=channel&channel=0&fact=1.5",
    ]  # fmt: skip


def test_picture_without_a_browser_is_refused_and_nothing_written(
    flowsim: Flowsim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flowsim("run", "tiny.yaml", "--out", "out")
    monkeypatch.setenv("PATH", str(tmp_path))

    called = flowsim("report", "out", "--png", "view.png")

    assert called.code == 2
    assert "--png needs Chromium" in called.err
    assert "apt-get install chromium" in called.err
    assert not list(tmp_path.rglob("*.html")) + list(tmp_path.rglob("*.png"))


def test_picture_of_a_browser_that_fails_is_refused(
    flowsim: Flowsim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flowsim("run", "tiny.yaml", "--out", "out")
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\necho 'no display' >&2\nexit 21\n")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    called = flowsim("report", "out", "--no-laws", "--png", "view.png")

    assert called.code == 2
    assert "chromium ended with 21 and wrote no picture: no display" in called.err
    assert not (tmp_path / "view.png").exists()


def test_recording_of_elements_gives_a_report(flowsim: Flowsim, tmp_path: Path) -> None:
    flowsim("run", "tiny.yaml", "--out", "out", "--record", "elements")

    assert flowsim("report", "out").code == 0
    assert "buffers" not in head_of(tmp_path / "out/report.html")["sections"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such recording"),
        (["."], "not a recording"),
        (["out", "--budget", "much"], "--budget"),
        (["out", "--from", "2 ms", "--to", "1 ms"], "--from 2 ms is not before --to 1 ms"),
        (["out", "--against", "nowhere"], "nowhere: no such recording"),
        (["out", "--view", "queues"], "--view queues: no such view; expected one of start, graph, timeline"),
        (["out", "--at", "chanel=1"], "--at: 'chanel=1' is no part of a link"),
        (["out", "--at", "soon"], "--at: expected a time since the start of the run"),
        (["out", "--html", "tiny.yaml/r.html"], "--html: tiny.yaml/r.html: cannot be written"),
    ],
)
def test_bad_argument_is_refused_and_nothing_written(
    flowsim: Flowsim, tmp_path: Path, arguments: list[str], message: str
) -> None:
    flowsim("run", "tiny.yaml", "--out", "out")

    called = flowsim("report", *arguments)

    assert called.code == 2
    assert message in called.err
    assert not list(tmp_path.rglob("*.html"))
