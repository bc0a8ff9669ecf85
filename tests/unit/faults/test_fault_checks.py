"""Faults that name a part that the job does not have are refused, also where their components would never look for it."""

from __future__ import annotations

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.errors import BadInput
from flowsim.faults.catalogue import Component
from flowsim.faults.fault_checks import check_faults
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.execution_graph import channel_rows, create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from tests.support.faults import FAULT_KINDS, Fault
from tests.support.jobs.fault_matrix import fault_job


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            Fault("drop_element", "window", subtask=2),
            "fault drop_element: there is no subtask 2 of 'window': expected 0 to 1",
        ),
        (Fault("stop_task", "Source: ticks", subtask=1), "there is no subtask 1 of 'Source: ticks': expected 0$"),
        (Fault("valve_takes_maximum", subtask=9), "there is no subtask 9: expected 0 to 1"),
        (Fault("drop_element", channel=10_000), r"there is no channel 10000: expected 0 to \d+"),
        (Fault("lose_credit", channel=10_000), r"there is no channel 10000: expected 0 to \d+"),
    ],
)
def test_unknown_subtasks_and_channels_are_refused(fault: Fault, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        MiniCluster(fault_job(), with_faults(RunOptions(), [fault])).run()


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_kind_checks_its_subtask_and_channel(kind: str) -> None:
    execution = create_execution_graph(create_job_graph(fault_job()))
    check_faults([Fault(kind, subtask=1)], execution)
    with pytest.raises(BadInput, match="no subtask 9"):
        check_faults([Fault(kind, subtask=9)], execution)
    if FAULT_KINDS[kind].component not in (Component.CHANNEL, Component.READER):
        with pytest.raises(BadInput, match=r"it breaks the whole (task|operator), on every channel: leave out"):
            check_faults([Fault(kind, channel=0)], execution)
        return
    check_faults([Fault(kind, channel=0)], execution)
    with pytest.raises(BadInput, match="no channel 10000"):
        check_faults([Fault(kind, channel=10_000)], execution)


def test_channel_of_another_task_is_refused() -> None:
    """The receiver of a channel drops elements; either end may lose its credits."""
    execution = create_execution_graph(create_job_graph(fault_job()))
    channel, _, source, _, target, *_ = next(iter(channel_rows(execution)))
    sender = execution.subtasks[int(source)].vertex.operators[0].node.name
    receiver = execution.subtasks[int(target)].vertex.operators[0].node.name
    check_faults([Fault("drop_element", receiver, channel=int(channel))], execution)
    check_faults([Fault("lose_credit", name, channel=int(channel)) for name in (sender, receiver)], execution)
    with pytest.raises(BadInput, match=rf"channel {channel} belongs to .*, which the fault does not name"):
        check_faults([Fault("drop_element", sender, channel=int(channel))], execution)
    with pytest.raises(BadInput, match=rf"channel {channel} belongs to .* and .*, which the fault does not name"):
        check_faults([Fault("lose_credit", "Source: ticks", channel=int(channel))], execution)
