"""A CommittableCollector under the commands of the golden file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowsim.connectors.sinks.committables.commit_request import CommitFailed, CommitRequest
from flowsim.connectors.sinks.committables.committable_collector import CommittableCollector, StoredCommittables
from flowsim.connectors.sinks.committables.committable_message import CommittableSummary, CommittableWithLineage
from flowsim.errors import InvariantViolation

ERRORS: dict[str, type[Exception]] = {
    "IOException": CommitFailed,
    "UnsupportedOperationException": InvariantViolation,
    "IllegalStateException": InvariantViolation,
    "IllegalArgumentException": InvariantViolation,
    "NullPointerException": InvariantViolation,
}


class ScriptedCommitter:
    """Treats each committable as the case says, and records its calls."""

    def __init__(self, behaviour: Callable[[str], str]) -> None:
        self.behaviour = behaviour
        self.calls: list[list[str]] = []

    def commit(self, requests: Sequence[CommitRequest[str]]) -> None:
        batch: list[str] = []
        for request in requests:
            committable = request.committable
            batch.append(committable)
            match self.behaviour(committable):
                case "already":
                    request.signal_already_committed()
                case "failed":
                    request.signal_failed_with_known_reason(OSError("known"))
                case "unknown":
                    self.calls.append(batch)
                    request.signal_failed_with_unknown_reason(OSError("unknown"))
                case "forever":
                    request.retry_later()
                case "retry1" | "retry2" as times if request.number_of_retries < int(times[-1]):
                    request.retry_later()
                case "update":
                    request.update_and_retry_later(updated(committable))
        self.calls.append(batch)


def updated(committable: str) -> str:
    """The committable that replaces one of the behaviour ``update``."""
    return committable.replace(":update", "':ok") if ":" in committable else committable + "'"


class CollectorPlay:
    def __init__(self, behaviour: Callable[[str], str]) -> None:
        self.collector: CommittableCollector[str] = CommittableCollector()
        self.committer = ScriptedCommitter(behaviour)
        self.stored: tuple[StoredCommittables[str], ...] | None = None

    def play(self, command: list[Any]) -> None:
        collector = self.collector
        match command:
            case ["summary_and_committables", subtask, subtasks, checkpoint, count, committables]:
                collector.add_message(CommittableSummary(subtask, subtasks, checkpoint, count))
                for committable in committables:
                    collector.add_message(CommittableWithLineage(committable, checkpoint, subtask))
            case ["summary", subtask, subtasks, checkpoint, count]:
                collector.add_message(CommittableSummary(subtask, subtasks, checkpoint, count))
            case ["committable", subtask, checkpoint, committable]:
                collector.add_message(CommittableWithLineage(committable, checkpoint, subtask))
            case ["next_checkpoint", _]:
                pass
            case ["snapshot"]:
                self.stored = collector.snapshot()
            case ["restore_merge"] if self.stored is not None:
                collector.merge(CommittableCollector.restored(self.stored))
            case ["complete", checkpoint, retries]:
                for manager in collector.checkpoint_committables_up_to(checkpoint):
                    manager.commit(self.committer, retries)
                    collector.remove(manager)
            case _:
                raise AssertionError(f"unknown command {command}")

    def observed(self, command: list[Any]) -> dict[str, Any]:
        self.committer.calls.clear()
        error: Exception | None = None
        try:
            self.play(command)
        except (CommitFailed, InvariantViolation) as raised:
            error = raised
        return {
            "events": [["commit_call", batch] for batch in self.committer.calls],
            "err": error,
            "state": state(self.collector),
            "finished": self.collector.is_finished,
        }


def state(collector: CommittableCollector[str]) -> dict[str, Any]:
    return {
        str(manager.checkpoint_id): {
            "globally_received_all": manager.has_globally_received_all,
            "subtasks": {
                str(subtask.subtask): {
                    "received_all": subtask.has_received_all,
                    "requests": [
                        [each.committable, each.state.name, each.number_of_retries] for each in subtask.requests
                    ],
                }
                for subtask in sorted(manager.subtask_committable_managers, key=lambda subtask: subtask.subtask)
            },
        }
        for manager in collector.checkpoint_committables
    }


def is_same_error(error: Exception | None, expected: list[str] | None) -> bool:
    """Compares the type, and the message up to the text of an object."""
    if expected is None or error is None:
        return expected is None and error is None
    name, message = expected
    if message == "Failed to commit (unknown reason)":  # the oracle's own text
        return isinstance(error, CommitFailed)
    start = message.partition("{")[0].partition(" (new=")[0].partition("manager=")[0].partition("[CommitRequ")[0]
    return isinstance(error, ERRORS[name]) and str(error).startswith(start)
