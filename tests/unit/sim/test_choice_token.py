"""Tokens of the order space: as text and back, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.sim.choice_token import COSTS, ChoiceToken, Recorded, Recounted, Replayed, Sampled, is_choice_token, job_id
from flowsim.sim.exploring_loop import START, Option
from flowsim.sim.sampled.by_strategy import SAMPLED, replay, sampled_run

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


def turns(*actors: int) -> list[Option]:
    return [
        Option(("arrive", 7), START),
        *(Option(("turn", actor), START) for actor in actors),
        Option(("time", -1), START),
    ]


RUN = [turns(1, 2), turns(1, 2), turns(1, 2, 3), turns(2, 3)]
"""The options of four steps, if task 1 has the first two turns and task 2 the third; the one that ran last comes first."""


def test_task_that_ran_last_comes_after_the_others_in_fair_turns() -> None:
    token = ChoiceToken(JOB, ((0, 1), (1, 2), (2, 1), (3, 2)), "runtime", turns="fair")
    again = Replayed(token)
    assert [again.choose(step) for step in RUN] == [1, 1, 2, 1], "task 1 was chosen twice, and then 2, and then 2 again"
    assert again.token("a digest") == token


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_choices_are_the_same_when_they_are_counted_in_the_other_order(chosen: list[int]) -> None:
    first = ChoiceToken(JOB, tuple((number, index) for number, index in enumerate(chosen) if index), "runtime")
    fair = Recounted(first, "fair")
    assert [fair.choose(step) for step in RUN] == chosen
    token = fair.token("a digest")
    assert (token.turns, ChoiceToken.parse(str(token))) == ("fair", token)
    again = Recounted(token, "sticky")
    assert [again.choose(step) for step in RUN] == chosen
    assert again.token("a digest") == first


def test_fair_turns_have_a_letter_and_no_seed() -> None:
    token = ChoiceToken(JOB, ((3, 1),), "runtime", turns="fair")
    assert str(token).startswith("fx1.f.")
    with pytest.raises(BadInput, match="expected a token such as"):
        ChoiceToken.parse(f"fx1.f.{JOB}.pos.17.104.eXAm")


def test_token_of_another_job_is_refused() -> None:
    with pytest.raises(BadInput, match=f"its first part is {JOB}, that of this job {job_id('other')}"):
        ChoiceToken(JOB, ()).check_job("other")
    ChoiceToken(JOB, ()).check_job("a digest")


def run_with(sampled: Sampled, choices: int, expected: ChoiceToken | None = None) -> Recorded:
    run = sampled_run("runtime", sampled, expected)
    make(run, choices)
    return run


def make(run: Recorded, choices: int) -> None:
    for step in range(choices):
        of = options(3)
        run.choose([*of[step % 3 :], *of[: step % 3]])


@pytest.mark.parametrize("strategy", SAMPLED)
def test_token_of_a_long_random_run_has_its_seed(strategy: str) -> None:
    run = run_with(Sampled(strategy, 17, 400), 400)
    token = run.token("a digest")
    assert len(str(token)) < 60
    assert ChoiceToken.parse(str(token)) == (token if strategy != COSTS else replace(token, sampled=Sampled(COSTS, 17)))
    again = replay(ChoiceToken.parse(str(token)))
    make(again, 400)
    again.check_end()
    assert (token.sampled is not None, bool(again.deviations)) == (True, strategy != COSTS)
    assert again.token_of_choices("a digest").deviations == run.token_of_choices("a digest").deviations
    assert again.describe() == {"token": str(token)}


def test_token_of_a_short_random_run_has_its_choices() -> None:
    run = run_with(Sampled("uniform", 17, 10), 10)
    assert run.token("a digest") == run.token_of_choices("a digest")
    assert run.deviations


def test_random_run_that_made_other_choices_is_refused() -> None:
    token = run_with(Sampled("pos", 17, 400), 400).token("a digest")
    again = run_with(Sampled("pos", 17, 400), 300, token)
    with pytest.raises(BadInput, match="the run made other choices than that of the token"):
        again.check_end()


def test_token_of_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(
        BadInput, match="the token has strategy 'dfs'; there are: uniform, weighted, pos, pct2, pct3, costs"
    ):
        replay(ChoiceToken.parse(f"fx1.r.{JOB}.dfs.1.10.abcd"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "flowsim1/0123456789abcdef/random/7/1",
        "fx1.x.Zm9vYmE.",
        "fx1.o.Zm9v.AAE",
        "fx1.o.Zm9vYmE.AA E",
        f"fx1.o.{JOB}",
        f"fx1.c.{JOB}.AAE",
        f"fx1.c.{JOB}.pos.17.400.abcd",
        f"fx1.r.{JOB}.pos.17.400",
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
