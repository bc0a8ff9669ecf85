"""Checkpoints, failures and restarts of the job's side in a report: tables without a task."""

from __future__ import annotations

from itertools import islice
from typing import Final

from flowsim.facts.checkpoint_tables import CHECKPOINT_TABLES, CHECKPOINTS, RESTARTS, STORED_CHANNELS
from flowsim.facts.kinds import CheckpointAction, RestartAction
from flowsim.facts.table import Table
from flowsim.history.rows import Ints, recorded_rows
from flowsim.history.run_span import start_of
from flowsim.recording.reader import Recording
from flowsim.report.encoding import bounded

_OMITTED: Final = ("element_sum", "weighted_sum", "rest_bytes")
"""Columns of stored in-flight data that nothing shows."""
_MOST_POINTS: Final = 4
"""Failures, and triggered checkpoints, around which a report in parts has every fact."""


def has_checkpoints(recording: Recording) -> bool:
    """Whether there are facts of checkpoints or restarts."""
    return any(recording.row_count(table.name) for table in CHECKPOINT_TABLES)


def job_tables(recording: Recording) -> dict[str, dict[str, Ints]]:
    """Returns the tables with rows, with times since the start of the run.

    Acknowledgements are left out: each task has its own fact of them. Raises BadInput for a damaged part.
    """
    tables = {table.name: _columns(recording, table) for table in (CHECKPOINTS, RESTARTS, STORED_CHANNELS)}
    return {name: columns for name, columns in tables.items() if len(columns["time_ns"])}


def points_of_job(recording: Recording) -> list[tuple[int, int, str]]:
    """Returns the first failures and checkpoints as points of interest: rank, time since the start in ns, and reason."""
    failures, checkpoints = _columns(recording, RESTARTS), _columns(recording, CHECKPOINTS)
    failed = zip(*(failures[name].tolist() for name in ("action", "time_ns", "failure")), strict=True)
    found = [(time, f"failure {number}") for action, time, number in failed if action != RestartAction.RESTART]
    triggers = zip(*(checkpoints[name].tolist() for name in ("action", "time_ns", "checkpoint")), strict=True)
    taken = [
        (time, f"checkpoint {number}") for action, time, number in triggers if action == CheckpointAction.TRIGGERED
    ]
    return [
        (rank, *point) for points in (found, taken) for rank, point in enumerate(islice(points, _MOST_POINTS), start=1)
    ]


def _columns(recording: Recording, table: Table) -> dict[str, Ints]:
    names = [name for name in table.names if name not in _OMITTED]
    rows = recorded_rows(recording, table.name, names)
    columns = {name: rows[name] for name in names}
    columns["time_ns"] = columns["time_ns"] - start_of(recording)
    wanted = columns["action"] != CheckpointAction.ACKNOWLEDGED if table is CHECKPOINTS else slice(None)
    return {name: bounded(values[wanted]) for name, values in columns.items()}
