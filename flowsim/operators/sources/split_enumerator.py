"""The part of a source that discovers splits and assigns them to readers. Flink: SplitEnumerator, Source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from flowsim.sim.scheduler import Timer
from flowsim.streamrecord.operator_event import OperatorEvent

Split = TypeVar("Split")
SplitIn = TypeVar("SplitIn", contravariant=True)


class SplitEnumerator(Protocol[SplitIn]):
    """Discovers splits and assigns them to readers. Flink: SplitEnumerator."""

    def start(self) -> None: ...

    def handle_split_request(self, subtask: int) -> None:
        """A reader has no split and wants one."""
        ...

    def add_splits_back(self, splits: Sequence[SplitIn], subtask: int) -> None:
        """A reader failed before a checkpoint contained these splits (rule 12.112)."""
        ...

    def add_reader(self, subtask: int) -> None:
        """A reader has registered."""
        ...

    def handle_source_event(self, subtask: int, event: OperatorEvent) -> None:
        """A reader has sent an event of the source's own."""
        ...

    def snapshot_state(self, checkpoint_id: int) -> bytes: ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None: ...

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None: ...

    def close(self) -> None: ...


class SplitEnumeratorContext(Protocol[Split]):
    """What an enumerator may call. Flink: SplitEnumeratorContext."""

    @property
    def current_parallelism(self) -> int: ...

    @property
    def registered_readers(self) -> Mapping[int, Sequence[Split]]:
        """The splits that each registered reader restored and gave back, by subtask; mostly none."""
        ...

    def assign_splits(self, assignment: Mapping[int, Sequence[Split]]) -> None:
        """Sends splits to registered readers. Raises InvariantViolation for another reader."""
        ...

    def signal_no_more_splits(self, subtask: int) -> None:
        """Lets a reader end; its later requests are ignored (rule 12.115)."""
        ...

    def set_is_processing_backlog(self, is_processing_backlog: bool) -> None:
        """Reports a backlog, during which another checkpoint interval applies (rule 12.43)."""
        ...

    @property
    def elapsed_ns(self) -> int:
        """The time since the start of the run, in ns."""
        ...

    def call_later(self, delay_ns: int, action: Callable[[], None]) -> Timer:
        """Runs the action after the delay; an error of it fails the job. Flink: callAsync."""
        ...


class EnumeratorFactory(Protocol[Split]):
    """The part of a source that makes enumerators. Flink: Source."""

    def create_enumerator(self, context: SplitEnumeratorContext[Split]) -> SplitEnumerator[Split]: ...

    def restore_enumerator(self, context: SplitEnumeratorContext[Split], state: bytes) -> SplitEnumerator[Split]: ...
