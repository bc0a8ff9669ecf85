"""The puzzles that come with flowsim: a scenario, and a goal that the default order does not reach."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from ruamel.yaml import YAML

from flowsim.errors import BadInput, did_you_mean
from flowsim.play.goal import Goal

FOLDER: Final = Path(__file__).with_name("puzzles")
_GOALS: Final = "goals.yaml"


class Puzzle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A puzzle: what to do, a hint, what the solution teaches, and the goal. Its scenario has its name."""

    name: str
    task: str
    hint: str
    lesson: str
    goal: Goal

    @property
    def scenario(self) -> Path:
        """The file of the scenario."""
        return FOLDER / f"{self.name}.yaml"

    def shown(self) -> dict[str, Any]:
        """Returns what the page shows of the puzzle."""
        return {"task": self.task, "hint": self.hint, "lesson": self.lesson}


@cache
def puzzles() -> tuple[Puzzle, ...]:
    """Returns the puzzles, from the simplest to the most difficult."""
    content = YAML(typ="safe", pure=True).load((FOLDER / _GOALS).read_text(encoding="utf-8"))
    return tuple(msgspec.convert(content, list[Puzzle]))


def puzzle_of(name: str) -> Puzzle:
    """Returns the puzzle of a name. Raises BadInput."""
    known = {puzzle.name: puzzle for puzzle in puzzles()}
    if name not in known:
        raise BadInput(
            f"{name}: there is no such file and no such puzzle{did_you_mean(name, list(known))}; "
            "flowsim play --list shows the puzzles"
        )
    return known[name]
