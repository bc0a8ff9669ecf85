"""What both sides of a comparison have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.conform.settings import common_job
from flowsim.conform.unsupported import Unsupported
from flowsim.graph.job_graph import create_job_graph
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text

JOB = """\
flowsim: 1
name: calls
sources:
  s:
    script:
      fields: {id: long}
      subtasks: [[{record: [1], timestamp: 1, step: 0}, {end: true, step: 1}]]
    WATERMARKS
operators:
  asked: {input: s, async: {mode: ordered, latency: 1 ms, add: {n: id}}}
  again: {input: asked, async: {mode: ordered, latency: 1 ms, add: {m: id}}}
sinks:
  out: {input: again, collect: {}}
"""


@pytest.mark.parametrize(
    ("watermarks", "heads"),
    [("", ["Source: s", "asked"]), ("watermarks: {timestamp: timestamp, emit: every_record}", ["Source: s"])],
)
def test_script_without_strategy_is_a_source_function_to_which_async_operators_are_not_chained(
    watermarks: str, heads: list[str], tmp_path: Path
) -> None:
    text = JOB.replace("WATERMARKS", watermarks)
    job = common_job(compile_scenario(load_text(text, "calls.yaml", tmp_path), out_dir=tmp_path).stream_graph())
    assert [vertex.operators[0].node.name for vertex in create_job_graph(job.graph).vertices] == heads
    assert [node.is_legacy_source for node in job.graph.nodes.values() if node.is_source] == [not watermarks]


def test_batch_mode_is_refused_also_without_an_exchange(tmp_path: Path) -> None:
    text = JOB.replace("WATERMARKS", "").replace("sources:", "settings: {runtime_mode: batch}\nsources:")
    with pytest.raises(Unsupported, match="BATCH mode"):
        common_job(compile_scenario(load_text(text, "batch.yaml", tmp_path), out_dir=tmp_path).stream_graph())


@pytest.mark.parametrize(("checkpoints", "heads"), [("", 1), ("settings: {checkpointing: {interval: 1 h}}\n", 2)])
def test_only_a_sink_that_commits_begins_a_chain_behind_a_source_function(
    checkpoints: str, heads: int, tmp_path: Path
) -> None:
    text = f"""\
flowsim: 1
name: short
{checkpoints}sources:
  s:
    script:
      fields: {{id: long}}
      subtasks: [[{{record: [1], timestamp: 1, step: 0}}]]
sinks:
  out: {{input: s, collect: {{}}}}
"""
    job = common_job(compile_scenario(load_text(text, "short.yaml", tmp_path), out_dir=tmp_path).stream_graph())
    vertices = create_job_graph(job.graph).vertices
    assert len([each for each in vertices if "Committer" not in each.operators[0].node.name]) == heads
