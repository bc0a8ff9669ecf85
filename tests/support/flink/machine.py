"""State machines that run each command on a class of flowsim and on the real one, and compare after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.support.flink.gateway import Flink, Thrown, thrown

C = TypeVar("C")
"""A command of a script."""
Answers = tuple[list[str], list[str]]
"""Of Flink and of ours, for every command of a script."""


def java_text(value: object) -> str:
    """As Java writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Tallies:
    """How much was compared, by subject; the pytest session prints it at its end."""

    def __init__(self, counts: dict[str, list[int]]) -> None:
        self._counts = counts

    def count(self, subject: str, *, sequences: int = 0, commands: int = 0, divergences: int = 0) -> None:
        tally = self._counts.setdefault(subject, [0, 0, 0])
        tally[0] += sequences
        tally[1] += commands
        tally[2] += divergences


class DifferentialMachine(RuleBasedStateMachine):
    """A Hypothesis machine that drives both; every rule calls ``both``, or compares by itself and calls ``compared``."""

    subject: ClassVar[str]
    """The name under which it is counted."""
    errors: ClassVar[dict[str, type[BaseException]]] = {}
    """Simple name of a Java exception -> what our class raises in its place."""

    flink: ClassVar[Flink]
    tallies: ClassVar[Tallies]

    def __init__(self) -> None:
        super().__init__()
        self.tallies.count(self.subject, sequences=1)

    def compared(self, commands: int = 1) -> None:
        self.tallies.count(self.subject, commands=commands)

    def both(self, real: Callable[[], Any], ours: Callable[[], Any]) -> Any:
        """Runs ``real``, then ``ours``; answers and errors must be the same. Answers what the real one did."""
        theirs = outcome_of_java(real)
        self.same(theirs, ours)
        return theirs

    def same(self, theirs: Any, ours: Callable[[], Any]) -> None:
        """``ours`` must answer ``theirs``, or raise what stands for it when it is a Thrown; counts a command."""
        self.compared()
        with self._noting_divergence():
            self._same(theirs, ours)

    def equal(self, theirs: Any, mine: Any) -> None:
        """For what can be seen after a command; counts nothing."""
        with self._noting_divergence():
            assert mine == theirs, f"{self.subject}: Flink {theirs!r}, ours {mine!r}"

    @contextmanager
    def _noting_divergence(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.tallies.count(self.subject, divergences=1)
            raise

    def _same(self, theirs: Any, ours: Callable[[], Any]) -> None:
        if isinstance(theirs, Thrown):
            expected = self.errors.get(theirs.name)
            assert expected is not None, (
                f"{self.subject}: Flink threw {theirs}, which the machine's table does not name"
            )
            with pytest.raises(expected):
                ours()
        else:
            mine = ours()
            assert mine == theirs, f"{self.subject}: Flink {theirs!r}, ours {mine!r}"


def seeds(config: pytest.Config, fixed: Iterable[int], *, one_in: int = 1) -> Sequence[int]:
    """Of the jobs of a test: the fixed ones, or with ``--flink-examples=N`` N (or one in so many) from a new seed on."""
    more: int | None = config.getoption("--flink-examples")
    if more is None:
        return tuple(fixed)
    first: int = config.getoption("--flink-seed")
    return range(first, first + more // one_in)


def outcome_of_java(call: Callable[[], Any]) -> Any:
    """What ``call`` answers, or a Thrown."""
    from py4j.protocol import Py4JJavaError

    try:
        return call()
    except Py4JJavaError as error:
        return thrown(error)


def _shrunk(script: list[C], play: Callable[[list[C]], Answers]) -> list[C]:
    """The script without all commands that are not needed to see a difference; the first one stays."""
    size = len(script) // 2
    while size:
        start = 1
        while start < len(script):
            shorter = script[:start] + script[start + size :]
            theirs, ours = play(shorter)
            if theirs != ours:
                script = shorter
            else:
                start += size
        size //= 2
    return script


def _report(subject: str, script: list[C], play: Callable[[list[C]], Answers]) -> str:
    theirs, ours = play(script)
    lines = [
        f"{command}: Flink {real!r}, ours {mine!r}" for command, real, mine in zip(script, theirs, ours, strict=False)
    ]
    return "\n".join([f"{subject} differs:", *lines])


class Differential:
    """What a test drives its machines with."""

    def __init__(self, flink: Flink, tallies: Tallies, examples: int | None, seed: int | None) -> None:
        self.flink = flink
        self.tallies = tallies
        self._examples = examples
        self._seed = seed

    def run(self, machine: type[DifferentialMachine], *, examples: int = 40, steps: int = 30) -> None:
        """``examples`` random sequences of up to ``steps`` commands, the same on every run.

        ``--flink-examples`` tries that many, and others on every run.
        """
        bound = type(machine.__name__, (machine,), {"flink": self.flink, "tallies": self.tallies})
        run_state_machine_as_test(bound, settings=self.settings(examples, steps))

    def run_scripts(
        self, subject: str, write: Callable[[Random], list[C]], play: Callable[[list[C]], Answers], *, examples: int
    ) -> None:
        """For classes whose commands are known beforehand: whole scripts, each in one round trip to Java.

        ``write`` makes the commands, of which the first may say what to build; ``play`` answers what Flink and what ours
        did at each. A script that differs is shrunk; which scripts are tried is as with ``run``.
        """
        for number in range(self._examples or examples):
            script = write(Random(f"{subject} {self._seed} {number}"))
            theirs, ours = play(script)
            self.tallies.count(subject, sequences=1, commands=len(script))
            if theirs != ours:
                self.tallies.count(subject, divergences=1)
                pytest.fail(_report(subject, _shrunk(script, play), play), pytrace=False)

    @contextmanager
    def comparing(self, subject: str, *, commands: int) -> Iterator[None]:
        """For a test without a machine: what is asserted inside compares a sequence of so many answers."""
        self.tallies.count(subject, sequences=1, commands=commands)
        try:
            yield
        except BaseException:
            self.tallies.count(subject, divergences=1)
            raise

    def settings(self, examples: int, steps: int = 30) -> settings:
        """The same for a test that uses Hypothesis's ``given``."""
        return settings(
            max_examples=self._examples or examples,
            stateful_step_count=steps,
            derandomize=self._examples is None,
            database=None,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        )
