"""When a task must have run the mail of a processing-time timer (rules 3.2, 3.11, 3.12, 9.9, 9.10)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import ActionKind, ActionPhase, LifeEvent, WaitKind
from flowsim.laws.machine import reads
from flowsim.laws.slices import Ints, Slice
from flowsim.units import NO_TIMESTAMP, NS_PER_MS

ACTIONS: Final = ("time_ns", "phase", "kind")
_BEGIN, _END = int(ActionPhase.BEGIN), int(ActionPhase.END)
_WAIT, _RESUME = int(ActionPhase.WAIT), int(ActionPhase.RESUME)
_DEFAULT_ACTION: Final = int(ActionKind.DEFAULT_ACTION)
_MAIL: Final = int(WaitKind.MAIL)
BUSY: Final = 8
"""The mail of a timer has run when so many default actions began after it was due.

A mail waits for the rest of a batch of mails and for two default actions at most. The mail of a deleted timer may be
before it.
"""
REAL_TIME_NS: Final = 10**18
"""Times of the real clock, nanoseconds since 1970, are above this; those of virtual runs are below."""

QUIESCED: Final = frozenset((LifeEvent.FINISH, LifeEvent.CLOSE))
"""Events of an operator after which no processing-time timer of it fires (rule 3.27)."""
STOPPED: Final = frozenset((LifeEvent.STOP_NO_DRAIN, LifeEvent.CANCELING, LifeEvent.CANCELED, LifeEvent.FAILED))
"""Events of a task after which none fires (rules 4.20, 9.14)."""
Moment = tuple[int, int]
"""A row, and the latest timer in ms that was due at it if it was registered before (rule 9.10)."""
_NEVER: Final[Moment] = (-1, NO_TIMESTAMP)


class _Moments:
    """The latest moment before each row, slice by slice."""

    __slots__ = ("_last", "_known", "_since", "_times")

    def __init__(self) -> None:
        self._last = _NEVER
        nothing: Ints = np.empty(0, dtype=np.int64)
        self._known = self._since = self._times = nothing

    def begin(self, known: Ints, since: Ints, times_ns: Ints) -> None:
        """Begins the next slice. ``known``: the rows that show the moments, in order, ``since``: their own rows."""
        self._last = self.before(2**63 - 1)
        self._known, self._since, self._times = known, since, times_ns

    def before(self, seq: int) -> Moment:
        place = int(np.searchsorted(self._known, seq)) - 1
        if place < 0:
            return self._last
        # The delay of a system timer is whole milliseconds, 1 or more, from a time inside a millisecond.
        return int(self._since[place]), int(self._times[place]) // NS_PER_MS - 2


class FreeMoments:
    """The moments of one attempt, slice by slice.

    ``waited``: the end of a wait of the task's loop for mail that took some time. Before it, all mails had run.
    ``worked``: the beginning of a default action that as many others followed as a mail may wait for.
    """

    __slots__ = ("_begun", "_depth", "_waiting_ns", "waited", "worked")

    def __init__(self) -> None:
        self.waited, self.worked = _Moments(), _Moments()
        self._depth = 0
        """Number of open actions."""
        self._waiting_ns = 0
        """When the last wait of the loop began."""
        self._begun: Ints = np.full((2, BUSY - 1), NO_TIMESTAMP)
        """Sequence numbers and times of the last default actions."""

    @reads(actions=ACTIONS)
    def feed(self, facts: Slice) -> None:
        """Begins the next slice."""
        rows = facts.of("actions")
        seqs, times, phases, kinds = (rows.column(name).astype(np.int64) for name in ("seq", *ACTIONS))
        if len(times) and times[-1] > REAL_TIME_NS:  # On the real clock, events may come late.
            seqs = times = phases = kinds = seqs[:0]
        depth = self._depth + np.cumsum((phases == _BEGIN).astype(np.int64) - (phases == _END))
        self._depth = int(depth[-1]) if len(depth) else self._depth
        of_loop = (kinds == _MAIL) & (depth == 0) & (phases >= _WAIT)
        before = np.append(self._waiting_ns, times[of_loop])
        passed = (phases[of_loop] == _RESUME) & (before[1:] > before[:-1])
        self._waiting_ns = int(before[-1])
        ends = seqs[of_loop][passed]
        self.waited.begin(ends, ends, times[of_loop][passed])
        begins = (phases == _BEGIN) & (kinds == _DEFAULT_ACTION)
        begun = np.hstack((self._begun, np.vstack((seqs[begins], times[begins]))))
        self._begun = begun[:, begun.shape[1] - BUSY + 1 :]
        self.worked.begin(seqs[begins], *begun[:, : np.count_nonzero(begins)])
