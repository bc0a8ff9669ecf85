"""Faults of another package: its kinds, its components, and how they are combined with others."""

from __future__ import annotations

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.faults import faulty_components
from flowsim.faults.catalogue import FAULT_KINDS, Component, Fault, FaultKind
from flowsim.faults.faulty_components import (
    FaultyComponents,
    FaultySubtaskComponents,
    register_faults,
    with_faults,
)
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve, ValveOutput
from tests.support.jobs.fault_matrix import fault_job

SILENT = FaultKind("valve_is_silent", Component.VALVE, "the valve emits no watermark", "valve")
OTHER = FaultKind("other_is_silent", Component.VALVE, "the valve of another package emits no watermark", "valve")


class SilentValve(StatusWatermarkValve):
    """Emits no watermark."""

    __slots__ = ()

    def _emit_minimum(self) -> None:
        pass


class SilentSubtaskComponents(FaultySubtaskComponents):
    """Creates silent valves."""

    __slots__ = ()

    def create_valve(self, channels: int, output: ValveOutput) -> StatusWatermarkValve:
        if SILENT.name in self.names(Component.VALVE):
            return SilentValve(channels, output)
        return super().create_valve(channels, output)


class SilentComponents(FaultyComponents):
    """Adds one kind of faults to those of flowsim."""

    __slots__ = ()

    of_subtask = SilentSubtaskComponents


class OtherComponents(FaultyComponents):
    """The components of a second package."""

    __slots__ = ()


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds, until the test ends."""
    for kind, components in ((SILENT, SilentComponents), (OTHER, OtherComponents)):
        monkeypatch.setitem(FAULT_KINDS, kind.name, kind)
        monkeypatch.setitem(faulty_components._COMPONENTS, kind.name, FaultyComponents)
        register_faults(components, [kind])


def violated(*faults: Fault) -> set[str]:
    recorder = MemoryRecorder(Level.FULL)
    MiniCluster(fault_job(), with_faults(RunOptions(recorder=recorder), faults)).run()
    return {outcome.law for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED}


def test_registered_fault_breaks_its_law() -> None:
    assert "valve" in violated(Fault(SILENT.name, "window"))


def test_registered_fault_is_combined_with_one_of_flowsim() -> None:
    assert {"channel-fifo", "valve"} <= violated(Fault("drop_element", "window", at=1), Fault(SILENT.name, "window"))


def test_faults_of_two_packages_are_refused_together() -> None:
    with pytest.raises(BadInput, match="cannot have these faults at the same time: valve_is_silent, other_is_silent"):
        with_faults(RunOptions(), [Fault(SILENT.name), Fault(OTHER.name)])


def test_components_without_the_fault_are_refused() -> None:
    options = RunOptions(components=FaultyComponents([Fault(SILENT.name)]))
    with pytest.raises(BadInput, match="faults of SilentComponents are not faults of FaultyComponents"):
        MiniCluster(fault_job(), options).run()


def test_second_kind_of_the_same_name_is_refused() -> None:
    with pytest.raises(ValueError, match="there is another fault 'valve_is_silent'"):
        register_faults(OtherComponents, [FaultKind(SILENT.name, Component.TASK, "something else", None)])
