"""A token of an explored run: its choices, which repeat it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from flowsim.errors import BadInput
from flowsim.sim.exploring_loop import ExploringPolicy, Option, Space
from flowsim.sim.policy import SchedulingPolicy

_VERSION: Final = 1
"""Raised when names or options of choices change, so that older tokens are refused."""

_FORM: Final = re.compile(
    r"fx1\.((?P<space>[or])\.(?P<job>[A-Za-z0-9_-]{7})\.(?P<choices>[A-Za-z0-9_-]{0,1000000})"
    r"|c\.(?P<job_of_costs>[A-Za-z0-9_-]{7})\.(?P<costs>[0-9]{1,19}))"
)
_EXAMPLE: Final = "fx1.o.Zm9vYmE.AAEC"


@dataclass(frozen=True, slots=True)
class ChoiceToken:
    """The job, and the choices that differ from the default: pairs of a choice's number and an option's number.

    Numbers of choices count those with two options or more, from 0. Option 0 is the default: in the order space, the event
    that was possible first. A run with random costs of work has their seed instead.
    """

    job: str
    deviations: tuple[tuple[int, int], ...]
    space: Space = "order"
    costs_seed: int | None = None
    """The seed of a run of strategy ``costs``, which asks for no choices."""

    def __str__(self) -> str:
        if self.costs_seed is not None:
            return f"fx1.c.{self.job}.{self.costs_seed}"
        content = bytearray()
        last = 0
        for number, option in self.deviations:
            _append(content, number - last)
            _append(content, option)
            last = number
        return f"fx1.{self.space[0]}.{self.job}.{_text(content)}"

    @classmethod
    def parse(cls, text: str) -> ChoiceToken:
        """Parses a token; raises BadInput."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise BadInput(f"expected a token such as {_EXAMPLE}, got {text[:60]!r}: copy the whole token")
        if match["costs"] is not None:
            return cls(match["job_of_costs"], (), "runtime", int(match["costs"]))
        numbers = list(_numbers(match["choices"]))
        if len(numbers) % 2:
            raise _damaged()
        deviations, last = [], 0
        for distance, option in zip(numbers[::2], numbers[1::2], strict=True):
            last += distance
            deviations.append((last, option))
        return cls(match["job"], tuple(deviations), "order" if match["space"] == "o" else "runtime")

    def is_simpler_than(self, other: ChoiceToken) -> bool:
        """True if this run is easier to explain: it is made of choices, and of fewer ones that differ from the default."""
        if self.costs_seed is not None or other.costs_seed is not None:
            return self.costs_seed is None and other.costs_seed is not None
        return len(self.deviations) < len(other.deviations)

    def check_job(self, digest: str) -> None:
        """Raises BadInput if the token belongs to another job; ``digest``: of this one, with its settings."""
        if self.job != job_id(digest):
            raise BadInput(
                f"the token belongs to another job: its first part is {self.job}, that of this job {job_id(digest)}: the "
                "scenario was changed, or --set differs"
            )


def is_choice_token(text: str) -> bool:
    """Returns True if a text is meant as a token of choices."""
    return text.strip().startswith("fx1.")


def job_id(digest: str) -> str:
    """Returns the part of a token that identifies a job, from the job's digest."""
    return _text(sha256(f"{_VERSION}\n{digest}".encode()).digest()[:5])


@dataclass(slots=True)
class Recorded:
    """A source of choices that keeps its deviations from the default."""

    space: Space = "order"
    deviations: list[tuple[int, int]] = field(default_factory=list)
    choices: int = 0
    decided: int = 0
    """How many steps were decided, with those that had one option."""
    expected: ChoiceToken | None = None
    """The token that the run repeats."""

    def policy(self) -> SchedulingPolicy:
        """Returns the policy of the run."""
        return ExploringPolicy(self)

    def choose(self, options: Sequence[Option]) -> int:
        self.decided += 1
        index = self.decide(options)
        if len(options) > 1:
            if index:
                self.deviations.append((self.choices, index))
            self.choices += 1
        return index

    def decide(self, options: Sequence[Option]) -> int:
        """Returns the index of the next step."""
        return 0

    def executed(self, touched: Set[int]) -> None:
        """Does nothing."""

    def check_end(self) -> None:
        """Does nothing: there is nothing to repeat."""

    def describe(self) -> Mapping[str, object]:
        return {}

    def token(self, digest: str) -> ChoiceToken:
        """Returns the token of the run, of the job with this digest."""
        return ChoiceToken(job_id(digest), tuple(self.deviations), self.space)


class Replayed(Recorded):
    """Repeats the choices of a token. Raises BadInput if they do not fit the run."""

    def __init__(self, token: ChoiceToken) -> None:
        super().__init__(token.space, expected=token)
        self._options = dict(token.deviations)

    def decide(self, options: Sequence[Option]) -> int:
        index = self._options.get(self.choices, 0) if len(options) > 1 else 0
        if index >= len(options):
            raise BadInput(
                f"choice {self.choices}: there are {len(options)} options, the token needs {index + 1}; the job or flowsim "
                "changed"
            )
        return index

    def describe(self) -> Mapping[str, object]:
        return {"token": str(self.expected)}

    def check_end(self) -> None:
        last = max(self._options, default=-1)
        if last >= self.choices:
            raise BadInput(
                f"the run ended after {self.choices} choices, the token has a choice {last}; the job or flowsim changed"
            )


def _append(content: bytearray, value: int) -> None:
    """Appends a number, seven bits per byte, lowest first; the highest bit means that more bytes follow."""
    while value > 0x7F:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)


def _numbers(text: str) -> Iterator[int]:
    try:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise _damaged() from None
    value = shift = 0
    for byte in content:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
    if shift:
        raise _damaged()


def _text(content: bytes | bytearray) -> str:
    return base64.urlsafe_b64encode(bytes(content)).decode().rstrip("=")


def _damaged() -> BadInput:
    return BadInput("the choices of the token are damaged: copy the whole token")
