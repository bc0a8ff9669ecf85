"""Jobs that a Python function builds: ``module:function`` in place of a scenario."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.scenario.context import load_function

ScenarioOrFunction = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO|MODULE:FUNCTION",
        help="A scenario file (YAML), or a Python function that builds a job, which needs --allow-python.",
        show_default=False,
    ),
]


def is_function(name: str) -> bool:
    """Returns True if ``name`` is ``module:function`` and not that of a file."""
    _, colon, function = name.partition(":")
    return bool(colon) and function.isidentifier() and not Path(name).exists()


def is_program(name: str) -> bool:
    """Returns True if ``name`` is that of a program for PyFlink, not that of a scenario."""
    return name.endswith(".py") and Path(name).is_file()


def environment_of(
    name: str, overrides: Sequence[str] | None, limits: Sequence[str] | None, *, allow_python: bool
) -> StreamExecutionEnvironment | None:
    """Returns the job that a function builds; None if ``name`` is that of a file. Raises BadInput."""
    if not is_function(name):
        return None
    if overrides or limits:
        raise BadInput(f"{name}: --set and --limit change scenarios only")
    return _environment(load_function(name, Path.cwd(), allow_python=allow_python), name)


def _environment(build: Callable[..., object], name: str) -> StreamExecutionEnvironment:
    """Calls a function that returns an environment, or that gets one. Raises BadInput."""
    try:
        given = StreamExecutionEnvironment.get_execution_environment()
        returned = build(given) if inspect.signature(build).parameters else build()
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"{name}: the job cannot be built: {type(error).__name__}: {error}") from error
    env = given if returned is None else returned
    if not isinstance(env, StreamExecutionEnvironment):
        raise BadInput(
            f"{name}: expected a function that returns a StreamExecutionEnvironment, or adds a job to the one that it gets; "
            f"it returned {type(env).__name__}"
        )
    if not env.stream_graph().nodes:
        raise BadInput(f"{name}: the job has no operators; the function must not call execute()")
    return env
