"""Recordings of shipped and small scenarios, each made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import flowsim
from flowsim.why.answer import WhyAnswer
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts

SCENARIOS = Path(__file__).parents[3] / "scenarios"

DECLINED = """\
flowsim: 1
name: declined
settings:
  cost: 0
  buffer_timeout: 0
  task_managers: one
  checkpointing: {interval: 2 s, min_pause: 2 s, unaligned: true, tolerable_failed_checkpoints: 5}
sources:
  s:
    script:
      fields: {id: long, n: long}
      gap: 100 ms
      subtasks: [[{record: [0, 2], timestamp: 0, step: 0}, {record: [1, 2], timestamp: 1, step: 8}, {end: true, step: 9}]]
operators:
  asked:
    {input: s, partition: rebalance, parallelism: 1, async: {mode: ordered, latency: 500 ms, timeout: 9 s, add: {m: n}}}
  kept: {input: asked, parallelism: 2, key_by: "n % 3", min: n}
sinks:
  out: {input: kept, collect: {}, parallelism: 2}
actions: [{checkpoint: {at: 1100 ms}}]
"""
"""The barrier of checkpoint 1 overtakes the end of the data behind ``asked``, which ends as checkpoint 2 is triggered."""

UNTIL_NS = {"22_watermark_alignment": 3_000_000_000}
"""Where long runs stop: after the moments that tests ask about."""

Recorded = Callable[..., Path]
"""Runs a scenario, by the name of a shipped one or as text, and returns the directory of its run."""
Ask = Callable[..., WhyAnswer]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    known: dict[tuple[str | Path | None, ...], Path] = {}

    def record(scenario: str, *overrides: str, from_savepoint: Path | None = None) -> Path:
        of = (scenario, from_savepoint, *overrides)
        if of not in known:
            known[of] = tmp_path_factory.mktemp("run")
            given = scenario if "\n" in scenario else SCENARIOS / f"{scenario}.yaml"
            until_ns = UNTIL_NS.get(scenario)
            flowsim.run_scenario(
                given, out=known[of], overrides=overrides, until_ns=until_ns, from_savepoint=from_savepoint
            )
        return known[of]

    return record


@pytest.fixture(scope="session")
def ask(recorded: Recorded) -> Ask:
    """``ask(scenario, question, *about, at_ms=None, task=None, overrides=(), from_savepoint=None)``."""
    known: dict[Path, RunFacts] = {}

    def asked(
        scenario: str,
        question: str,
        *about: str,
        at_ms: float | None = None,
        task: str | None = None,
        overrides: tuple[str, ...] = (),
        from_savepoint: Path | None = None,
    ) -> WhyAnswer:
        path = recorded(scenario, *overrides, from_savepoint=from_savepoint)
        facts = known.setdefault(path, RunFacts(flowsim.open_recording(path)))
        if at_ms is not None:
            facts = facts.until(facts.start_ns + round(at_ms * 1_000_000))
        return answer(facts, question, Asked(about, None if task is None else frozenset(facts.names.find_tasks(task))))

    return asked


def text_of(answer: WhyAnswer) -> str:
    """All sentences of an answer."""
    lines = []
    for cause in (answer.statement, *answer.causes):
        lines += [f"{cause.text} [{', '.join(cause.rules)}]", *cause.details]
    return "\n".join([*lines, *answer.notes])
