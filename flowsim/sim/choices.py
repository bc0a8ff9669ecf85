"""The choices of a run: what the policy chooses, checked and recorded."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.errors import InvariantViolation
from flowsim.sim.origin import OptionKey, Origin
from flowsim.sim.policy import ChoiceRecorder, SchedulingPolicy


class Choices:
    """Numbers the choices of one run from 0."""

    __slots__ = ("_policy", "_on_choice", "_number")

    def __init__(self, policy: SchedulingPolicy, on_choice: ChoiceRecorder | None) -> None:
        self._policy = policy
        self._on_choice = on_choice
        self._number = 0

    def actor(self, ready: Sequence[int]) -> int:
        """Returns the index of the actor that runs next, among two or more."""
        index = self._checked(self._policy.choose(ready), len(ready))
        self.made(index, len(ready), ("turn", ready[index]))
        return index

    def event(self, origins: Sequence[Origin], *, or_turn: bool) -> int:
        """Returns the index of the event that runs next, or of the turn after them; the only option is no choice."""
        options = len(origins) + or_turn
        if options == 1:
            return 0
        index = self._checked(self._policy.choose_event(options), options)
        self.made(index, options, origins[index].key if index < len(origins) else ("turn", -1))
        return index

    def made(self, index: int, options: int, key: OptionKey) -> None:
        """Records a choice between two or more options."""
        if self._on_choice is not None:
            self._on_choice(self._number, index, options, key)
        self._number += 1

    def _checked(self, index: int, options: int) -> int:
        if not 0 <= index < options:
            raise InvariantViolation(f"policy {self._policy.name} chose {index} of {options}")
        return index
