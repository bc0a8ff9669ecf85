"""``phases``: the later phases of a run, each of which starts from the snapshot with which the phase before ended."""

from __future__ import annotations

from copy import deepcopy
from typing import Annotated, Any, Final

from pydantic import Field, field_validator

from flowsim.scenario.features.actions import ActionModel
from flowsim.scenario.features.expect import ExpectModel
from flowsim.scenario.features.failures import FailureModel
from flowsim.scenario.features.pauses import PauseOfTaskModel
from flowsim.scenario.types import Strict
from flowsim.scenario.yaml.overrides import replace_value
from flowsim.scenario.yaml.positions import Path, PositionedDocument, YamlValue

_OWN: Final = ("actions", "failures", "pauses", "expect")
"""What each phase has for itself; everything else is that of the scenario."""
_CHANGED: Final = ("settings", "sources", "operators", "sinks", "faults")
"""What a phase can change."""


class PhaseModel(Strict):
    """A later phase: the same job, from the newest savepoint or retained checkpoint of the phase before."""

    set: Annotated[dict[str, Any], Field(max_length=100)] = Field(
        default_factory=dict,
        description="Values that differ in this phase, by their dotted keys as in `--set`: "
        "`{operators.sums.parallelism: 3}`. The changes of one phase do not apply to the next.",
    )
    actions: Annotated[list[ActionModel], Field(max_length=100)] = Field(
        default_factory=list, description="Actions on the job of this phase."
    )
    failures: Annotated[list[FailureModel], Field(max_length=100)] = Field(
        default_factory=list, description="Failures in this phase."
    )
    pauses: Annotated[list[PauseOfTaskModel], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Pauses in this phase."
    )
    expect: ExpectModel = Field(
        default_factory=ExpectModel, description="The expected properties of the run of this phase."
    )

    @field_validator("set")
    @classmethod
    def _changes_the_job(cls, changes: dict[str, Any]) -> dict[str, Any]:
        for key in changes:
            if key.partition(".")[0].partition("[")[0] not in _CHANGED:
                raise ValueError(f"expected keys below {', '.join(_CHANGED[:-1])} or {_CHANGED[-1]}, got {key:.60}")
        return changes


def phase_document(document: PositionedDocument, index: int) -> PositionedDocument:
    """Returns the scenario of the later phase with this index, from 0, without ``phases``.

    Its values keep the positions that they have in the file. Raises ScenarioError for a key of ``set`` that does not fit.
    """
    whole = deepcopy(document.value)
    assert isinstance(whole, dict)
    phases = whole.pop("phases")
    assert isinstance(phases, list)
    phase = phases[index]
    assert isinstance(phase, dict)
    here: Path = ("phases", index)

    def moved(path: Path) -> Path | None:
        if path[:1] != ("phases",):
            return None if path[:1] and path[0] in _OWN else path
        return path[2:] if path[:2] == here and path[2:3] and path[2] in _OWN else None

    made = PositionedDocument(
        document.file,
        {key: value for key, value in whole.items() if key not in _OWN}
        | {key: value for key, value in phase.items() if key in _OWN},
        {to: where for path, where in document.values.items() if (to := moved(path)) is not None},
        {to: where for path, where in document.keys.items() if (to := moved(path)) is not None},
        frozenset(to for path in document.quoted if (to := moved(path)) is not None),
        frozenset(to for path in document.blocks if (to := moved(path)) is not None),
    )
    changes: YamlValue = phase.get("set")
    for key, value in changes.items() if isinstance(changes, dict) else ():
        at = (*here, "set", key)
        inner = [
            {path[len(at) :]: where for path, where in places.items() if path[: len(at)] == at and len(path) > len(at)}
            for places in (document.values, document.keys)
        ]
        replace_value(made, key, value, document.key_position(at), *inner)
    return made
