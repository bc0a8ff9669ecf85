"""Keeps the lines of flowsim out of what Hypothesis prints as the explanation of a failure.

Hypothesis compares the lines that passing and failing examples execute, prints the first ones that only failing examples
reach, and has no setting for the files that it compares: it leaves out its own files, those of pytest and those of the
standard library. Lines of flowsim, such as the one that raises the error, explain nothing to its users, and hide lines of
the job and the test that come after them. The least change that keeps those is to answer "no" for files of flowsim where
Hypothesis asks which files to compare. Without the function that it asks, nothing is changed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

_FOLDER: Final = f"{Path(__file__).parents[1]}{os.sep}"


def leave_flowsim_out() -> None:
    """Does so once in a process, if Hypothesis is imported."""
    module = sys.modules.get("hypothesis.internal.scrutineer")
    compares = getattr(module, "should_trace_file", None)
    if module is None or compares is None or getattr(compares, "leaves_flowsim_out", False):
        return

    def should_trace_file(fname: str) -> bool:
        return not fname.startswith(_FOLDER) and bool(compares(fname))

    should_trace_file.leaves_flowsim_out = True  # type: ignore[attr-defined]
    module.should_trace_file = should_trace_file  # type: ignore[attr-defined]
