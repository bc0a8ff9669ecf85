"""``flowsim why ... order``: the order of two records at each place, compared with the sequence numbers of facts."""

from __future__ import annotations

from itertools import combinations

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.trace.names import Names
from tests.unit.why.conftest import Ask, Recorded, text_of


@pytest.mark.parametrize("scenario", ["29_rebalance_loses_order", "30_broadcast_order"])
def test_order_at_each_task_is_that_of_its_facts(ask: Ask, recorded: Recorded, scenario: str) -> None:
    """The plain computation: the position of both records among those that the task received."""
    recording = flowsim.open_recording(recorded(scenario))
    names = Names(recording)
    read: dict[int, list[str]] = {}
    for row in recording.rows("received"):
        if row[5] == ElementKind.RECORD:
            read.setdefault(row[1], []).append(names.value(row[7]))
    for one, other in combinations(dict.fromkeys(value for values in read.values() for value in values), 2):
        text = text_of(ask(scenario, "order", one, other))
        for task, values in read.items():
            if one in values and other in values:
                early, late = sorted((one, other), key=values.index)
                assert f"{names.short_task(task)} read {early} at " in text
                assert f", and {late} after it" in text


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_order_of_async_results_is_that_of_their_emission(ask: Ask, recorded: Recorded, mode: str) -> None:
    recording = flowsim.open_recording(recorded("24_async_order"))
    names = Names(recording)
    task = next(task for task, name in names.tasks.items() if name.startswith(mode))
    values, emitted = {}, []
    for row in recording.rows("async_elements"):
        if row[1] == task and row[6] == ElementKind.RECORD:
            if row[5] == AsyncAction.PUT:
                values[row[4]] = names.value(row[8])
            elif row[5] == AsyncAction.EMIT:
                emitted.append(values[row[4]])
    assert len(emitted) == 5
    for early, late in combinations(emitted, 2):
        text = text_of(ask("24_async_order", "order", late, early, task=mode))
        assert f"{mode} emitted {early} before {late}" in text


def test_reversal_is_the_statement(ask: Ask) -> None:
    answer = ask("24_async_order", "order", '["a",1,90]', '["a",2,20]')

    assert answer.statement.text == (
        'Record ["a",1,90] (timestamp 1 ms) comes before record ["a",2,20] (timestamp 3 ms) at Source: asks (1/1), '
        "and after it at unordered (1/1)."
    )


def test_results_of_async_calls_can_be_asked_about(ask: Ask) -> None:
    text = text_of(ask("24_async_order", "order", '["a",1]', '["a",2]'))

    assert "unordered emitted" in text


def test_watermark_between_two_records_keeps_their_order(ask: Ask) -> None:
    text = text_of(ask("24_async_order", "order", '["a",1,90]', '["a",3,5]', task="unordered"))

    assert 'the outcome for ["a",3,5] came first: watermark 3 ms is between them' in text


def test_two_subtasks_are_two_senders(ask: Ask) -> None:
    answer = ask("29_rebalance_loses_order", "order", '["a",1]', '["a",2]')
    sent, apart, read = answer.causes

    assert sent.text.startswith("Source: readings (1/1) sent")
    assert 'went to checked (2/2) and record ["a",2] to checked (1/2) (partitioner: REBALANCE)' in apart.text
    assert 'Both have key "a"' in read.text


def test_broadcast_elements_of_two_senders_differ_in_their_order(ask: Ask) -> None:
    answer = ask("30_broadcast_order", "order", '[1,"old"]', '[1,"new"]')

    assert "at Sink: applied (2/2), and after it at Sink: applied (1/2)" in answer.statement.text
    assert 'although [1,"new"] was sent earlier' in answer.causes[1].text


def test_keys_of_two_subtasks_have_no_order(ask: Ask) -> None:
    text = text_of(ask("20_few_keys", "order", '[0,"0"]', '[1,"1"]'))

    assert 'Record [0,"0"] went to counts (6/8) and record [1,"1"] to counts (4/8) (partitioner: HASH)' in text


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (('["a",1]', '["a",1]'), "are the same record"),
        (('["a",', '["a",1]'), "matches 6 records; give one of them:"),
        (("[7]", '["a",1]'), "no recorded value is or contains"),
    ],
)
def test_ambiguous_or_equal_records_are_refused(ask: Ask, about: tuple[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        ask("12_three_lateness_settings", "order", *about)
