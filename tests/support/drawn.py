"""Draws independent examples of Hypothesis strategies by seed; ``@given`` varies the examples that it drew before."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from hypothesis.control import BuildContext
from hypothesis.errors import StopTest
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], seed: int) -> T:
    """Returns the example of that seed; an invalid draw is repeated with the next random numbers."""
    random = Random(seed)
    while True:
        data = ConjectureData(random=random)
        try:
            with BuildContext(data, wrapped_test=drawn):
                return data.draw(strategy)
        except StopTest:
            continue
