"""A scheduler that explores nothing: what an exploration would choose is as the seed and the policy have it."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.sim.origin import Drawn


class Unexplored:
    """The part of a ``Scheduler`` that only explorations need."""

    explores_arrivals = separates_elements = explores_time = False

    def on_clock_read(self) -> None:
        """Does nothing: nothing is chosen that depends on the time."""

    def can_act_before_reading(self, actor: int) -> bool:
        """Returns False: a source reads when its task has its turn."""
        return False

    def on_failure(self) -> None:
        """Does nothing: no other order is tried."""

    def draw(self, what: Drawn, numbers: Sequence[int], index: int, actor: int, edge: int = -1) -> int:
        """Returns the one that the seed draws."""
        return numbers[index]
