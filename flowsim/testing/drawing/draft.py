"""The scenario that is being drawn, and the streams that its next operator can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from flowsim.testing.drawing.choices import Choices

Family = Literal["plain", "event_time", "async", "checkpoints", "unaligned"]
"""What a scenario is about; each has the parts of ``plain`` too."""
Block = dict[str, object]
"""A mapping of the scenario."""

START_MS: Final = 1_000
"""Processing time at the start of a run."""
GAP_MS: Final = 97
"""Between two steps of scripts: a prime number, so that no period of other length meets many steps."""
MOST_STEPS: Final = 36
FIELDS: Final[Mapping[str, str]] = {"id": "long", "k": "string", "n": "long"}
"""The fields that every stream has, with their types: a number of the record, a key, and a number."""

TWO_INPUTS: Final = frozenset({"connect", "broadcast", "join", "co_group", "interval_join"})


def ms(number: int) -> str:
    """Returns a duration as text.

    >>> ms(-3)
    '-3 ms'
    """
    return f"{number} ms"


def meets_a_step(period_ms: int, offset_ms: int = 0) -> bool:
    """Whether what is due every so often is due at the ms of a step of the first attempt."""
    return any((START_MS + GAP_MS * step - offset_ms) % period_ms == 0 for step in range(1, MOST_STEPS + 12))


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that operators can read."""

    name: str
    fields: Mapping[str, str]
    parallelism: int
    origins: frozenset[str]
    """The sources from which its records come."""
    has_timestamps: bool = True
    """Whether event time is that of the sources; of windows without an end, and in processing time, it is not."""
    is_spread: bool = False
    """Whether several subtasks can emit at one instant, so that their order is open."""
    is_single: bool = False
    """Whether no task before it reads more than one channel."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The limits of a scenario."""

    sources: int = 3
    operators: int = 4
    parallelism: int = 4
    steps: int = MOST_STEPS
    """The entries of all scripts together."""


DEFAULT_SIZES: Final = Sizes()


@dataclass
class Draft:
    """A scenario to which parts are added.

    ``is_determined``: each entry of a script has an instant of its own and nothing costs time, so that the order of what
    operators see follows from Flink's rules. Otherwise tasks wait for each other, and records are read while others come.
    """

    choices: Choices
    family: Family
    is_determined: bool
    sizes: Sizes = DEFAULT_SIZES
    having: frozenset[str] = frozenset()
    """The features that the scenario must have."""
    settings: Block = field(default_factory=dict)
    sources: dict[str, Block] = field(default_factory=dict)
    operators: dict[str, Block] = field(default_factory=dict)
    sinks: dict[str, Block] = field(default_factory=dict)
    actions: list[Block] = field(default_factory=list)
    failures: list[Block] = field(default_factory=list)
    pauses: list[Block] = field(default_factory=list)
    phases: list[Block] = field(default_factory=list)
    fields: Mapping[str, str] = field(default_factory=lambda: FIELDS)
    """Of the sources."""
    steps: int = 0
    """The number of steps of all scripts."""
    streams: list[Stream] = field(default_factory=list)
    unread: dict[str, Stream] = field(default_factory=dict)
    parallelism: dict[str, int] = field(default_factory=dict)
    """Of every source, operator and sink."""
    waits: bool = False
    """Whether the sources rest before their end, because there are no retries after it (rule 11.27)."""
    fires_on: bool = False
    """Whether windows fire by the clock until the sources end: what they emit last could not be retried."""
    design: str | None = None
    """The design of all async operators, because one chain cannot contain both."""
    opens_late: bool = False
    """Whether attempts fail when they open, so that the job must restart."""
    may_fail: bool = False
    """Whether a record or a timeout may fail the job, which does not restart then."""
    fails: bool = False
    """Whether there is such a record or timeout."""
    has_others: bool = False
    """Whether a source is no script, so that it does not rest before its end."""
    is_ahead: bool = False
    """Whether event time is far ahead of processing time."""
    read_orders: bool = False
    """Whether an operator reads one of its inputs first; such a job is not stopped (rule 7.24)."""

    def add_source(self, block: Block, stream: Stream) -> None:
        """Adds a source and its stream."""
        self.sources[stream.name] = block
        self._add(stream)

    def add_operator(self, block: Block, stream: Stream, *sides: Stream) -> None:
        """Adds an operator with its stream and its side outputs."""
        before = [each.name for each in self.streams if each.is_single]
        is_single = stream.parallelism == 1 and block["input"] in before and not TWO_INPUTS & block.keys()
        self.operators[stream.name] = block
        self._add(replace(stream, is_single=is_single))
        for side in sides:
            self.streams.append(side)
            self.unread[side.name] = side

    def add_filled(self, block: Block, stream: Stream, *sides: Stream) -> None:
        """Adds an operator whose aggregates can be null, with a map behind it that replaces null."""
        self.add_operator(block, stream, *sides)
        self.streams = [each for each in self.streams if each.name != stream.name]
        filled = {"id": "int(coalesce(id, 0))", "k": "str(coalesce(k, ''))", "n": "int(coalesce(n, 0))"}
        block = {"input": self.read(stream), "parallelism": stream.parallelism, "map": {"add": filled}}
        self.add_operator(block, replace(stream, name=self.next_name()))

    def read(self, stream: Stream) -> str:
        """Marks a stream as read; returns its name."""
        self.unread.pop(stream.name, None)
        return stream.name

    def next_name(self) -> str:
        """Returns the name of the next operator."""
        return f"o{len(self.operators)}"

    def wants(self, feature: str, percent: int) -> bool:
        """Whether to draw a feature: always one that the scenario must have, others in that percentage of all cases."""
        return feature in self.having or self.choices.often(percent)

    def width(self) -> int:
        """Returns a parallelism."""
        if self.sizes.parallelism > 3 and self.choices.often(4):
            return 4
        return self.choices.one_of([width for width in (1, 1, 2, 3) if width <= self.sizes.parallelism])

    def pick(self, fits: Callable[[Stream], bool] = lambda stream: True) -> Stream | None:
        """Returns a stream, mostly the newest one that is fit; None if there is none."""
        fit = [stream for stream in self.streams if fits(stream)]
        if not fit:
            return None
        return fit[-1] if self.choices.often(70) else self.choices.one_of(fit[::-1])

    def is_apart(self, first: Stream, second: Stream) -> bool:
        """Whether two streams can meet: in a determined scenario they come from different sources."""
        if not self.is_determined:
            return True
        return not (first.is_spread or second.is_spread or first.origins & second.origins)

    def data(self, name: str) -> Block:
        """Returns the mapping of the scenario."""
        parts: Block = {"settings": self.settings, "sources": self.sources, "operators": self.operators}
        parts |= {"sinks": self.sinks, "actions": self.actions, "failures": self.failures}
        parts |= {"pauses": self.pauses, "phases": self.phases}
        return {"flowsim": 1, "name": name, **{key: part for key, part in parts.items() if part}}

    def _add(self, stream: Stream) -> None:
        self.parallelism[stream.name] = stream.parallelism
        self.streams.append(stream)
        self.unread[stream.name] = stream
