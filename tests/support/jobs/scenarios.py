"""A small scenario for the tests of the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.mini_cluster import execute
from flowsim.errors import ScenarioError
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text

HERE = Path(__file__).parents[2] / "unit" / "scenario" / "data"
HEAD = """\
flowsim: 1
name: test
sources:
  rows:
    collection:
      fields: {word: string, n: long, ratio: double}
      rows:
        - [b, 1, 0.5]
        - [a, 2, 1]
        - [b, 12, 2.5]
        - [a, 3, null]
    watermarks: {timestamp: n * 1000, emit: every_record}
"""


def compiled(
    text: str, tmp_path: Path, folder: Path = HERE, *, allow_python: bool = False, allow_path: bool = False
) -> CompiledScenario:
    scenario = load_text(text, "s.yaml", folder)
    return compile_scenario(scenario, out_dir=tmp_path / "out", allow_python=allow_python, allow_path=allow_path)


def results(body: str, tmp_path: Path, *, allow_python: bool = False, head: str = HEAD) -> dict[str, list[object]]:
    job = compiled(head + body, tmp_path, allow_python=allow_python)
    result = execute(job.stream_graph(), job.run_options())
    assert (result.status, result.error) == (JobStatus.FINISHED, None)
    return {sink.name: sink.collected.values() for sink in job.sinks if sink.collected is not None}


def refused(text: str, tmp_path: Path, folder: Path = HERE, *, allow_python: bool = False) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        compiled(text, tmp_path, folder, allow_python=allow_python)
    return str(error.value).splitlines()


def sinks(**inputs: str) -> str:
    return "sinks:\n" + "".join(f"  {name}: {{input: {stream}, collect: {{}}}}\n" for name, stream in inputs.items())
