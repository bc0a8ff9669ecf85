"""``python -m flowsim`` and the console script: the command line.

Installs the signal handlers before any other import, so that an early Ctrl-C also ends the command quietly.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130
_AS_CTRL_C = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has no SIGHUP

_ONE_BLAS_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""The threads of numpy's linear algebra, which flowsim does not use, would wait actively for a tenth of a second."""


def main() -> None:
    """Runs the command line. SIGTERM and SIGHUP end it as Ctrl-C does, unless the parent process ignores them."""
    os.environ.setdefault(*_ONE_BLAS_THREAD)
    handled = [number for number in (signal.SIGINT, *_AS_CTRL_C) if signal.getsignal(number) is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _quit)
    # Imports create much that stays: the search for garbage leaves it out, now and later.
    gc.disable()
    from flowsim.cli.main import load_called
    from flowsim.cli.main import main as command_line

    # Code in C that an import calls may drop the exception of an interrupt.
    load_called(sys.argv[1:])
    gc.freeze()
    gc.enable()
    for number in handled:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else _interrupt)
    command_line()


def _quit(number: int, frame: FrameType | None) -> None:
    """Exits at once: the command has opened nothing that must be closed."""
    os._exit(_INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Calls the current handler of Ctrl-C for another signal."""
    signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
