"""The shapes of a job: what it consists of and what happens to it, in Flink's words, whatever language describes the job.

A shape is ``aspect: word``, or ``aspect x aspect: word x word`` where a pair matters: ``window x trigger: session event
time x count``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

Shapes = set[str]


def add(shapes: Shapes, aspect: str, *words: str) -> None:
    shapes.update(f"{aspect}: {word}" for word in words)


def pair(shapes: Shapes, aspects: str, *words: Iterable[str]) -> None:
    """Adds every combination of one word of each."""
    shapes.update(f"{aspects}: {' x '.join(each)}" for each in product(*words))


GLOBAL_DEFAULTS = {"global": "never", "global to the end of the stream": "end of stream"}
"""The default triggers of global windows, which differ in nothing else."""


@dataclass(frozen=True)
class Window:
    """The windows of an operator.

    ``trigger``: the names of triggers inside each other, the outermost first. ``forms``: an offset and the like.
    """

    assigner: str
    forms: tuple[str, ...] = ()
    trigger: tuple[str, ...] = ()
    evictor: str = ""
    allows_lateness: bool = False
    has_late_output: bool = False

    @property
    def name(self) -> str:
        return "global" if self.assigner in GLOBAL_DEFAULTS else self.assigner

    def add_to(self, shapes: Shapes) -> None:
        outer = self.trigger[0] if self.trigger else GLOBAL_DEFAULTS.get(self.assigner, "default")
        add(shapes, "window", self.name, *(["late side output"] if self.has_late_output else []))
        pair(shapes, "window x form", [self.name], self.forms)
        add(shapes, "trigger", outer, *(["timeout or purging inside another"] if len(self.trigger) > 2 else []))
        if len(self.trigger) > 1:
            add(shapes, "trigger", " over ".join(self.trigger[:2]))
        pair(shapes, "window x trigger", [self.name], [outer])
        if self.evictor:
            add(shapes, "evictor", self.evictor)
            pair(shapes, "window x evictor", [self.name], [self.evictor])
            pair(shapes, "trigger x evictor", [outer], [self.evictor])
        if self.allows_lateness:
            pair(shapes, "window x lateness", [self.name], ["allowed"])
            pair(shapes, "trigger x lateness", [outer], ["allowed"])


def widths(before: int, behind: int) -> str:
    """Returns how the parallelism changes over an exchange."""
    return "more subtasks" if behind > before else "fewer subtasks" if behind < before else "as many subtasks"


def add_exchange(shapes: Shapes, operator: str, exchange: str, before: int, behind: int) -> None:
    add(shapes, "exchange", exchange)
    pair(shapes, "exchange x parallelism", [exchange], [widths(before, behind)])
    pair(shapes, "operator x exchange", [operator], [exchange])


@dataclass
class Life:
    """What happens to a job: how it takes checkpoints, fails, and goes on from a snapshot in further phases."""

    checkpoints: str
    """``none``, ``aligned``, ``at least once``, ``unaligned``, ``unaligned after a timeout``, or ``without an interval``."""
    failures: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    """How each phase but the last ends."""
    parallelisms: tuple[int, ...] = ()
    """Of each phase."""

    @property
    def rescalings(self) -> set[str]:
        pairs = zip(self.parallelisms, self.parallelisms[1:], strict=False)
        return {widths(before, behind) for before, behind in pairs}

    def add_to(self, shapes: Shapes, operators: Iterable[str]) -> None:
        kind = [self.checkpoints]
        add(shapes, "checkpoint", self.checkpoints)
        pair(shapes, "operator x checkpoint", operators, kind)
        if self.failures:
            add(shapes, "failure", *self.failures, *(["several"] if len(self.failures) > 1 else []))
            pair(shapes, "operator x failure", operators, ["any"])
            pair(shapes, "checkpoint x failure", kind, self.failures)
        for end, (before, behind) in zip(
            self.ends, zip(self.parallelisms, self.parallelisms[1:], strict=False), strict=False
        ):
            add(shapes, "restore", end)
            pair(shapes, "restore x parallelism", [end], [widths(before, behind)])
            pair(shapes, "checkpoint x restore x parallelism", kind, [end], [widths(before, behind)])
            if self.failures:
                pair(shapes, "checkpoint x failure x restore", kind, self.failures, [end])
        if self.ends:
            pair(shapes, "operator x restore", operators, self.rescalings)
        if len(self.ends) > 1:
            add(shapes, "restore", "a second time")
