"""Python functions in a scenario, and what they must declare."""

from __future__ import annotations

from pydantic import Field

from flowsim.scenario.models.types import FieldTypes, Name, PythonReference, Strict, TypeName


class FunctionModel(Strict):
    """A Python function or class, and the fields of the tuples it emits."""

    python: PythonReference
    fields: FieldTypes | None = None
    side_outputs: dict[Name, FieldTypes] = Field(
        default_factory=dict, description="Of a process function: OutputTag name and the fields of what goes there."
    )


def needs_fields(form: str, fields: dict[str, TypeName] | None) -> None:
    """A Python function must declare the fields it emits, nothing else may."""
    if form == "python" and fields is None:
        raise ValueError("a python function must declare the fields that it emits")
    if form != "python" and fields is not None:
        raise ValueError(f"fields are declared for a python function only, {form} tells its own")
