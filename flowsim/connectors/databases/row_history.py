"""The runs whose rows a table holds, and the checkpoints from which a job may continue there."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.errors import BadInput

RowHistory = tuple[tuple[str, int], ...]
"""The runs of a job, each continued by the next: its id, and the last checkpoint whose rows count as committed.

A checkpoint has the history of its rows. A table has that of the rows in it: the last number is that of the last commit,
and the others are those of the checkpoints from which the next run started.
"""


def history_of(states: Sequence[object]) -> RowHistory | None:
    """Returns the history in the states of a sink's writers; None without one, as in a sink that is new in the job."""
    histories = [state for state in states if isinstance(state, tuple)]
    return max(histories, key=len) if histories else None


def check_continuation(table: RowHistory, restored: RowHistory, name: str, owner: str) -> None:
    """Raises BadInput if a job that is restored with one history would lose or repeat rows in a table with the other.

    A run discards staged rows after the checkpoint from which it starts. So afterwards only this checkpoint, and those
    of the run itself, are those of the table.
    """
    if not table or not restored:
        return
    here, (_, last) = len(restored), restored[-1]
    ids = [run for run, _ in table]
    if ids[:here] != [run for run, _ in restored]:
        raise BadInput(
            f"{owner}: another run has written to the table as {name!r} since checkpoint {last}, so rows would be lost or "
            "written twice: continue that run from its newest checkpoint, or start the job anew with another table"
        )
    ends = [number for _, number in table[here - 1 :]]
    if ends[-1] > last:
        raise BadInput(
            f"{owner}: holds rows that were committed after checkpoint {last}, and the restored job would write them again: "
            "restore a later checkpoint, or start the job anew with another table"
        )
    if len(ends) > 1 and ends[0] < last:
        raise BadInput(
            f"{owner}: another run was restored from checkpoint {ends[0]} and has discarded the rows after it, which "
            f"checkpoint {last} counts as written: restore checkpoint {ends[0]}, or start the job anew with another table"
        )
