"""The schedule of a test run, printed in one line of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from flowsim.errors import BadInput

DEFAULT_BUDGET_RECORDS: Final = 4096
_TOKEN: Final = re.compile(r"(fifo|random)/([0-9]{1,19})/([0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class Schedule:
    """The policy, seed and batch size of a run; together with the job they determine the run (D4).

    The seed also determines random choices of the job, such as the first channel of ``rebalance``, so it also matters
    under ``fifo``.

    >>> Schedule("random", seed=7, budget_records=1).token
    'random/7/1'
    >>> Schedule.of("random/7/1")
    Schedule(policy='random', seed=7, budget_records=1)
    """

    policy: Literal["fifo", "random"] = "fifo"
    seed: int = 0
    budget_records: int = DEFAULT_BUDGET_RECORDS

    def __post_init__(self) -> None:
        if self.policy not in ("fifo", "random"):
            raise BadInput(f"schedule: there is no policy {self.policy!r}; there are: fifo, random")
        if type(self.seed) is not int or self.seed < 0:
            raise BadInput(f"schedule: expected a seed >= 0, got {self.seed!r}")
        if type(self.budget_records) is not int or self.budget_records < 1:
            raise BadInput(f"schedule: expected budget_records >= 1, got {self.budget_records!r}")

    @property
    def token(self) -> str:
        """Policy, seed and budget in one word, which is the last part of an exploration's token."""
        return f"{self.policy}/{self.seed}/{self.budget_records}"

    @classmethod
    def of(cls, token: str) -> Schedule:
        """Returns the schedule of that token. Raises BadInput."""
        found = _TOKEN.fullmatch(token)
        if found is None:
            raise BadInput(f"expected a schedule such as random/7/1 (policy/seed/budget), got {token[:60]!r}")
        policy, seed, budget = found.groups()
        return cls("fifo" if policy == "fifo" else "random", int(seed), int(budget))


FIFO: Final = Schedule()
"""The schedule of a plain run: first in, first out, with large batches."""


def some_schedules(random_seeds: int = 8) -> Iterator[Schedule]:
    """Returns the FIFO schedule, then random schedules with the seeds 0, 1, ...

    Every second random schedule ends the batch after each element.
    """
    yield FIFO
    for seed in range(random_seeds):
        yield Schedule("random", seed, 1 if seed % 2 == 0 else DEFAULT_BUDGET_RECORDS)
