"""Patterns of sentences, and checks of what a sentence claims against the recorded run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from flowsim.sim.virtual_time_loop import START_NS
from flowsim.why.answer import WhyAnswer
from tests.support.truth.recorded_run import RecordedRun

MACROS = {
    "T": r"[^()]+ \(\d+/\d+\)",
    "M": r"-?\d+(?:\.\d+)? (?:ns|us|ms|s)",
    "N": r"-?[\d,]+",
    "D": r"[\d.]+ (?:ns|us|ms|s)|\d+ min \d+ s",
}


@dataclass(frozen=True)
class Claim:
    """A sentence about a run at a time, and where it is in its answer."""

    run: RecordedRun
    now: int
    found: re.Match[str]
    before: Sequence[str] = ()
    """The sentences before it in the chain."""

    def __getitem__(self, name: str) -> str:
        return self.found[name]

    def number(self, name: str) -> int:
        return int(self.found[name].replace(",", ""))

    def moment(self, name: str) -> int:
        return moment_of(self.found[name])

    def task(self, name: str = "t") -> int:
        return self.run.task(self.found[name])

    @property
    def subject(self) -> int:
        """Of a detail: the task with which the sentence before it begins."""
        found = re.match(MACROS["T"], self.before[-1])
        assert found is not None, self.before[-1]
        return self.run.task(found[0])


Check = Callable[[Claim], object]


def moment_of(text: str) -> int:
    """A time of the run's clock in ns."""
    value, unit = text.split(" ")
    return START_NS + int(Decimal(value) * {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}[unit])


@dataclass(frozen=True)
class Pattern:
    """``text``: a regular expression, in which ``{t:T}`` is group t of a task, M a time, N a number, D a duration."""

    name: str
    text: str
    check: Check

    @property
    def regex(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\{(\w+):(\w)\}", lambda m: f"(?P<{m[1]}>{MACROS[m[2]]})", self.text), re.DOTALL)


class Sentences:
    """The known patterns; adds to ``seen`` the number of sentences of each that were checked."""

    def __init__(self, patterns: Sequence[Pattern], seen: Counter[str] | None = None) -> None:
        self._patterns = [(pattern, pattern.regex) for pattern in patterns]
        self.seen: Counter[str] = Counter() if seen is None else seen
        self.seen.update({pattern.name: 0 for pattern in patterns})

    def check(self, run: RecordedRun, now: int, text: str, before: Sequence[str] = ()) -> None:
        """Checks one sentence; raises AssertionError for a false or an unknown one."""
        for pattern, regex in self._patterns:
            found = regex.fullmatch(text)
            if found is not None:
                self.seen[pattern.name] += 1
                assert pattern.check(Claim(run, now, found, before)) is not False, f"{pattern.name}: {text}"
                return
        raise AssertionError(f"unknown sentence: {text}")

    def check_answer(self, run: RecordedRun, now: int, answer: WhyAnswer) -> None:
        before: list[str] = []
        for cause in (answer.statement, *answer.causes):
            self.check(run, now, cause.text, before)
            before.append(cause.text)
            for detail in cause.details:
                self.check(run, now, detail, before)
        for note in answer.notes:
            self.check(run, now, note, before)
