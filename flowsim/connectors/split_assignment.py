"""Splits that readers request one by one. Flink: StaticFileSplitEnumerator, SimpleSplitAssigner."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

from flowsim.connectors.source import unexpected_state
from flowsim.errors import BadInput
from flowsim.operators.sources.source_events import RequestSplitEvent
from flowsim.operators.sources.split_enumerator import SplitEnumeratorContext
from flowsim.operators.stream_operator import OperatorContext
from flowsim.streamrecord.operator_event import OperatorEvent
from flowsim.values.encoding import decode_value, encode_value

Assignment = Literal["fixed", "dynamic"]
"""fixed: split i belongs to subtask i modulo the parallelism. dynamic: a reader requests the next split when it has
none, so that faster readers read more splits.
"""

ASSIGNMENTS: Final[tuple[Assignment, ...]] = get_args(Assignment)


def checked_assignment(assignment: Assignment, owner: str) -> Assignment:
    """Returns the assignment; raises BadInput for an unknown one."""
    if assignment not in ASSIGNMENTS:
        raise BadInput(f"{owner}: assignment: expected {' or '.join(ASSIGNMENTS)}, got {assignment!r}")
    return assignment


class SplitsOnRequest:
    """Makes the enumerator of a known list of splits, which are values of the closed set. Flink: FileSource."""

    def __init__(self, splits: Iterable[object], *, is_bounded: bool = True) -> None:
        """``is_bounded``: False if readers wait for further splits, which never come."""
        self._splits = tuple(splits)
        self._is_bounded = is_bounded

    def create_enumerator(self, context: SplitEnumeratorContext[object]) -> RequestedSplits:
        """Creates the enumerator of the first attempt."""
        return RequestedSplits(context, self._splits, self._is_bounded)

    def restore_enumerator(self, context: SplitEnumeratorContext[object], state: bytes) -> RequestedSplits:
        """Creates the enumerator from the splits that a checkpoint contains. Raises BadInput for another state."""
        splits = decode_value(state)
        if not isinstance(splits, tuple):
            raise unexpected_state(splits, "the splits without a reader")
        return RequestedSplits(context, splits, self._is_bounded)


class RequestedSplits:
    """Gives each reader that requests one the next split, in order; splits of failed readers come first.

    Its state is the splits without a reader. Flink: StaticFileSplitEnumerator.
    """

    __slots__ = ("_context", "_splits", "_is_bounded")

    def __init__(
        self, context: SplitEnumeratorContext[object], splits: Sequence[object], is_bounded: bool = True
    ) -> None:
        self._context = context
        self._splits = deque(splits)
        self._is_bounded = is_bounded

    def start(self) -> None:
        """Does nothing: readers request their splits."""

    def handle_split_request(self, subtask: int) -> None:
        if subtask not in self._context.registered_readers:
            # The reader failed after its request.
            return
        if self._splits:
            self._context.assign_splits({subtask: [self._splits.popleft()]})
        elif self._is_bounded:
            self._context.signal_no_more_splits(subtask)

    def add_splits_back(self, splits: Sequence[object], subtask: int) -> None:
        self._splits.extendleft(reversed(splits))

    def add_reader(self, subtask: int) -> None:
        """Does nothing: the reader requests its split."""

    def handle_source_event(self, subtask: int, event: OperatorEvent) -> None:
        raise BadInput(f"the enumerator of a source got an unexpected {type(event).__name__}")

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        return encode_value(tuple(self._splits))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Does nothing."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing: there are no resources."""


class SplitRequests:
    """Requests splits for a reader, one at a time. Flink: SourceReaderContext.sendSplitRequest."""

    __slots__ = ("_ctx", "_is_waiting", "_has_all")

    def __init__(self) -> None:
        self._ctx: OperatorContext | None = None
        self._is_waiting = False
        self._has_all = False

    def open(self, ctx: OperatorContext) -> None:
        self._ctx = ctx

    def next_may_follow(self) -> bool:
        """Requests a split, unless a request is under way; False if no more splits follow."""
        if not self._has_all and not self._is_waiting and self._ctx is not None:
            send = self._ctx.send_to_coordinator
            if send is not None:
                self._is_waiting = True
                send(RequestSplitEvent())
        return not self._has_all

    @property
    def is_waiting(self) -> bool:
        """True while a request has no answer."""
        return self._is_waiting

    def answered(self) -> None:
        """Splits have come."""
        self._is_waiting = False

    def notify_no_more_splits(self) -> None:
        self._has_all = True
