"""``flowsim why ... no-output KEY``: async calls for records with the key, and their timeouts."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from tests.unit.why.conftest import Ask, text_of

ASKED = """\
flowsim: 1
name: asked
settings: {record: full, buffer_timeout: 0}
sources:
  asks: {script: {fields: {key: string, ms: long}, subtasks: [[{record: [k1, 100]}, {record: [k2, 5]}, {sleep: 300 ms}]]}}
operators:
  asked: {input: asks, async: {mode: unordered, timeout: 20 ms, on_timeout: drop, latency: {each: ms}, select: {key: key}}}
  total: {input: asked, key_by: key, map: {select: {key: key}}}
sinks: {out: {input: total, collect: {}}}
"""


def test_answer_after_the_timeout_is_ignored(ask: Ask) -> None:
    text = text_of(ask(ASKED, "no-output", "out", "k1"))

    assert text.startswith(
        'The call for record ["k1",100] timed out at 21.002 ms at asked in Source: asks (1/1), which then gave no result for '
        "it. [11.17]"
    )
    assert "what the call answers after its timeout is ignored, and gives no output. [11.12, 11.17]" in text


def test_element_without_an_outcome_waits_in_the_queue(ask: Ask) -> None:
    text = text_of(ask(ASKED.replace("drop", "nothing"), "no-output", "out", '"k1"', at_ms=50))

    assert text.startswith('1 record with "k1" is in the queue of asked in Source: asks (1/1): element 0: record')
    assert "The timeout of 1 element of asked has passed, the first one at 21.002 ms" in text


def test_key_with_an_answer_in_time_arrived(ask: Ask) -> None:
    answer = ask(ASKED, "no-output", "out", "k2")

    assert answer.statement.text == '1 record of key "k2" arrived at total (1/1).'


def test_value_that_no_key_and_no_call_has_is_refused(ask: Ask) -> None:
    with pytest.raises(BadInput, match="'k3' is no operator, window or key of this recording"):
        ask(ASKED, "no-output", "out", "k3")
