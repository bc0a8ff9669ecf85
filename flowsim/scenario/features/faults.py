"""``faults``: faults injected into the running simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from flowsim.errors import did_you_mean
from flowsim.faults.catalogue import FAULT_KINDS, Fault
from flowsim.scenario.types import Name, Strict
from flowsim.scenario.yaml.problems import Problems


class FaultModel(Strict):
    """A fault injected into the running simulator; the laws must detect it."""

    fault: Annotated[str, Field(min_length=1, max_length=60)] = Field(
        description="Name of the fault; `flowsim faults` lists them."
    )
    operator: Name | None = Field(default=None, description="Only in the tasks of this source, operator or sink.")
    subtask: Annotated[int, Field(ge=0, le=32767)] | None = Field(
        default=None, description="Only in this subtask, by its index from 0."
    )
    channel: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="Only on this channel, by its number in the recording. Faults of a whole task or operator have "
        "no channel.",
    )
    at: Annotated[int, Field(ge=0)] = Field(
        default=0, description="The element from which the fault happens, counted from 0."
    )


def compile_faults(
    models: Sequence[FaultModel], graph_names: Mapping[str, str], problems: Problems
) -> tuple[Fault, ...]:
    """Compiles the faults to names of the graph; reports every unknown fault and node."""
    faults: list[Fault] = []
    for index, model in enumerate(models):
        if model.fault not in FAULT_KINDS:
            hint = did_you_mean(model.fault, FAULT_KINDS, is_listed=True)
            known = ", ".join(FAULT_KINDS)
            problems.at(("faults", index, "fault"), f"there is no fault {model.fault!r}{hint}; there are: {known}")
        if model.operator is not None and model.operator not in graph_names:
            hint = did_you_mean(model.operator, graph_names)
            problems.at(("faults", index, "operator"), f"there is no node {model.operator!r}{hint}")
            continue
        operator = None if model.operator is None else graph_names[model.operator]
        faults.append(Fault(model.fault, operator, model.subtask, model.channel, model.at))
    return tuple(faults)
