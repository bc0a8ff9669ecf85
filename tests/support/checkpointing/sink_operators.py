"""The subtasks of a sink under a script: writers before committers, checkpoints, restarts with another parallelism."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.connectors.sinks.committables.commit_request import CommitFailed, CommitRequest
from flowsim.connectors.sinks.committables.committable_message import CommittableSummary, message_of
from flowsim.connectors.sinks.committer_operators import CommitterOperator
from flowsim.connectors.sinks.sink_writer_operator import SinkWriterOperator
from flowsim.errors import ElementAfterEndOfInput, InvariantViolation
from flowsim.operators.sink import InitContext
from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.testing.harness import CollectingOutput, OneInputOperatorHarness
from tests.support.checkpointing.committables import ScriptedCommitter
from tests.support.operators.sink_job import State, StateStore

Command = tuple[object, ...]
STATE = "streaming_committer_raw_states"


class MessageOutput(CollectingOutput):
    """Logs messages, and passes them to the committer, if there is one."""

    def __init__(self, events: list[str], prefix: str, committer: StreamOperator | None = None) -> None:
        super().__init__()
        self._events, self._prefix, self._committer = events, prefix, committer

    def collect(self, value: Value, timestamp: int | None) -> None:
        message = message_of(value)
        if isinstance(message, CommittableSummary):
            words: list[object] = ["summary", message.checkpoint_id, message.subtask]
            words += [message.number_of_subtasks, message.number_of_committables]
        else:
            words = [message.committable, message.checkpoint_id, message.subtask]
        self._events.append(" ".join([self._prefix, *map(str, words)]))
        if self._committer is not None:
            self._committer.process_element(value, timestamp)


class LoggedWriter:
    def __init__(self, events: list[str], subtask: int) -> None:
        self.events, self.subtask = events, subtask
        self.values: list[object] = []

    def write(self, value: object, timestamp: int | None) -> None:
        self.values.append(value)

    def flush(self, end_of_input: bool) -> None:
        self.events.append(f"{self.subtask} flush {str(end_of_input).lower()}")

    def prepare_commit(self) -> Sequence[object]:
        values, self.values = self.values, []
        return values

    def close(self) -> None:
        """Does nothing."""


class LoggedCommitter(ScriptedCommitter):
    """Logs each call, also one that fails; a committable says after its colon what happens to it."""

    def __init__(self, events: list[str], subtask: int) -> None:
        super().__init__(lambda committable: committable.partition(":")[2])
        self.events, self.subtask = events, subtask

    def commit(self, requests: Sequence[CommitRequest[str]]) -> None:
        self.calls.clear()
        try:
            super().commit(requests)
        finally:
            self.events += [f"{self.subtask} commit {' '.join(batch)}" for batch in self.calls]

    def close(self) -> None:
        """Does nothing."""


class LoggedSink:
    kind = "logged"
    params = {}  # noqa: RUF012

    def __init__(self, events: list[str]) -> None:
        self.events = events

    def create_writer(self, context: InitContext) -> LoggedWriter:
        restored = -1 if context.restored_checkpoint_id is None else context.restored_checkpoint_id
        self.events.append(f"{context.subtask_index} writer from {restored}")
        return LoggedWriter(self.events, context.subtask_index)

    def create_committer(self, context: InitContext) -> LoggedCommitter:
        return LoggedCommitter(self.events, context.subtask_index)


class SinkSubtask:
    def __init__(self, play: SinkOperatorsPlay, context: OperatorContext, state: State) -> None:
        sink, index = LoggedSink(play.events), context.subtask_index
        self.committer = CommitterOperator(
            sink.create_committer,  # type: ignore[arg-type]
            emits=play.emits,
            max_retries=play.retries,
        )
        self.committer.setup(context, MessageOutput(play.events, f"{index} out"))
        self.writer = SinkWriterOperator(sink)
        self.writer.setup(context, MessageOutput(play.events, f"{index} sends", self.committer))
        self.store = StateStore(state)


class SinkOperatorsPlay:
    """Plays a script, of which the first command is ``job PARALLELISM RETRIES EMITS CHECKPOINTS``."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.subtasks: list[SinkSubtask] = []
        self.stored: list[State] = []
        self.stored_id: int | None = None
        self.retries, self.emits, self.checkpoints = 0, False, False
        self.has_failed = False
        """After an error, commands have no effect until a restart."""

    def answer(self, command: Command) -> str:
        self.events.clear()
        if self.has_failed and command[0] != "restart":
            return ""
        self.has_failed = True
        try:
            self._play(command)
            self.has_failed = False
        except CommitFailed as raised:
            self.events.append("!" + str(raised).partition(": [")[0])
        except (ElementAfterEndOfInput, InvariantViolation):
            self.events.append("!illegal")
        return ";".join(self.events)

    def _play(self, command: Command) -> None:
        match command:
            case ("job", int(parallelism), int(retries), emits, checkpoints):
                self.retries, self.emits, self.checkpoints = retries, emits == "true", checkpoints == "true"
                self._restart(parallelism)
            case ("write", int(subtask), value):
                self.subtasks[subtask % len(self.subtasks)].writer.process_element(value, None)
            case ("snapshot", int(checkpoint)):
                taken = []
                for each in self.subtasks:
                    each.writer.prepare_snapshot_pre_barrier(checkpoint)
                    each.committer.snapshot_state(StateSnapshotContext(checkpoint, 0))
                    taken.append(each.store.snapshot())
                self.stored, self.stored_id = taken, checkpoint
            case ("complete", int(checkpoint)):
                for each in self.subtasks:
                    each.committer.notify_checkpoint_complete(checkpoint)
            case ("end", int(subtask)):
                ended = self.subtasks[subtask % len(self.subtasks)]
                ended.writer.end_input()
                ended.committer.end_input()
            case ("restart", int(parallelism)):
                self._restart(parallelism)
            case _:
                raise AssertionError(f"unknown command {command}")

    def _restart(self, parallelism: int) -> None:
        self.subtasks.clear()
        old = self.stored
        for index in range(parallelism):
            mine = [index] if len(old) == parallelism else range(index, len(old), parallelism)
            elements = tuple(element for place in mine for element in old[place].get(STATE, ())) if old else ()
            subtask = SinkSubtask(self, self._context(index, parallelism), {STATE: elements})
            self.subtasks.append(subtask)
            for operator, store in ((subtask.committer, subtask.store), (subtask.writer, StateStore({}))):
                operator.initialize_state(StateInitializationContext(store, None, self.stored_id))
                operator.open()

    def _context(self, index: int, parallelism: int) -> OperatorContext:
        context = OneInputOperatorHarness(StreamOperator(), subtask_index=index, parallelism=parallelism).context
        context.operator_name, context.is_checkpointing_enabled = "sink", self.checkpoints
        return context
