"""Tokens of the order space: as text and back, and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.sim.choice_token import ChoiceToken, Recorded, Replayed, is_choice_token, job_id
from flowsim.sim.exploring_loop import START, Option

JOB = job_id("a digest")


def options(count: int) -> list[Option]:
    return [Option(("arrive", number), START) for number in range(count)]


@given(st.dictionaries(st.integers(0, 100_000), st.integers(1, 300), max_size=50))
def test_token_is_read_as_it_was_written(choices: dict[int, int]) -> None:
    token = ChoiceToken(JOB, tuple(sorted(choices.items())))
    assert ChoiceToken.parse(str(token)) == token
    assert is_choice_token(str(token))


def test_token_has_the_choices_that_differ_from_the_default() -> None:
    class Last(Recorded):
        def decide(self, options: list[Option]) -> int:  # type: ignore[override]
            return len(options) - 1 if self.choices % 2 else 0

    source = Last()
    assert [source.choose(options(count)) for count in (2, 1, 3, 1, 2, 4)] == [0, 0, 2, 0, 0, 3]
    token = source.token("a digest")
    assert token.deviations == ((1, 2), (3, 3))
    again = Replayed(token)
    assert [again.choose(options(count)) for count in (2, 1, 3, 1, 2, 4)] == [0, 0, 2, 0, 0, 3]
    again.check_end()


def test_choice_with_fewer_options_ends_the_run() -> None:
    again = Replayed(ChoiceToken(JOB, ((0, 3),)))
    with pytest.raises(BadInput, match=r"choice 0: there are 3 options, the token needs 4; the job or flowsim changed"):
        again.choose(options(3))


def test_run_that_ends_before_the_last_choice_is_refused() -> None:
    again = Replayed(ChoiceToken(JOB, ((2, 1),)))
    again.choose(options(2))
    with pytest.raises(BadInput, match="the run ended after 1 choices, the token has a choice 2"):
        again.check_end()


def test_token_of_another_job_is_refused() -> None:
    with pytest.raises(BadInput, match=f"its first part is {JOB}, that of this job {job_id('other')}"):
        ChoiceToken(JOB, ()).check_job("other")
    ChoiceToken(JOB, ()).check_job("a digest")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "flowsim1/0123456789abcdef/random/7/1",
        "fx1.x.Zm9vYmE.",
        "fx1.o.Zm9v.AAE",
        "fx1.o.Zm9vYmE.AA E",
        f"fx1.o.{JOB}",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="expected a token such as"):
        ChoiceToken.parse(text)


@pytest.mark.parametrize("choices", ["AA", "AAE_", "A", "AAGB"])
def test_cut_token_is_refused(choices: str) -> None:
    """An odd count of numbers, a number that continues, and no base64."""
    with pytest.raises(BadInput, match="the choices of the token are damaged"):
        ChoiceToken.parse(f"fx1.o.{JOB}.{choices}")
