"""An answer: a statement and the chain of its causes, each with its rules and the fact that shows it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Final

from flowsim.trace.links import report_link
from flowsim.trace.places import Place
from flowsim.trace.time import moment_text
from flowsim.why.sentence import Sentence

_CHAPTER: Final = re.compile(r"\d+")
_VIEWS: Final = {
    "1": "graph", "2": "graph", "3": "timeline", "5": "channel", "6": "channel", "7": "channel", "8": "event-time",
    "9": "event-time", "10": "event-time", "11": "timeline", "12": "checkpoints",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cause:
    """One link of a chain of causes.

    ``rules``: numbers in ``docs/flink_rules.md``. ``lines``: details, such as the watermark of each channel.
    ``place``: the fact that shows the cause; ``channel``: its channel, if the report shows the cause there.
    """

    sentence: str | Sentence
    rules: tuple[str, ...] = ()
    place: Place | None = None
    lines: tuple[str | Sentence, ...] = ()
    channel: int | None = None

    @property
    def text(self) -> str:
        return str(self.sentence)

    @property
    def details(self) -> tuple[str, ...]:
        return tuple(map(str, self.lines))

    @property
    def view(self) -> str:
        """The view of the report that shows the cause: it depends on the chapter of the first rule."""
        chapter = _CHAPTER.search(self.rules[0]) if self.rules else None
        found = _VIEWS.get(chapter[0], "steps") if chapter is not None else "steps"
        return "timeline" if found == "channel" and self.channel is None else found

    def link(self, start_ns: int) -> str:
        """The part of a link to the report after the file name; '' without a place."""
        place = self.place
        if place is None or place.task is None or place.time_ns is None:
            return ""
        since_ns = place.time_ns - start_ns
        return "#" + report_link(self.view, task=place.task, seq=place.seq, time_ns=since_ns, channel=self.channel)


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """The answer to one question about one recording."""

    statement: Cause
    causes: tuple[Cause, ...] = ()
    """Each one is the cause of the one before it."""
    notes: tuple[str, ...] = field(default=())
    """What the recording lacks, and what else can be asked."""


def cause_data(cause: Cause, start_ns: int, report: str | None) -> dict[str, object]:
    """A cause as JSON values. ``report``: the file that its link leads to; None without a report."""
    place, link = cause.place, cause.link(start_ns)
    return {
        "text": cause.text,
        "rules": list(cause.rules),
        "details": list(cause.details),
        "task": None if place is None else place.task,
        "seq": None if place is None else place.seq,
        "at_ns": None if place is None or place.time_ns is None else place.time_ns - start_ns,
        "link": f"{report}{link}" if link and report is not None else None,
    }


def cause_lines(cause: Cause, start_ns: int, report: str | None) -> list[str]:
    """A cause as lines: its sentences with the rules, its details, and, if there is a report, where to see it."""
    cited = f"  [{', '.join(cause.rules)}]" if cause.rules else ""
    lines = [cause.text + cited, *(f"- {detail}" for detail in cause.details)]
    link = cause.link(start_ns)
    if report is not None and link and cause.place is not None and cause.place.time_ns is not None:
        lines.append(f"at {moment_text(cause.place.time_ns - start_ns)}: {report}{link}")
    return lines


def command_text(*words: str) -> str:
    """A command of flowsim as the user types it."""
    return shlex.join(["flowsim", *words])
