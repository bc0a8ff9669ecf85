"""The usual conditions for a retry. PyFlink: async_retry_predicates."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: Sequence[object] | None) -> bool:
    """True if the call returned no result."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """True if the call raised an exception."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """True if the call raised an exception of a given type; bind the type with a lambda or ``functools.partial``."""
    return isinstance(error, expected_error_type)
