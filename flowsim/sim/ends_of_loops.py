"""What ends the virtual loop from inside its queue of callbacks."""

from __future__ import annotations

from flowsim.errors import FlowsimError


class UntilReached(FlowsimError):
    """Virtual time reached the limit of the run and there was no ``on_until``."""


class Stop(BaseException):
    """Carries ``stop()`` out of the queue."""


def raise_stop() -> None:
    """Ends ``run_forever``."""
    raise Stop


def raise_interrupt() -> None:
    """Ends the run as Ctrl-C does."""
    raise KeyboardInterrupt


def raise_again(error: BaseException) -> None:
    """Raises the error of another callback, which the queue did not run itself."""
    raise error
