"""Operators of a scenario that bring two streams together by key: joins, coGroup, broadcast state."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from flowsim.scenario.models.functions import FunctionModel, needs_fields
from flowsim.scenario.models.types import (
    ExpressionSource,
    FieldName,
    Name,
    SignedDurationMs,
    StreamName,
    Strict,
    one_of,
)
from flowsim.scenario.models.windows import GapModel, PlainWindowModel, TriggerChoiceModel, TriggerModel

Select = Annotated[dict[FieldName, ExpressionSource], Field(min_length=1)]


class SecondInputModel(Strict):
    """A second input beside ``input``."""

    to: StreamName | Annotated[list[StreamName], Field(min_length=1)] = Field(
        description="The stream that is the second input, a list for a union; `input` is the first."
    )


class KeyedSecondInputModel(SecondInputModel):
    """The same with a key for each input."""

    key_by: Annotated[list[ExpressionSource], Field(min_length=2, max_length=2)] = Field(
        description="An expression for each input: records with equal keys meet."
    )


def _check_pairs(window: PlainWindowModel) -> None:
    """Both sides share the window, so nothing in it can be read off one side's records."""
    if isinstance(window.session, GapModel):
        raise ValueError("a session of two streams needs a fixed gap")
    if _uses_delta(window.trigger) or (window.evictor is not None and window.evictor.delta is not None):
        raise ValueError("delta compares records of one stream, here are two")


def _uses_delta(trigger: TriggerModel | None) -> bool:
    if not isinstance(trigger, TriggerChoiceModel):
        return False
    nested = trigger.timeout.of if trigger.timeout is not None else trigger.purging
    return trigger.delta is not None or _uses_delta(nested)


class JoinModel(KeyedSecondInputModel):
    """Window join: one record for each pair of equal keys in one window."""

    window: PlainWindowModel
    select: Select = Field(
        description="The output's fields, over left.FIELD of the first and right.FIELD of the second."
    )

    @model_validator(mode="after")
    def _shared_window(self) -> JoinModel:
        _check_pairs(self.window)
        return self


class CoGroupModel(KeyedSecondInputModel):
    """All records of both inputs with one key and window together; aggregates of each side, or a Python function."""

    window: PlainWindowModel
    left: Annotated[dict[FieldName, str], Field(min_length=1)] | None = Field(
        default=None, description="Aggregates over the records of the first input, as in aggregate."
    )
    right: Annotated[dict[FieldName, str], Field(min_length=1)] | None = Field(
        default=None, description="Aggregates over the records of the second input."
    )
    process: FunctionModel | None = Field(default=None, description="A CoGroupFunction instead.")

    @model_validator(mode="after")
    def _one_form(self) -> CoGroupModel:
        if (self.left is None and self.right is None) == (self.process is None):
            raise ValueError("expected left and right, or one of them; or process")
        _check_pairs(self.window)
        if self.process is not None:
            needs_fields("python", self.process.fields)
        return self


class IntervalJoinModel(KeyedSecondInputModel):
    """One record for each pair of equal keys whose times are near: right is in [left + lower, left + upper]."""

    lower: SignedDurationMs = Field(description="How much later than left right is at least; may be negative.")
    upper: SignedDurationMs = Field(description="How much later than left right is at most.")
    lower_exclusive: bool = False
    upper_exclusive: bool = False
    select: Select = Field(
        description="The output's fields, over left.FIELD of the first and right.FIELD of the second."
    )
    late_left: Name | None = Field(
        default=None,
        description="Side output for records of the first input that come too late: read it as OPERATOR.NAME.",
    )
    late_right: Name | None = Field(default=None, description="The same for the second input.")

    @model_validator(mode="after")
    def _consistent(self) -> IntervalJoinModel:
        if self.lower > self.upper:
            raise ValueError("expected lower <= upper")
        if self.late_left is not None and self.late_left == self.late_right:
            raise ValueError("late_left and late_right need different names")
        return self


class BroadcastModel(SecondInputModel):
    """Broadcast state: every subtask remembers all records of the second input, and looks its own records up there."""

    put: ExpressionSource | None = Field(
        default=None, description="Key under which a record of the second input is remembered, the last one counts."
    )
    get: ExpressionSource | None = Field(default=None, description="Key that a record of the first input asks for.")
    add: Select | None = Field(
        default=None, description="New fields, over left.FIELD of the record and right.FIELD of what was found."
    )
    missing: Select | None = Field(
        default=None,
        description="The same fields, over left.FIELD, where nothing was found; else dropped.",
    )
    process: FunctionModel | None = Field(
        default=None, description="A BroadcastProcessFunction instead, with key_by a KeyedBroadcastProcessFunction."
    )

    @model_validator(mode="after")
    def _one_form(self) -> BroadcastModel:
        one_of(self, ("add", "process"))
        if self.process is not None:
            needs_fields("python", self.process.fields)
            if self.put is not None or self.get is not None or self.missing is not None:
                raise ValueError("put, get and missing belong to add, remove them")
        elif self.put is None or self.get is None:
            raise ValueError("add needs put and get")
        elif self.missing is not None and list(self.missing) != list(self.add or ()):
            raise ValueError("expected missing to give the fields of add, in that order")
        return self
