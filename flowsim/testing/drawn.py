"""What Hypothesis drew for the test that runs."""

from __future__ import annotations

import ast
import dis
import inspect
import sys
from types import CodeType, FrameType
from typing import Final

PARAMETER: Final = "schedule"
"""The parameter of a test that gets the schedules of ``@explore``."""
_STORES: Final = ("STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF")
_EXPLORING: Final = "flowsim.testing.explored_tests"
"""The module of ``@explore``, which calls a test with each schedule."""


def is_one_of_many() -> bool:
    """Whether Hypothesis runs this example while it looks for others: it reports neither this one, nor was it given."""
    control = sys.modules.get("hypothesis.control")
    if control is None or not control.currently_in_test_context():
        return False
    return not control.current_build_context().is_final


def drawn_example() -> str:
    """The decorator ``@example(...)`` with which the test that runs repeats this example of Hypothesis.

    '' outside of a test of Hypothesis, and if an argument has no form as code or is assigned in the test.
    """
    frame = _test_frame()
    if frame is None:
        return ""
    code = frame.f_code
    names = [name for name in _arguments(code) if name not in _not_drawn(frame)]
    if any(one.opname in _STORES and one.argval in names for one in dis.get_instructions(code)):
        return ""
    texts = [f"{name}={frame.f_locals[name]!r}" for name in names]
    return f"@example({', '.join(texts)})" if texts and _is_code(f"f({', '.join(texts)})") else ""


def _test_frame() -> FrameType | None:
    """The call of the test function by Hypothesis, or by ``@explore`` for it."""
    frame: FrameType | None = inspect.currentframe()
    inner = None
    while frame is not None and not _is_of_hypothesis(frame):
        inner = inner if _is_exploring(frame) else frame
        frame = frame.f_back
    return None if frame is None else inner


def _is_exploring(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == _EXPLORING


def _is_of_hypothesis(frame: FrameType) -> bool:
    known = frame.f_globals
    return known.get("__hypothesistracebackhide__") is True or str(known.get("__name__")).startswith("hypothesis.")


def _arguments(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _not_drawn(frame: FrameType) -> tuple[str, ...]:
    """The arguments that the test gets from its caller: those that remain in the function that ``given`` made."""
    code = frame.f_code
    arguments = _arguments(code)
    owner = type(frame.f_locals[arguments[0]]) if arguments and arguments[0] == "self" else None
    outer = frame.f_globals.get(code.co_name) if owner is None else getattr(owner, code.co_name, None)
    inner = getattr(getattr(outer, "hypothesis", None), "inner_test", None)
    # The schedule is not drawn, and the next exploration has its own.
    explored = (PARAMETER,) if frame.f_back is not None and _is_exploring(frame.f_back) else ()
    if outer is None or inner is None or getattr(inspect.unwrap(inner), "__code__", None) is not code:
        return (*explored, *(arguments[:1] if owner is not None else ()))
    return (*explored, *inspect.signature(outer).parameters)


def _is_code(text: str) -> bool:
    """Whether the text can be pasted: it parses, and nothing in it is left out as ``...``."""
    try:
        parsed = ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return not any(isinstance(node, ast.Constant) and node.value is ... for node in ast.walk(parsed))
