"""Runs programs that were written for PyFlink as they are: ``python -m flowsim.pyflink PROGRAM.py``.

>>> from flowsim.pyflink import pyflink_imports
>>> with pyflink_imports():
...     from pyflink.datastream import StreamExecutionEnvironment
>>> StreamExecutionEnvironment.__module__
'flowsim.datastream.environment'
"""

from __future__ import annotations

from flowsim.pyflink.import_finder import pyflink_imports
from flowsim.pyflink.program import ProgramFailed, run_program
from flowsim.pyflink.program_executor import ProgramExecutor, ProgramRun

__all__ = ["ProgramExecutor", "ProgramFailed", "ProgramRun", "pyflink_imports", "run_program"]
