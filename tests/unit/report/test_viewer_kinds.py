"""The viewer of reports knows every member of the closed sets in facts that it reads itself."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path

import pytest

from flowsim.facts import kinds

WEB = Path(__file__).parents[3] / "flowsim/report/web/src/model/kinds.ts"

OF_VIEWER: dict[str, type[IntEnum]] = {
    "Element": kinds.ElementKind,
    "Side": kinds.BufferSide,
    "Kind": kinds.BufferKind,
    "Credit": kinds.CreditKind,
    "Phase": kinds.ActionPhase,
    "Wait": kinds.WaitKind,
    "Timer": kinds.TimerAction,
    "Async": kinds.AsyncAction,
    "StateChange": kinds.StateAction,
    "Life": kinds.LifeEvent,
    "CheckpointAction": kinds.CheckpointAction,
    "Alignment": kinds.AlignmentType,
    "Restart": kinds.RestartAction,
    "Stored": kinds.StoredAction,
    "Step": kinds.CheckpointStep,
}
"""The sets by their name in the viewer."""

BY_WORDING = {
    kinds.ActionKind, kinds.CheckpointReason, kinds.CommittableAction, kinds.SegmentAction, kinds.SnapshotKind,
    kinds.StoredKind,
}  # fmt: skip
"""Sets of which the viewer has only the phrases in the report, which tests compare with the sets."""

OF_TWO_OR_THREE = {
    kinds.FireCause, kinds.Level, kinds.MailAction, kinds.PoolKind, kinds.SystemTimer, kinds.TimeDomain, kinds.WindowResult,
}  # fmt: skip
"""Sets that the viewer compares with plain numbers, or does not read."""


def sets_of_viewer() -> dict[str, dict[str, int]]:
    found = re.findall(r"export const (\w+) = \{(.*?)\}", WEB.read_text(encoding="utf-8"), re.DOTALL)
    return {
        name: {member: int(number) for member, number in re.findall(r"(\w+): (\d+)", members)}
        for name, members in found
    }


@pytest.mark.parametrize("name", OF_VIEWER)
def test_set_of_viewer_has_the_members_of_the_facts(name: str) -> None:
    assert sets_of_viewer()[name] == {member.name: int(member) for member in OF_VIEWER[name]}


def test_every_set_of_the_facts_is_known() -> None:
    every = {one for one in vars(kinds).values() if isinstance(one, type) and issubclass(one, IntEnum)} - {IntEnum}

    assert {*OF_VIEWER.values(), *BY_WORDING, *OF_TWO_OR_THREE} == every
    assert set(sets_of_viewer()) == set(OF_VIEWER)
