"""A stateless task beside in-flight data is restored with the id of the unaligned checkpoint (rule 12.100).

The expected ids are those of Flink 2.3.0 for these jobs (FLINK-27031, FLINK-31963).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.jobs.checkpoint_jobs import run_phases

INPUTS = Path(__file__).with_name("inputs")


@pytest.mark.parametrize(
    ("seed", "of_first"),
    [
        (987802, {"0.0": None, "0.1": 1}),
        (987817, {"0.0": None, "0.1": 1, "0.2": 2}),
    ],
)
def test_receiver_of_stored_outputs_is_restored_and_its_own_receiver_starts_as_new(
    seed: int, of_first: dict[str, int | None], tmp_path: Path
) -> None:
    """`first` reads from the source, which stored buffers without unread bytes; `second` reads from `first`."""
    case = json.loads((INPUTS / f"unaligned_restored_neighbours_{seed}.json").read_text())
    board, _ = run_phases(case, tmp_path)
    restored = {
        (name.partition("@")[0], name.partition("@")[2].partition("/")[0], event[2])
        for name, events in board.log.items()
        for event in events
        if event[1] == "initializeState"
    }
    expected = {("first", attempt, checkpoint) for attempt, checkpoint in of_first.items()}
    assert restored == expected | {("second", attempt, None) for attempt in of_first}
