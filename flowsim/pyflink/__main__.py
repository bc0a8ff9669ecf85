"""``python -m flowsim.pyflink PROGRAM.py [ARGS]``: runs a program for PyFlink in place of ``python PROGRAM.py``."""

from __future__ import annotations

import sys
from pathlib import Path

from flowsim.datastream.job_executor import LocalExecutor
from flowsim.errors import FlowsimError
from flowsim.pyflink.program import run_program


def main() -> None:
    """Runs the program; standard output has only what the program prints."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m flowsim.pyflink PROGRAM.py [ARGS]")
    try:
        run_program(Path(sys.argv[1]), sys.argv[2:], LocalExecutor())
    except FlowsimError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
