from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.studies.variation import Combination, Variation, combinations_of, parse_variations, short_names


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=1,4,16", (1, 4, 16)),
        ("a.b=ordered,unordered", ("ordered", "unordered")),
        ("a.b=20 ms,1.5 s", ("20 ms", "1.5 s")),
        ("a.b='1,5',[1, 2],{low: 1 ms, high: 2 ms}", ("1,5", [1, 2], {"low": "1 ms", "high": "2 ms"})),
        ("a.b=true,null,0.5", (True, None, 0.5)),
        ("a.b=7", (7,)),
    ],
)
def test_values_are_yaml_split_at_commas(text: str, values: tuple[object, ...]) -> None:
    assert Variation.parse(text) == Variation("a.b", values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.b", "--vary a.b: expected KEY=VALUE,VALUE,... such as settings.seed=1,2,3"),
        ("=1", "expected KEY=VALUE"),
        ("a.b= ", "expected KEY=VALUE"),
        ("a.b=1,2,1", "--vary a.b=1,2,1: the value 1 is listed twice"),
        ("a.b=[1", "--vary a.b=[1: the values are not a list of YAML values"),
        ("a.b=&x 1,*x", "the values are not a list of YAML values"),
    ],
)
def test_invalid_list_of_values_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        Variation.parse(text)
    assert message in str(refused.value)


def test_last_key_varies_fastest() -> None:
    variations = parse_variations(["a=1,2", "b=x,y"])
    assert [(one.number, dict(one.values)) for one in combinations_of(variations)] == [
        (1, {"a": 1, "b": "x"}), (2, {"a": 1, "b": "y"}), (3, {"a": 2, "b": "x"}), (4, {"a": 2, "b": "y"}),
    ]  # fmt: skip


def test_key_varied_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="--vary a: given twice; put all its values in one list"):
        parse_variations(["a=1,2", "a=3"])


def test_too_many_combinations_are_refused_with_product() -> None:
    with pytest.raises(BadInput) as refused:
        parse_variations(["a=" + ",".join(map(str, range(26))), "b=" + ",".join(map(str, range(20)))])
    assert str(refused.value) == (
        "--vary gives 26 (a) x 20 (b) = 520 combinations, and a study has at most 500: leave some values out, "
        "or make two studies of it"
    )
    assert len(parse_variations(["a=" + ",".join(map(str, range(25))), "b=" + ",".join(map(str, range(20)))])) == 2


def test_combination_has_overrides_and_text() -> None:
    combination = Combination(
        1, {"operators.ask.async.latency": {"each": "n"}, "settings.seed": 2, "x.mode": "ordered"}
    )
    assert combination.overrides == (
        'operators.ask.async.latency={"each": "n"}', "settings.seed=2", 'x.mode="ordered"',
    )  # fmt: skip
    assert combination.text == 'latency={"each": "n"}, seed=2, mode=ordered'


def test_short_names_are_unique() -> None:
    assert short_names(["a.x.n", "b.x.n", "b.m"]) == {"a.x.n": "a.x.n", "b.x.n": "b.x.n", "b.m": "m"}
    assert short_names(["a.n", "n"]) == {"a.n": "a.n", "n": "n"}


def test_only_numbers_are_numeric() -> None:
    assert Variation("a", (1, 2.5)).is_numeric
    assert not Variation("a", (1, True)).is_numeric
    assert not Variation("a", (1, "2 ms")).is_numeric
