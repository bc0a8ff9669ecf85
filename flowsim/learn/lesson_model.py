"""The model of a lesson's front matter: questions, moments of the report, and the exercise."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flowsim.scenario.features.expect import ExpectModel, FactsModel, MeasureModel, SelectionModel
from flowsim.scenario.types import Name, Strict

Sentence = Annotated[str, Field(min_length=1, max_length=1000)]
Unit = Literal["ns", "us", "ms", "s"]
View = Literal["graph", "timeline", "channel", "event-time", "state", "laws", "checkpoints", "steps"]


class ResultsModel(Strict):
    """The rows that a collect sink receives."""

    sink: Name = Field(description="A collect sink.")
    columns: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="The columns that count, from 0; all by default."
    )
    any_order: bool = Field(default=False, description="True if the order of the rows does not count.")

    @property
    def has_one_column(self) -> bool:
        """True if an answer is a list of values, not of rows."""
        return self.columns is not None and len(self.columns) == 1


class NumberModel(MeasureModel):
    """A number from the recording."""

    unit: Unit | None = Field(default=None, description="The number is in ns, and the answer is in this unit.")
    since_start: bool = Field(default=False, description="The number is a time, and the answer counts from the start.")
    tolerance: Annotated[float, Field(ge=0)] = Field(default=0, description="The largest accepted difference.")

    @model_validator(mode="after")
    def _unit_fits(self) -> Self:
        if self.since_start and self.unit is None:
            raise ValueError("since_start needs a unit")
        return self


class ChoiceModel(Strict):
    """One of several statements. It is right if all facts of the run are within their bounds."""

    text: Sentence = Field(description="The statement.")
    when: Annotated[list[FactsModel], Field(min_length=1, max_length=10)] = Field(
        description="The facts that make the statement right."
    )


class EventModel(Strict):
    """An event whose place in an order is asked for."""

    text: Sentence = Field(description="The event.")
    at: MeasureModel = Field(description="The number that orders the events.")


class WhichModel(MeasureModel):
    """The node of which a number is largest or smallest."""

    nodes: Annotated[list[Name], Field(min_length=2, max_length=20)] = Field(description="Sources, operators, sinks.")
    has: Literal["most", "least"] = Field(default="most", description="Whether the number is largest or smallest.")

    @model_validator(mode="after")
    def _no_other_node(self) -> Self:
        if self.of is not None:
            raise ValueError("remove of: nodes names the nodes that are compared")
        return self


KINDS = ("rows", "results", "number", "choice", "order", "which")


class QuestionModel(Strict):
    """A question that the learner answers before the run. The run itself gives the right answer."""

    ask: Sentence = Field(description="The question.")
    because: Sentence | None = Field(default=None, description="The reason, shown after the answer.")
    rows: Name | None = Field(default=None, description="How many rows does this sink receive?")
    results: ResultsModel | None = Field(default=None, description="Which rows does a sink receive?")
    number: NumberModel | None = Field(default=None, description="Which number does the recording contain?")
    choice: Annotated[list[ChoiceModel], Field(min_length=2, max_length=8)] | None = Field(
        default=None, description="Which statement is right?"
    )
    order: Annotated[list[EventModel], Field(min_length=2, max_length=8)] | None = Field(
        default=None, description="In which order do these events occur?"
    )
    which: WhichModel | None = Field(default=None, description="Of which node is a number largest or smallest?")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"expected one of {', '.join(KINDS)}, got {', '.join(given) or 'none of them'}")
        return self


class MomentModel(Strict):
    """A moment of the run that the report opens at."""

    look: Sentence = Field(description="What the report shows there.")
    view: View = Field(default="steps", description="The view of the report.")
    at: SelectionModel = Field(description="The first matching fact is the moment.")


class ExerciseModel(Strict):
    """A change of the scenario, and how it is graded."""

    may_change: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=20)] = Field(
        description="The keys of the scenario that may change, such as operators.hourly.window."
    )
    expect: ExpectModel = Field(description="What the run of the changed scenario must show.")
    solution: Annotated[list[Annotated[str, Field(max_length=5000)]], Field(min_length=1, max_length=20)] = Field(
        description="A reference solution, as values of --set."
    )
    hints: Annotated[list[Sentence], Field(max_length=5)] = Field(
        default_factory=list, description="Hints; each check that fails shows one more."
    )


class LessonModel(Strict):
    """The front matter of a lesson."""

    minutes: Annotated[int, Field(ge=1, le=120)] = Field(description="How long the lesson takes.")
    scenario: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="A scenario that comes with flowsim; without it, the text has a yaml block."
    )
    read: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=10)] = Field(
        default_factory=list, description="Sections of docs/ that explain the run, such as finishing.md#summary."
    )
    questions: Annotated[dict[Name, QuestionModel], Field(min_length=1, max_length=20)] = Field(
        description="The questions, by name."
    )
    moments: Annotated[list[MomentModel], Field(max_length=20)] = Field(
        default_factory=list, description="Moments of the run to look at in the report."
    )
    exercise: ExerciseModel = Field(description="The exercise.")
