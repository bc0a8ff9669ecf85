"""The recomputation of a scenario is one more line of the report, and runs only when allowed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsim.errors import BadInput
from flowsim.laws.law import Verdict
from flowsim.validation.recompute import recompute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = """
def check(spark, input_path, out_dir):
    rows = spark.read.csv(input_path).count()
    return {"rows_examined": rows, "violations": rows - 2, "evidence": [{"out": out_dir, "n": n} for n in range(30)]}
"""


def script(folder: Path, text: str) -> Path:
    path = folder / "count_rows.py"
    path.write_text(text)
    return path


def test_recompute_result_becomes_an_outcome(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a\nb\nc\n")
    outcome = recompute(spark, script(tmp_path, COUNT), tmp_path / "rows.csv", "out", allow_python=True)
    assert (outcome.law, outcome.verdict) == ("recompute:count_rows", Verdict.VIOLATED)
    assert (outcome.rows_examined, outcome.violations) == (3, 1)
    assert len(outcome.evidence) == 20
    assert outcome.evidence[1] == {"out": "out", "n": 1}


def test_recompute_without_allow_python_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = script(tmp_path, "raise SystemExit('I ran')")
    with pytest.raises(BadInput, match="runs only with --allow-python"):
        recompute(spark, path, "in", "out", allow_python=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("check = 7\n", r"expected a function check\(spark, input_path, out_dir\)"),
        ("def check(:\n", r"count_rows\.py:1:\d+: cannot be loaded: SyntaxError"),
        ("\nimport no_such_module\n", r"count_rows\.py:2: cannot be loaded: ModuleNotFoundError"),
        ("def check(*a):\n    return 1 / 0\n", r"count_rows\.py:2: the recomputation failed: ZeroDivisionError"),
        ("def check(*a):\n    return 3\n", "must return a mapping, got int"),
        (
            "def check(*a):\n    return {'rows_examined': -1, 'violations': 0}\n",
            "'rows_examined' as an integer >= 0, got -1",
        ),
        (
            "def check(*a):\n    return {'rows_examined': 1, 'violations': 0, 'evidence': 5}\n",
            "'evidence' as a list of mappings",
        ),
    ],
)
def test_invalid_script_is_refused_with_position(text: str, message: str, spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        recompute(spark, script(tmp_path, text), "in", "out", allow_python=True)


def test_missing_script_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere\.py: no such file"):
        recompute(spark, tmp_path / "nowhere.py", "in", "out", allow_python=True)
