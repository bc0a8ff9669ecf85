"""Where the events of a run come from: in Flink, the threads and connections whose order nothing determines."""

from __future__ import annotations

from typing import Final, Literal, get_args

from mypy_extensions import mypyc_attr

What = Literal[
    "arrive",
    "read",
    "credit",
    "answer",
    "timer",
    "flush",
    "snapshot",
    "master",
    "failure",
    "action",
    "time",
    "turn",
    "report",
    "first_channel",
    "shuffle",
    "any_failure",
    "failed_task",
]
"""What a choice decides: which of several events of this kind, or of other kinds, is the next."""

Drawn = Literal["first_channel", "shuffle", "failed_task"]
"""What a step draws while it runs, as Flink draws a random number; each is a ``What``."""

_OF_TASKS: Final = frozenset[What]({"arrive", "credit", "answer", "timer", "flush"})

DRAWN: Final = frozenset[object](get_args(Drawn))

OptionKey = tuple[What | int, ...]
"""What the event of an option is: its kind and numbers that are the same in every run of the job."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Origin:
    """The origin of events (``Scheduler.call_at_ns``), and their name among the options of a choice.

    Events of one origin keep their order. ``actor``: the actor on which the events have an effect; -1: on any.
    """

    __slots__ = ("what", "actor", "key", "is_immediate")

    def __init__(self, what: What, actor: int = -1, *numbers: int, immediate: bool = False) -> None:
        self.what = what
        self.actor = actor
        self.key: OptionKey = (what, actor, *numbers)
        """``numbers`` distinguish, with the actor, this origin from others of its kind."""
        self.is_immediate = immediate
        """True if the events happen at once: their place among the events of other origins has no effect."""

    @property
    def is_of_task(self) -> bool:
        """True if the events bring mails, buffers or credits to tasks: no task starts, ends or is cancelled by them."""
        return self.what in _OF_TASKS

    @property
    def requests_split(self) -> bool:
        """True if the next event is a reader's request for a split: the first one to ask gets the next split."""
        return False

    @property
    def brings_end(self) -> bool:
        """True if the next event only brings the end of data, or of a channel."""
        return False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {' '.join(map(str, self.key))}>"
