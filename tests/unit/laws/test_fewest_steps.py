"""The fewest steps between two sequences: compared with a plain table of all prefixes, and over many windows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.laws.fewest_steps import MOST_STEPS, Alignment, Change, Ending, Step, behind, fewest_steps
from flowsim.laws.slices import Ints
from tests.support.oracle.channels import steps_between

LETTERS = st.lists(st.integers(0, 3), max_size=12)


def numbers(text: str) -> Ints:
    return np.array([ord(letter) for letter in text], dtype=np.int64)


def applied(sent: Ints, received: Ints, steps: list[Step], end: int) -> list[int]:
    """What the steps make of the sent elements up to an end."""
    made: list[int] = []
    place = 0
    for step in steps:
        made += sent[place : step.sent].tolist()
        assert len(made) == step.received
        _, place, until = behind(step)
        taken, given_ = sent[step.sent : place].tolist(), received[step.received : until].tolist()
        match step.change:
            case Change.EXCHANGED:
                assert given_ == taken[::-1] != taken
            case Change.CHANGED:
                assert given_ != taken
            case _:
                assert not (given_ and taken)
        made += given_
    return made + sent[place:end].tolist()


@pytest.mark.property
@settings(max_examples=300)
@given(sent=LETTERS, received=LETTERS, whole=st.booleans())
def test_fewest_steps_are_as_many_as_in_a_table_and_lead_to_the_received_sequence(
    sent: list[int], received: list[int], whole: bool
) -> None:
    sides = np.array(sent, dtype=np.int64), np.array(received, dtype=np.int64)
    steps = fewest_steps(*sides, Ending.NOTHING if whole else Ending.SENT)
    assert steps is not None
    assert len(steps) == steps_between([(x, 0, 0) for x in sent], [(x, 0, 0) for x in received], whole)
    made = applied(*sides, steps, len(sent))
    assert made == received if whole else made[: len(received)] == received


@pytest.mark.parametrize(
    ("sent", "received", "step"),
    [
        ("abcdef", "abdef", Step(Change.LOST, 2, 2)),
        ("abcdef", "abccdef", Step(Change.ADDED, 3, 3)),
        ("abcdef", "abxdef", Step(Change.CHANGED, 2, 2)),
        ("abcdef", "abdcef", Step(Change.EXCHANGED, 2, 2)),
        ("abcdef", "abcde", Step(Change.LOST, 5, 5)),
        ("aaaa", "aaa", Step(Change.LOST, 3, 3)),
    ],
)
def test_one_change_is_one_step(sent: str, received: str, step: Step) -> None:
    assert fewest_steps(numbers(sent), numbers(received), Ending.NOTHING) == [step]


def test_sent_elements_may_be_on_their_way() -> None:
    assert fewest_steps(numbers("abcdef"), numbers("abd"), Ending.SENT) == [Step(Change.LOST, 2, 2)]
    assert fewest_steps(numbers("abcdef"), numbers("abc"), Ending.SENT) == []
    assert fewest_steps(numbers("abc"), numbers("abcd"), Ending.SENT) == [Step(Change.ADDED, 3, 3)]


def of_many(sent: Ints, received: Ints, ending: Ending = Ending.NOTHING) -> Counter[Change]:
    return Counter(step.change for step in Alignment(sent, received, ending).steps())


def test_each_change_of_a_long_channel_is_one_step() -> None:
    sent = np.arange(100_000)
    received = np.delete(sent, np.arange(500, 100_000, 1000))
    assert of_many(sent, received) == {Change.LOST: 100}
    assert of_many(received, sent) == {Change.ADDED: 100}
    changed = sent.copy()
    changed[::700] = -1
    assert of_many(sent, changed) == {Change.CHANGED: 143}


def test_place_by_place_where_more_steps_were_needed() -> None:
    sent = np.arange(10_000)
    received = sent.copy()
    received[2_000:3_000] = -1
    assert of_many(sent, received) == {Change.CHANGED: 1_000}
    assert of_many(sent, sent[: -MOST_STEPS - 1]) == {Change.LOST: MOST_STEPS + 1}
    assert of_many(sent, sent[: -MOST_STEPS - 1], Ending.SENT) == {}


@pytest.mark.parametrize("cut", [0, 3000, 4096, 9000, 9500])
def test_alignment_in_parts_finds_the_same_steps(cut: int) -> None:
    sent = np.arange(20_000)
    received = np.delete(sent, [100, 4_195, 9_001, 15_000])
    first = Alignment(sent[: cut or 9_001], received[: cut or 9_001], Ending.BOTH)
    found = list(first.steps())
    rest = Alignment(sent[first.sent :], received[first.received :], Ending.NOTHING)
    found += [Step(step.change, step.sent + first.sent, step.received + first.received) for step in rest.steps()]
    assert found == list(Alignment(sent, received, Ending.NOTHING).steps())
    assert [step.sent for step in found] == [100, 4_195, 9_001, 15_000]
