"""Bugs that Flink once had: how each is brought back, a job that shows it, and what shows it.

``register_bugs`` adds bugs to ``BUGS``, also those of other packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from flowsim.faults.catalogue import Fault

Space = Literal["order", "runtime", "any", "scenario"]
"""Which runs can show the bug: those of the order space, those of the runtime space, those of both, or only the
scenario's own."""


class Patch(Protocol):
    """Replaces attributes until it is undone, as ``pytest.MonkeyPatch`` does."""

    def setattr(self, target: object, name: str, value: object, /) -> None: ...


Change = Callable[[Patch], None]
"""Changes methods of the pure source; a compiled core ignores it, so that the run needs ``FLOWSIM_PURE=1``."""


@dataclass(frozen=True)
class Repair:
    """The change that repairs a bug which the simulated version of Flink has: runs without the bug have it."""

    change: Change


@dataclass(frozen=True)
class Bug:
    """A bug that can be switched on: its ticket, what was wrong, a job that shows it, and what shows it there."""

    ticket: str
    repaired_by: str
    """The pull request, by its number, or where the bug is described."""
    was_wrong: str
    brought_back: Fault | Change | Repair
    job: str
    """A scenario without its first lines; ``scenario`` is the complete one."""
    detector: str = ""
    """``law NAME``, the status of the job, ``bound`` (the run never ends), or ``claim`` (an expectation of the job)."""
    space: Space = "any"
    not_shown: str = ""
    """Why no run of the job shows the bug; such a bug has no detector."""
    is_cheap: bool = False
    """True: random jobs show it often; only the whole measurement looks for the others, some of which none shows."""

    @property
    def scenario(self) -> str:
        """A scenario that shows the bug, with its expectations."""
        return f"flowsim: 1\nname: {self.ticket.replace('#', '-')}\n{self.job}"

    def bring_back(self, patch: Patch) -> list[Fault]:
        """Changes the source until ``patch`` is undone; returns the faults that a run needs besides."""
        match self.brought_back:
            case Fault():
                return [self.brought_back]
            case Repair():
                pass
            case change:
                change(patch)
        return []

    def leave_out(self, patch: Patch) -> None:
        """Changes the source, until ``patch`` is undone, to one without the bug."""
        if isinstance(self.brought_back, Repair):
            self.brought_back.change(patch)


BUGS: Final[dict[str, Bug]] = {}
"""By ticket: the bugs that were registered."""


def register_bugs(bugs: Iterable[Bug]) -> None:
    """Adds bugs to those that can be brought back. Raises ValueError if there is another one of the same ticket."""
    for bug in bugs:
        if BUGS.setdefault(bug.ticket, bug) != bug:
            raise ValueError(f"there is another bug {bug.ticket!r}")


def replaced(owner: type, method: str, other: Callable[..., object]) -> Change:
    """Returns the change that replaces a method of a class."""
    return lambda patch: patch.setattr(owner, method, other)
