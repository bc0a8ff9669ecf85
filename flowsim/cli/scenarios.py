"""Compiles the scenario of a file for a command."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from flowsim.errors import BadInput
from flowsim.limits import limits_of
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.types import NAME_PATTERN


def compiled_scenario(
    path: Path,
    out: Path,
    overrides: Sequence[str] | None,
    allow_python: bool,
    allow_path: bool,
    limits: Sequence[str] | None,
    until_ns: int | None = None,
    connect: Sequence[str] | None = None,
) -> CompiledScenario:
    """Compiles the job of a scenario file. Raises BadInput. ``until_ns`` is the command's ``--until``."""
    scenario = load_scenario(path, tuple(overrides or ()), limits_of(limits or ()))
    return compile_scenario(
        scenario,
        out_dir=out,
        allow_python=allow_python,
        allow_path=allow_path,
        until_ns=until_ns,
        connections=_connections(connect or ()),
    )


def _connections(arguments: Sequence[str]) -> dict[str, str]:
    """Returns the URLs of ``--connect NAME=URL``. Raises BadInput, without the argument: it may be a password."""
    connections: dict[str, str] = {}
    for argument in arguments:
        name, equals, url = argument.partition("=")
        if not equals or not re.fullmatch(NAME_PATTERN, name):
            raise BadInput("--connect: expected NAME=URL, such as --connect warehouse=postgresql://USER@HOST/DATABASE")
        if name in connections:
            raise BadInput(f"--connect {name}: the connection is given twice")
        connections[name] = url
    return connections


def write_warnings(compiled: CompiledScenario) -> None:
    """Writes the warnings about a scenario to standard error, before its run."""
    for warning in compiled.warnings:
        sys.stderr.write(f"warning: {warning}\n")
