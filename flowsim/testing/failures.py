"""What a failed assertion about a run prints: what was claimed, what was found, its causes, and how to repeat the run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from flowsim.errors import BadInput
from flowsim.laws.law import Outcome
from flowsim.testing.differences import Difference
from flowsim.testing.drawn import drawn_example
from flowsim.testing.questions import fitting_explanation
from flowsim.trace.evidence import EvidenceReader
from flowsim.why.answer import Cause
from flowsim.why.asked_recording import Recording
from flowsim.why.explanation import Explanation

MOST_LINES: Final = 12
"""Of one failure."""
_MOST_ROWS: Final = 5
"""Of the evidence of a law."""
_MOST_CAUSES: Final = 4
"""Of a longer chain the nearest ones and the first cause of all are shown."""


class FailedRun(Protocol):
    """A run that can be explained and repeated: a ``JobRun``."""

    @property
    def recording(self) -> Recording: ...

    @property
    def reproduce(self) -> str: ...

    @property
    def data(self) -> str: ...

    def save(self, path: str | Path) -> Recording: ...


@dataclass(eq=False)
class Failure:
    """The message of an AssertionError about a run. Its text is made when it is shown.

    Hypothesis raises many of them while it reduces a run and shows one, so only that one is explained.
    """

    run: FailedRun
    claim: str
    lines: tuple[str, ...] = ()
    """What was expected, what was found, and other evidence."""
    difference: Difference | None = None
    """What the causes explain, if a question fits; None: nothing was compared."""
    violated: Outcome | None = None
    """The law whose evidence is shown."""
    repeats: tuple[str, ...] = ()
    """How to repeat the run with its data."""
    report: str = field(default="", kw_only=True)
    """The file with the report of the run, once one was written."""

    def __post_init__(self) -> None:
        # Now, because the test may change what Hypothesis drew.
        self.repeats = self.repeats or repeating_lines(self.run)

    def __str__(self) -> str:
        causes, link = self._causes
        shown_at = f" (at the cause: {link})" if link else ""
        last = [*self.repeats, *([f"report: {self.report}{shown_at}"] if self.report else [])]
        room = MOST_LINES - 1 - len(causes) - len(last)
        evidence = list(self.lines)
        if self.violated is not None:
            evidence += evidence_lines(self.run, self.violated, min(_MOST_ROWS, room - len(evidence) - 1))
        if len(evidence) > room:
            evidence = [*evidence[: room - 1], f"... and {len(evidence) - room + 1:,} more"]
        return "\n  ".join(" ".join(line.split("\n")) for line in (self.claim, *evidence, *causes, *last))

    def __repr__(self) -> str:
        return f"<Failure {self.claim!r}>"

    @cached_property
    def explanation(self) -> Explanation | None:
        """The answer to the question that fits what was found; None if no question fits. Raises BadInput."""
        return None if self.difference is None else fitting_explanation(self.run.recording, self.difference)

    @cached_property
    def _causes(self) -> tuple[list[str], str]:
        """The lines of the explanation, and its place in the report."""
        try:
            found = self.explanation
        except Exception as error:
            # The claim matters more than its cause.
            return [f"the cause is not known: {type(error).__name__}: {error}"], ""
        if found is None:
            return [], ""
        causes = [f"  {number}. {_cited(cause)}" for number, cause in enumerate(found.answer.causes, start=1)]
        if len(causes) > _MOST_CAUSES:
            causes = [*causes[: _MOST_CAUSES - 1], causes[-1]]
        question = shlex.join(("why", found.question, *found.about))
        return [f"{question}: {found.statement}", *causes], found.answer.statement.link(found.start_ns)


def _cited(cause: Cause) -> str:
    return f"{cause.text} [{', '.join(cause.rules)}]" if cause.rules else cause.text


def evidence_lines(run: FailedRun, outcome: Outcome, most: int) -> list[str]:
    """The first rows of evidence of a violated law in words, and how many there are."""
    rows = outcome.evidence[:most]
    try:
        texts = EvidenceReader(run.recording, run.recording.name).texts(rows)
    except BadInput:
        return [", ".join(f"{name}: {value}" for name, value in row.items()) for row in rows]
    lines = []
    for text in texts:
        parts = [text.what, text.expected, text.where, *(f"{name}: {value}" for name, value in text.with_)]
        lines.append(f"{parts[0]}: {', '.join(filter(None, parts[1:]))}")
    more = outcome.violations - len(lines)
    return [*lines, f"... and {more:,} more"] if more > 0 else lines


def repeating_lines(run: FailedRun, *calls: str) -> tuple[str, ...]:
    """The lines that repeat a run: what Hypothesis drew, or the call and what the sources of the job hold.

    ``calls``: lines with the calls of several runs, instead of the one of ``run``.
    """
    example = drawn_example()
    if example:
        return *calls, f"reproduce: {example}"
    data = [f"data: {run.data}"] if run.data else []
    return *(calls or (f"reproduce: {run.reproduce}",)), *data
