"""The protocols of sinks. Flink: Sink, SupportsCommitter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Literal, Protocol, runtime_checkable

from flowsim.connectors.sinks.committables.commit_request import Committer
from flowsim.connectors.sinks.sink_writer_checkpoints import CommittingSinkWriter
from flowsim.operators.sink import InitContext, SinkWriter


class DeliveryGuarantee(Enum):
    """How often a record is in the output after a failure. Flink: DeliveryGuarantee."""

    EXACTLY_ONCE = "exactly_once"
    """Once: records become visible when their checkpoint completes."""
    AT_LEAST_ONCE = "at_least_once"
    """At least once: records are written at once, and those after the restored checkpoint are written again."""
    NONE = "none"
    """No guarantee. Here nothing is lost: sinks do the same as with AT_LEAST_ONCE."""


class Sink(Protocol):
    """A description of output; every subtask gets its own writer. Flink: Sink."""

    @property
    def kind(self) -> str:
        """A short name for output and laws, such as ``parquet``."""

    @property
    def params(self) -> Mapping[str, object]:
        """The sink's parameters in a recording, as JSON values; paths have no folders."""

    def create_writer(self, context: InitContext) -> SinkWriter:
        """Creates the writer of one subtask, when its task starts."""


@runtime_checkable
class SupportsCommitter(Protocol):
    """A sink with a committer; its writers are CommittingSinkWriters. Flink: SupportsCommitter."""

    def create_writer(self, context: InitContext) -> CommittingSinkWriter[object]: ...

    def create_committer(self, context: InitContext) -> Committer[object]:
        """Creates the committer of one subtask."""


@runtime_checkable
class SupportsGlobalCommitter(Protocol):
    """A sink with a committer for all subtasks after the others. Flink: StandardSinkTopologies.addGlobalCommitter.

    As in Flink it does not get what the final checkpoint commits, which is sent after EndOfData (rule 4.11).
    """

    def create_global_committer(self, context: InitContext) -> Committer[object]: ...


@runtime_checkable
class SupportsDirectWriter(Protocol):
    """A sink with a committer that can do without it, in a job without checkpoints; not in Flink."""

    def create_direct_writer(self, context: InitContext) -> SinkWriter:
        """Creates a writer whose records become visible when the job ends, or at once."""


@runtime_checkable
class ChecksRun(Protocol):
    """A sink that cannot run in every environment; not in Flink."""

    def check_run(self, clock: Literal["virtual", "real"]) -> None:
        """Raises BadInput if the sink cannot run, on this clock; called before anything is written."""


@runtime_checkable
class ChecksRestore(Protocol):
    """A sink that cannot continue from every checkpoint; not in Flink."""

    def check_restore(self, operator_name: str, writer_states: Sequence[object]) -> None:
        """Raises BadInput if rows would be lost or written twice; called before anything is written.

        ``writer_states``: those of all writers in the checkpoint, none if the operator is new.
        """


class DirectWriters:
    """Creates the direct writers of a sink."""

    __slots__ = ("sink",)

    def __init__(self, sink: SupportsDirectWriter) -> None:
        self.sink = sink

    def create_writer(self, context: InitContext) -> SinkWriter:
        return self.sink.create_direct_writer(context)
