"""The archive that Spark's workers get holds every module that they import."""

from __future__ import annotations

import subprocess
import sys

from flowsim.validation import shipping


def test_archive_has_all_modules_that_workers_import() -> None:
    archive = str(shipping._archive())
    program = (
        f"import sys; sys.path.insert(0, {archive!r}); sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in "
        f"repr(f)]; import flowsim; assert flowsim.__file__.startswith({archive!r}); import flowsim.validation.spark_worker"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/")
    assert result.stderr == ""
