"""The result of a run: how the job ended, and what its sinks hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Literal

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.connectors.memory import CollectSink
from flowsim.errors import RunTooLong
from flowsim.values.encoding import decode_shown, decode_value, encode_record

View = Literal["exact", "bag"]
"""Which results count as different: ``exact``, each subtask of a sink by itself, in order; ``bag``, each sink as a
multiset."""

VIEWS: Final[tuple[View, ...]] = ("exact", "bag")

BOUND_REACHED: Final = "the run reached its bounds: it may work without end"
"""The cause of a failure of every run that was ended at its bounds."""

_ON_SINK: Final = "Sink: "


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status, the cause of a failure ('' without one), and the encoded rows of each sink and subtask."""

    status: JobStatus
    cause: str
    sinks: tuple[tuple[str, tuple[tuple[bytes, ...], ...]], ...]
    is_bounded: bool = False
    """True if the run was ended at its bounds; what the sinks hold then is not part of the result."""

    def viewed(self, view: View) -> Outcome:
        """Returns the outcome without what a view ignores."""
        if view == "exact":
            return self
        bags = tuple((name, (tuple(sorted(row for part in parts for row in part)),)) for name, parts in self.sinks)
        return replace(self, sinks=bags)

    @property
    def digest(self) -> str:
        """Equal for equal outcomes, in every process."""
        text = sha256(f"{self.status.value}\n{self.cause}\n".encode())
        for name, parts in self.sinks:
            text.update(f"{name}\n{[len(part) for part in parts]}\n".encode())
            for part in parts:
                for row in part:
                    text.update(len(row).to_bytes(4, "big") + row)
        return text.hexdigest()[:16]

    @property
    def rows(self) -> dict[str, list[list[object]]]:
        """The values of each sink and subtask, without timestamps. Raises ValueNotAllowed for classes of another process."""
        return self._decoded(decode_value)

    @property
    def shown_rows(self) -> dict[str, list[list[object]]]:
        """The rows for output, with a dict in place of each object: the classes of the job need not be here."""
        return self._decoded(decode_shown)

    def _decoded(self, decode: Callable[[bytes], object]) -> dict[str, list[list[object]]]:
        return {name: [[decode(row)[1] for row in part] for part in parts] for name, parts in self.sinks}  # type: ignore[index]


def sink_name(operator: str) -> str:
    """Returns the name of a sink from that of its operator."""
    return operator.removeprefix(_ON_SINK)


def outcome_of(result: JobExecutionResult, ends: Mapping[str, CollectSink]) -> Outcome:
    """Returns the outcome of the run that has just ended; ``ends`` hold its output, by operator."""
    sinks = tuple(
        (
            sink_name(name),
            tuple(
                tuple(encode_record(timestamp, value) for value, timestamp in end.records(subtask))
                for subtask in range(end.parallelism)
            ),
        )
        for name, end in ends.items()
    )
    if isinstance(result.error, RunTooLong):
        return Outcome(result.status, BOUND_REACHED, (), True)
    return Outcome(result.status, "" if result.error is None else str(result.error), sinks)
