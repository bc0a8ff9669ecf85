"""The schedule of a test run, printed in one line of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from flowsim.errors import BadInput
from flowsim.sim.choice_token import ChoiceToken, Recorded, is_choice_token
from flowsim.sim.sampled.by_strategy import replay

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
    >>> Schedule.of("fx1.o.xnW8BoE.AAE")
    Schedule.of('fx1.o.xnW8BoE.AAE')
    """

    policy: Literal["fifo", "random", "explored"] = "fifo"
    seed: int = 0
    budget_records: int = DEFAULT_BUDGET_RECORDS
    choices: str | None = None
    """With policy ``explored``: the token of an explored run, whose choices are repeated."""

    def __post_init__(self) -> None:
        if self.policy not in ("fifo", "random", "explored"):
            raise BadInput(f"schedule: there is no policy {self.policy!r}; there are: fifo, random, explored")
        if (self.policy == "explored") != (self.choices is not None):
            raise BadInput("schedule: policy 'explored' needs choices, the token of a run; other policies have none")
        if type(self.seed) is not int or self.seed < 0:
            raise BadInput(f"schedule: expected a seed >= 0, got {self.seed!r}")
        if type(self.budget_records) is not int or self.budget_records < 1:
            raise BadInput(f"schedule: expected budget_records >= 1, got {self.budget_records!r}")

    def __repr__(self) -> str:
        if self.choices is not None:
            return f"Schedule.of({self.choices!r})"
        return f"Schedule(policy={self.policy!r}, seed={self.seed}, budget_records={self.budget_records})"

    @property
    def token(self) -> str:
        """Policy, seed and budget in one word; or the token of an explored run."""
        if self.choices is not None:
            return self.choices
        return f"{self.policy}/{self.seed}/{self.budget_records}"

    @property
    def asks_for_choices(self) -> bool:
        """True if each step of the run is a choice, so that time can pass before an event that is due."""
        return self.choices is not None and ChoiceToken.parse(self.choices).asks_for_choices

    def choices_for(self, digest: str) -> Recorded | None:
        """Returns what decides the order of a run of the job with this digest; None: the policy and the seed do.

        Raises BadInput if the token belongs to another job.
        """
        if self.choices is None:
            return None
        token = ChoiceToken.parse(self.choices)
        token.check_job(digest)
        return replay(token)

    @classmethod
    def of(cls, token: str) -> Schedule:
        """Returns the schedule of that token. Raises BadInput."""
        if is_choice_token(token):
            return cls("explored", 0, 1, str(ChoiceToken.parse(token)))
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
