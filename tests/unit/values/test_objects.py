"""Objects of any class in recordings, as keys, and in what another process stored."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import pytest

from flowsim.errors import ValueNotAllowed
from flowsim.laws.java_key import recorded_key_hash
from flowsim.values.encoding import decode_untrusted, decode_value, encode_value
from flowsim.values.equality import are_equal
from flowsim.values.java_hash_code import java_hash
from flowsim.values.keys import key_fingerprint, key_json, key_of_state_key, state_key
from flowsim.values.objects import Making, Parts
from flowsim.values.record_text import value_text
from flowsim.values.row import Row


class Side(Enum):
    BUY = "buy"


@dataclass
class Order:
    side: Side
    amount: int
    tags: set[str] = field(default_factory=set)


class Point(NamedTuple):
    x: int
    y: int


class Slotted:
    __slots__ = ("inner",)

    def __init__(self, inner: object) -> None:
        self.inner = inner


def local_class() -> type:
    class Local:
        pass

    return Local


SIDE = f'{{"class":"{__name__}.Side","args":["buy"]}}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Order(Side.BUY, 3, {"b", "a"}),
         f'{{"class":"{__name__}.Order","side":{SIDE},"amount":3,"tags":{{"class":"set","items":["a","b"]}}}}'),
        (Point(1, 2), f'{{"class":"{__name__}.Point","args":[1,2]}}'),
        (Slotted([1]), f'{{"class":"{__name__}.Slotted","inner":[1]}}'),
        (OrderedDict(a=1), '{"class":"collections.OrderedDict","items":[["a",1]]}'),
        (Decimal("1.10"), '{"class":"decimal.Decimal","value":"1.10"}'),
        (date(2024, 1, 2), '{"class":"datetime.date","value":"2024-01-02"}'),
        ({Side.BUY: 1}, f'{{"class":"dict","items":[[{SIDE},1]]}}'),
        (Side, f'{{"class":"type","value":"{__name__}.Side"}}'),
        (2**64, "18446744073709551616"),
    ],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_recording_shows_class_and_content(value: object, text: str) -> None:
    assert value_text(value) == text


@pytest.mark.parametrize("key", [Order(Side.BUY, 1), Side.BUY, Point(1, 2), Decimal("1.1"), frozenset("ab"), 2**64])
def test_objects_with_equal_content_are_one_key(key: object) -> None:
    other = decode_value(encode_value(key))
    assert state_key(other) == state_key(key)
    assert key_of_state_key(state_key(key)) == key
    assert key_fingerprint(other) == key_fingerprint(key)
    for recorded in (key, (key, "a"), Row(key, 1)):
        assert recorded_key_hash(*key_json(recorded)) == java_hash(recorded)


def test_objects_of_equal_content_are_equal_states() -> None:
    assert are_equal(Slotted(1), Slotted(1))
    assert not are_equal(Slotted(1), Slotted(2))
    assert not are_equal(Slotted(1), Slotted(True))


def test_class_that_replaces_another_of_its_name_is_the_one_that_is_made() -> None:
    for kind in (local_class(), local_class()):
        assert type(decode_value(encode_value(kind()))) is kind


def test_two_classes_of_one_name_in_turn_are_refused() -> None:
    first, second = local_class(), local_class()
    encode_value(first())
    encode_value(second())
    with pytest.raises(ValueNotAllowed, match=r"two classes have the name .*Local: rename one of them"):
        encode_value(first())


PROGRAM = """
import sys
from flowsim.values.encoding import decode_untrusted
{imports}
print(decode_untrusted(bytes.fromhex(sys.argv[1])))
"""


def in_another_process(value: bytes, imports: str = "") -> str:
    command = [sys.executable, "-c", PROGRAM.format(imports=imports), value.hex()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False)
    return done.stdout or done.stderr.splitlines()[-1]


def test_another_process_restores_objects_of_the_classes_that_it_has() -> None:
    stored = encode_value((Order(Side.BUY, 3), Point(1, 2), Decimal("1.10")))
    shown = "(Order(side=<Side.BUY: 'buy'>, amount=3, tags=set()), Point(x=1, y=2), Decimal('1.10'))\n"
    assert in_another_process(stored, f"import {__name__}") == shown
    assert f"the program has no class {__name__}.Side, which a stored value has" in in_another_process(stored)


@pytest.mark.parametrize("name", ["os:system", "subprocess:Popen", "builtins:eval", "flowsim.values.objects:parts_of"])
@pytest.mark.parametrize("making", [Making.CALL, Making.NEW, Making.NAME])
def test_stored_value_calls_nothing_but_classes_of_the_program(name: str, making: Making) -> None:
    honest = encode_value(Slotted(1))
    harmful = honest.replace(encode_value(f"{__name__}:Slotted"), encode_value(name))
    header = 3 if honest[0] == 0xC7 else 2
    content = bytes((*harmful[header : header + 1], int(making), *harmful[header + 2 :]))
    with pytest.raises(ValueNotAllowed, match=r"the program has no class|stored values of class"):
        decode_untrusted(bytes((0xC7, len(content), 3)) + content)


def test_parts_have_content_and_name() -> None:
    assert Parts(Making.NEW, "a:B", (1,), {"c": 2}, (3,), ((4, 5),)).content() == (1, {"c": 2}, 3, (4, 5))
