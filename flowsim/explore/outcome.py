"""The result of a run: how the job ended, and what its sinks hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Literal

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.connectors.memory import CollectSink
from flowsim.errors import RunTooLong
from flowsim.explore.row_keys import KeyedCollectSink
from flowsim.values.encoding import decode_shown, decode_value, encode_record, encode_value

View = Literal["exact", "keys", "bag"]
"""Which results count as different: ``exact``, each subtask of a sink by itself, in order; ``keys``, each key of a sink by
itself, in order; ``bag``, each sink as a multiset."""

VIEWS: Final[tuple[View, ...]] = ("exact", "keys", "bag")
"""Each ignores more than the one before it."""

BOUND_REACHED: Final = "the run reached its bounds: it may work without end"
"""The cause of a failure of every run that was ended at its bounds."""

_ON_SINK: Final = "Sink: "

_Parts = tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status, the cause of a failure ('' without one), and the encoded rows of each sink and subtask."""

    status: JobStatus
    cause: str
    sinks: tuple[tuple[str, _Parts], ...]
    is_bounded: bool = False
    """True if the run was ended at its bounds; what the sinks hold then is not part of the result."""
    keys: dict[str, _Parts] = field(default_factory=dict, hash=False)
    """The encoded keys of the rows of each sink that has them."""
    is_by_key: bool = False
    """True if the rows of such a sink are in parts by key, instead of subtasks."""

    def viewed(self, view: View) -> Outcome:
        """Returns the outcome without what a view ignores."""
        if view == "exact":
            return self
        if view == "keys":
            return self._by_key()
        bags = tuple((name, (tuple(sorted(row for part in parts for row in part)),)) for name, parts in self.sinks)
        return replace(self, sinks=bags, keys={}, is_by_key=False)

    def _by_key(self) -> Outcome:
        sinks, keys_of_sinks = [], {}
        for name, parts in self.sinks:
            if name in self.keys:
                by_key: dict[bytes, list[bytes]] = {}
                for rows, keys in zip(parts, self.keys[name], strict=True):
                    for row, key in zip(rows, keys, strict=True):
                        by_key.setdefault(key, []).append(row)
                parts = tuple(tuple(by_key[key]) for key in sorted(by_key))
                keys_of_sinks[name] = tuple((key,) * len(by_key[key]) for key in sorted(by_key))
            sinks.append((name, parts))
        return replace(self, sinks=tuple(sinks), keys=keys_of_sinks, is_by_key=True)

    @property
    def digest(self) -> str:
        """Equal for equal outcomes, in every process."""
        text = sha256(f"{self.status.value}\n{self.cause}\n".encode())
        for name, parts in self.sinks:
            text.update(f"{name}\n{[len(part) for part in parts]}\n".encode())
            for part in parts:
                for row in part:
                    text.update(len(row).to_bytes(4, "big") + row)
            for keys in self.keys.get(name, ()) if self.is_by_key else ():
                text.update(len(keys[0]).to_bytes(4, "big") + keys[0])
        return text.hexdigest()[:16]

    @property
    def rows(self) -> dict[str, list[list[object]]]:
        """The values of each sink and subtask, without timestamps. Raises ValueNotAllowed for classes of another process."""
        return self._decoded(decode_value)

    @property
    def shown_rows(self) -> dict[str, list[list[object]]]:
        """The rows for output, with a dict in place of each object: the classes of the job need not be here."""
        return self._decoded(decode_shown)

    @property
    def shown_keys(self) -> dict[str, list[object]]:
        """The key of each part of the sinks whose rows are in parts by key."""
        if not self.is_by_key:
            return {}
        return {name: [decode_shown(keys[0]) for keys in parts] for name, parts in self.keys.items()}

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
    keys = {
        sink_name(name): tuple(tuple(map(encode_value, end.keys(subtask))) for subtask in range(end.parallelism))
        for name, end in ends.items()
        if isinstance(end, KeyedCollectSink)
    }
    return Outcome(result.status, "" if result.error is None else str(result.error), sinks, keys=keys)
