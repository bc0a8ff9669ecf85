"""``python -m flowsim`` and the console script: the command line.

Installs the signal handlers before it imports a command, so that an early Ctrl-C also ends the command quietly.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

from flowsim.sim.signal_handler import LIKE_CTRL_C

_INTERRUPTED = 130

_ONE_BLAS_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""The threads of numpy's linear algebra, which flowsim does not use, would wait actively for a tenth of a second."""


def main() -> None:
    """Runs the command line. SIGTERM and SIGHUP end it as Ctrl-C does; a signal that the parent ignores stays ignored."""
    os.environ.setdefault(*_ONE_BLAS_THREAD)
    handled = [number for number in (signal.SIGINT, *LIKE_CTRL_C) if signal.getsignal(number) is not signal.SIG_IGN]
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
        signal.signal(number, signal.default_int_handler)
    try:
        command_line()
    except SystemExit as ended:
        # At its end Python restores the handlers of signals: a further one would replace the exit code.
        for number in handled if ended.code == _INTERRUPTED else ():
            signal.signal(number, signal.SIG_IGN)
        raise


def _quit(number: int, frame: FrameType | None) -> None:
    """Exits at once: the command has opened nothing that must be closed."""
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
