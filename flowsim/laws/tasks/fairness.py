"""Part of law fairness: the mailbox loop alternates between a batch of mails and the default action (rules 3.10, 3.12)."""

from __future__ import annotations

from typing import Final

from flowsim.laws.findings import Findings

ID: Final = "fairness"
COUNTS: Final = """\
- Rows examined: MAIL and DEFAULT_ACTION rows. These are the BEGIN rows of these kinds in `actions` that are at the *top
  level*: before them, the number of BEGIN and WAIT rows of the task equals the number of END and RESUME rows. So mails
  that run in a yield are not examined.
- The DEFAULT_ACTION rows divide the facts of a task into *rounds*: each of them ends a round. The *batch* of a round is
  created at its first MAIL row or, without a MAIL row, at the DEFAULT_ACTION row that ends the round. It consists of
  the mails that are not urgent and were put (first PUT row) before this row. The n-th BEGIN row of kind MAIL of the
  task corresponds to its n-th RUN row in `mails`.
- A MAIL row is a violation when its `suspended` is 0, its mail is not urgent, and the mail was put after the batch of
  the round was created, and before it ran. The default action runs before such a mail (rules 3.10, 3.12).
- A DEFAULT_ACTION row is a violation when
  - its `suspended` is 1 (rule 3.13);
  - a mail of the batch of the round that it ends has no RUN row before it (rule 3.12).
- The second condition does not apply in two cases:
  - The loop waited for mail: a WAIT row at the top level with `suspended` 1 is in the round before its first MAIL row.
  - The first mail of the round is urgent and was put before the DEFAULT_ACTION row that ended the round before, or
    before a RESUME row of kind YIELD between that row and the first MAIL row. The batch still contained this mail, or the
    yield took it into the batch, and the batch was not refilled (rule 3.2).
"""

Put = tuple[int, int, int]
"""Sequence number of a mail's PUT, its priority and whether it is urgent."""


class Rounds:
    """Tracks the rounds of one mailbox loop: a batch of mails, then the default action."""

    __slots__ = ("_begun", "_created", "_found", "_is_filled", "_task")

    def __init__(self, task: int, found: Findings) -> None:
        self._task = task
        self._found = found
        self._begun = -1
        """The last start of the default action, or the end of a yield inside it."""
        self._created: int | None = None
        """When the batch was created."""
        self._is_filled = True
        """Whether the batch contains all waiting mails."""

    def mail(self, seq: int, mail: int, put: Put | None, suspended: int) -> None:
        """A mail begins; ``put`` is None if it was not put before."""
        self._found.examined += 1
        if self._created is None:
            self._created = seq
            self._is_filled &= put is None or not put[2] or put[0] > self._begun
        if put is not None and not put[2] and not suspended and put[0] > self._created:
            self._broken("a mail that was put during a batch runs before the default action", seq, mail=mail, put=put[0],
                         batch=self._created)  # fmt: skip

    def wait(self, suspended: int) -> None:
        """The loop waits."""
        if suspended and self._created is None:
            self._is_filled = False

    def yielded(self, seq: int) -> None:
        """A yield ends, which takes the waiting urgent mails into the batch."""
        if self._created is None:
            self._begun = seq

    def default_action(self, seq: int, suspended: int, earliest: int | None) -> None:
        """The default action begins; ``earliest``: the first PUT of the waiting mails that are not urgent."""
        self._found.examined += 1
        if suspended:
            self._broken("the default action runs while it is suspended", seq)
        elif earliest is not None and self._is_filled and (self._created is None or earliest < self._created):
            self._broken("the default action runs before a mail of the batch", seq, put=earliest)
        self._begun, self._created, self._is_filled = seq, None, True

    def _broken(self, what: str, seq: int, **where: object) -> None:
        self._found.broken(what, (self._task, seq), task=self._task, seq=seq, **where)
