"""Gives every subtask a user function of its own, as Flink does by serialising it."""

from __future__ import annotations

import copy
from typing import TypeVar

from flowsim.errors import BadInput

F = TypeVar("F")


def isolated(function: F, operator: str) -> F:
    """A deep copy of a function object; plain functions and lambdas have no state of their own and are shared.

    Raises BadInput, naming the operator, for an object that cannot be copied.
    """
    try:
        return copy.deepcopy(function)
    except Exception as error:
        raise BadInput(
            f"operator {operator!r}: its function {type(function).__name__} cannot be copied for each subtask "
            f"({type(error).__name__}: {error}); create what cannot be copied in open()"
        ) from error
