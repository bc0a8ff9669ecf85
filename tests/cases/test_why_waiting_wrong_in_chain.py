"""`why waiting` about a source whose records stay in its chain: it names the open calls, and claims no lack of records."""

from __future__ import annotations

from pathlib import Path

import flowsim
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts

SCENARIO = Path(__file__).parent / "inputs" / "why_waiting_wrong_in_chain.yaml"


def test_open_calls_of_the_chain_are_named_and_no_record_is_denied(tmp_path: Path) -> None:
    flowsim.run_scenario(SCENARIO, out=tmp_path)
    facts = RunFacts(flowsim.open_recording(tmp_path))
    found = answer(facts.until(facts.start_ns + 400_000_000), "waiting", Asked(()))
    _, source, calls = found.causes
    assert source.text == (
        "Source: requests (1/1) is a source and has no record to read: the last one that the recording shows was queued by "
        "asked at 300.002 ms; it emitted 3 records in all."
    )
    assert calls.text == "asked has 3 elements in its queue; the task runs each result as a mail."
    assert [line.rpartition(", ")[2] for line in calls.details] == [f"result at {ms}.002 ms" for ms in (600, 700, 800)]
