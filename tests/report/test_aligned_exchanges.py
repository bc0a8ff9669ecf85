"""Exchanges that are aligned by force: the graph marks them, and the checkpoints and sentences name the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.graph.alignment import FORCED_RULE
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.trace.sentences import sentence
from tests.report.conftest import OpenReport
from tests.support.accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCENARIO = Path(__file__).parents[1] / "cases/inputs/flink_37870.yaml"
SENTENCES = "() => Array.from({length: flowsim.model.facts.count}, (_, place) => flowsim.model.sentences.at(place))"
FORCED = "is aligned by force in unaligned checkpoints"
BY_PARTITIONER = f"Source: rules -> ruled {FORCED}: its partitioner BROADCAST does not support them."
BY_OTHER_INPUT = f"slow -> ruled {FORCED}: another input of its task supports none: Source: rules -> ruled (BROADCAST)."


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded(tmp_path_factory.mktemp("aligned"), "sources.clicks.generator.count=300")


def recorded(folder: Path, *overrides: str) -> Recording:
    arguments = [argument for override in overrides for argument in ("--set", override)]
    ended = CliRunner().invoke(app, ["run", str(SCENARIO), "--out", str(folder / "run"), *arguments])
    assert ended.exit_code == 0, ended.output
    return Recording.open(folder / "run")


def test_graph_marks_the_exchanges(recording: Recording, open_report: OpenReport) -> None:
    page = open_report(recording, "#view=graph")
    marks = page.locator(".edge-label", has_text="never unaligned")
    # A title is not shown, and is part of the text of its element.
    texts = [mark.locator("text.faint").all_text_contents() for mark in marks.all()]
    assert sorted((first[:9], mark.removeprefix("never unaligned")) for first, mark, *_ in texts) == [
        ("BROADCAST", BY_PARTITIONER),
        ("REBALANCE", BY_OTHER_INPUT),
    ]
    assert page.locator("p.faint").all_inner_texts() == [BY_PARTITIONER, BY_OTHER_INPUT]
    described = [label.get_attribute("aria-description") or "" for label in page.locator(".edge-label").all()]
    assert sum("no unaligned barriers because of Source: rules -> ruled (BROADCAST)" in text for text in described) == 1
    assert violations(page) == []


def test_checkpoint_names_the_exchanges_and_the_input_that_forces_them(
    recording: Recording, open_report: OpenReport
) -> None:
    page = open_report(recording, "#view=checkpoints&checkpoint=1")
    notes = page.locator("section.checkpoint p.faint").all_inner_texts()
    assert notes[:2] == [BY_PARTITIONER, BY_OTHER_INPUT]
    barriers = page.locator("[aria-label='Channels at checkpoint 1'] tbody tr td:nth-child(2)").all_inner_texts()
    assert sorted(set(barriers)) == [
        "aligned by force because of Source: rules -> ruled (BROADCAST)", "aligned by force: BROADCAST", "unaligned",
    ]  # fmt: skip
    subtasks = page.locator("[aria-label='Subtasks of checkpoint 1'] tbody tr").all()
    unaligned = {row.locator("td").first.inner_text(): row.locator("td").nth(6).inner_text() for row in subtasks}
    assert unaligned["Source: clicks (1/1)"] == "yes"
    assert unaligned["Source: rules (1/1)"] == "no", "its only output is aligned by force"
    assert unaligned["ruled (1/2)"] == "no"
    assert unaligned["slow (2/2)"] == "yes"
    assert violations(page) == []


def test_sentences_of_barriers_name_the_reason_and_its_rule(recording: Recording, open_report: OpenReport) -> None:
    found: list[dict[str, Any]] = open_report(recording, "#view=steps").evaluate(SENTENCES)
    forced = [one["rules"][-1] for one in found if "aligned by force" in one["text"]]
    names = Names(recording)
    texts = [sentence(names, fact.table, fact.row, fact.depth).text for fact in merged_facts(recording, Selection())]
    assert len(forced) == sum("aligned by force" in text for text in texts) > 10
    assert set(forced) == {FORCED_RULE}


@pytest.mark.parametrize(
    ("override", "note"),
    [
        ("{interval: 200 ms}", "All exchanges are aligned: unaligned checkpoints are not enabled."),
        ("{interval: 200 ms, mode: at_least_once}", "No channel waits for a barrier: the checkpointing mode is AT_LEAST_ONCE."),
    ],
)  # fmt: skip
def test_reason_of_a_whole_checkpoint(tmp_path: Path, open_report: OpenReport, override: str, note: str) -> None:
    few = "sources.clicks.generator.count=300"
    page = open_report(recorded(tmp_path, few, f"settings.checkpointing={override}"), "#view=checkpoints&checkpoint=1")
    assert page.locator("section.checkpoint p.faint").all_inner_texts()[0] == note
    barriers = page.locator("[aria-label='Channels at checkpoint 1'] tbody tr td:nth-child(2)").all_inner_texts()
    assert set(barriers) == {"at least once" if "at_least" in override else "aligned"}
