"""What ``flowsim explore`` varies with the schedule: the values of ``--vary``, and of ``vary`` of the scenario."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.limits import limits_of
from flowsim.scenario.loader import Scenario, load_scenario
from flowsim.scenario.yaml.positions import YamlValue, read_document
from flowsim.sim.choice_token import ChoiceToken, job_id

_MOST: Final = 1_000

Overrides = tuple[str, ...]


def combinations(scenario: Scenario | None, varied: Sequence[str] = ()) -> list[Overrides]:
    """Returns the overrides of each combination of values; one without any if nothing varies. Raises BadInput.

    ``varied``: ``KEY=[VALUE, ...]``, each in place of what the scenario has for the key. A key that an override of the
    scenario sets does not vary.
    """
    given = dict(map(_given, varied))
    declared = {} if scenario is None else dict(scenario.model.vary or {})
    fixed = () if scenario is None else (override.partition("=")[0].strip() for override in scenario.overrides)
    for key in fixed:
        declared.pop(key, None)
    found = list(product(*(_overrides(key, values) for key, values in (declared | given).items())))
    if len(found) > _MOST:
        name = "--vary" if varied or scenario is None else f"{scenario.document.file}: vary"
        raise BadInput(f"{name}: {len(found):,} combinations of values, expected at most {_MOST:,}")
    return found


def _given(text: str) -> tuple[str, list[YamlValue]]:
    key, equals, source = text.partition("=")
    file = f"--vary {text[:60]}"
    values = read_document(source, file).value if equals and key.strip() and source.strip() else None
    if not isinstance(values, list) or not values:
        raise BadInput(f"{file}: expected KEY=[VALUE, ...], such as settings.exclusive_buffers_per_channel=[1, 2]")
    return key.strip(), values


def _overrides(key: str, values: Iterable[object]) -> list[str]:
    return [f"{key}={json.dumps(value)}" for value in values]


def overrides_of(
    token: str | None, file: Path, overrides: Sequence[str] | None, limits: Sequence[str] | None
) -> Overrides:
    """Returns the overrides, and those of the varied values to which a token belongs. Raises BadInput."""
    given = tuple(overrides or ())
    if token is None:
        return given
    job, bounds = ChoiceToken.parse(token).job, limits_of(limits or ())
    scenario = load_scenario(file, given, bounds)
    if job_id(scenario.digest()) == job or not scenario.model.vary:
        return given
    every = ((*given, *values) for values in combinations(scenario))
    return next((each for each in every if job_id(load_scenario(file, each, bounds).digest()) == job), given)
