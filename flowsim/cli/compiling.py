"""Loads and compiles a scenario as a command was told to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowsim.scenario.compiling.compiled import CompiledScenario


def compiled_scenario(
    path: Path, out: Path, overrides: Sequence[str] | None, allow_python: bool, allow_path: bool
) -> CompiledScenario:
    """The job of a scenario file; raises ScenarioError."""
    from flowsim.scenario.compiling.compiler import compile_scenario
    from flowsim.scenario.loader import load_scenario

    scenario = load_scenario(path, tuple(overrides or ()))
    return compile_scenario(scenario, out_dir=out, allow_python=allow_python, allow_path=allow_path)
