"""Events between the enumerator of a source and its readers. Flink: org.apache.flink.runtime.source.event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from flowsim.streamrecord.operator_event import OperatorEvent

Split = TypeVar("Split")


@dataclass(frozen=True, slots=True)
class ReaderRegistrationEvent(OperatorEvent, Generic[Split]):
    """A reader has started. Flink: ReaderRegistrationEvent."""

    splits: tuple[Split, ...] = ()
    """The restored splits, if the source assigns them again (rule 12.111)."""


@dataclass(frozen=True, slots=True)
class RequestSplitEvent(OperatorEvent):
    """A reader has no split. Flink: RequestSplitEvent."""


@dataclass(frozen=True, slots=True)
class AddSplitEvent(OperatorEvent, Generic[Split]):
    """Splits for a reader. Flink: AddSplitEvent."""

    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True)
class NoMoreSplitsEvent(OperatorEvent):
    """The reader ends after its splits. Flink: NoMoreSplitsEvent."""
