"""What chooses the parts of a scenario: a random generator, or Hypothesis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Choices(ABC):
    """The choices that draw one scenario. The simplest value of each choice comes first, for shrinking."""

    @abstractmethod
    def integer(self, least: int, most: int) -> int:
        """Returns a whole number; both limits are included."""

    @abstractmethod
    def some(self, make: Callable[[], T], least: int, most: int) -> list[T]:
        """Returns that many results of ``make``."""

    def one_of(self, options: Sequence[T]) -> T:
        """Returns one of the options; a repeated option is more likely."""
        return options[self.integer(0, len(options) - 1)]

    def often(self, percent: int) -> bool:
        """Returns True in that percentage of all cases."""
        return self.integer(0, 99) >= 100 - percent


class RandomChoices(Choices):
    """Chooses by a random generator.

    >>> RandomChoices(Random("plain 1")).one_of("abc") in "abc"
    True
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def integer(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def some(self, make: Callable[[], T], least: int, most: int) -> list[T]:
        return [make() for _ in range(self.integer(least, most))]
