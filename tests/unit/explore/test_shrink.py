"""Shrinking leaves out every choice that the finding does not need."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowsim.explore.shrink import shortest, shrunk
from flowsim.sim.choice_token import ChoiceToken, job_id

JOB = job_id("job")
Choices = st.dictionaries(st.integers(0, 60), st.integers(1, 4), max_size=12)


@given(Choices, Choices)
def test_only_the_needed_choices_stay(needed: dict[int, int], others: dict[int, int]) -> None:
    def fails(token: ChoiceToken) -> bool:
        return needed.items() <= dict(token.deviations).items()

    first = ChoiceToken(JOB, tuple(sorted({**others, **needed}.items())))
    assert dict(shrunk(first, fails, replays=10_000).deviations) == needed


def test_options_are_lowered() -> None:
    found = shrunk(ChoiceToken(JOB, ((3, 7), (5, 2))), lambda token: any(option >= 3 for _, option in token.deviations))
    assert found.deviations == ((3, 3),)


def test_shorter_of_two_orders_is_kept() -> None:
    """Without the choices 0 to 4 in one order, or choice 9 in the other one, the run is right."""
    sticky = ChoiceToken(JOB, tuple((number, 1) for number in range(8)), "runtime")
    fair = ChoiceToken(JOB, ((8, 1), (9, 1)), "runtime", turns="fair")

    def fails(token: ChoiceToken) -> bool:
        needed = {9} if token.turns == "fair" else {0, 1, 2, 3, 4}
        return needed <= dict(token.deviations).keys()

    assert shortest(sticky, lambda token: fair, fails) == ChoiceToken(JOB, ((9, 1),), "runtime", turns="fair")
    assert shortest(fair, lambda token: sticky, fails).turns == "fair"
    assert shortest(sticky, lambda token: None, fails).deviations == tuple((number, 1) for number in range(5))


def test_order_space_has_one_order() -> None:
    token = ChoiceToken(JOB, ((3, 1), (4, 1)))
    assert shortest(token, lambda token: ChoiceToken(JOB, ()), lambda token: len(token.deviations) > 1) == token


def test_shrinking_ends_after_its_replays() -> None:
    calls = []

    def fails(token: ChoiceToken) -> bool:
        calls.append(token)
        return True

    token = ChoiceToken(JOB, tuple((number, 1) for number in range(64)))
    assert shrunk(token, fails, replays=0) == token
    assert shrunk(token, fails, replays=3).deviations == ()
    assert len(calls) == 1
