"""Law state: keyed, broadcast and operator state contains and returns what the calls of the operator make of it."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import Level, StateAction
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, StateOfOperator, Task
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, on_row

ID: Final = "state"
_WHAT: Final = {
    int(StateAction.WRONG_CONTENT): "a call left something else in a state than it should have",
    int(StateAction.WRONG_READ): "a read of a state returned something else than it should have",
}


class ComparedStates(Machine):
    """Counts the changes of the states of one task, and finds the calls that differ from the state's model."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        states = [state for state in graph.states if state.task == task.task and _is_judged(state)]
        self._task = task.task
        self._states = {(state.operator, state.state): state for state in states}
        self._found = found[ID]
        self._found.examined += len(states)

    @on_row("state_changes")
    def _change(
        self, seq: int, time_ns: int, operator: int, state: int, action: int, key_hash: int, key: int, entries: int,
        fingerprint: int, window_start: int, window_end: int,
    ) -> None:  # fmt: skip
        about = self._states.get((operator, state))
        if about is None:
            return
        self._found.examined += 1
        if action in _WHAT:
            window = {"window_start": window_start, "window_end": window_end} if window_start or window_end else {}
            self._found.broken(
                _WHAT[action], (self._task, seq), task=self._task, seq=seq, time_ns=time_ns, operator=operator,
                state=about.name, kind=about.kind, key_hash=key_hash, key=key, **window, expected_entries=entries,
                expected_fingerprint=fingerprint,
            )  # fmt: skip


def _is_judged(state: StateOfOperator) -> bool:
    """Whether a state has a model; the contents of windows are what law window-fire judges."""
    return not state.kind.startswith("window_")


def _applies(graph: JobGraph) -> str:
    if any(map(_is_judged, graph.states)):
        return ""
    return "no use of keyed state was recorded: the job has none, or the setting record_state is off"


LAWS: Final = (
    Law(
        ID,
        "Every call of keyed, broadcast and operator state has its effect and no other, and every read returns what the "
        "calls before it make of the state.",
        ("14.1", "14.2", "14.3", "14.4", "14.5", "14.6", "14.7"),
        Level.FULL,
        ComparedStates,
        _applies,
        attempts=Attempts.ALL,
        counts="""\
- Not applicable: table `states` is empty (the run was recorded without the setting `record_state`, or no operator used
  keyed state), or its rows are all contents of windows (kinds `window_records` and `window_value`), which law
  `window-fire` judges. Broadcast and operator states appear in this table only beside a violation.
- While state is recorded, flowsim keeps a second, independent *model* of each keyed state, each broadcast state, and
  each operator state of a `CheckpointedFunction`. The model starts with the restored contents. After each call it
  compares the state with the model:
  - each call of `update`, `add`, `add_all`, `put`, `put_all`, `remove` and `clear`, and each merge of windows: the
    number of entries, and the elements that the call writes or removes;
  - each call of `value`, `get`, `contains`, `items`, `keys`, `values` and `is_empty`: what it returns. The order of keys
    is compared with that of the state's own entries;
  - each call of `apply_to_keyed_state`: every key that has the state is visited, once;
  - reducing and aggregating states: the calls of the user's function, their arguments, and that the state contains the
    last result. The model does not call the function itself;
  - state with a time to live: also the time of each element. An element expires when the processing time in ms reaches
    its last update plus the time to live. A read returns it after that only with `ReturnExpiredIfNotCleanedUp`, and
    removes it. Cleanup removes only expired elements.
- A difference is a row of `state_changes` with action WRONG_CONTENT or WRONG_READ: `entries` and `fingerprint` are those
  of the model. The model then continues with what the state contains. After a call that raised an error, too, the model
  takes over what the state contains.
- Rows examined: rows of `states` and of `state_changes`, without contents of windows. Each row WRONG_CONTENT or WRONG_READ is a
  violation.
""",
    ),
)
