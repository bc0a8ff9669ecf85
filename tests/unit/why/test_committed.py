"""``flowsim why ... committed``: the rows of sinks, compared with the results of their scenarios."""

from __future__ import annotations

import re

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.facts.kinds import CommittableAction
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import Ask, Recorded, text_of
from tests.unit.why.test_checkpoint import EXPIRED


def test_rows_of_a_sink_are_those_of_its_committed_committables(recorded: Recorded, ask: Ask) -> None:
    """The scenario expects 20 rows at the sink ``once``."""
    text = text_of(ask("38_delivery_of_sinks", "committed"))

    assert "Sink: once has committed 20 rows in 2 committables" in text
    facts = RunFacts(flowsim.open_recording(recorded("38_delivery_of_sinks")))
    commits = facts.all_rows("committables").equal(action=CommittableAction.COMMITTED)
    times = [facts.moment(row["time_ns"]) for row in commits]
    assert (
        f"checkpoint 1: 11 rows of Source: numbers (1/1), prepared at 105 ms, committed at {times[0]} and again at {times[1]}"
        in text
    )
    assert "when attempt 1 was restored: the state of the committer contains it" in text
    assert "had got 4 rows that failure 0 undid" in text


def test_sink_without_commits_shows_rows_twice(ask: Ask) -> None:
    """The scenario expects 24 rows at the sink ``repeated``, 20 of which differ."""
    text = text_of(ask("38_delivery_of_sinks", "committed", "repeated"))

    assert "What Sink: repeated gets is visible at once: 24 rows in all. It waits for no checkpoint." in text
    assert "4 rows of Source: numbers (1/1) came after the state from which failure 0 restarted it" in text


def test_row_names_its_checkpoint_and_the_attempt_that_lost_it(ask: Ask) -> None:
    """Its first copy came before the failure; the committable of the end has the number of a checkpoint that expired."""
    answer = ask(EXPIRED, "committed", "[1,1]")

    assert re.fullmatch(r"Record \[1,1\] is committed since 1\.36\d* s, with checkpoint 2\.", answer.statement.text)
    text = text_of(answer)
    assert (
        "At the end of its input, Sink: out (1/1) prepared its 40 rows since the checkpoint before as one committable"
        in text
    )
    assert "Sink: out: Committer (1/1) committed it at" in text
    assert "notified that checkpoint 2 is complete" in text
    assert "In attempt 0 it had come at 60.001 ms, and was not committed: the attempt was canceled at 150 ms" in text


def test_row_of_restored_data_is_not_read_again(ask: Ask) -> None:
    """The record of the late row was in flight, and the checkpoint contains it."""
    text = text_of(ask("42b_late_after_unaligned_restore", "committed"))
    assert (
        "Sink: late in counts (1/1) had got 1 row that failure 0 undid: it was in no complete checkpoint, so not committed, "
        "and what it came from is processed again."
    ) in text


def test_row_that_is_not_committed_yet(ask: Ask) -> None:
    answer = ask(EXPIRED, "committed", "[1,1]", at_ms=140)
    assert answer.statement.text == "Record [1,1] is not committed by 140 ms: no checkpoint was taken after it."
    assert ask(EXPIRED, "committed", "[39,39]", at_ms=140).statement.text == (
        "Record [39,39] has not reached Sink: out by 140 ms."
    )


def test_result_of_a_window_in_the_chain_of_the_sink(ask: Ask) -> None:
    text = text_of(ask("39_at_least_once_mode", "committed", "[0, 3600000)", "a"))
    assert "The result of window [0, 3,600,000) of key a is committed since" in text
    assert "At the end of its input, Sink: out in counted (1/1) prepared its 1 row" in text


def test_rows_inside_a_chain_and_unknown_sinks_are_refused(ask: Ask) -> None:
    with pytest.raises(
        BadInput, match=r"records inside a chain are not recorded; run with --set sinks\.once\.chaining=never"
    ):
        ask("38_delivery_of_sinks", "committed", "[3]")
    with pytest.raises(BadInput, match=r"there is no sink 'onse' \(did you mean 'once'\?\); there are: repeated, once"):
        ask("38_delivery_of_sinks", "committed", "onse", "[3]")
