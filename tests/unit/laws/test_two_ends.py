"""The two ends of channels: suspicious blocks that are examined in several passes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from flowsim.facts.kinds import ElementKind
from flowsim.laws import two_ends
from flowsim.laws.findings import Findings
from flowsim.laws.job_graph import job_graph
from flowsim.laws.two_ends import Columns, Differences, Sums, SuspectRows, Words, suspects
from tests.support.facts.tiny_job import tiny_job

WORDS = Words(
    "element at position", "elements at positions", "position", ("kind", "timestamp", "fingerprint"), ElementKind
)
BLOCK = 1024
Values = npt.NDArray[np.int64]


def side(channel: int, values: Values) -> Columns:
    """Records of a channel with these fingerprints."""
    zeros = np.zeros(len(values), dtype=np.int64)
    return zeros + channel, np.arange(len(values)), zeros, zeros, values


def found(sent: list[Values], received: list[Values], whole: bool) -> tuple[int, list[object]]:
    """The violations of channels from one task to another, and what the first ones are."""
    graph, findings = job_graph(tiny_job()), Findings()
    ends = tuple([side(channel, values) for channel, values in enumerate(each)] for each in (sent, received))
    sums = {}
    for task, channels in enumerate(ends):
        sums[task] = Sums()
        for columns in channels:
            sums[task].add(task, columns)
    blocks = suspects(graph, sums, whole, findings)
    join = Differences(WORDS, blocks)
    for start in range(0, len(blocks), two_ends._BLOCKS_A_WALK):
        answers = {}
        for task, channels in enumerate(ends):
            machine = SuspectRows(
                lambda facts, task=task, channels=channels: ((task, columns) for columns in channels),  # type: ignore[misc]
                blocks[start : start + two_ends._BLOCKS_A_WALK],
            )
            machine.feed(None)  # type: ignore[arg-type]
            answers[task] = machine.end(whole)
        join(graph, answers, whole, findings)
    return findings.violations, [row["what"] for row in findings.evidence]


@pytest.mark.parametrize("blocks", [1, 3, 1024])
@pytest.mark.parametrize("whole", [True, False])
def test_passes_do_not_change_what_is_found(blocks: int, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_ends, "_BLOCKS_A_WALK", blocks)
    values = np.arange(20 * BLOCK)
    lost = np.delete(values, [5, 2 * BLOCK - 1, 17 * BLOCK])
    changed = values.copy()
    changed[[0, 5 * BLOCK]] = -1
    exchanged = values.copy()
    exchanged[[3 * BLOCK - 1, 3 * BLOCK]] = exchanged[[3 * BLOCK, 3 * BLOCK - 1]]
    what = "the element at position"
    assert found([values] * 4, [lost, values, changed, exchanged], whole) == (6, [
        f"{what} 5 of channel 0 was sent and never received",
        f"{what} {2 * BLOCK - 1} of channel 0 was sent and never received",
        f"{what} {17 * BLOCK} of channel 0 was sent and never received",
        f"{what} 0 of channel 2 was changed",
        f"{what} {5 * BLOCK} of channel 2 was changed",
        f"the elements at positions {3 * BLOCK - 1} and {3 * BLOCK} of channel 3 were exchanged",
    ])  # fmt: skip


def test_elements_on_their_way_are_no_violation() -> None:
    values = np.arange(3 * BLOCK)
    received = np.delete(values, 3)[:BLOCK]
    assert found([values], [received], whole=False) == (
        1, ["the element at position 3 of channel 0 was sent and never received"],
    )  # fmt: skip
    assert found([values], [values[:BLOCK]], whole=False) == (0, [])
    assert found([values], [values[:BLOCK]], whole=True)[0] == 2 * BLOCK


def test_all_violations_are_counted_and_the_first_ones_shown() -> None:
    values = np.arange(2 * BLOCK)
    violations, whats = found([values], [values - 1], whole=True)
    assert (violations, len(whats)) == (2, 2)
    violations, whats = found([values], [values + 10**6], whole=True)
    assert (violations, len(whats)) == (2 * BLOCK, 20)
