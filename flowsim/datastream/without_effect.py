"""What a program may set, and what has no effect here: only a JVM, a cluster or a user interface of Flink needs it."""

from __future__ import annotations

import warnings

_CALLER_OF_METHOD = 3


class WithoutEffect(UserWarning):
    """A call that changes a job on Flink, and nothing in flowsim."""


def warn_without_effect(method: str, why: str) -> None:
    """Warns the program that called ``method``, with the program's line, that the call has no effect."""
    warnings.warn(f"{method}: no effect in flowsim: {why}", WithoutEffect, stacklevel=_CALLER_OF_METHOD)
