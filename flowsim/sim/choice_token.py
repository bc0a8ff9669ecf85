"""A token of an explored run: its choices, which repeat it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Literal

from flowsim.errors import BadInput, InvariantViolation
from flowsim.sim.exploring_loop import START, ExploringPolicy, Option, Space
from flowsim.sim.policy import SchedulingPolicy

_VERSION: Final = 2
"""Raised when names or options of choices, or the draws of a strategy change, so that older tokens are refused."""

_FORM: Final = re.compile(
    r"fx1\.(?P<space>[orfc])\.(?P<job>[A-Za-z0-9_-]{7})\."
    r"((?P<choices>(?<!c.{9})[A-Za-z0-9_-]{0,1000000})|(?P<costs>(?<=c.{9})[0-9]{1,19})"
    r"|(?P<strategy>(?<![cf].{9})[a-z]+[0-9]?)\.(?P<seed>[0-9]{1,19})\.(?P<length>[0-9]{1,9})\.(?P<check>[A-Za-z0-9_-]{4}))"
)
_SPACES: Final[Mapping[str, Space]] = {"o": "order", "r": "runtime", "f": "runtime", "c": "runtime"}
_EXAMPLE: Final = "fx1.o.Zm9vYmE.AAEC"

_LONGEST: Final = 160
"""The most characters of choices; a random run with more of them has the seed in its token."""

Turns = Literal["sticky", "fair"]
"""Which task has its turn by default, in the runtime space: the one that ran last, or one that waits if there is any."""

COSTS: Final = "costs"
"""The strategy whose runs ask for no choices."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """What decides a random run: its strategy and seed, and how many choices the default run of the job had."""

    strategy: str
    seed: int
    choices: int = 0
    check: str = ""
    """The digest of the choices that it made, in a token: it notices a job, or a strategy, that has changed."""


@dataclass(frozen=True, slots=True)
class ChoiceToken:
    """The job, and the choices that differ from the default: pairs of a choice's number and an option's number.

    Numbers of choices count those with two options or more, from 0. Option 0 is the default: in the order space, the event
    that was possible first. A random run with many choices has its seed instead, and so has one of strategy ``costs``.
    """

    job: str
    deviations: tuple[tuple[int, int], ...]
    space: Space = "order"
    sampled: Sampled | None = None
    turns: Turns = "sticky"

    def __str__(self) -> str:
        of = self.sampled
        if of is None:
            letter = "f" if self.turns == "fair" else self.space[0]
            return f"fx1.{letter}.{self.job}.{_choices_text(self.deviations)}"
        if of.strategy == COSTS:
            return f"fx1.c.{self.job}.{of.seed}"
        return f"fx1.{self.space[0]}.{self.job}.{of.strategy}.{of.seed}.{of.choices}.{of.check}"

    @classmethod
    def parse(cls, text: str) -> ChoiceToken:
        """Parses a token; raises BadInput."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise BadInput(f"expected a token such as {_EXAMPLE}, got {text[:60]!r}: copy the whole token")
        job, space = match["job"], _SPACES[match["space"]]
        if match["costs"] is not None:
            return cls(job, (), space, Sampled(COSTS, int(match["costs"])))
        if match["strategy"] is not None:
            by = Sampled(match["strategy"], int(match["seed"]), int(match["length"]), match["check"])
            return cls(job, (), space, by)
        numbers = list(_numbers(match["choices"]))
        if len(numbers) % 2:
            raise _damaged()
        deviations, last = [], 0
        for distance, option in zip(numbers[::2], numbers[1::2], strict=True):
            last += distance
            deviations.append((last, option))
        return cls(job, tuple(deviations), space, turns="fair" if match["space"] == "f" else "sticky")

    @property
    def asks_for_choices(self) -> bool:
        """False for a run whose costs of work are random."""
        return self.sampled is None or self.sampled.strategy != COSTS

    def is_simpler_than(self, other: ChoiceToken) -> bool:
        """True if this run is easier to explain: it makes choices, and fewer ones that differ from the default."""
        return (self.kind, len(self.deviations)) < (other.kind, len(other.deviations))

    @property
    def kind(self) -> int:
        """0: it has choices; 1: it has the seed of a run that makes choices; 2: that of one that makes none."""
        return 0 if self.sampled is None else 2 - self.asks_for_choices

    def check_job(self, digest: str) -> None:
        """Raises BadInput if the token belongs to another job; ``digest``: of this one, with its settings."""
        if self.job != job_id(digest):
            raise BadInput(
                f"the token belongs to another job: its first part is {self.job}, that of this job {job_id(digest)}: the "
                "job was changed, or has other settings"
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
    sampled: Sampled | None = None
    """What decides the run, if it is random."""
    turns: Turns = "sticky"
    """The default order in which the options of the deviations are counted."""
    defaults: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For each of the deviations the numbers of the default and of the chosen option in the order of the loop."""
    _ran_last: int = START
    """The task that ran last."""

    def policy(self) -> SchedulingPolicy:
        """Returns the policy of the run."""
        return ExploringPolicy(self)

    def choose(self, options: Sequence[Option]) -> int:
        self.decided += 1
        order = range(len(options)) if self.turns == "sticky" else self._fair(options)
        index = self.decide(options if self.turns == "sticky" else [options[each] for each in order])
        if len(options) > 1:
            if index:
                self.deviations.append((self.choices, index))
                self.defaults[self.choices] = order[0], order[index]
            self.choices += 1
        what, actor = options[order[index]].key[:2]
        if what == "turn":
            self._ran_last = int(actor)
        return order[index]

    def _fair(self, options: Sequence[Option]) -> Sequence[int]:
        """Returns the indices of the options if the task that ran last comes after the others that are ready."""
        ready = [index for index, option in enumerate(options) if option.key[0] == "turn"]
        if len(ready) < 2 or options[ready[0]].key[1] != self._ran_last:
            return range(len(options))
        return [*range(ready[0]), *ready[1:], ready[0], *range(ready[-1] + 1, len(options))]

    def decide(self, options: Sequence[Option]) -> int:
        """Returns the index of the next step."""
        return 0

    def executed(self, touched: Set[int]) -> None:
        """Does nothing."""

    def check_end(self) -> None:
        """Raises BadInput if the run repeats a token by its seed, and made other choices."""
        by = None if self.expected is None else self.expected.sampled
        if by is not None and by.check and by.check != _check(_choices_text(self.deviations)):
            raise BadInput("the run made other choices than that of the token; the job or flowsim changed")

    def describe(self) -> Mapping[str, object]:
        return {} if self.expected is None else {"token": str(self.expected)}

    def token(self, digest: str) -> ChoiceToken:
        """Returns the token of the run, of the job with this digest."""
        of_choices = self.token_of_choices(digest)
        choices = _choices_text(of_choices.deviations)
        if self.sampled is None or len(choices) <= _LONGEST:
            return of_choices
        return replace(of_choices, deviations=(), sampled=replace(self.sampled, check=_check(choices)))

    def token_of_choices(self, digest: str) -> ChoiceToken:
        """Returns the token with all choices of the run, however many there are."""
        return ChoiceToken(job_id(digest), tuple(self.deviations), self.space, turns=self.turns)


class Replayed(Recorded):
    """Repeats the choices of a token. Raises BadInput if they do not fit the run."""

    def __init__(self, token: ChoiceToken) -> None:
        if token.sampled is not None:
            raise InvariantViolation(f"the token {token} has no choices: replay repeats it")
        super().__init__(token.space, expected=token, turns=token.turns)
        self._options = dict(token.deviations)

    def decide(self, options: Sequence[Option]) -> int:
        index = self._options.get(self.choices, 0) if len(options) > 1 else 0
        if index >= len(options):
            raise BadInput(
                f"choice {self.choices}: there are {len(options)} options, the token needs {index + 1}; the job or flowsim "
                "changed"
            )
        return index

    def check_end(self) -> None:
        last = max(self._options, default=-1)
        if last >= self.choices:
            raise BadInput(
                f"the run ended after {self.choices} choices, the token has a choice {last}; the job or flowsim changed"
            )


class Recounted(Replayed):
    """Repeats the choices of a token, and counts them in another order of turns."""

    def __init__(self, token: ChoiceToken, turns: Turns) -> None:
        super().__init__(token)
        self.turns = turns
        self._is_fair = token.turns == "fair"
        self._offered: Sequence[Option] = ()

    def choose(self, options: Sequence[Option]) -> int:
        self._offered = options
        return super().choose(options)

    def decide(self, options: Sequence[Option]) -> int:
        order = self._fair(self._offered) if self._is_fair else range(len(options))
        return options.index(self._offered[order[super().decide(options)]])


def _choices_text(deviations: Iterable[tuple[int, int]]) -> str:
    content, last = bytearray(), 0
    for number, option in deviations:
        _append(content, number - last)
        _append(content, option)
        last = number
    return _text(content)


def _check(choices: str) -> str:
    return _text(sha256(choices.encode()).digest()[:3])


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
