"""What the order space of a job leaves out: other results that the job can have for another reason than an order."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.cluster.failures import RunFailure
from flowsim.cluster.run_actions import RunAction
from flowsim.graph.checkpoint_settings import NoRestart
from flowsim.graph.stream_graph import StreamGraph


def left_out(graph: StreamGraph, failures: Sequence[RunFailure] = (), actions: Sequence[RunAction] = ()) -> list[str]:
    """Returns a sentence for each thing that Flink leaves open and that the choices of the order space do not decide.

    Without any, the results that an exhausted order space has are all results of the job, if its functions depend only on
    their input, their state and their timers.
    """
    sentences = []
    if graph.settings.checkpointing is not None and graph.settings.checkpointing.interval_ms is not None:
        sentences.append("checkpoints start at their interval only")
    if failures:
        sentences.append(
            "failures happen only where the scenario has them, and restarts wait until nothing else can happen"
        )
    restarts = graph.settings.restart_strategy
    if not failures and restarts is not None and not isinstance(restarts, NoRestart):
        sentences.append("a task that fails restarts when nothing else can happen")
    if actions:
        sentences.append("actions have an effect only at their time")
    return sentences
