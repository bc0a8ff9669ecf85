"""What Hypothesis drew for the test that runs."""

from __future__ import annotations

import ast
import dis
import inspect
from types import CodeType, FrameType
from typing import Final

_STORES: Final = ("STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF")


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
    """The call of the test function by Hypothesis."""
    frame: FrameType | None = inspect.currentframe()
    inner = None
    while frame is not None and not _is_of_hypothesis(frame):
        inner, frame = frame, frame.f_back
    return None if frame is None else inner


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
    handle = getattr(outer, "hypothesis", None)
    if outer is None or getattr(getattr(handle, "inner_test", None), "__code__", None) is not code:
        return arguments[:1] if owner is not None else ()
    return tuple(inspect.signature(outer).parameters)


def _is_code(text: str) -> bool:
    """Whether the text can be pasted: it parses, and nothing in it is left out as ``...``."""
    try:
        parsed = ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return not any(isinstance(node, ast.Constant) and node.value is ... for node in ast.walk(parsed))
