"""A bug that Flink once had, and how it is brought back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.faults import Fault

Change = Callable[[pytest.MonkeyPatch], None]
"""Changes methods of the pure source; a compiled core ignores it, so that the run needs ``FLOWSIM_PURE=1``."""


@dataclass(frozen=True)
class Bug:
    """The ticket of a bug, what was wrong, and a fault of the catalogue or a change with the same effect."""

    ticket: str
    was_wrong: str
    brought_back: Fault | Change
    is_cheap: bool = False
    """True: random jobs show it often; only the whole measurement looks for the others, some of which none shows."""

    def bring_back(self, patch: pytest.MonkeyPatch) -> list[Fault]:
        """Changes the source until ``patch`` is undone; returns the faults that a run needs besides."""
        if isinstance(self.brought_back, Fault):
            return [self.brought_back]
        self.brought_back(patch)
        return []


def replaced(owner: type, method: str, other: Callable[..., object]) -> Change:
    """Returns the change that replaces a method of a class."""
    return lambda patch: patch.setattr(owner, method, other)
