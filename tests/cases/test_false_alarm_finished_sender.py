"""Law in-flight-cut on a sender that was restored as finished: it has no state, so its watermark is not stored."""

from __future__ import annotations

from pathlib import Path

from flowsim.explore.checked_run import judged_in_memory
from flowsim.facts.kinds import ElementKind, Level, StoredAction
from flowsim.laws.law import Verdict
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled
from flowsim.units import MAX_WATERMARK

SCENARIO = Path(__file__).parent / "inputs" / "false_alarm_finished_sender.yaml"


def test_overtaken_watermark_of_finished_sender_is_not_stored_and_violates_nothing() -> None:
    run = run_compiled(compile_scenario(load_scenario(SCENARIO), out_dir=Path("never-written")), record=Level.FULL)
    assert run.facts is not None
    sent = [row[5:7] for row in run.facts.rows("sent") if row[3] == 0]
    assert (ElementKind.UNALIGNED_BARRIER, 7) in sent[sent.index((ElementKind.WATERMARK, MAX_WATERMARK)) :]
    stored = [row for row in run.facts.rows("stored_channels") if row[3] == StoredAction.STORED and row[2] == 7]
    assert [row[7] for row in stored] == [1]
    assert [outcome.law for outcome in judged_in_memory(run) if outcome.verdict is Verdict.VIOLATED] == []
