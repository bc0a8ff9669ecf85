"""Dataclasses behave the same with the methods that need no compilation."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import FrozenInstanceError, dataclass, field, make_dataclass
from typing import Any

import pytest

from flowsim.dataclass_methods import METHODS, use_shared_methods

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 13), reason="its dataclasses have other functions")

NAN = float("nan")
FIELDS = {
    "no field": [],
    "one field": [("x", Any)],
    "three fields": [("x", Any), ("y", Any), ("z", Any, field(default=NAN, repr=False))],
    "a field that is not compared": [("x", Any), ("y", Any, field(compare=False))],
    "a field without hash": [("x", Any), ("y", Any, field(hash=False))],
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "frozen": {"frozen": True},
    "frozen with slots": {"frozen": True, "slots": True},
    "ordered": {"order": True, "frozen": True},
    "by identity": {"eq": False},
}


def behaviour(fields: list[Any], kind: dict[str, Any]) -> list[object]:
    """What a class of these fields does: texts, comparisons, hashes, and errors of assignments."""
    cls: Any = make_dataclass("Made", fields, **kind)
    needed = sum(len(each) == 2 or each[2].default is dataclasses.MISSING for each in fields)
    rows = [cls(*values[:needed]) for values in ((1, 2), (1, 3), (2, NAN), (NAN, 1), (1, 2))]
    found: list[object] = [cls.__doc__, *map(repr, rows), rows[0] == 1, rows[0].__eq__(1)]
    found += [one == other for one in rows for other in rows]
    found += [name for name in vars(cls) if name.startswith("__") and callable(getattr(cls, name))]
    if kind.get("frozen"):
        found += [hash(one) == hash(rows[0]) for one in (rows[0], rows[1], rows[4])]
        changes: list[tuple[Any, tuple[Any, ...]]] = [(setattr, ("x", 1)), (delattr, ("x",)), (setattr, ("w", 1))]
        for change, arguments in changes:
            with pytest.raises((FrozenInstanceError, AttributeError, TypeError)) as raised:
                change(rows[0], *arguments)
            found.append((raised.type, str(raised.value)))
    if kind.get("order"):
        found.append(rows[0] < rows[1] if len(fields) > 1 else None)
    return found


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_class_behaves_as_with_compiled_methods(
    monkeypatch: pytest.MonkeyPatch, fields: list[Any], kind: dict[str, Any]
) -> None:
    expected = behaviour(fields, kind)
    for name, make in METHODS.items():
        monkeypatch.setattr(dataclasses, name, make)

    assert behaviour(fields, kind) == expected


@dataclass
class Node:
    next: Node | None = None


def test_text_of_an_object_that_contains_itself_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, make in METHODS.items():
        monkeypatch.setattr(dataclasses, name, make)
    made: Any = dataclass(type("Made", (), {"__annotations__": {"next": object}, "__module__": __name__}))
    for cls in (Node, made):
        node: Any = cls(None)
        node.next = node
        assert repr(node) == f"{cls.__qualname__}(next=...)"


def test_subclass_of_frozen_class_may_have_other_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, make in METHODS.items():
        monkeypatch.setattr(dataclasses, name, make)
    base = make_dataclass("Base", [("x", int)], frozen=True)
    child: Any = type("Child", (base,), {})(1)

    child.y = 2
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        child.x = 2
    assert child.y == 2


def test_command_line_uses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in METHODS:
        monkeypatch.setattr(dataclasses, name, getattr(dataclasses, name))
    use_shared_methods()

    made = make_dataclass("Made", [("x", int)], frozen=True)

    assert made.__eq__.__module__ == made.__hash__.__module__ == "flowsim.dataclass_methods"
