"""The keyed state of a task by key: what wrote, cleared or expired it (table ``state_changes``)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import StateAction
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row
from flowsim.laws.job_graph import Operator

StateName = tuple[int, ...]
"""Number of the state, key, and window."""

WRONG: Final = (StateAction.WRONG_CONTENT, StateAction.WRONG_READ)
"""The actions of rows that are no changes: differences that law state reports."""


def state_changes(
    facts: RecordedFacts, task: int, operator: Operator, keys: frozenset[int] | None
) -> dict[StateName, list[Row]]:
    """The changes of each state of these keys (None: of all) that the state at the moment contains.

    These include changes before a restart, up to the snapshot that was restored.
    """
    if not facts.is_full:
        return {}
    rows = facts.rows_of_state("state_changes", task)
    found: dict[StateName, list[Row]] = {}
    mask = (rows["operator"] == operator.operator) & ~np.isin(rows["action"], WRONG)
    for row in rows.where(mask if keys is None else mask & np.isin(rows["key"], sorted(keys))):
        name = row["state"], row["key"], row["window_start"], row["window_end"]
        found.setdefault(name, []).append(row)
    return found


def is_empty(row: Row) -> bool:
    """Whether a state is empty after a change."""
    return row["action"] == StateAction.CLEAR or not row["entries"]
