"""The facts of a recording up to a moment of the run, with the names of what they are about."""

from __future__ import annotations

from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Ints as Ints
from flowsim.history.rows import Mask as Mask
from flowsim.history.rows import Row as Row
from flowsim.history.rows import Rows as Rows
from flowsim.laws.job_graph import Channel
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.trace.places import Place
from flowsim.trace.time import moment_text
from flowsim.why.sentence import Moment

ONE_FOR_ONE = frozenset({"source", "map", "filter", "flat_map", "co_map", "reduce", "watermarks", "sink"})
"""Kinds of operators whose result at once follows the record that it belongs to."""


def place_of(row: Row) -> Place:
    """The position of a fact."""
    return Place(row["task"], row["seq"], row["time_ns"])


class RunFacts(RecordedFacts):
    """The facts of a run, and what sentences about them call their tasks, operators, channels and times."""

    def __init__(self, recording: Recording, until_ns: int | None = None) -> None:
        super().__init__(recording, until_ns)
        self.names = Names(recording)

    def moment(self, time_ns: int) -> str:
        """A time as text, since the start of the run."""
        return moment_text(time_ns - self.start_ns)

    @property
    def by_moment(self) -> str:
        """The moment of the facts for the end of a sentence about all facts before it; '' without a moment."""
        return "" if self.until_ns is None else f" by {self.moment(self.until_ns)}"

    def since_start(self, row: Row | Rows) -> Moment:
        """The time of a fact since the start of the run, or of several facts."""
        return Moment(row["time_ns"] - self.start_ns)

    def task(self, task: int) -> str:
        return self.names.short_task(task)

    def operator_in(self, task: int, operator: int) -> str:
        """An operator and its task; only the task if it is named after the operator."""
        name, of_task = self.names.operator(task, operator), self.task(task)
        return of_task if of_task.startswith(f"{name} (") else f"{name} in {of_task}"

    def of_key(self, key: int) -> str:
        """A key by its fingerprint, for what belongs to it; '' without a key."""
        return f" of key {self.names.key(key)}" if key else ""

    def from_(self, channel: Channel) -> str:
        """A channel by its number and sender, for its receiver."""
        return f"channel #{channel.channel} from {self.task(channel.source_task)}"
