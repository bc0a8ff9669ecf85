"""``--set`` of ``flowsim watch``: which texts are overrides, and which offer several values."""

from __future__ import annotations

import pytest

from flowsim.cli.watching.choices import Settings
from flowsim.errors import BadInput

ONE_VALUE = (
    "settings.seed=7",
    "settings.seed=",
    "faults=[{fault: drop_element, operator: m}, {fault: lose_credit, operator: m}]",
    "operators.m.map=[a, b]",
    'name="a, b"',
    "name='a, b'",
    "operators.kept.filter=n > 1)",
    "sources.rows.collection.fields={n: long, m: long}",
    "no equals sign",
    "name=a]b",
)


@pytest.mark.parametrize("text", ONE_VALUE)
def test_text_without_comma_outside_of_quotes_and_brackets_is_one_override(text: str) -> None:
    settings = Settings.parse([text])
    assert settings.choices == []
    assert settings.overrides([]) == (text,)


def test_values_between_commas_are_yaml_and_chosen_by_index() -> None:
    settings = Settings.parse(["a.size=1, 10 ms,null,[x, y],'p, q'"])
    found = [settings.overrides([index]) for index in range(5)]
    assert found == [
        ("a.size=1",),
        ('a.size="10 ms"',),
        ("a.size=null",),
        ('a.size=["x", "y"]',),
        ('a.size="p, q"',),
    ]


def test_overrides_keep_the_order_of_the_options() -> None:
    settings = Settings.parse(["a.x=1", "b.x=2,3", "c=4", "d.y=p,q"])
    assert settings.overrides([1, 0]) == ("a.x=1", "b.x=3", "c=4", 'd.y="p"')
    assert settings.text([1, 0]) == "x=3, y=p"
    assert settings.data([1, 0]) == [
        {"name": "x", "key": "b.x", "values": ["2", "3"], "chosen": 1},
        {"name": "y", "key": "d.y", "values": ["p", "q"], "chosen": 0},
    ]


def test_names_of_choices_are_distinct() -> None:
    settings = Settings.parse(["operators.a.parallelism=1,2", "operators.b.parallelism=1,2"])
    assert settings.text([0, 1]) == "a.parallelism=1, b.parallelism=2"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a=1,1"], "--set a=1,1: the value 1 is listed twice"),
        (["a=1,2", "a=3,4"], "--set a: given twice with several values"),
    ],
)
def test_value_or_key_that_is_given_twice_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Settings.parse(texts)
