"""Tokens: written as one line of text, and parsed back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.explore.token import Token, scenario_id

DIGEST = "0123456789abcdef" * 4

tokens = st.builds(
    Token,
    scenario=st.text("0123456789abcdef", min_size=16, max_size=16),
    policy=st.sampled_from(["fifo", "random", "scripted"]),
    seed=st.integers(0, 2**63 - 1),
    budget_records=st.none() | st.integers(1, 10**6),
    choices=st.none() | st.lists(st.integers(0, 2**31 - 1), max_size=50).map(tuple),
)


@given(tokens)
def test_token_is_parsed_from_its_text(token: Token) -> None:
    assert Token.parse(str(token)) == token


def test_token_text_is_readable() -> None:
    assert str(Token(scenario_id(DIGEST), "random", 7, None)) == "flowsim1/0123456789abcdef/random/7/-"
    assert str(Token(scenario_id(DIGEST), "scripted", 7, 1, (0, 1, 200))).count("/") == 5


@pytest.mark.parametrize(
    "text",
    ["", "7", "flowsim2/0123456789abcdef/random/7/1", "flowsim1/0123/random/7/1", "flowsim1/0123456789abcdef/random/x/1",
     "flowsim1/0123456789abcdef/random/7/1/A", "flowsim1/0123456789abcdef/random/7/1/____"],
)  # fmt: skip
def test_invalid_token_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        Token.parse(text)


def test_token_of_other_scenario_is_refused() -> None:
    token = Token(scenario_id(DIGEST), "random", 7, 1)
    token.check_scenario(DIGEST)
    with pytest.raises(BadInput, match="belongs to the scenario 0123456789abcdef"):
        token.check_scenario("f" * 64)
