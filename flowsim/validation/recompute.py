"""Runs the recomputation of a scenario: its own PySpark script over the input file and the sinks' output.

The script is a Python file with ``check(spark, input_path, out_dir)`` that returns a mapping with ``rows_examined``,
``violations`` and ``evidence`` (a list of small mappings). It is user code: it runs only if the caller allows it.
"""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flowsim.errors import BadInput
from flowsim.laws.findings import EVIDENCE_ROWS
from flowsim.laws.law import Outcome, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def recompute(
    spark: SparkSession,
    script: str | Path,
    input_path: str | Path,
    out_dir: str | Path,
    *,
    allow_python: bool,
    function: str = "check",
) -> Outcome:
    """Returns the outcome of law ``recompute:<name of the script>``. Raises BadInput if the script is unusable."""
    path = Path(script)
    if not allow_python:
        raise BadInput(f"{path}: a recomputation is Python code and runs only with --allow-python")
    check = _load(path, function)
    try:
        result = check(spark, str(input_path), str(out_dir))
    except Exception as error:
        raise BadInput(
            f"{_place(path, error)}: the recomputation failed: {type(error).__name__}: {_first_line(error)}"
        ) from error
    return _outcome(path, result)


def _load(path: Path, function: str) -> Callable[[SparkSession, str, str], object]:
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name the recomputation relative to the scenario")
    # A unique suffix, so that a script with the name of a library does not replace the library.
    spec = importlib.util.spec_from_file_location(f"flowsim_recompute_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path}: expected a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(
            f"{_place(path, error)}: cannot be loaded: {type(error).__name__}: {_first_line(error)}"
        ) from error
    check = getattr(module, function, None)
    if not callable(check):
        raise BadInput(f"{path}: expected a function {function}(spark, input_path, out_dir)")
    checked: Callable[[SparkSession, str, str], object] = check
    return checked


def _outcome(path: Path, found: object) -> Outcome:
    if not isinstance(found, Mapping):
        raise BadInput(f"{path}: check() must return a mapping, got {type(found).__name__}")
    rows, violations = (_count(path, found, name) for name in ("rows_examined", "violations"))
    evidence = found.get("evidence", ())
    if not isinstance(evidence, (list, tuple)) or not all(isinstance(row, Mapping) for row in evidence):
        raise BadInput(f"{path}: check() must return 'evidence' as a list of mappings")
    verdict = Verdict.VIOLATED if violations else Verdict.HOLDS if rows else Verdict.VACUOUS
    kept = tuple({str(k): v for k, v in row.items()} for row in evidence[:EVIDENCE_ROWS])
    return Outcome(f"recompute:{path.stem}", verdict, rows, violations, kept)


def _count(path: Path, found: Mapping[object, object], name: str) -> int:
    value = found.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadInput(f"{path}: check() must return {name!r} as an integer >= 0, got {value!r}")
    return value


def _place(path: Path, error: BaseException) -> str:
    """Returns the innermost line of the script in the traceback."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{path}:{error.lineno}:{error.offset or 1}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    return f"{path}:{lines[-1]}" if lines and lines[-1] is not None else str(path)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
